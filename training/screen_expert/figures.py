"""Rules for what is drawn: colours, sizes, shapes, drags, middles, scrolling."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from sdg.llm.webrules.rules import RuleAnswer, Written, click, fill, submit_form
from sdg.llm.webrules.situation import FIELDS, SeenElement, Situation, bare_text
from training.screen_expert.acts import at, drag, scroll
from training.screen_expert.forms import ordinal
from training.screen_expert.situation import height_of

COLOURS = {
    "red": "ff0000", "green": "008000", "blue": "0000ff", "yellow": "ffff00", "purple": "800080", "pink": "ffc0cb",
    "black": "000000", "white": "ffffff", "orange": "ffa500", "grey": "808080", "gray": "808080", "cyan": "00ffff",
    "magenta": "ff00ff", "lime": "00ff00", "navy": "000080", "teal": "008080", "maroon": "800000", "olive": "808000",
    "gold": "ffd700", "silver": "c0c0c0", "brown": "a52a2a", "violet": "ee82ee", "indigo": "4b0082",
    "aqua": "00ffff", "fuchsia": "ff00ff", "turquoise": "40e0d0", "salmon": "fa8072", "coral": "ff7f50",
}  # fmt: skip
"""Colours of the web by name."""
SAME = {"aqua": "cyan", "fuchsia": "magenta", "gray": "grey"}
"""Other names of colours -> the name that descriptions of screens use."""
FORMS = ("circle", "rectangle", "square", "triangle", "letter", "digit", "number", "line")


def drawn_shapes(now: Situation) -> list[SeenElement]:
    """The shapes on the screen."""
    return now.of_kind("shape")


def area_of(element: SeenElement) -> int:
    """Area in pixels."""
    return (element.place[2] - element.place[0]) * height_of(element)


def pick_colour(now: Situation) -> RuleAnswer | None:
    """Select a colour with a picker: its code stands in the field."""
    if not re.search(r"\bcolou?r (?:picker|wheel)\b", now.lower):
        return None
    fields = now.of_kind(*FIELDS)
    name = next((word for word in now.lower.split() if word in COLOURS), None)
    if not fields or name is None:
        return None
    if fields[0].text.lstrip("#").lower() != COLOURS[name]:
        return RuleAnswer(fill(fields[0], COLOURS[name].upper()), "wrote its code")
    return replace(submit_form(now, [at("CLICK_COORDS", (160, 312))]), note="closed the picker")


def click_coloured(now: Situation) -> RuleAnswer | None:
    """Click a shape of a colour, or all of them."""
    drawn = drawn_shapes(now)
    match = re.search(rf"\b({'|'.join(COLOURS)})\b", now.lower)
    if not drawn or match is None or "drag" in now.lower:
        return None
    colour = SAME.get(match[1], match[1])
    matches = [shape for shape in drawn if colour in shape.look.split()]
    if "all" in now.lower.split():
        return submit_form(now, [click(shape) for shape in matches])
    if not matches or not re.search(r"\b(colou?red|shade)\b", now.lower):
        return None
    return RuleAnswer([click(max(matches, key=area_of))], "clicked")


def click_described(now: Situation) -> RuleAnswer | None:
    """Click on a large blue rectangle, a small 6, a letter."""
    match = re.search(r"\bclick on an? (.+)$", now.lower)
    drawn = drawn_shapes(now)
    if match is None or '"' in now.task or len(drawn) < 2:
        return None
    candidates = [*drawn, *(text for text in now.of_kind("text") if len(text.text) <= 2)]
    words = [SAME.get(word, word) for word in bare_text(match[1]).split()]
    last_word = re.search(r"(\S+)$", now.task.strip(" ."))
    symbol = last_word[1] if last_word else ""
    matches = [element for element in candidates if _fits_description(element, words, symbol)]
    if not matches:
        return None
    areas = [area_of(element) for element in candidates]
    border = (min(areas) + max(areas)) / 2
    if "large" in words:
        matches = [element for element in matches if _is_large(element, border)] or matches
        return RuleAnswer([click(max(matches, key=height_of))], "clicked")
    if "small" in words:
        return RuleAnswer([click(min(matches, key=height_of))], "clicked")
    return RuleAnswer([click(matches[0])], "clicked")


def _fits_description(element: SeenElement, words: Sequence[str], symbol: str) -> bool:
    """Whether an element has the colours and the form that `words` name; the last word is the form or the `symbol`."""
    look, form, text = element.look.split(), words[-1], element.text.strip()
    if any(word in COLOURS and word not in look for word in words):
        return False
    if form == "letter":
        return text.isalpha() or "letter" in look
    if form in ("digit", "number"):
        return text.isdigit() or "digit" in look
    if form in FORMS:
        return form in look
    return form in ("item", "shape", "object") or not symbol or text == symbol


def _is_large(element: SeenElement, border: float) -> bool:
    return area_of(element) > border or height_of(element) > 34


def click_middle(now: Situation) -> RuleAnswer | None:
    """Click the middle of a circle, of two points; draw the line that halves an angle."""
    drawn = drawn_shapes(now)
    if "center of the circle" in now.lower or "centre of the circle" in now.lower:
        biggest = max(drawn, key=area_of, default=None)
        return submit_form(now, [click(biggest)]) if biggest else None
    if re.search(r"\bmid-?point\b", now.lower):
        points = sorted(drawn, key=area_of)[:2]
        if len(points) < 2:
            return None
        (x0, y0), (x1, y1) = (point.middle for point in points)
        return submit_form(now, [at("CLICK_COORDS", ((x0 + x1) // 2, (y0 + y1) // 2))])
    if "bisect" in now.lower:
        small = [shape for shape in drawn if area_of(shape) < 500 and height_of(shape) > 8]
        points = [shape for shape in small if "line" not in shape.look]
        tip = next((point for point in points if "blue" in point.look), None)
        ends = [point for point in points if "black" in point.look][:2]
        if tip is None or len(ends) < 2:
            return None
        return submit_form(now, [at("CLICK_COORDS", _between(tip, ends))])
    return None


def _between(tip: SeenElement, ends: Sequence[SeenElement]) -> tuple[int, int]:
    """The point, of those that a page tells apart, that lies nearest to the line that halves the angle at `tip`."""
    x = y = 0.0
    for end in ends:
        dx, dy = end.x - tip.x, end.y - tip.y
        length = max((dx * dx + dy * dy) ** 0.5, 1.0)
        x, y = x + dx / length, y + dy / length
    length = max((x * x + y * y) ** 0.5, 1e-6)
    x, y = x / length, y / length
    candidates = []
    for distance in range(30, 300):
        point = 2 * round((tip.x + x * distance) / 2), 2 * round((tip.y + y * distance) / 2)
        if 6 < point[0] < 290 and 6 < point[1] < 240:
            dx, dy = point[0] - tip.x, point[1] - tip.y
            error = abs(dx * y - dy * x) / max((dx * dx + dy * dy) ** 0.5, 1.0)
            candidates.append((error, point))
    return min(candidates, default=(0.0, tip.middle))[1]


def drag_element(now: Situation) -> RuleAnswer | None:
    """Drag something somewhere."""
    if not re.match(r"drag\b", now.lower):
        return None
    for rule in (_drag_all_into, _drag_inside, _drag_along, _drag_in_list):
        plan = rule(now)
        if plan is not None:
            return plan
    return None


def _drag_all_into(now: Situation) -> RuleAnswer | None:
    """Drag all circles into the black one."""
    match = re.match(r"drag all (\w+) into the", now.lower)
    if match is None:
        return None
    drawn = drawn_shapes(now)
    holder = max(drawn, key=area_of, default=None)
    form = match[1].rstrip("s")
    wanted = [shape for shape in drawn if shape is not holder and form in shape.look.split()]
    if holder is None or not wanted:
        return None
    left, top = holder.place[0] + 30, holder.place[1] + 30
    commands: list[Written] = []
    for number, shape in enumerate(wanted):
        row, column = divmod(number, 5)
        commands += drag(shape.middle, (left + 24 * column, top + 24 * row))
    return submit_form(now, commands)


def _drag_inside(now: Situation) -> RuleAnswer | None:
    """Drag the smaller one into the larger."""
    if "smaller" not in now.lower or "inside" not in now.lower:
        return None
    drawn = sorted(drawn_shapes(now), key=area_of)
    return submit_form(now, drag(drawn[0].middle, drawn[-1].middle)) if len(drawn) >= 2 else None


def _drag_along(now: Situation) -> RuleAnswer | None:
    """Drag a shape up, down, left or right."""
    match = re.search(r"\bdrag the (\w+) (left|right|up|down)\b", now.lower)
    drawn = drawn_shapes(now)
    if match is None or not drawn:
        return None
    x, y = drawn[0].middle
    dx, dy = {"left": (-60, 0), "right": (60, 0), "up": (0, -60), "down": (0, 60)}[match[2]]
    return submit_form(now, drag((x, y), (x + dx, y + dy)))


def _drag_in_list(now: Situation) -> RuleAnswer | None:
    """Drag an entry of a list to another position."""
    match = re.match(r"drag (\w+) (?:to|down|up)\b", now.lower)
    entries = now.of_kind("text")
    item = now.find_named(now.task.split()[1], "text")
    if match is None or item is None or len(entries) < 3:
        return None
    entries = sorted(entries, key=lambda entry: entry.y)
    index = min(range(len(entries)), key=lambda n: abs(entries[n].y - item.y))
    goal = _wanted_position(now.lower, index, len(entries))
    pitch = (entries[-1].y - entries[0].y) / (len(entries) - 1)
    beyond = 0.35 * pitch * (1 if goal > index else -1)
    end = entries[index].x, round(entries[goal].y + beyond)
    return RuleAnswer(drag(entries[index].middle, end), "dragged")


def _wanted_position(task: str, index: int, count: int) -> int:
    """The new index of the entry that is now at `index` of `count`."""
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


def resize_area(now: Situation) -> RuleAnswer | None:
    """Make a text area wider, narrower, higher or lower by its corner."""
    match = re.search(r"\bresize\b.*\b(width|height) is (smaller|larger)\b", now.lower)
    areas = now.of_kind("text area")
    if match is None or not areas:
        return None
    grip = next((icon.middle for icon in now.of_kind("icon") if "resize" in icon.look), None)
    corner = grip or (areas[0].place[2] - 10, areas[0].place[3] - 10)
    step = 40 if match[2] == "larger" else -40
    x, y = corner
    goal = (x + step, y) if match[1] == "width" else (x, y + step)
    button = now.submit()
    if now.done:
        return submit_form(now, [])
    return RuleAnswer(drag(corner, goal), "resized") if button else None


def scroll_text(now: Situation) -> RuleAnswer | None:
    """Scroll a text to one of its ends, then send."""
    match = re.match(r"scroll\b.*\b(top|bottom)\b", now.lower)
    areas = now.of_kind("text area") or now.of_kind("textbox")
    if match is None:
        return None
    point = areas[0].middle if areas else (160, 120)
    rounds = sum("SCROLL" in command for command in now.done)
    if rounds < 50:
        return RuleAnswer(scroll(point, down=match[1] == "bottom", times=25), "scrolled")
    return submit_form(now, [])


def count_blocks(now: Situation) -> RuleAnswer | None:
    """Type how many blocks there are."""
    fields = now.of_kind(*FIELDS)
    if not fields or not re.search(r"\b(total number|how many|count)\b", now.lower):
        return None
    heights = [round(height_of(shape) / 6) for shape in drawn_shapes(now) if shape.place[3] <= fields[0].place[1] + 4]
    if not heights:
        return None
    usual, _ = Counter(heights).most_common(1)[0]
    number = sum(abs(height - usual) <= 1 for height in heights)
    return submit_form(now, fill(fields[0], str(number)))


def name_figure(now: Situation) -> RuleAnswer | None:
    """Click the button that says what the figure is."""
    if not re.search(r"\bbest describes\b", now.lower):
        return None
    characters = [text for text in now.of_kind("text") if len(text.text) == 1]
    for figure in (*drawn_shapes(now), *characters):
        look = figure.look.split()
        symbol = figure.text.strip()
        form = next((word for word in FORMS if word in look), "")
        if symbol[:1].isdigit() or form == "digit":
            form = "number"
        elif symbol[:1].isalpha() and len(symbol) == 1:
            form = "letter"
        named = next((button for button in now.of_kind("button") if bare_text(button.text) == form), None)
        if named:
            return RuleAnswer([click(named)], "named")
    return None


def press_side_count(now: Situation) -> RuleAnswer | None:
    """Press the button with the number of sides."""
    if "how many sides" not in now.lower:
        return None
    for shape in drawn_shapes(now):
        sides = re.search(r"\b(\d+) sides\b", shape.look)
        button = now.find_named(sides[1], "button") if sides else None
        if button:
            return RuleAnswer([click(button)], "counted")
    return None


RULES = (
    pick_colour, drag_element, resize_area, scroll_text, click_middle, click_coloured, click_described, count_blocks,
    name_figure, press_side_count,
)  # fmt: skip
