"""Rules for forms: fields, ticks, choices, dates, sums, words that are read and written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from sdg.llm.webrules.rules import RuleAnswer, click, fill, labelled_fields, submit_form, tick
from sdg.llm.webrules.situation import FIELDS, SeenElement, Situation, bare_text, is_same_word
from training.screen_expert.acts import at, press, write

MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
          "november", "december")  # fmt: skip
DESCRIBED: Mapping[str, str] = {
    "year_date_released": r"\byear (\d{4})\b",
    "director_directed": r"\b(?:directed )?by (\w+)",
    "genre_type_category": r"\b(\w+) (?:movies|films|books)\b",
}
"""Words of a field's label -> how a task names its value where it doesn't quote it."""


def enter_text(now: Situation) -> RuleAnswer | None:
    """Type the quoted text into the only field."""
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
    return submit_form(now, fill(fields[0], text))


def focus_field(now: Situation) -> RuleAnswer | None:
    """Focus into the 2nd textbox."""
    fields = sorted(now.of_kind(*FIELDS), key=lambda field: (field.y, field.x))
    if not fields or not re.match(r"(focus|click)\b.*\b(textbox|text ?field|text ?area|input)\b", now.lower):
        return None
    number = min(ordinal(now.lower, 1), len(fields))
    return RuleAnswer([click(fields[number - 1])])


def ordinal(task: str, otherwise: int) -> int:
    """The number of "3rd", "first" or "last" in a task."""
    match = re.search(r"\b(\d+)(?:st|nd|rd|th)\b", task)
    if match:
        return int(match[1])
    words = ("first", "second", "third", "fourth", "fifth", "sixth")
    return next((n for n, word in enumerate(words, 1) if re.search(rf"\b{word}\b", task)), otherwise)


def copy_text(now: Situation) -> RuleAnswer | None:
    """Copy the text of one field into another."""
    if not re.search(r"\bcopy\b.*\bpaste\b", now.lower):
        return None
    fields = now.of_kind(*FIELDS)
    source = max(fields, key=lambda field: (field.kind == "text area", len(field.text)), default=None)
    target = next((field for field in fields if field is not source), None)
    if source is None or target is None:
        return None
    return submit_form(now, [click(source), press("C-a"), press("C-c"), click(target), press("C-v")])


def described_fields(now: Situation) -> RuleAnswer | None:
    """Several fields whose values the task describes: movies of a genre, by somebody, from a year."""
    found = [f'{names} "{value}"' for names, how in DESCRIBED.items() for value in re.findall(how, now.task)]
    return labelled_fields(replace(now, task=f"{now.task} {' '.join(found)}"))


def type_nth_word(now: Situation) -> RuleAnswer | None:
    """Type the nth word of a paragraph."""
    match = re.search(r"\b(\d+)(?:st|nd|rd|th) word\b", now.lower)
    fields = now.of_kind(*FIELDS)
    if match is None or not fields:
        return None
    paragraph = " ".join(text_lines(now.of_kind("text", "link"), before=fields[0].place[1]))
    words = [word for word in paragraph.split() if bare_text(word)]
    if not words:
        return None
    word = words[min(int(match[1]), len(words)) - 1].strip(".,;:!?")
    return submit_form(now, fill(fields[0], word))


def text_lines(texts: Sequence[SeenElement], *, before: int = 320) -> list[str]:
    """Texts above `before` as lines from top to bottom, words from left to right."""
    rows = _rows_of((text for text in texts if text.y < before), within=9)
    return [" ".join(text.text for text in sorted(row, key=lambda text: text.x)) for row in rows]


def _rows_of(elements: Iterable[SeenElement], *, within: int) -> list[list[SeenElement]]:
    """Elements in rows from top to bottom; a row's elements are fewer than `within` pixels below its first."""
    rows: list[list[SeenElement]] = []
    for element in sorted(elements, key=lambda element: element.y):
        if rows and abs(rows[-1][0].y - element.y) < within:
            rows[-1].append(element)
        else:
            rows.append([element])
    return rows


def enter_table_value(now: Situation) -> RuleAnswer | None:
    """Enter the value that stands beside a name."""
    match = re.search(r"\bvalue (?:of|for) (?:the )?\"?(.+?)\"? (?:into|in)\b", now.task, re.I)
    fields = now.of_kind(*FIELDS)
    if match is None or not fields:
        return None
    name = now.find_named(match[1], "text")
    if name is None:
        return None
    texts = now.of_kind("text")
    beside = [text for text in texts if abs(text.y - name.y) < 12 and text.place[0] > name.place[2]]
    if beside:
        nearest = min(beside, key=lambda text: text.x)
        return submit_form(now, fill(fields[0], nearest.text))
    line = next((text.text for text in texts if abs(text.y - name.y) < 6), "")
    value = " ".join(line.split()[len(match[1].split()) :])
    return submit_form(now, fill(fields[0], value)) if value else None


def type_shown_text(now: Situation) -> RuleAnswer | None:
    """Type the text that is shown."""
    fields = now.of_kind(*FIELDS)
    if not fields or not re.search(r"\btype the (text|word|letters)\b", now.lower):
        return None
    lines = text_lines(now.of_kind("text"), before=fields[0].place[1])
    letters = "".join(lines).replace(" ", "")
    return submit_form(now, fill(fields[0], letters)) if letters else None


