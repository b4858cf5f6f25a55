"""Templates with values filled in, and how well the values in them are masked."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sdg.gate.privacy.recognisers import Span

Values = Callable[[random.Random], Mapping[str, Callable[[], str]]]


@dataclass(frozen=True, slots=True)
class Instruction:
    """A text and where its sensitive values stand."""

    text: str
    values: tuple[Span, ...]


def fill(templates: Sequence[str], values: Values, *, count: int, seed: int) -> list[Instruction]:
    """`count` instructions: each template in turn, `<kind>` filled by the maker of that name."""
    rng = random.Random(seed)
    makers = values(rng)
    return [_filled(templates[number % len(templates)], makers) for number in range(count)]


def _filled(template: str, makers: Mapping[str, Callable[[], str]]) -> Instruction:
    text, spans = "", []
    for number, part in enumerate(re.split(r"<(\w+)>", template)):
        if number % 2:
            value = makers[part]()
            spans.append(Span(len(text), len(text) + len(value), part))
            text += value
        else:
            text += part
    return Instruction(text, tuple(spans))


@dataclass(frozen=True, slots=True)
class Masked:
    """Characters of a set: sensitive ones, those of them that were hidden, others, those of them that were hidden."""

    sensitive: int = 0
    hidden: int = 0
    others: int = 0
    hidden_others: int = 0
    whole: int = 0
    values: int = 0


def measure(
    instructions: Sequence[Instruction], find: Callable[[str], Sequence[Span]]
) -> tuple[Masked, list[tuple[str, str, str]]]:
    """The counts, and what was missed or hidden too much: ("missed" or "over", kind, text with [the part] marked)."""
    total, faults = [0] * 6, []
    for each in instructions:
        found = find(each.text)
        hidden = {place for span in found for place in range(span.start, span.end)}
        wanted = {place for span in each.values for place in range(span.start, span.end)}
        whole = [span for span in each.values if hidden.issuperset(range(span.start, span.end))]
        counts = (
            len(wanted),
            len(wanted & hidden),
            len(each.text) - len(wanted),
            len(hidden - wanted),
            len(whole),
            len(each.values),
        )
        total = [a + b for a, b in zip(total, counts, strict=True)]
        for word, spans, there in (("missed", each.values, hidden), ("over", found, wanted)):
            for span in spans:
                if not there.issuperset(range(span.start, span.end)):
                    marked = f"{each.text[: span.start]}[{each.text[span.start : span.end]}]{each.text[span.end :]}"
                    faults.append((word, span.kind, marked))
    return Masked(*total), faults
