"""Rules for pages: things to click by name, things behind tabs and sections, lists, messages, a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from sdg.llm.webrules.rules import RuleAnswer, click, clicked_in_order, fill, icon, only_button, submit_form
from sdg.llm.webrules.situation import FIELDS, SeenElement, Situation, bare_text, is_same_word, part_of_line, similarity
from training.screen_expert.acts import press, scroll, write
from training.screen_expert.forms import ordinal, text_lines
from training.screen_expert.situation import NotedSituation

WIDGETS = {"text": "textbox", "textarea": "text area", "checkbox": "checkbox", "radio": "radio", "button": "button",
           "dropdown": "dropdown", "link": "link", "icon": "icon"}  # fmt: skip
MARKS = {"star": "star", "delete": "trash"}
"""What marks a message -> the name of its icon."""
NO_NAMES = (
    "find please can could you i forward send open give the from to by email emails mail message primary inbox reply "
    "mark delete command last respond star trash tell say saying remove locate go retrieve yesterday today read move "
    "click show look search get let we would if in my this that locate see check choose select use hey kindly share "
    "pass need want there it last new"
)
"""Words that begin sentences and name nobody."""
SEND_BUTTON = SeenElement("icon", "", (282, 10, 310, 38))
"""Where a message is sent from if nothing is seen there."""


# Messages


def handle_message(now: Situation) -> RuleAnswer | None:
    """Find the message of somebody and answer, forward, mark or delete it."""
    if not re.search(r"\b(e-?mails?|mails?|messages?|information)\b", now.lower):
        return None
    sender, recipient = sender_and_recipient(now)
    verb = message_verb(now)
    subjects = [element for element in now.elements if element.text and bare_text(element.text).startswith("subject")]
    addressee = now.find_named("to me", "text")
    if addressee is not None:
        return _act_on_open_message(now, verb)
    if subjects:
        return _write_and_send(now, verb, recipient, subject_y=subjects[0].y)
    row = next((text for text in now.of_kind("text", "link") if _is_person(text, sender)), None)
    if row is None:
        # More messages lie further down.
        scrolls = sum("SCROLL" in command for command in now.done)
        return RuleAnswer(scroll((150, 200), down=scrolls < 12, times=2), f"looked for {sender}") if sender else None
    if verb in MARKS:
        beside = [button for button in now.of_kind("icon", "button") if -10 < button.y - row.y < 50]
        mark = icon(now, MARKS[verb], beside)
        if mark:
            return RuleAnswer([click(mark)], "marked")
    return RuleAnswer([click(row)], f"opened {sender}")


def _act_on_open_message(now: Situation, verb: str) -> RuleAnswer | None:
    """Choose forward or reply, star or delete, on a message that is open."""
    if verb in MARKS:
        mark = icon(now, MARKS[verb])
        return RuleAnswer([click(mark)], "marked") if mark else None
    label = now.find_named(verb.title(), "text", "button", "link")
    button = icon(now, verb) or label
    if label is not None and button is label and label.kind == "text":
        above = [element for element in now.of_kind("icon", "button") if abs(element.x - label.x) < 20]
        button = above[0] if above else label
    return RuleAnswer([click(button)], f"chose {verb}") if button else None


def _write_and_send(now: Situation, verb: str, recipient: str, *, subject_y: int) -> RuleAnswer:
    """Fill in the recipient of a forwarded message or the text of a reply, and send it."""
    areas, fields = now.of_kind("text area"), now.of_kind("textbox")
    if verb == "forward":
        above = [field for field in fields if field.y < subject_y]
        target = above[0] if above else SeenElement("textbox", "", (80, subject_y - 50, 280, subject_y - 22))
        text = recipient
    else:
        below = [field for field in (*areas, *fields) if field.y > subject_y]
        target = below[0] if below else SeenElement("text area", "", (10, subject_y + 30, 300, subject_y + 130))
        text = reply_text(now)
    corner = [element for element in now.elements if element.x > 240 and element.y < subject_y - 20]
    button = corner[0] if corner else SEND_BUTTON
    return RuleAnswer([click(target), write(text), click(button)], "written and sent")


def _is_person(line: SeenElement, name: str) -> bool:
    words = line.text.split()
    if not words or not name:
        return False
    return is_same_word(words[0], name) or similarity(words[0], name) > 0.85


def message_verb(now: Situation) -> str:
    """What the task wants of the message: reply, delete, star or forward."""
    unquoted = re.sub(r'"[^"]*"', "", now.lower)
    if re.search(r"\b(repl|respon|answer)", unquoted):
        return "reply"
    if re.search(r"\b(delet|trash|remov|get rid)", unquoted):
        return "delete"
    if re.search(r"\b(star|starred|important|mark|marked|flag|flagged)\b", unquoted):
        return "star"
    return "forward"


def reply_text(now: Situation) -> str:
    """The words of the reply."""
    if now.quotations:
        return now.quotations[-1]
    match = re.search(r"(?:reply|respond|say|saying|text|message|with)[:,]?\s+([^,]+?)$", now.task, re.I)
    return match[1].strip() if match else ""


def sender_and_recipient(now: Situation) -> tuple[str, str]:
    """The sender of the message, and the other person that the task names."""
    unquoted = re.sub(r'"[^"]*"', " ", now.task)
    names = [word for word in re.findall(r"\b[A-Z][A-Za-z]+\b", unquoted) if word.lower() not in NO_NAMES.split()]
    origin = re.search(r"\b(?:from|by)\s+(?:my )?([A-Z][A-Za-z]+)", unquoted)
    owner = re.search(r"\b([A-Z][A-Za-z]+)['’]s\b", unquoted.replace("Yesterday", "yesterday"))
    match = origin or owner
    if match and match[1] in names:
        sender = match[1]
    elif len(names) == 1:
        sender = names[0]
    else:
        goal = re.search(r"\b(?:to|for)\s+([A-Z][A-Za-z]+)", unquoted)
        first = names[0] if names else ""
        sender = next((name for name in names if goal is None or name != goal[1]), first)
    return sender, next((name for name in names if name != sender), "")


# Posts


def press_on_posts(now: NotedSituation) -> RuleAnswer | None:
    """Press a button that belongs to the posts of a user, on one of them or on as many as the task says."""
    user = re.search(r"@(\w+)", now.task)
    if user is None or not now.quotations:
        return None
    name = now.quotations[0]
    count = re.search(r"\bon (\d+) posts?\b", now.lower)
    entry = _menu_entry(now, name, user[1])
    if entry is not None and not count:
        return RuleAnswer([click(entry)], "chose from the menu")
    posts = _icons_by_post(now, user[1])
    buttons = [button for icons in posts if (button := icon(now, name, icons)) is not None]
    if count:
        return _press_several(now, buttons, int(count[1]))
    if buttons:
        return RuleAnswer([click(buttons[0])], "pressed")
    if now.thoughts and now.thoughts[-1] in ("opened the menu", "looked for the rest of the menu"):
        return RuleAnswer(scroll((60, 200), down=True), "looked for the rest of the menu")
    menus = [button for icons in posts if (button := icon(now, "more", icons)) is not None]
    if menus:
        return RuleAnswer([click(menus[0])], "opened the menu")
    return RuleAnswer(scroll((150, 200), down=True, times=2), "looked further down")


def _menu_entry(now: Situation, name: str, user: str) -> SeenElement | None:
    """The entry of an open menu that has a name, alone or with the user's."""
    for element in now.of_kind("text", "button", "link"):
        is_like = max(similarity(element.text, words) for words in (name, f"{name} @{user}")) > 0.9
        if is_like and bare_text(element.text)[:1] == bare_text(name)[:1]:
            return part_of_line(element, name) or element
    return None


