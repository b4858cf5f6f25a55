"""The shipped weights of the privacy tagger, learned from instructions with known values."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from sdg.experiments.bench.gate.privacy import HELD_OUT, LabelledText, read_sets
from sdg.experiments.results.comparison import cores
from sdg.privacy.recognisers import Span
from sdg.privacy.tagger import ANY, SHIPPED, SIZE, evidence, facts, hash_facts, tokens

COPIES = 3


KINDS = {
    "name": "person_name", "first": "person_name", "last": "person_name", "foreign": "person_name",
    "email": "email_address", "phone": "phone_number", "phone2": "phone_number", "phone3": "phone_number",
    "street": "address", "user": "user_name", "plainuser": "user_name", "cvv": "pin", "key": "api_key",
    "key2": "api_key", "card": "card_number", "card2": "card_number", "account": "account_number",
    "passport": "id_number", "ssn": "id_number", "dob": "date_of_birth", "dob2": "date_of_birth",
}  # fmt: skip
"""What kinds of the generated sets are called in the others."""


def fit(chosen: Mapping[str, Sequence[LabelledText]], *, seed: int, processes: int) -> np.ndarray:
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


def examples(instruction: LabelledText) -> list[tuple[list[int], bool]]:
    """The hashed facts of each word, and whether it is a part of a value."""
    words = tokens(instruction.text)
    known = facts(instruction.text, words, evidence(instruction.text))
    inside = [any(a < span.end and span.start < b for span in instruction.values) for a, b in words]
    return [(hash_facts(row), label) for row, label in zip(known, inside, strict=True)]


def vary_values(texts: Sequence[LabelledText], *, rng: random.Random) -> list[LabelledText]:
    """COPIES of each text that holds values, with others of their kinds in their places."""
    pools: dict[str, list[str]] = {}
    for each in texts:
        for span in each.values:
            pools.setdefault(KINDS.get(span.kind, span.kind), []).append(each.text[span.start : span.end])
    return [_with_others(each, pools, rng) for each in texts if each.values for _ in range(COPIES)]


def _with_others(instruction: LabelledText, pools: Mapping[str, Sequence[str]], rng: random.Random) -> LabelledText:
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
    return LabelledText(text + instruction.text[at:], tuple(spans))


def train(*, to: Path | None = None, seed: int = 0, processes: int = 0) -> str:
    """Learn from all sets and write the weights as numbers of 16 bits; what was done, in a line."""
    chosen = {name: part for name, part in read_sets().items() if name not in HELD_OUT}
    place = to or SHIPPED
    weights = fit(chosen, seed=seed, processes=processes or cores()).astype(np.float16)
    with place.open("wb") as file:
        np.savez_compressed(file, weights=weights)
    return f"{place}: learned from {sum(map(len, chosen.values()))} instructions by {len(chosen)} hands"


if __name__ == "__main__":
    print(train())
