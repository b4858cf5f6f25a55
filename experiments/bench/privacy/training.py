"""The privacy tagger's weights from sets of instructions with known values.

    sdg train-guards --world text [--to FILE]     learns from `hands.jsonl.gz` and the development sets

Templates are few and their values many: so that what is learned is where values stand and not which they were, each
instruction is learned from `COPIES` more times with values of the same kind from other sets in their places.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from sdg.experiments.bench.privacy import development, forms, held_out
from sdg.experiments.bench.privacy.filling import Instruction
from sdg.experiments.bench.privacy.measure import FIELDS, form_of
from sdg.experiments.table.figures import cores
from sdg.gate.privacy.recognisers import Span
from sdg.gate.privacy.tagger import ANY, SHIPPED, SIZE, evidence, facts, hashed, tokens

HANDS = Path(__file__).parent / "hands.jsonl.gz"
"""Instructions by hands that had seen neither rules nor other sets; `hand` says whose."""
COPIES, GENERATED, FORMS = 3, 500, 60
KINDS = {
    "name": "person_name", "first": "person_name", "last": "person_name", "foreign": "person_name",
    "email": "email_address", "phone": "phone_number", "phone2": "phone_number", "phone3": "phone_number",
    "street": "address", "user": "user_name", "plainuser": "user_name", "cvv": "pin", "key": "api_key",
    "key2": "api_key", "card": "card_number", "card2": "card_number", "account": "account_number",
    "passport": "id_number", "ssn": "id_number", "dob": "date_of_birth", "dob2": "date_of_birth",
}  # fmt: skip
"""What kinds of the generated sets are called in the others."""


def sets() -> dict[str, list[Instruction]]:
    """All that may be learned from, by whose it is."""
    found = {
        "development": development.instructions(GENERATED, 1),
        "paraphrased": held_out.instructions(GENERATED, 1, known=True),
        "forms": [_form_filled(random.Random(number)) for number in range(10_000, 10_000 + FORMS)],
    }
    for line in gzip.decompress(HANDS.read_bytes()).splitlines():
        row = json.loads(line)
        found.setdefault(row["hand"], []).append(Instruction(row["text"], tuple(Span(*each) for each in row["values"])))
    return found


def _form_filled(rng: random.Random) -> Instruction:
    values = form_of(rng, development.values(rng))
    text, spans = forms.instruction_for(values), []
    for name, value in values.items():
        if name in FIELDS:
            start = text.index(f"{name}: {value}") + len(f"{name}: ")
            spans.append(Span(start, start + len(value), FIELDS[name]))
    return Instruction(text, tuple(spans))


def learned(chosen: Mapping[str, Sequence[Instruction]], *, seed: int, processes: int) -> np.ndarray:
    """Weights f32 (SIZE,) that tell parts of values from other words in the chosen sets."""
    from scipy.sparse import csr_array
    from sklearn.linear_model import LogisticRegression

    texts = [each for part in chosen.values() for each in part]
    texts += varied(texts, rng=random.Random(seed))
    with ProcessPoolExecutor(processes) as pool:
        rows = [row for part in pool.map(examples, texts, chunksize=50) for row in part]
    columns = np.concatenate([np.unique(known) for known, _ in rows]).astype(np.int32)
    ends = np.cumsum([0, *(len(set(known)) for known, _ in rows)]).astype(np.int32)
    known = csr_array((np.ones(len(columns), np.float32), columns, ends), shape=(len(rows), SIZE))
    fitted = LogisticRegression(C=3.0, solver="liblinear", max_iter=200).fit(known, [label for _, label in rows])
    weights = fitted.coef_[0].astype(np.float32)
    weights[hashed([ANY])[0]] += fitted.intercept_[0]
    return weights


def examples(instruction: Instruction) -> list[tuple[list[int], bool]]:
    """The hashed facts of each word, and whether it is a part of a value."""
    words = tokens(instruction.text)
    known = facts(instruction.text, words, evidence(instruction.text))
    inside = [any(a < span.end and span.start < b for span in instruction.values) for a, b in words]
    return [(hashed(row), label) for row, label in zip(known, inside, strict=True)]


def varied(texts: Sequence[Instruction], *, rng: random.Random) -> list[Instruction]:
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
    chosen, place = sets(), to or SHIPPED
    weights = learned(chosen, seed=seed, processes=processes or cores()).astype(np.float16)
    with place.open("wb") as file:
        np.savez_compressed(file, weights=weights)
    return f"{place}: learned from {sum(map(len, chosen.values()))} instructions by {len(chosen)} hands"
