"""Rules for pages: things to click by name, things behind tabs and sections, lists, messages, a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from sdg.llm.webrules.rules import RuleAnswer, click, clicked_in_order, fill, icon, only_button
from sdg.llm.webrules.situation import FIELDS, SeenElement, Situation, alike, likeness, plain, within
from training.screen_expert.acts import press, scroll, write
from training.screen_expert.forms import ended, lines, ordinal

WIDGETS = {"text": "textbox", "textarea": "text area", "checkbox": "checkbox", "radio": "radio", "button": "button",
           "dropdown": "dropdown", "link": "link", "icon": "icon"}  # fmt: skip
ICONS = {"x": "close", "like": "heart", "delete": "trash", "important": "star", "forward": "forward", "reply": "reply",
         "retweet": "retweet", "share": "share", "more": "more", "search": "search", "star": "star",
         "trash": "trash", "close": "close"}  # fmt: skip
"""What an icon that does this is called."""
NO_NAMES = (
    "find please can could you i forward send open give the from to by email emails mail message primary inbox reply "
    "mark delete command last respond star trash tell say saying remove locate go retrieve yesterday today read move "
    "click show look search get let we would if in my this that locate see check choose select use hey kindly share "
    "pass need want there it last new"
)
"""Words that begin sentences and name nobody."""


# Messages


def messages(now: Situation) -> RuleAnswer | None:
    """Find the message of somebody and answer, forward, mark or delete it."""
    if not re.search(r"\b(e-?mails?|mails?|messages?|information)\b", now.lower):
        return None
    sender, other = people(now)
    verb = message_verb(now)
    areas, fields = now.of_kind("text area"), now.of_kind("textbox")
    heads = [each for each in now.elements if each.text and plain(each.text).startswith("subject")]
    opened = now.find_named("to me", "text")
    if heads and opened is None:
        corner = [each for each in now.elements if each.x > 240 and each.y < heads[0].y - 20]
        button = corner[0] if corner else SeenElement("icon", "", (282, 10, 310, 38))
        if verb == "forward":
            above = [each for each in fields if each.y < heads[0].y]
            to = above[0] if above else SeenElement("textbox", "", (80, heads[0].y - 50, 280, heads[0].y - 22))
            start = [click(to), write(other)]
        else:
            below = [each for each in (*areas, *fields) if each.y > heads[0].y]
            body = below[0] if below else SeenElement("text area", "", (10, heads[0].y + 30, 300, heads[0].y + 130))
            start = [click(body), write(reply_text(now))]
        return RuleAnswer([*start, click(button)], "written and sent")
    if opened is not None:
        words = {"forward": ("Forward",), "reply": ("Reply",)}.get(verb)
        if words:
            label = now.find_named(words[0], "text", "button", "link")
            thing = icon(now, verb) or label
            if label is not None and (thing is None or thing.kind == "text"):
                above = [each for each in now.of_kind("icon", "button") if abs(each.x - label.x) < 20]
                thing = above[0] if above else label
            return RuleAnswer([click(thing)], f"chose {verb}") if thing else None
        thing = icon(now, {"star": "star", "delete": "trash"}[verb])
        return RuleAnswer([click(thing)], "marked") if thing else None
    row = next((each for each in now.of_kind("text", "link") if _is_person(each, sender)), None)
    if row is None:
        # More messages lie further down.
        tried = sum("SCROLL" in each for each in now.done)
        return RuleAnswer(scroll((150, 200), down=tried < 12, times=2), f"looked for {sender}") if sender else None
    if verb in ("star", "delete"):
        beside = [each for each in now.of_kind("icon", "button") if -10 < each.y - row.y < 50]
        thing = icon(now, {"star": "star", "delete": "trash"}[verb], beside)
        if thing:
            return RuleAnswer([click(thing)], "marked")
    return RuleAnswer([click(row)], f"opened {sender}")


def _is_person(line: SeenElement, name: str) -> bool:
    words = line.text.split()
    return bool(words) and bool(name) and (alike(words[0], name) or likeness(words[0], name) > 0.85)


def message_verb(now: Situation) -> str:
    """What is to be done with the message."""
    rest = re.sub(r'"[^"]*"', "", now.lower)
    if re.search(r"\b(repl|respon|answer)", rest):
        return "reply"
    if re.search(r"\b(delet|trash|remov|get rid)", rest):
        return "delete"
    if re.search(r"\b(star|starred|important|mark|marked|flag|flagged)\b", rest):
        return "star"
    return "forward"


def reply_text(now: Situation) -> str:
    """The words of the reply."""
    if now.quotations:
        return now.quotations[-1]
    match = re.search(r"(?:reply|respond|say|saying|text|message|with)[:,]?\s+([^,]+?)$", now.task, re.I)
    return match[1].strip() if match else ""


def people(now: Situation) -> tuple[str, str]:
    """Whose message it is, and whom else the task names."""
    rest = re.sub(r'"[^"]*"', " ", now.task)
    names = [word for word in re.findall(r"\b[A-Z][A-Za-z]+\b", rest) if word.lower() not in NO_NAMES.split()]
    sender = re.search(r"\b(?:from|by)\s+(?:my )?([A-Z][A-Za-z]+)", rest) or re.search(
        r"\b([A-Z][A-Za-z]+)['’]s\b", rest.replace("Yesterday", "yesterday")
    )
    if sender is None or sender[1] not in names:
        to = re.search(r"\b(?:to|for)\s+([A-Z][A-Za-z]+)", rest)
        first = next((name for name in names if to is None or name != to[1]), names[0] if names else "")
        if len(names) == 1:
            first = names[0]
    else:
        first = sender[1]
    return first, next((name for name in names if name != first), "")


# Posts


def posts(now: Situation) -> RuleAnswer | None:
    """Press a button that belongs to the posts of a user, on one of them or on so many."""
    user = re.search(r"@(\w+)", now.task)
    if user is None or not now.quotations:
        return None
    name = now.quotations[0]
    count = re.search(r"\bon (\d+) posts?\b", now.lower)
    heads = [each for each in now.of_kind("text", "link") if "@" in each.text]
    entries = [each for each in now.of_kind("text", "button", "link") if plain(each.text)[:1] == plain(name)[:1]]
    wanted = (name, f"{name} @{user[1]}")
    menu = next((each for each in entries if max(likeness(each.text, words) for words in wanted) > 0.9), None)
    if menu is not None and not count:
        return RuleAnswer([click(menu)], "chose from the menu")
    mine = []
    for number, head in enumerate(heads):
        handle = re.search(r"@(\w+)", head.text)
        if handle and likeness(handle[1], user[1]) > 0.85:
            end = heads[number + 1].place[1] if number + 1 < len(heads) else 330
            mine.append([each for each in now.of_kind("icon") if head.place[1] < each.y < end])
    buttons = [thing for row in mine if (thing := icon(now, name, row)) is not None]
    if count:
        return _on_many(now, buttons, int(count[1]))
    if buttons:
        return RuleAnswer([click(buttons[0])], "pressed")
    if now.thoughts and now.thoughts[-1] in ("opened the menu", "looked for the rest of the menu"):
        return RuleAnswer(scroll((60, 200), down=True), "looked for the rest of the menu")
    more = next((thing for row in mine if (thing := icon(now, "more", row)) is not None), None)
    if more:
        return RuleAnswer([click(more)], "opened the menu")
    return RuleAnswer(scroll((150, 200), down=True, times=2), "looked further down")


def _on_many(now: Situation, buttons: Sequence[SeenElement], count: int) -> RuleAnswer:
    """So many of the buttons, those further down too; the notes keep how many were pressed."""
    pressed = sum(int(match[1]) for note in now.thoughts if (match := re.match(r"pressed (\d+)", note)))
    left = count - pressed
    fresh = list(buttons)[:left]
    submit = next((each for each in now.of_kind("button") if plain(each.text) == "submit"), None)
    if left <= len(fresh) and submit is not None and (fresh or left == 0):
        return RuleAnswer([*map(click, fresh), click(submit)], f"pressed {len(fresh)}")
    onward = scroll((150, 200), down=True, times=5 if not fresh else 4)
    return RuleAnswer([*map(click, fresh), *onward], f"pressed {len(fresh)}")


# Things behind others


def looked_for(now: Situation) -> RuleAnswer | None:
    """Open tabs, sections or folders one after another until what is looked for shows."""
    match = re.search(r"\b(?:tabs?|sections?|tree|folders?)\b", now.lower)
    if match is None:
        return None
    openers = _openers(now)
    if not now.quotations or "find" not in now.lower:
        if "expand" not in now.lower or not openers:
            return None
        if now.done:
            return ended(now, [])
        first = openers[0][1]
        return ended(now, [click(first)]) if now.submit() is None else RuleAnswer([click(first)], "opened")
    wanted = now.quotations[0]
    missed = bool(now.thoughts) and now.thoughts[-1].startswith("found it")
    there = [each for each in now.of_kind("link") if each.text.strip() == wanted] or [
        each for each in now.of_kind("link") if plain(each.text) == plain(wanted)
    ]
    if not there and not now.of_kind("link"):
        texts = [each for each in now.of_kind("text") if not re.match(r"section #", each.text, re.I)]
        there = [part for each in texts if (part := within(each, wanted)) is not None]
    if there and not missed:
        return RuleAnswer([click(there[0])], "found it")
    if len(there) > 1 and now.thoughts[-1] == "found it":
        return RuleAnswer([click(there[1])], "found it there")
    opened = {note.partition("opened ")[2] for note in now.thoughts}
    left = [(name, each) for name, each in openers if name not in opened]
    if left:
        name, each = left[0]
        return RuleAnswer([click(each)], f"opened {name}")
    return RuleAnswer(scroll((150, 200), down=True, times=3), "looked further down")


def _openers(now: Situation) -> list[tuple[str, SeenElement]]:
    tabs = now.of_kind("tab")
    if tabs:
        return [(each.text or str(n), each) for n, each in enumerate(sorted(tabs, key=lambda each: each.x))]
    sections = [each for each in now.elements if re.match(r"section #?\w+$", each.text.strip(), re.I)]
    if sections:
        return [(each.text, each) for each in sections]
    return [(f"folder at {each.y} of {len(now.elements)}", each) for each in now.of_kind("icon") if "plus" in each.look]


def search_result(now: Situation) -> RuleAnswer | None:
    """Search, then click the nth result; results may go over several pages."""
    if "search result" not in now.lower or not now.quotations:
        return None
    results = [each for each in now.of_kind("text", "link") if re.match(r"(https?:|www)", each.text.strip().lower())]
    fields = now.of_kind(*FIELDS)
    if not results:
        return ended(now, fill(fields[0], now.quotations[0])) if fields else None
    number, shown = ordinal(now.lower, 1) - 1, len(results)
    page = sum(note.startswith("page") for note in now.thoughts)
    if number // 3 > page:
        goal = _page_link(now, str(page + 2))
        return RuleAnswer([click(goal)], f"page {page + 2}") if goal else None
    address = sorted(results, key=lambda each: each.y)[min(number % 3, shown - 1)]
    above = [each for each in now.of_kind("link", "text") if 0 < address.y - each.y < 34 and each.y < address.y - 6]
    title = max(above, key=lambda each: (each.kind == "link", each.y), default=None)
    return RuleAnswer([click(title)], "clicked the result") if title else None


def _page_link(now: Situation, number: str) -> SeenElement | None:
    """The link to a page of results, alone or in a row of them that was read as one word."""
    rows = [
        each for each in now.of_kind("link", "text") if each.y > 240 and re.fullmatch(r"[\d<>≤≥«»|l\s]+", each.text)
    ]
    alone = [each for each in rows if each.text.strip() == number]
    if alone:
        return alone[0]
    for row in rows:
        signs = [sign for sign in row.text if not sign.isspace()]
        if number in signs:
            wide = (row.place[2] - row.place[0]) / len(signs)
            x0 = row.place[0] + round(wide * signs.index(number))
            return replace(row, place=(x0, row.place[1], x0 + round(wide), row.place[3]))
    return next((each for each in rows if each.text.strip() in (">", "≥", "»")), None)


def terminal(now: Situation) -> RuleAnswer | None:
    """List files in a terminal, then delete the one that is meant."""
    if "terminal" not in now.lower:
        return None
    match = re.search(r"extension (\.[\w.]*\w)", now.lower)
    words = [word for line in lines(now.of_kind("text")) for word in line.split()]
    listed = words[words.index("ls") + 1 :] if "ls" in words else []
    listed = listed[: listed.index("user$")] if "user$" in listed else listed
    if match is not None:
        files = [word for word in words if word.lower().endswith(match[1]) and word.lower() != match[1]]
    else:
        files = [word for word in listed if "." not in word and "no file extension" in now.lower]
    if not now.done or not files:
        middle = SeenElement("text", "", (100, 140, 220, 180))
        return RuleAnswer([click(middle), write("ls"), press("<Enter>")], "listed the files")
    return RuleAnswer([write(f"rm {files[-1]}"), press("<Enter>")], "deleted")


def dismissed(now: Situation) -> RuleAnswer | None:
    """Something came between that the task doesn't know: it is asked away."""
    names = {plain(each.text): each for each in now.of_kind("button")}
    away = next((names[word] for word in ("cancel", "no", "close", "dismiss") if word in names), None)
    asks = any("?" in each.text for each in now.of_kind("text"))
    if away is None or not asks or now.of_kind(*FIELDS) or plain(away.text) in now.lower or "dialog" in now.lower:
        return None
    return RuleAnswer([click(away)], "asked it away")


# Things to click


def widget(now: Situation) -> RuleAnswer | None:
    """Click on a kind of widget."""
    if "widget" not in now.lower or not now.quotations:
        return None
    kind = WIDGETS.get(now.quotations[0].lower(), now.quotations[0].lower())
    found = now.of_kind(kind)
    return RuleAnswer([click(found[0])], "clicked") if found else None


RULES = (search_result, terminal, posts, messages, looked_for, dismissed, widget)
LAST = (clicked_in_order, only_button)
