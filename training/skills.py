"""The shipped guards of skill calls, two small networks, calibrated on rollouts of their own.

python -m training.skills [LIBRARY [FILE]]     five minutes on two cores
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sdg.experiments.bench.gate.rollouts import COMPLETENESS, FEASIBILITY, plan_rollouts, rolled_out
from sdg.experiments.results.comparison import cores, find_library
from sdg.gate.learned import SHIPPED, GuardNetwork
from sdg.skills.library.store import library_checksum
from sdg.storage import atomic_write

HELD_BACK = 5
"""Every fifth rollout calibrates instead of training."""


HIDDEN = (48, 24)


def train(*, library: str = "", rollouts: int = 240, seed: int = 0, to: Path | None = None, processes: int = 0) -> Path:
    """Train both guards and write them; the file. Raises UserError for a library that isn't there."""
    place = find_library(library)
    parts = rolled_out(
        plan_rollouts(place, rollouts, split="training", seed=seed, programs="S1"), processes=processes or cores()
    )
    fitted = {verb: fit_network(parts, verb, seed=seed) for verb in (FEASIBILITY, COMPLETENESS)}
    card = {
        "about": "Feasibility and completeness of skill calls, from perceived facts. "
        "Made by `python -m training.skills`.",
        "library": library_checksum(place),
        "rollouts": len(parts),
        "seed": seed,
        "samples": {verb: _samples(parts, verb) for verb in fitted},
        "mistakes": dict(Counter(row["source"] for part in parts for row in part if row["verb"] == FEASIBILITY)),
    }
    target = to or SHIPPED
    target.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(target, json.dumps({"card": card} | {verb: net.plain() for verb, net in fitted.items()}) + "\n")
    return target


def _samples(parts: Sequence[Sequence[Mapping[str, Any]]], verb: str) -> dict[str, int]:
    labels = [row["label"] for part in parts for row in part if row["verb"] == verb]
    return {"yes": sum(labels), "no": len(labels) - sum(labels)}


def fit_network(
    parts: Sequence[Sequence[Mapping[str, Any]]], verb: str, *, seed: int, hidden: tuple[int, ...] = HIDDEN, **how: Any
) -> GuardNetwork:
    """A network on four rollouts of five, its temperature on the fifth; both labels weigh the same. `how` is said to
    scikit-learn in place of what suits thousands of samples."""
    from sklearn.neural_network import MLPClassifier

    rows = [[row for row in part if row["verb"] == verb] for part in parts]
    x, y = _arrays([row for number, part in enumerate(rows) if number % HELD_BACK for row in part], seed=seed)
    mean, scale = x.mean(axis=0), np.maximum(x.std(axis=0), 0.05)
    how = how or {"alpha": 1e-3, "early_stopping": True, "n_iter_no_change": 20, "max_iter": 300}
    network = MLPClassifier(hidden, random_state=seed, **how)
    network.fit((x - mean) / scale, y)
    layers = tuple(zip(network.coefs_, network.intercepts_, strict=True))
    raw = GuardNetwork(mean, scale, layers)
    x, y = _arrays([row for number, part in enumerate(rows) if number % HELD_BACK == 0 for row in part], seed=seed)
    return GuardNetwork(mean, scale, layers, _temperature(np.array([raw.chance(each) for each in x]), y))


def _arrays(rows: Sequence[Mapping[str, Any]], *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, k) and labels (n,), as many of one as of the other: the rarer ones come more than once."""
    rng = np.random.default_rng(seed)
    parts = [[row["features"] for row in rows if row["label"] is label] for label in (False, True)]
    if not all(parts):
        raise ValueError("the rollouts show only one of yes and no: make more of them")
    most = max(map(len, parts))
    x = np.array([part[i] for part in parts for i in np.resize(rng.permutation(len(part)), most)])
    return x, np.repeat([0, 1], most)


def _temperature(chances: np.ndarray, labels: np.ndarray) -> float:
    """What the network's logits are divided by, so that chances are as often right as they say (Guo et al. 2017)."""
    chances = np.clip(chances, 1e-9, 1 - 1e-9)
    logits, tried = np.log(chances / (1 - chances)), np.geomspace(0.5, 8, 60)
    losses = [np.mean(np.logaddexp(0, np.where(labels == 1, -logits, logits) / t)) for t in tried]
    return float(tried[int(np.argmin(losses))])


if __name__ == "__main__":
    place, file = [*sys.argv[1:], "", ""][:2]
    print(train(library=place, to=Path(file) if file else None))
