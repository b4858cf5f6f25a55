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
"""Variations of each text that holds values."""
KINDS = {
    "name": "person_name", "first": "person_name", "last": "person_name", "foreign": "person_name",
    "email": "email_address", "phone": "phone_number", "phone2": "phone_number", "phone3": "phone_number",
    "street": "address", "user": "user_name", "plainuser": "user_name", "cvv": "pin", "key": "api_key",
    "key2": "api_key", "card": "card_number", "card2": "card_number", "account": "account_number",
    "passport": "id_number", "ssn": "id_number", "dob": "date_of_birth", "dob2": "date_of_birth",
}  # fmt: skip
"""Kinds of the generated sets -> their names in the other sets."""


def fit(chosen: Mapping[str, Sequence[LabelledText]], *, seed: int, processes: int) -> np.ndarray:
    """Weights f32 (SIZE,) that tell parts of values from other words in the chosen sets."""
    from scipy.sparse import csr_array
    from sklearn.linear_model import LogisticRegression

    texts = [text for labelled_texts in chosen.values() for text in labelled_texts]
    texts += vary_values(texts, rng=random.Random(seed))
    with ProcessPoolExecutor(processes) as pool:
        samples = [sample for words in pool.map(examples, texts, chunksize=50) for sample in words]
    columns = [np.unique(hashes) for hashes, _ in samples]
    ends = np.cumsum([0, *map(len, columns)]).astype(np.int32)
    indices = np.concatenate(columns).astype(np.int32)
    features = csr_array((np.ones(len(indices), np.float32), indices, ends), shape=(len(samples), SIZE))
    labels = [label for _, label in samples]
    fitted = LogisticRegression(C=3.0, solver="liblinear", max_iter=200).fit(features, labels)
    weights = fitted.coef_[0].astype(np.float32)
    weights[hash_facts([ANY])[0]] += fitted.intercept_[0]
    return weights


def examples(instruction: LabelledText) -> list[tuple[list[int], bool]]:
    """The hashed facts of each word, and whether it is a part of a value."""
    words = tokens(instruction.text)
    facts_by_word = facts(instruction.text, words, evidence(instruction.text))
    labels = [any(start < span.end and span.start < end for span in instruction.values) for start, end in words]
    return [(hash_facts(word_facts), label) for word_facts, label in zip(facts_by_word, labels, strict=True)]


def vary_values(texts: Sequence[LabelledText], *, rng: random.Random) -> list[LabelledText]:
    """COPIES of each text that holds values, with others of their kinds in their places."""
    pools: dict[str, list[str]] = {}
    for text in texts:
        for span in text.values:
            pools.setdefault(KINDS.get(span.kind, span.kind), []).append(text.text[span.start : span.end])
    return [_with_others(text, pools, rng) for text in texts if text.values for _ in range(COPIES)]


def _with_others(instruction: LabelledText, pools: Mapping[str, Sequence[str]], rng: random.Random) -> LabelledText:
    """The instruction with random values: the same one wherever it had the same one, with as many words."""
    text, end, spans = "", 0, []
    substitutes: dict[str, str] = {}
    for span in sorted(instruction.values, key=lambda span: span.start):
        value = instruction.text[span.start : span.end]
        candidates = pools[KINDS.get(span.kind, span.kind)]
        pool = [candidate for candidate in candidates if candidate.count(" ") == value.count(" ")]
        substitute = substitutes.setdefault(value, rng.choice(pool or [value]))
        if value.islower():
            substitute = substitute.lower()
        text += instruction.text[end : span.start]
        spans.append(Span(len(text), len(text) + len(substitute), span.kind))
        text, end = text + substitute, span.end
    return LabelledText(text + instruction.text[end:], tuple(spans))


def train(*, to: Path | None = None, seed: int = 0, processes: int = 0) -> str:
    """Learn from all sets but `HELD_OUT` and write the weights as numbers of 16 bits; a line that sums it up."""
    chosen = {name: texts for name, texts in read_sets().items() if name not in HELD_OUT}
    place = to or SHIPPED
    weights = fit(chosen, seed=seed, processes=processes or cores()).astype(np.float16)
    with place.open("wb") as file:
        np.savez_compressed(file, weights=weights)
    return f"{place}: learned from {sum(map(len, chosen.values()))} instructions by {len(chosen)} hands"


if __name__ == "__main__":
    print(train())
