"""A memory with many values masks as one with few does, and soon."""

from __future__ import annotations

import random
import re
import string
import time
from collections.abc import Mapping
from unicodedata import digit, normalize

import pytest

from sdg.llm import secrets
from sdg.llm.secrets import replacer
from sdg.privacy.likeness import Likeness
from sdg.privacy.memory import MAX_VALUES, Placeholders

LETTERS = "aAbBsSıİiIßẞſKkéÉe\u0301\u0307σςΣﬅﬆǰŉᾳᾼµμ_ ().-+%&'\"\\<>0123456789４٧\n"
ALPHABETS = (LETTERS, "0123456789 -", "aAbB", "ab1 ")


def plain(text: str) -> str:
    """Letters and digits of other kinds as plain ones."""
    letters = [(letter, normalize("NFKC", letter)) for letter in text]
    single = [kind if len(kind) == 1 else letter for letter, kind in letters]
    return "".join(str(digit(letter)) if letter.isdecimal() else letter for letter in single)


def replaced_by_one_expression(text: str, marks: Mapping[str, str], *, whole_below: int, numbers: bool) -> str:
    """What `replacer` does, by an expression with all forms, which is slow where there are many."""
    forms: dict[str, str] = {}
    for secret, mark in marks.items():
        for form in secrets._forms(secret):
            literal = re.escape(plain(form))
            forms.setdefault(literal if len(secret) >= whole_below else rf"(?<!\w){literal}(?!\w)", mark)
        digits = [letter for letter in plain(secret) if letter.isdecimal()]
        if numbers and (len(digits) >= secrets.DIGITS or (len(digits) == len(secret) > 2)):
            blank = " ?" if len(digits) >= secrets.SHORTEST else ""
            between = "[ ().-]{0,2}" if len(digits) >= secrets.DIGITS else blank
            forms.setdefault(r"(?<!\d)" + between.join(digits) + r"(?!\d)", mark)
    ordered = sorted(forms, key=len, reverse=True)
    pieces, end = [], 0
    for match in re.finditer("|".join(f"({form})" for form in ordered), plain(text), re.IGNORECASE):
        pieces += [text[end : match.start()], forms[ordered[(match.lastindex or 1) - 1]]]
        end = match.end()
    return "".join([*pieces, text[end:]])


@pytest.mark.parametrize("seed", range(60))
def test_values_are_found_as_by_one_expression_with_all_their_forms(seed: int) -> None:
    rng = random.Random(seed)

    def letters(alphabet: str, most: int) -> str:
        return "".join(rng.choices(alphabet, k=rng.randint(1, most)))

    marks = {letters(rng.choice(ALPHABETS), 12): f"<{n}>" for n in range(rng.choice((1, 3, 12)))}
    options = {"whole_below": rng.choice((0, 6)), "numbers": rng.random() < 0.7}
    replace = replacer(marks, **options)
    forms = [form for secret in marks for form in secrets._forms(secret)]
    for _ in range(5):
        found = [rng.choice((str.upper, str.lower, str.swapcase, str))(form) for form in rng.choices(forms, k=6)]
        spaced = [secret.replace("1", " 1").replace("2", "-2") for secret in rng.choices(list(marks), k=2)]
        pieces = [*found, *spaced, *(letters(LETTERS, 6) for _ in range(6))]
        rng.shuffle(pieces)
        text = rng.choice(("", " ")).join(pieces)
        assert replace(text) == replaced_by_one_expression(text, marks, **options), (marks, text)


def test_likenesses_are_found_whatever_part_of_them_is_misread() -> None:
    rng = random.Random(0)
    seen = 0
    for _ in range(2000):
        value = "".join(rng.choices("abcdef123", k=rng.randint(6, 16)))
        letters = list(value)
        for place in rng.sample(range(len(value)), len(value) // 5):
            letters[place] = rng.choice("abcdef123")
        owners = Likeness({"x": value}, 99).owners(f"it is {''.join(letters)} now", misread=True)
        seen += owners[6 + len(value) - 1] == "x"
    assert seen == 2000


@pytest.mark.parametrize("kind", ["codes", "numbers", "short", "names"])
def test_two_thousand_values_are_masked_within_a_second(kind: str) -> None:
    rng = random.Random(0)

    def word(fewest: int, most: int, letters: str = string.ascii_lowercase) -> str:
        return "".join(rng.choices(letters, k=rng.randint(fewest, most)))

    makers = {
        "codes": lambda: word(12, 12, string.ascii_letters + string.digits),
        "numbers": lambda: f"0{word(10, 10, string.digits)}",
        "short": lambda: word(2, 3),
        "names": lambda: f"{word(2, 6)} {word(2, 6)}",
    }
    memory = Placeholders({f"v{n}": makers[kind]() for n in range(MAX_VALUES)})
    values = [memory.fill(f"{{v{n}}}") for n in range(0, MAX_VALUES, 40)]
    text = " ".join([*values, *(word(2, 9) for _ in range(2000))])[:8000]
    memory.mask("made ready")
    began = time.process_time()
    masked = memory.mask(text)
    seconds = time.process_time() - began
    assert masked.count("{v") >= len(values)
    assert seconds < 1.0