def _icons_by_post(now: Situation, user: str) -> list[list[SeenElement]]:
    """The icons of each post of a user: those between its head, which names the user, and the next head."""
    heads = [text for text in now.of_kind("text", "link") if "@" in text.text]
    posts = []
    for number, head in enumerate(heads):
        handle = re.search(r"@(\w+)", head.text)
        if handle and similarity(handle[1], user) > 0.85:
            end = heads[number + 1].place[1] if number + 1 < len(heads) else 330
            posts.append([element for element in now.of_kind("icon") if head.place[1] < element.y < end])
    return posts


def _press_several(now: NotedSituation, buttons: Sequence[SeenElement], count: int) -> RuleAnswer:
    """Press `count` of the buttons, those further down too; the notes keep how many were pressed."""
    notes = [re.match(r"pressed (\d+)", note) for note in now.thoughts]
    missing = count - sum(int(match[1]) for match in notes if match)
    fresh = list(buttons)[:missing]
    note = f"pressed {len(fresh)}"
    submit = next((button for button in now.of_kind("button") if bare_text(button.text) == "submit"), None)
    if missing <= len(fresh) and submit is not None and (fresh or missing == 0):
        return RuleAnswer([*map(click, fresh), click(submit)], note)
    onward = scroll((150, 200), down=True, times=4 if fresh else 5)
    return RuleAnswer([*map(click, fresh), *onward], note)


