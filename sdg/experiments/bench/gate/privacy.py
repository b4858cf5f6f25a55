"""How well private values are masked in instructions that the tagger didn't learn from.

    python -m training.text     learns the weights again
    sdg bench gate --world text

`instructions.jsonl.gz` has instructions with the places of their values: sets made from templates ("development",
"paraphrased", "forms") and sets by authors who had seen neither the rules nor the other sets. Those in HELD_OUT are
never learned from. Each instruction is learned from `COPIES` more times with other values of the same kind, because
templates are few and values many: so the tagger learns where values stand, not which they were.
"""

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdg.privacy.recognisers import Span, find, recognisers_of
from sdg.skills.statistics import wilson_interval

SETS = Path(__file__).parent / "instructions.jsonl.gz"
HELD_OUT = ("another hand", "further hand")


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A text and where its sensitive values stand."""

    text: str
    values: tuple[Span, ...]


def read_sets() -> dict[str, list[LabelledText]]:
    """All instructions, by author."""
    sets: dict[str, list[LabelledText]] = {}
    for line in gzip.decompress(SETS.read_bytes()).splitlines():
        row = json.loads(line)
        values = tuple(Span(*place) for place in row["values"])
        sets.setdefault(row["hand"], []).append(LabelledText(row["text"], values))
    return sets


def masking(*, names: Sequence[str] = ("development", *HELD_OUT)) -> Iterator[Mapping[str, Any]]:
    """A row per set: the hidden share of the characters in sensitive values (`masked`) and of all others
    (`over_masked`), and the share of values that are hidden whole."""
    recognisers, sets = recognisers_of(), read_sets()
    for name in names:
        counts = count_hidden(sets[name], lambda text: find(text, recognisers))
        whole = wilson_interval(counts["whole"], counts["values"])
        yield {
            "world": "text",
            "guard": "privacy",
            "kind": "learned",
            "set": name,
            "masked": round(counts["hidden"] / counts["sensitive"], 4),
            "over_masked": round(counts["hidden_others"] / counts["others"], 4),
            "whole_values": round(whole.value, 4),
            "low": round(whole.low, 4),
            "high": round(whole.high, 4),
            "n": len(sets[name]),
            "values": counts["values"],
        }


def count_hidden(instructions: Sequence[LabelledText], find: Callable[[str], Sequence[Span]]) -> Mapping[str, int]:
    """Characters in values (`sensitive`) and elsewhere (`others`), and the hidden ones of each; values, whole ones."""
    total = Counter[str]()
    for instruction in instructions:
        hidden_places = {place for span in find(instruction.text) for place in range(span.start, span.end)}
        value_places = {place for span in instruction.values for place in range(span.start, span.end)}
        total.update(
            sensitive=len(value_places),
            hidden=len(value_places & hidden_places),
            others=len(instruction.text) - len(value_places),
            hidden_others=len(hidden_places - value_places),
            whole=sum(hidden_places.issuperset(range(span.start, span.end)) for span in instruction.values),
            values=len(instruction.values),
        )
    return total
