"""What only looks like a value, a part of it or a misread one, is hidden on screens; ordinary words stay."""

from __future__ import annotations

import random
import string
import time

import pytest

from sdg.privacy.likeness import APART_RUN, RUN, Likeness, fold
from sdg.privacy.memory import Placeholders
from tests.shared.slowness import slowness

NOTE = "walrus orchid pretzel ninety"
CODE = "Il1O0-rn8B|lI1"
LETTER = ["".join(random.Random(n).choices("abcdefgh", k=6)) for n in range(430)]


def mask_screen(value: str, *texts: str, **more: object) -> list[str]:
    return Placeholders({"x": value}).mask_screen(texts, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (NOTE, "alrus orchid pretzel ninety"),
        (NOTE, "pretzel"),
        (NOTE, "s orch"),
        (NOTE, "WALRUS ORC..."),
        (NOTE, "Sent: walrvs orch1d"),
        (NOTE, "wa1rvs 0rchld pretze| n1nety"),
        (NOTE, "wxlrusorxhidprextzelxinety"),  # a letter in six is wrong
        (CODE, "[I1O0-rn8B|II1"),
        (CODE, "IIlOOm88|lll"),
        ("xK9_Il0O-vv5S", "xK9_II0O-w5s"),
        ("hunter", "humter"),
        ("Zürich-Wollishofen", "Zurich Wolli"),
        ("4111 1111 1111 1111", "x-11111"),
        (NOTE, "wаlrus оrсhіd рrеtzеl nіnеty"),  # Cyrillic letters
        (NOTE.upper(), "ΡRΕΤΖΕL"),  # Greek ones
        ("4111 1111 1111 1111", "٤١١١ ١١١١"),
    ],
)
def test_a_part_and_a_misread_value_are_hidden_as_a_whole(value: str, text: str) -> None:
    assert mask_screen(value, "Note", text) == ["Note", "{x}"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (NOTE, "the lid and wall of ninety"[:20]),
        (f"the phrase is {NOTE}", "This is the one"),
        (NOTE, "Send"),
        ("Ann Lee", "announcement"),
        ("4711", "a47110b"),
        ("hunter2-Canary", "hunt the canal"),
    ],
)
def test_ordinary_words_stay(value: str, text: str) -> None:
    assert mask_screen(value, text) == [text]


def test_what_surrounds_a_whole_value_stays() -> None:
    assert mask_screen(NOTE, f"Send {NOTE.upper()} now", "Send walrus orchid now") == ["Send {x} now", "{x}"]


@pytest.mark.parametrize("text", ["a47l1b", "471", "4711", "47l1"])
def test_in_a_field_that_it_was_typed_into_a_few_letters_are_enough(text: str) -> None:
    assert mask_screen("4711", "Code", text, fields=[0, 1], typed=["x"]) == ["Code", "{x}"]
    assert mask_screen("4711", "Code 4711 of 9", "no 47l1b, but other words", fields=[1], typed=["x"]) == [
        "Code {x} of 9", "no 47l1b, but other words",
    ]  # fmt: skip


def test_a_value_that_is_spread_over_fields_is_found() -> None:
    groups = ["Card", "4012", "8888", "8888", "1881", "Pay"]
    assert mask_screen("4012 8888 8888 1881", *groups) == ["Card", *["{x}"] * 4, "Pay"]
    assert mask_screen("471108", *"471108", "Next") == [*["{x}"] * 6, "Next"]


CARD = "4929 7317 6052 8804"


def test_a_value_in_pieces_among_other_words_is_found_in_order() -> None:
    parts = [f"Part {n}: {group}" for n, group in enumerate(CARD.split(), 1)]
    assert mask_screen(CARD, "Card", *parts, "Pay 49 EUR") == ["Card", *["{x}"] * 4, "Pay 49 EUR"]
    assert mask_screen(CARD, *parts[1:3], "4 of 4929") == ["{x}", "{x}", "4 of 4929"]
    assert mask_screen(CARD, "first 6052, then 8804") == ["{x}"]
    for others in (parts[:1], [parts[1], parts[0]], [parts[0], "Part 2: 73"], ["4", "9", "2", "9", "7", "3"]):
        assert mask_screen(CARD, *others) == others


