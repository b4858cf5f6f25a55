"""Rules for what is drawn: colours, sizes, shapes, drags, middles, scrolling."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from sdg.llm.webrules.rules import RuleAnswer, Written, click, fill
from sdg.llm.webrules.situation import FIELDS, SeenElement, Situation, plain
from training.screen_expert.acts import at, drag, scroll
from training.screen_expert.forms import ended, ordinal

COLOURS = {
    "red": "ff0000", "green": "008000", "blue": "0000ff", "yellow": "ffff00", "purple": "800080", "pink": "ffc0cb",
    "black": "000000", "white": "ffffff", "orange": "ffa500", "grey": "808080", "gray": "808080", "cyan": "00ffff",
    "magenta": "ff00ff", "lime": "00ff00", "navy": "000080", "teal": "008080", "maroon": "800000", "olive": "808000",
    "gold": "ffd700", "silver": "c0c0c0", "brown": "a52a2a", "violet": "ee82ee", "indigo": "4b0082",
    "aqua": "00ffff", "fuchsia": "ff00ff", "turquoise": "40e0d0", "salmon": "fa8072", "coral": "ff7f50",
}  # fmt: skip
"""Colours of the web by name."""
SAME = {"aqua": "cyan", "fuchsia": "magenta", "gray": "grey"}
"""Colours with two names, by the one that is told of screens."""
FORMS = ("circle", "rectangle", "square", "triangle", "letter", "digit", "number", "line")


def shapes(now: Situation) -> list[SeenElement]:
    """What is drawn."""
    return now.of_kind("shape")


def size(thing: SeenElement) -> int:
    """Area in pixels."""
    return (thing.place[2] - thing.place[0]) * thing.height


def colour_code(now: Situation) -> RuleAnswer | None:
    """Select a colour with a picker: its code stands in the field."""
    if not re.search(r"\bcolou?r (?:picker|wheel)\b", now.lower):
        return None
    fields = now.of_kind(*FIELDS)
    name = next((word for word in now.lower.split() if word in COLOURS), None)
    if not fields or name is None:
        return None
    if fields[0].text.lstrip("#").lower() != COLOURS[name]:
        return RuleAnswer(fill(fields[0], COLOURS[name].upper()), "wrote its code")
    return ended(now, [at("CLICK_COORDS", (160, 312))], "closed the picker")


def coloured(now: Situation) -> RuleAnswer | None:
    """Click what has a colour, or all that have it."""
    drawn = shapes(now)
    match = re.search(rf"\b({'|'.join(COLOURS)})\b", now.lower)
    if not drawn or match is None or "drag" in now.lower:
        return None
    colour = SAME.get(match[1], match[1])
    if "all" in now.lower.split():
        return ended(now, [click(each) for each in drawn if colour in each.look.split()])
    if not re.search(r"\b(colou?red|shade)\b", now.lower):
        return None
    fits = [each for each in drawn if colour in each.look.split()]
    return RuleAnswer([click(max(fits, key=size))], "clicked") if fits else None


def described(now: Situation) -> RuleAnswer | None:
    """Click on a large blue rectangle, a small 6, a letter."""
    match = re.search(r"\bclick on an? (.+)$", now.lower)
    drawn = shapes(now) or [each for each in now.of_kind("text") if len(each.text) == 1]
    if match is None or not drawn or '"' in now.task or len(shapes(now)) < 2:
        return None
    things = [*shapes(now), *(each for each in now.of_kind("text") if len(each.text) <= 2)]
    words = [SAME.get(word, word) for word in plain(match[1]).split()]
    exact = re.search(r"(\S+)$", now.task.strip(" ."))
    fits: list[SeenElement] = []
    for each in things:
        look = each.look.split()
        wrong = [word for word in words if word in COLOURS and word not in look]
        form = words[-1]
        symbol = each.text.strip()
        if form == "letter":
            wrong += [] if symbol.isalpha() or "letter" in look else ["form"]
        elif form in ("digit", "number"):
            wrong += [] if symbol.isdigit() or "digit" in look else ["form"]
        elif form in FORMS:
            wrong += [] if form in look else ["form"]
        elif form not in ("item", "shape", "object") and exact:
            wrong += [] if symbol == exact[1] else ["symbol"]
        if not wrong:
            fits.append(each)
    if not fits:
        return None
    border = (min(map(size, things)) + max(map(size, things))) / 2
    if "large" in words:
        fits = [each for each in fits if _is_large(each, border)] or fits
        return RuleAnswer([click(max(fits, key=lambda each: each.height))], "clicked")
    if "small" in words:
        return RuleAnswer([click(min(fits, key=lambda each: each.height))], "clicked")
    return RuleAnswer([click(fits[0])], "clicked")


def _is_large(thing: SeenElement, border: float) -> bool:
    return size(thing) > border or thing.height > 34


def middle(now: Situation) -> RuleAnswer | None:
    """Click the middle of a circle, of two points; draw the line that halves an angle."""
    drawn = shapes(now)
    if "center of the circle" in now.lower or "centre of the circle" in now.lower:
        biggest = max(drawn, key=size, default=None)
        return ended(now, [click(biggest)]) if biggest else None
    if re.search(r"\bmid-?point\b", now.lower):
        points = sorted(drawn, key=size)[:2]
        if len(points) < 2:
            return None
        (x0, y0), (x1, y1) = (each.middle for each in points)
        return ended(now, [at("CLICK_COORDS", ((x0 + x1) // 2, (y0 + y1) // 2))])
    if "bisect" in now.lower:
        points = [each for each in drawn if size(each) < 500 and each.height > 8 and "line" not in each.look]
        tip = next((each for each in points if "blue" in each.look), None)
        ends = [each for each in points if "black" in each.look][:2]
        if tip is None or len(ends) < 2:
            return None
        return ended(now, [at("CLICK_COORDS", _between(tip, ends))])
    return None


def _between(tip: SeenElement, ends: Sequence[SeenElement]) -> tuple[int, int]:
    """The point, of those that a page tells apart, that lies nearest to the line that halves the angle at `tip`."""
    x = y = 0.0
    for end in ends:
        dx, dy = end.x - tip.x, end.y - tip.y
        long = max((dx * dx + dy * dy) ** 0.5, 1.0)
        x, y = x + dx / long, y + dy / long
    long = max((x * x + y * y) ** 0.5, 1e-6)
    x, y = x / long, y / long
    found = []
    for far in range(30, 300):
        point = 2 * round((tip.x + x * far) / 2), 2 * round((tip.y + y * far) / 2)
        if 6 < point[0] < 290 and 6 < point[1] < 240:
            dx, dy = point[0] - tip.x, point[1] - tip.y
            found.append((abs(dx * y - dy * x) / max((dx * dx + dy * dy) ** 0.5, 1.0), point))
    return min(found, default=(0.0, tip.middle))[1]


def dragged(now: Situation) -> RuleAnswer | None:
    """Drag something somewhere."""
    if not re.match(r"drag\b", now.lower):
        return None
    for rule in (_into, _inside, _along, _in_list):
        plan = rule(now)
        if plan is not None:
            return plan
    return None


def _into(now: Situation) -> RuleAnswer | None:
    """Drag all circles into the black one."""
    match = re.match(r"drag all (\w+) into the", now.lower)
    if match is None:
        return None
    drawn = shapes(now)
    holder = max(drawn, key=size, default=None)
    form = match[1].rstrip("s")
    wanted = [each for each in drawn if each is not holder and form in each.look.split()]
    if holder is None or not wanted:
        return None
    commands: list[Written] = []
    for number, each in enumerate(wanted):
        goal = holder.place[0] + 30 + 24 * (number % 5), holder.place[1] + 30 + 24 * (number // 5)
        commands += drag(each.middle, goal)
    return ended(now, commands)


def _inside(now: Situation) -> RuleAnswer | None:
    """Drag the smaller one into the larger."""
    if "smaller" not in now.lower or "inside" not in now.lower:
        return None
    drawn = sorted(shapes(now), key=size)
    return ended(now, drag(drawn[0].middle, drawn[-1].middle)) if len(drawn) >= 2 else None


def _along(now: Situation) -> RuleAnswer | None:
    """Drag a shape up, down, left or right."""
    match = re.search(r"\bdrag the (\w+) (left|right|up|down)\b", now.lower)
    drawn = shapes(now)
    if match is None or not drawn:
        return None
    x, y = drawn[0].middle
    dx, dy = {"left": (-60, 0), "right": (60, 0), "up": (0, -60), "down": (0, 60)}[match[2]]
    return ended(now, drag((x, y), (x + dx, y + dy)))


def _in_list(now: Situation) -> RuleAnswer | None:
    """Drag an entry of a list to another position."""
    match = re.match(r"drag (\w+) (?:to|down|up)\b", now.lower)
    entries = now.of_kind("text")
    item = now.find_named(now.task.split()[1], "text")
    if match is None or item is None or len(entries) < 3:
        return None
    entries = sorted(entries, key=lambda each: each.y)
    index = min(range(len(entries)), key=lambda n: abs(entries[n].y - item.y))
    goal = _position(now.lower, index, len(entries))
    pitch = (entries[-1].y - entries[0].y) / (len(entries) - 1)
    beyond = 0.35 * pitch * (1 if goal > index else -1)
    return RuleAnswer(drag(entries[index].middle, (entries[index].x, round(entries[goal].y + beyond))), "dragged")


def _position(task: str, index: int, count: int) -> int:
    if "top" in task:
        goal = 0
    elif "bottom" in task:
        goal = count - 1
    elif "up by" in task:
        goal = index - 1
    elif "down by" in task:
        goal = index + 1
    else:
        goal = ordinal(task, index + 1) - 1
    return max(0, min(count - 1, goal))


def resized(now: Situation) -> RuleAnswer | None:
    """Make a text area wider, narrower, higher or lower by its corner."""
    match = re.search(r"\bresize\b.*\b(width|height) is (smaller|larger)\b", now.lower)
    areas = now.of_kind("text area")
    if match is None or not areas:
        return None
    grip = next((each.middle for each in now.of_kind("icon") if "resize" in each.look), None)
    corner = grip or (areas[0].place[2] - 10, areas[0].place[3] - 10)
    by = 40 if match[2] == "larger" else -40
    x, y = corner
    goal = (x + by, y) if match[1] == "width" else (x, y + by)
    button = now.submit()
    if now.done:
        return ended(now, [])
    return RuleAnswer(drag(corner, goal), "resized") if button else None


def scrolled(now: Situation) -> RuleAnswer | None:
    """Scroll a text to one of its ends, then send."""
    match = re.match(r"scroll\b.*\b(top|bottom)\b", now.lower)
    areas = now.of_kind("text area") or now.of_kind("textbox")
    if match is None:
        return None
    point = areas[0].middle if areas else (160, 120)
    rounds = sum("SCROLL" in each for each in now.done)
    if rounds < 50:
        return RuleAnswer(scroll(point, down=match[1] == "bottom", times=25), "scrolled")
    return ended(now, [])


def counted(now: Situation) -> RuleAnswer | None:
    """Type how many blocks there are."""
    fields = now.of_kind(*FIELDS)
    if not fields or not re.search(r"\b(total number|how many|count)\b", now.lower):
        return None
    drawn = [each for each in shapes(now) if each.place[3] <= fields[0].place[1] + 4]
    if not drawn:
        return None
    usual, _ = Counter(round(each.height / 6) for each in drawn).most_common(1)[0]
    number = sum(abs(round(each.height / 6) - usual) <= 1 for each in drawn)
    return ended(now, fill(fields[0], str(number)))


def figure_named(now: Situation) -> RuleAnswer | None:
    """Click the button that says what the figure is."""
    if not re.search(r"\bbest describes\b", now.lower):
        return None
    buttons = now.of_kind("button")
    drawn = [*shapes(now), *(each for each in now.of_kind("text") if len(each.text) == 1)]
    for each in drawn:
        look = each.look.split()
        symbol = each.text.strip()
        form = next((word for word in FORMS if word in look), "")
        if symbol[:1].isdigit() or form == "digit":
            form = "number"
        elif symbol[:1].isalpha() and len(symbol) == 1:
            form = "letter"
        found = next((button for button in buttons if plain(button.text) == form), None)
        if found:
            return RuleAnswer([click(found)], "named")
    return None


def sides_counted(now: Situation) -> RuleAnswer | None:
    """Press the button with the number of sides."""
    if "how many sides" not in now.lower:
        return None
    for each in shapes(now):
        sides = re.search(r"\b(\d+) sides\b", each.look)
        found = now.find_named(sides[1], "button") if sides else None
        if found:
            return RuleAnswer([click(found)], "counted")
    return None


RULES = (
    colour_code, dragged, resized, scrolled, middle, coloured, described, counted, figure_named, sides_counted,
)  # fmt: skip