def solve_sum(now: Situation) -> RuleAnswer | None:
    """An addition, a subtraction, a product, or one unknown, that stands on the screen."""
    fields = now.of_kind(*FIELDS)
    if not fields or not re.search(r"\b(math|solve|arithmetic|calculate|algebra)\b", now.lower):
        return None
    for line in text_lines(now.of_kind("text")):
        text = line.replace("×", "*").replace("÷", "/").replace("−", "-").replace("–", "-").lower()
        terms = text.replace(" ", "")
        answer = _unknown_of(terms) if "for x" in now.lower else _result_of(terms)
        if answer is not None:
            return submit_form(now, fill(fields[0], str(answer)))
    return None


def _unknown_of(equation: str) -> int | None:
    """The x of "3+x=7" or "x-2=5"; None for other texts."""
    match = re.match(r"(x|\d+)([-+*/])(x|\d+)=(-?\d+)$", equation)
    if match is None:
        return None
    x_first, operator, total = match[1] == "x", match[2], int(match[4])
    operand = match[3] if x_first else match[1]
    number = int(operand) if operand != "x" else 0
    if operator == "+":
        return total - number
    if operator == "-":
        return total + number if x_first else number - total
    if operator == "*":
        return total // number if number else 0
    if x_first:
        return total * number
    return number // total if total else 0


def _result_of(expression: str) -> int | None:
    """The result of "3+4" or "3*4=?"; None for other texts."""
    match = re.match(r"(\d+)([-+*x/])(\d+)=?", expression)
    if match is None:
        return None
    first, operator, second = int(match[1]), match[2], int(match[3])
    if operator == "+":
        return first + second
    if operator == "-":
        return first - second
    if operator == "/":
        return first // second if second else 0
    return first * second


def complete_entry(now: Situation) -> RuleAnswer | None:
    """An entry that starts and ends with something: type the start, take it from the list."""
    match = re.search(r'starts with "([^"]+)"(?: and ends with "([^"]+)")?', now.task)
    fields = now.of_kind(*FIELDS)
    if match is None or not fields:
        return None
    start, end = match[1], match[2] or ""
    field = fields[0]
    below = [element for element in now.of_kind("text", "link", "button") if element.y > field.y]
    entries = [element for element in below if bare_text(element.text) != "submit"]
    # A long entry goes over two lines.
    texts = [(entry, entry.text) for entry in entries]
    texts += [(entry, f"{entry.text} {following.text}") for entry, following in pairwise(entries)]
    matches = [
        entry
        for entry, text in texts
        if bare_text(text).startswith(bare_text(start)) and bare_text(text).endswith(bare_text(end))
    ]
    if matches:
        return RuleAnswer([click(matches[0])], "picked")
    typed = bare_text(field.text)
    if field.text and typed.startswith(bare_text(start)) and typed != bare_text(start):
        return submit_form(now, [])
    if field.text and now.done:
        return RuleAnswer([*fill(field, start)], "typed again")
    return RuleAnswer([click(field), write(start)], "typed the start")


def choose_date(now: Situation) -> RuleAnswer | None:
    """Select a date: open the calendar, turn to the month, click the day."""
    match = re.search(r"\b(\d{1,2})/(\d{1,2})/(\d{4})\b", now.task)
    fields = now.of_kind(*FIELDS)
    if match is None or not fields or "select" not in now.lower:
        return None
    month, day, year = map(int, match.groups())
    if any(match[0] in field.text for field in fields):
        return submit_form(now, [])
    shown = _shown_month(now)
    if shown is None:
        return RuleAnswer([click(fields[0])], "opened the calendar")
    head, shown_month, shown_year = shown
    months = (year - shown_year) * 12 + month - shown_month
    if months:
        clicks = [at("CLICK_COORDS", _month_arrow(now, head, forward=months > 0))] * min(abs(months), 20)
        return RuleAnswer(clicks, f"{months} months to go")
    days = [element for element in now.elements if element.text.strip() == str(day) and element.y > head.y]
    return RuleAnswer([click(days[0])], "picked the day") if days else None


def _month_arrow(now: Situation, head: SeenElement, *, forward: bool) -> tuple[int, int]:
    """Where a click turns a calendar to the next or the previous month; `head` names the month that is open."""
    beside = [arrow for arrow in now.of_kind("icon", "button", "link") if abs(arrow.y - head.y) < 20]
    points = [arrow.middle for arrow in beside if (arrow.x > head.x) == forward]
    if forward:
        return max(points, default=(292, head.y))
    return min(points, default=(24, head.y))


def _shown_month(now: Situation) -> tuple[SeenElement, int, int] | None:
    """The first element of a calendar's head, its month and its year."""
    for row in _rows_of((element for element in now.elements if element.text), within=12):
        text = bare_text(" ".join(element.text for element in row))
        year = re.search(r"\b(\d{4})\b", text)
        month = next(
            (n for n, name in enumerate(MONTHS, 1) if any(is_same_word(word, name) for word in text.split())), None
        )
        if year and month:
            return row[0], month, int(year[1])
    return None


RULES = (
    choose_date, copy_text, complete_entry, tick, described_fields, type_nth_word, enter_table_value, type_shown_text,
    solve_sum, focus_field, enter_text,
)  # fmt: skip
