"""Rules for forms: fields, ticks, choices, dates, sums, words that are read and written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from sdg.llm.webrules.rules import (
    RuleAnswer,
    click,
    fill,
    labelled_fields,
    submit_form as ended,
    tick,
)
from sdg.llm.webrules.situation import FIELDS, SeenElement, Situation, alike, plain
from training.screen_expert.acts import at, press, write

MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
          "november", "december")  # fmt: skip


def wanted_values(task: str) -> list[tuple[str, str]]:
    """What a task wants to stand where, as (words of the label, value): the username "juan", directed by Hart."""
    found = [(label, value) for label, value in re.findall(r'(\w+)\s+"([^"]+)"', task)]
    found += [("year date released", year) for year in re.findall(r"\byear (\d{4})\b", task)]
    found += [("director directed", name) for name in re.findall(r"\b(?:directed )?by (\w+)", task)]
    found += [("genre type category", word) for word in re.findall(r"\b(\w+) (?:movies|films|books)\b", task)]
    return found


def entered_text(now: Situation) -> RuleAnswer | None:
    """Type what is quoted into the one field."""
    fields = now.of_kind(*FIELDS)
    if not fields or not now.quotations or not re.search(r"\b(enter|type|write|input|put)\b", now.lower):
        return None
    if re.search(r"\b(starts with|result|item that)\b", now.lower):
        return None
    text = now.quotations[0]
    if "lower case" in now.lower or "lowercase" in now.lower:
        text = text.lower()
    if "upper case" in now.lower or "uppercase" in now.lower:
        text = text.upper()
    return ended(now, fill(fields[0], text))


def focused_field(now: Situation) -> RuleAnswer | None:
    """Focus into the 2nd textbox."""
    fields = sorted(now.of_kind(*FIELDS), key=lambda each: (each.y, each.x))
    if not fields or not re.match(r"(focus|click)\b.*\b(textbox|text ?field|text ?area|input)\b", now.lower):
        return None
    return RuleAnswer([click(fields[min(ordinal(now.lower, 1), len(fields)) - 1])])


def ordinal(task: str, otherwise: int) -> int:
    """The number of "3rd", "first" or "last" in a task."""
    match = re.search(r"\b(\d+)(?:st|nd|rd|th)\b", task)
    words = ("first", "second", "third", "fourth", "fifth", "sixth")
    named = next((n for n, word in enumerate(words, 1) if re.search(rf"\b{word}\b", task)), None)
    return int(match[1]) if match else named or otherwise


def copied_text(now: Situation) -> RuleAnswer | None:
    """Copy the text of one field into another."""
    if not re.search(r"\bcopy\b.*\bpaste\b", now.lower):
        return None
    fields = now.of_kind(*FIELDS)
    source = max(fields, key=lambda each: (each.kind == "text area", len(each.text)), default=None)
    target = next((each for each in fields if each is not source), None)
    if source is None or target is None:
        return None
    return ended(now, [click(source), press("C-a"), press("C-c"), click(target), press("C-v")])


def read_word(now: Situation) -> RuleAnswer | None:
    """Type the nth word of a paragraph."""
    match = re.search(r"\b(\d+)(?:st|nd|rd|th) word\b", now.lower)
    fields = now.of_kind(*FIELDS)
    if match is None or not fields:
        return None
    words = [word for line in lines(now.of_kind("text", "link"), before=fields[0].place[1]) for word in line.split()]
    words = [word for word in words if plain(word)]
    if not words:
        return None
    word = words[min(int(match[1]), len(words)) - 1].strip(".,;:!?")
    return ended(now, fill(fields[0], word))


def lines(texts: Sequence[SeenElement], *, before: int = 320) -> list[str]:
    """Texts as lines, from top to bottom, each from left to right."""
    rows: list[list[SeenElement]] = []
    for each in sorted((each for each in texts if each.y < before), key=lambda each: each.y):
        if rows and abs(rows[-1][0].y - each.y) < 9:
            rows[-1].append(each)
        else:
            rows.append([each])
    return [" ".join(each.text for each in sorted(row, key=lambda each: each.x)) for row in rows]


def read_table(now: Situation) -> RuleAnswer | None:
    """Enter the value that stands beside a name."""
    match = re.search(r"\bvalue (?:of|for) (?:the )?\"?(.+?)\"? (?:into|in)\b", now.task, re.I)
    fields = now.of_kind(*FIELDS)
    if match is None or not fields:
        return None
    name = now.find_named(match[1], "text")
    if name is None:
        return None
    beside = [each for each in now.of_kind("text") if abs(each.y - name.y) < 12 and each.place[0] > name.place[2]]
    if beside:
        return ended(now, fill(fields[0], min(beside, key=lambda each: each.x).text))
    whole = next((each.text for each in now.of_kind("text") if abs(each.y - name.y) < 6), "")
    rest = " ".join(whole.split()[len(match[1].split()) :])
    return ended(now, fill(fields[0], rest)) if rest else None


def shown_text(now: Situation) -> RuleAnswer | None:
    """Type the text that is shown."""
    fields = now.of_kind(*FIELDS)
    if not fields or not re.search(r"\btype the (text|word|letters)\b", now.lower):
        return None
    shown = "".join(line.replace(" ", "") for line in lines(now.of_kind("text"), before=fields[0].place[1]))
    return ended(now, fill(fields[0], shown)) if shown else None


def solved_sum(now: Situation) -> RuleAnswer | None:
    """An addition, a subtraction, a product, or one unknown, that stands on the screen."""
    fields = now.of_kind(*FIELDS)
    if not fields or not re.search(r"\b(math|solve|arithmetic|calculate|algebra)\b", now.lower):
        return None
    for line in lines(now.of_kind("text")):
        text = line.replace("×", "*").replace("÷", "/").replace("−", "-").replace("–", "-").lower()
        answer = _solve(text, unknown="for x" in now.lower)
        if answer is not None:
            return ended(now, fill(fields[0], str(answer)))
    return None


def _solve(text: str, *, unknown: bool) -> int | None:
    squeezed = text.replace(" ", "")
    if unknown:
        match = re.match(r"(x|\d+)([-+*/])(x|\d+)=(-?\d+)$", squeezed)
        if match is None:
            return None
        a, operator, b, total = match[1], match[2], match[3], int(match[4])
        x_first = a == "x"
        known = int(b if x_first else a) if (b if x_first else a) != "x" else 0
        return {
            "+": total - known,
            "-": total + known if x_first else known - total,
            "*": total // known if known else 0,
            "/": total * known if x_first else (known // total if total else 0),
        }[operator]
    match = re.match(r"(\d+)([-+*x/])(\d+)=?", squeezed)
    if match is None:
        return None
    first, second = int(match[1]), int(match[3])
    return {"+": first + second, "-": first - second, "*": first * second, "x": first * second,
            "/": first // second if second else 0}[match[2]]  # fmt: skip


def completed_entry(now: Situation) -> RuleAnswer | None:
    """An entry that starts and ends with something: type the start, take it from the list."""
    match = re.search(r'starts with "([^"]+)"(?: and ends with "([^"]+)")?', now.task)
    fields = now.of_kind(*FIELDS)
    if match is None or not fields:
        return None
    start, end = match[1], match[2] or ""
    field = fields[0]
    listed = [
        each for each in now.of_kind("text", "link", "button") if each.y > field.y and plain(each.text) != "submit"
    ]
    # A long entry goes over two lines.
    wholes = [(each, f"{each.text} {after.text}") for each, after in pairwise(listed)]
    fits = [
        each
        for each, text in [*((each, each.text) for each in listed), *wholes]
        if plain(text).startswith(plain(start)) and plain(text).endswith(plain(end))
    ]
    if field.text and not fits and plain(field.text).startswith(plain(start)) and plain(field.text) != plain(start):
        return ended(now, [])
    if fits:
        return RuleAnswer([click(fits[0])], "picked")
    if field.text and now.done:
        return RuleAnswer([*fill(field, start)], "typed again")
    return RuleAnswer([click(field), write(start)], "typed the start")


def chosen_date(now: Situation) -> RuleAnswer | None:
    """Select a date: open the calendar, turn to the month, click the day."""
    match = re.search(r"\b(\d{1,2})/(\d{1,2})/(\d{4})\b", now.task)
    fields = now.of_kind(*FIELDS)
    if match is None or not fields or "select" not in now.lower:
        return None
    month, day, year = map(int, match.groups())
    if any(match[0] in each.text for each in fields):
        return ended(now, [])
    shown = _month_shown(now)
    if shown is None:
        return RuleAnswer([click(fields[0])], "opened the calendar")
    head, at_month, at_year = shown
    months = (year - at_year) * 12 + month - at_month
    if months:
        arrows = [each for each in now.of_kind("icon", "button", "link") if abs(each.y - head.y) < 20]
        side = [each for each in arrows if (each.x > head.x) == (months > 0)]
        point = (max if months > 0 else min)((each.middle for each in side), default=None)
        edge = point or ((292 if months > 0 else 24), head.y)
        return RuleAnswer([at("CLICK_COORDS", edge)] * min(abs(months), 20), f"{months} months to go")
    days = [each for each in now.elements if each.text.strip() == str(day) and each.y > head.y]
    return RuleAnswer([click(days[0])], "picked the day") if days else None


def _month_shown(now: Situation) -> tuple[SeenElement, int, int] | None:
    for line in _rows(now):
        text = plain(" ".join(each.text for each in line))
        year = re.search(r"\b(\d{4})\b", text)
        month = next((n for n, name in enumerate(MONTHS, 1) if any(alike(word, name) for word in text.split())), None)
        if year and month:
            return line[0], month, int(year[1])
    return None


def _rows(now: Situation) -> list[list[SeenElement]]:
    rows: list[list[SeenElement]] = []
    for each in sorted((each for each in now.elements if each.text), key=lambda each: each.y):
        if rows and abs(rows[-1][0].y - each.y) < 12:
            rows[-1].append(each)
        else:
            rows.append([each])
    return rows


RULES = (
    chosen_date, copied_text, completed_entry, tick, labelled_fields, read_word, read_table, shown_text, solved_sum,
    focused_field, entered_text,
)  # fmt: skip