def test_lines_that_are_read_together_are_masked_together() -> None:
    lines = [f"(Notice: the page said '{NOTE[n : n + 4]}')" for n in range(0, 28, 4)]
    harmless = ["(Notice: the page said 'go on')", ""]
    masked = Placeholders({"x": NOTE}).mask_lines([*lines, *harmless])
    assert masked == [*["(Notice: the page said '{x}')"] * 4, "(Notice: the page said '{x}", *masked[1:3], *harmless]
    entries = "; ".join(f"{n}) {NOTE[n : n + 4]}" for n in range(0, 28, 4))
    assert Placeholders({"x": NOTE}).mask_parts(entries) == "0) {x}; 4) {x}; 8) {x}; 12) {x}; 16) {x}; 20) {x}; 24{x}"


def test_words_lose_only_what_is_of_a_value() -> None:
    memory = Placeholders({"x": NOTE, "pin": "471108"})
    assert memory.mask_parts("refused: 'Send walrus orch' and {x}, 4711-08") == "refused: 'Send {x}' and {x}, {pin}"
    cut = f"refused: 'Send {NOTE[:20]}' can't be undone and wasn't confirmed"
    assert memory.mask_parts(cut) == "refused: 'Send {x}' can't be undone and wasn't confirmed"
    assert memory.mask_parts("refused: nothing of it") == "refused: nothing of it"
    assert Placeholders().mask_parts("as {it} is") == "as {it} is"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1" * 300, "111, " * 3000),
        ("4111 1111 1111 1111", "1111, " * 17_000),
        (" ".join(LETTER), ", ".join(LETTER * 20)),
    ],
    ids=["equal digits", "a card", "a letter by words"],
)
def test_long_values_in_pieces_are_found_in_moments(value: str, text: str) -> None:
    began = time.process_time()
    owners = Likeness({"x": value}, APART_RUN).owners_of_all([text])[0]
    assert time.process_time() - began < 3 * slowness()
    assert "x" in owners


def test_every_run_of_every_value_is_found() -> None:
    draw = random.Random(3)
    for _ in range(100):
        value = "".join(draw.choices(string.ascii_letters + string.digits + "-_ |", k=draw.randint(8, 40))).strip()
        letters, places = fold(value)
        if len(letters) < 6:
            continue
        start = draw.randrange(len(letters) - RUN + 1)
        part = value[places[start][0] : places[start + RUN - 1][1]]
        for spelling in (part, part.swapcase(), f"[{part} ?"):
            assert mask_screen(value, spelling) == ["{x}"], (value, part)


def test_a_few_wrong_letters_are_counted_as_edits() -> None:
    def edits(one: str, two: str) -> int:
        row = list(range(len(two) + 1))
        for n, a in enumerate(one, 1):
            before, row = row, [n]
            for m, b in enumerate(two, 1):
                row.append(min(before[m] + 1, row[-1] + 1, before[m - 1] + (a != b)))
        return row[-1]

    draw = random.Random(4)
    n_found = 0
    for _ in range(100):
        value = "".join(draw.choices("ace7", k=10))
        wrong = list(value)
        for _ in range(draw.randint(1, 4)):
            place = draw.randrange(len(wrong))
            wrong[place : place + draw.randint(0, 1)] = draw.choices("ace7", k=draw.randint(0, 1))
        text = f"e{''.join(wrong)}a"
        parts = (text[start:end] for start in range(len(text)) for end in range(start, len(text) + 1))
        near = any(edits(value, part) <= 2 for part in parts)
        assert any(Likeness({"x": value}, 99).owners(text, misread=True)) == near
        n_found += near
    assert 20 < n_found < 99


def test_of_a_value_shorter_than_a_run_all_letters_count() -> None:
    likeness = Likeness({"x": "quartz"}, 8)
    assert likeness.owners("quartz") == ["x"] * 6
    assert not any(likeness.owners("uartz quart artz"))