# Things behind others


def find_hidden(now: NotedSituation) -> RuleAnswer | None:
    """Open tabs, sections or folders one after another until the wanted link or word shows."""
    if re.search(r"\b(?:tabs?|sections?|tree|folders?)\b", now.lower) is None:
        return None
    openers = _openers(now)
    if not now.quotations or "find" not in now.lower:
        if "expand" not in now.lower or not openers:
            return None
        return _expand(now, openers[0][1])
    matches = _shown_matches(now, now.quotations[0])
    has_missed = bool(now.thoughts) and now.thoughts[-1].startswith("found it")
    if matches and not has_missed:
        return RuleAnswer([click(matches[0])], "found it")
    if len(matches) > 1 and now.thoughts[-1] == "found it":
        return RuleAnswer([click(matches[1])], "found it there")
    opened = {note.partition("opened ")[2] for note in now.thoughts}
    for name, opener in openers:
        if name not in opened:
            return RuleAnswer([click(opener)], f"opened {name}")
    return RuleAnswer(scroll((150, 200), down=True, times=3), "looked further down")


def _expand(now: Situation, opener: SeenElement) -> RuleAnswer:
    """Open a section and send."""
    if now.done:
        return submit_form(now, [])
    if now.submit() is None:
        return submit_form(now, [click(opener)])
    return RuleAnswer([click(opener)], "opened")


def _shown_matches(now: Situation, words: str) -> list[SeenElement]:
    """The links with these words; on a page without links, the places where its text holds them."""
    links = now.of_kind("link")
    if links:
        exact = [link for link in links if link.text.strip() == words]
        return exact or [link for link in links if bare_text(link.text) == bare_text(words)]
    texts = [text for text in now.of_kind("text") if not re.match(r"section #", text.text, re.I)]
    places = [part_of_line(text, words) for text in texts]
    return [place for place in places if place is not None]


def _openers(now: Situation) -> list[tuple[str, SeenElement]]:
    """What opens something, each with its name: the tabs, or else the sections, or else the folders."""
    tabs = sorted(now.of_kind("tab"), key=lambda tab: tab.x)
    if tabs:
        return [(tab.text or str(number), tab) for number, tab in enumerate(tabs)]
    sections = [element for element in now.elements if re.match(r"section #?\w+$", element.text.strip(), re.I)]
    if sections:
        return [(section.text, section) for section in sections]
    folders = [element for element in now.of_kind("icon") if "plus" in element.look]
    return [(f"folder at {folder.y} of {len(now.elements)}", folder) for folder in folders]


