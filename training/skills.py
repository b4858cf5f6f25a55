"""The shipped guards of skill calls: two small networks, calibrated on rollouts that they weren't trained on.

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
    plan = plan_rollouts(place, rollouts, split="training", seed=seed, programs="S1")
    rollout_rows = rolled_out(plan, processes=processes or cores())
    networks = {verb: fit_network(rollout_rows, verb, seed=seed) for verb in (FEASIBILITY, COMPLETENESS)}
    questions = _rows_about(FEASIBILITY, rollout_rows)
    card = {
        "about": "Feasibility and completeness of skill calls, from perceived facts. "
        "Made by `python -m training.skills`.",
        "library": library_checksum(place),
        "rollouts": len(rollout_rows),
        "seed": seed,
        "samples": {verb: _count_labels(_rows_about(verb, rollout_rows)) for verb in networks},
        "mistakes": dict(Counter(row["source"] for row in questions)),
    }
    target = to or SHIPPED
    target.parent.mkdir(parents=True, exist_ok=True)
    stored = {"card": card} | {verb: network.to_json() for verb, network in networks.items()}
    atomic_write(target, json.dumps(stored) + "\n")
    return target


Rows = Sequence[Mapping[str, Any]]


def _rows_about(verb: str, rollout_rows: Sequence[Rows]) -> Rows:
    return [row for rows in rollout_rows for row in rows if row["verb"] == verb]


def _count_labels(rows: Rows) -> dict[str, int]:
    yes = sum(row["label"] for row in rows)
    return {"yes": yes, "no": len(rows) - yes}


def fit_network(
    rollout_rows: Sequence[Rows], verb: str, *, seed: int, hidden: tuple[int, ...] = HIDDEN, **settings: Any
) -> GuardNetwork:
    """A network on four rollouts of five, its temperature on the fifth; both labels weigh the same. `settings` go to
    scikit-learn in place of those that suit thousands of samples."""
    from sklearn.neural_network import MLPClassifier

    training_rows = [rows for number, rows in enumerate(rollout_rows) if number % HELD_BACK]
    x, y = _arrays(_rows_about(verb, training_rows), seed=seed)
    mean, scale = x.mean(axis=0), np.maximum(x.std(axis=0), 0.05)
    settings = settings or {"alpha": 1e-3, "early_stopping": True, "n_iter_no_change": 20, "max_iter": 300}
    network = MLPClassifier(hidden, random_state=seed, **settings)
    network.fit((x - mean) / scale, y)
    layers = tuple(zip(network.coefs_, network.intercepts_, strict=True))
    raw = GuardNetwork(mean, scale, layers)
    x, y = _arrays(_rows_about(verb, rollout_rows[::HELD_BACK]), seed=seed)
    chances = np.array([raw.chance(features) for features in x])
    return GuardNetwork(mean, scale, layers, _temperature(chances, y))


def _arrays(rows: Rows, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, k) and labels (n,), as many of one as of the other: the rarer ones come more than once."""
    rng = np.random.default_rng(seed)
    no, yes = ([row["features"] for row in rows if row["label"] is label] for label in (False, True))
    if not no or not yes:
        raise ValueError("the rollouts show only one of yes and no: make more of them")
    most = max(len(no), len(yes))
    x = [features[i] for features in (no, yes) for i in np.resize(rng.permutation(len(features)), most)]
    return np.array(x), np.repeat([0, 1], most)


def _temperature(chances: np.ndarray, labels: np.ndarray) -> float:
    """A divisor of the network's logits with which chances are right as often as they say (Guo et al. 2017)."""
    chances = np.clip(chances, 1e-9, 1 - 1e-9)
    logits, candidates = np.log(chances / (1 - chances)), np.geomspace(0.5, 8, 60)
    signed = np.where(labels == 1, -logits, logits)
    losses = [np.mean(np.logaddexp(0, signed / temperature)) for temperature in candidates]
    return float(candidates[int(np.argmin(losses))])


if __name__ == "__main__":
    place, file = [*sys.argv[1:], "", ""][:2]
    print(train(library=place, to=Path(file) if file else None))
