"""The privacy tagger: its weights from instructions with known values, and how well values are masked in others.

    sdg train-guards --world text [--to FILE]
    sdg bench gate --world text

`instructions.jsonl.gz` has instructions with the places of their values: sets that were made from templates
("development", "paraphrased", "forms") and sets by hands that had seen neither rules nor other sets. Those of HELD_OUT
are never learned from. Templates are few and their values many: so that what is learned is where values stand and not
which they were, each instruction is learned from `COPIES` more times with values of the same kind in their places.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sdg.experiments.results.figures import cores
from sdg.privacy.recognisers import Span, find, recognisers_of
from sdg.privacy.tagger import ANY, SHIPPED, SIZE, evidence, facts, hash_facts, tokens
from sdg.skills.statistics import wilson_interval

SETS = Path(__file__).parent / "instructions.jsonl.gz"
HELD_OUT = ("another hand", "further hand")
COPIES = 3
KINDS = {
    "name": "person_name", "first": "person_name", "last": "person_name", "foreign": "person_name",
    "email": "email_address", "phone": "phone_number", "phone2": "phone_number", "phone3": "phone_number",
    "street": "address", "user": "user_name", "plainuser": "user_name", "cvv": "pin", "key": "api_key",
    "key2": "api_key", "card": "card_number", "card2": "card_number", "account": "account_number",
    "passport": "id_number", "ssn": "id_number", "dob": "date_of_birth", "dob2": "date_of_birth",
}  # fmt: skip
"""What kinds of the generated sets are called in the others."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """A text and where its sensitive values stand."""

    text: str
    values: tuple[Span, ...]


def read_sets() -> dict[str, list[Instruction]]:
    """All instructions, by whose they are."""
    found: dict[str, list[Instruction]] = {}
    for line in gzip.decompress(SETS.read_bytes()).splitlines():
        row = json.loads(line)
        found.setdefault(row["hand"], []).append(Instruction(row["text"], tuple(Span(*each) for each in row["values"])))
    return found


def masking(*, names: Sequence[str] = ("development", *HELD_OUT)) -> Iterator[Mapping[str, Any]]:
    """A row a set: of the characters of sensitive values the share that is hidden (`masked`), of all others the share
    that is (`over_masked`), and of the values those that are hidden whole."""
    recognisers, sets = recognisers_of(), read_sets()
    for name in names:
        counted = count_hidden(sets[name], lambda text: find(text, recognisers))
        whole = wilson_interval(counted["whole"], counted["values"])
        yield {
            "world": "text",
            "guard": "privacy",
            "kind": "learned",
            "set": name,
            "masked": round(counted["hidden"] / counted["sensitive"], 4),
            "over_masked": round(counted["hidden_others"] / counted["others"], 4),
            "whole_values": round(whole.value, 4),
            "low": round(whole.low, 4),
            "high": round(whole.high, 4),
            "n": len(sets[name]),
            "values": counted["values"],
        }


def count_hidden(instructions: Sequence[Instruction], find: Callable[[str], Sequence[Span]]) -> Mapping[str, int]:
    """Characters of values (`sensitive`) and others (`others`), those of both that were hidden; values, whole ones."""
    names = ("sensitive", "hidden", "others", "hidden_others", "whole", "values")
    total = dict.fromkeys(names, 0)
    for each in instructions:
        hidden = {place for span in find(each.text) for place in range(span.start, span.end)}
        wanted = {place for span in each.values for place in range(span.start, span.end)}
        whole = sum(hidden.issuperset(range(span.start, span.end)) for span in each.values)
        others = len(each.text) - len(wanted)
        counts = (len(wanted), len(wanted & hidden), others, len(hidden - wanted), whole, len(each.values))
        total = {name: total[name] + count for name, count in zip(names, counts, strict=True)}
    return total


def fit(chosen: Mapping[str, Sequence[Instruction]], *, seed: int, processes: int) -> np.ndarray:
    """Weights f32 (SIZE,) that tell parts of values from other words in the chosen sets."""
    from scipy.sparse import csr_array
    from sklearn.linear_model import LogisticRegression

    texts = [each for part in chosen.values() for each in part]
    texts += vary_values(texts, rng=random.Random(seed))
    with ProcessPoolExecutor(processes) as pool:
        rows = [row for part in pool.map(examples, texts, chunksize=50) for row in part]
    columns = np.concatenate([np.unique(known) for known, _ in rows]).astype(np.int32)
    ends = np.cumsum([0, *(len(set(known)) for known, _ in rows)]).astype(np.int32)
    known = csr_array((np.ones(len(columns), np.float32), columns, ends), shape=(len(rows), SIZE))
    fitted = LogisticRegression(C=3.0, solver="liblinear", max_iter=200).fit(known, [label for _, label in rows])
    weights = fitted.coef_[0].astype(np.float32)
    weights[hash_facts([ANY])[0]] += fitted.intercept_[0]
    return weights


def examples(instruction: Instruction) -> list[tuple[list[int], bool]]:
    """The hashed facts of each word, and whether it is a part of a value."""
    words = tokens(instruction.text)
    known = facts(instruction.text, words, evidence(instruction.text))
    inside = [any(a < span.end and span.start < b for span in instruction.values) for a, b in words]
    return [(hash_facts(row), label) for row, label in zip(known, inside, strict=True)]


def vary_values(texts: Sequence[Instruction], *, rng: random.Random) -> list[Instruction]:
    """COPIES of each text that holds values, with others of their kinds in their places."""
    pools: dict[str, list[str]] = {}
    for each in texts:
        for span in each.values:
            pools.setdefault(KINDS.get(span.kind, span.kind), []).append(each.text[span.start : span.end])
    return [_with_others(each, pools, rng) for each in texts if each.values for _ in range(COPIES)]


def _with_others(instruction: Instruction, pools: Mapping[str, Sequence[str]], rng: random.Random) -> Instruction:
    text, at, spans, changed = "", 0, [], dict[str, str]()
    for span in sorted(instruction.values, key=lambda each: each.start):
        said = instruction.text[span.start : span.end]
        # What is said twice is said twice afterwards; a part of a name stays as long as it was.
        pool = [each for each in pools[KINDS.get(span.kind, span.kind)] if each.count(" ") == said.count(" ")]
        value = changed.setdefault(said, rng.choice(pool or [said]))
        value = value.lower() if said.islower() else value
        text += instruction.text[at : span.start]
        spans.append(Span(len(text), len(text) + len(value), span.kind))
        text, at = text + value, span.end
    return Instruction(text + instruction.text[at:], tuple(spans))


def train(*, to: Path | None, seed: int, processes: int) -> str:
    """Learn from all sets and write the weights as numbers of 16 bits; what was done, in a line."""
    chosen = {name: part for name, part in read_sets().items() if name not in HELD_OUT}
    place = to or SHIPPED
    weights = fit(chosen, seed=seed, processes=processes or cores()).astype(np.float16)
    with place.open("wb") as file:
        np.savez_compressed(file, weights=weights)
    return f"{place}: learned from {sum(map(len, chosen.values()))} instructions by {len(chosen)} hands"