def open_search_result(now: NotedSituation) -> RuleAnswer | None:
    """Search, then click the nth result; results may go over several pages."""
    if "search result" not in now.lower or not now.quotations:
        return None
    texts = now.of_kind("text", "link")
    addresses = [text for text in texts if re.match(r"(https?:|www)", text.text.strip().lower())]
    fields = now.of_kind(*FIELDS)
    if not addresses:
        return submit_form(now, fill(fields[0], now.quotations[0])) if fields else None
    index = ordinal(now.lower, 1) - 1
    page = sum(note.startswith("page") for note in now.thoughts)
    if index // 3 > page:
        next_page = _page_link(now, str(page + 2))
        return RuleAnswer([click(next_page)], f"page {page + 2}") if next_page else None
    place = min(index % 3, len(addresses) - 1)
    address = sorted(addresses, key=lambda text: text.y)[place]
    above = [text for text in texts if 6 < address.y - text.y < 34]
    title = max(above, key=lambda text: (text.kind == "link", text.y), default=None)
    return RuleAnswer([click(title)], "clicked the result") if title else None


def _page_link(now: Situation, number: str) -> SeenElement | None:
    """The link to a page of results, alone or in a row of them that was read as one word."""
    low = [text for text in now.of_kind("link", "text") if text.y > 240]
    rows = [text for text in low if re.fullmatch(r"[\d<>≤≥«»|l\s]+", text.text)]
    alone = next((row for row in rows if row.text.strip() == number), None)
    if alone is not None:
        return alone
    for row in rows:
        signs = [sign for sign in row.text if not sign.isspace()]
        if number in signs:
            width = (row.place[2] - row.place[0]) / len(signs)
            x0 = row.place[0] + round(width * signs.index(number))
            return replace(row, place=(x0, row.place[1], x0 + round(width), row.place[3]))
    return next((row for row in rows if row.text.strip() in (">", "≥", "»")), None)


def use_terminal(now: Situation) -> RuleAnswer | None:
    """List files in a terminal, then delete the one that is meant."""
    if "terminal" not in now.lower:
        return None
    words = " ".join(text_lines(now.of_kind("text"))).split()
    extension = re.search(r"extension (\.[\w.]*\w)", now.lower)
    if extension is not None:
        ending = extension[1]
        files = [word for word in words if word.lower().endswith(ending) and word.lower() != ending]
    elif "no file extension" in now.lower:
        files = [word for word in _listed_files(words) if "." not in word]
    else:
        files = []
    if not now.done or not files:
        middle = SeenElement("text", "", (100, 140, 220, 180))
        return RuleAnswer([click(middle), write("ls"), press("<Enter>")], "listed the files")
    return RuleAnswer([write(f"rm {files[-1]}"), press("<Enter>")], "deleted")


def _listed_files(words: Sequence[str]) -> Sequence[str]:
    """The words of a terminal between the first `ls` and the next prompt."""
    if "ls" not in words:
        return ()
    listed = words[words.index("ls") + 1 :]
    return listed[: listed.index("user$")] if "user$" in listed else listed


def dismiss_popup(now: Situation) -> RuleAnswer | None:
    """Click away a question that the task doesn't mention."""
    buttons = {bare_text(button.text): button for button in now.of_kind("button")}
    names = [name for name in ("cancel", "no", "close", "dismiss") if name in buttons]
    if not names or names[0] in now.lower or "dialog" in now.lower:
        return None
    asks = any("?" in text.text for text in now.of_kind("text"))
    if not asks or now.of_kind(*FIELDS):
        return None
    return RuleAnswer([click(buttons[names[0]])], "asked it away")


# Things to click


def click_widget(now: Situation) -> RuleAnswer | None:
    """Click on a kind of widget."""
    if "widget" not in now.lower or not now.quotations:
        return None
    name = now.quotations[0].lower()
    widgets = now.of_kind(WIDGETS.get(name, name))
    return RuleAnswer([click(widgets[0])], "clicked") if widgets else None


RULES = (
    open_search_result, use_terminal, press_on_posts, handle_message, find_hidden, dismiss_popup, click_widget,
)  # fmt: skip
LAST = (clicked_in_order, only_button)
