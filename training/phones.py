"""The shipped learned guards of phones: walks over the embedded phone, trains and writes them."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sdg.envs.phone.affordances import PhoneAffordances, SeenPhone
from sdg.envs.phone.tree import read_dump
from sdg.experiments.bench.gate.rollouts import COMPLETENESS, FEASIBILITY
from sdg.experiments.bench.phone.data import PhoneTransition, walk_all
from sdg.gate.phones import PLACE
from sdg.storage import atomic_write
from training.skills import fit_network

TRAINING_SEEDS = 1000
"""First seeds of the walks to learn from; tasks have others."""
LEARNING: Mapping[str, Any] = {"hidden": (16,), "alpha": 1.0, "solver": "lbfgs", "max_iter": 1000}


def rows_of(walk: Sequence[PhoneTransition], rng: random.Random) -> Iterator[dict[str, Any]]:
    """The samples of a walk: features and labels for both guards."""
    features = PhoneAffordances().features
    for step in walk:
        before, after = SeenPhone(read_dump(step.before)), SeenPhone(read_dump(step.after))
        names = frozenset({step.name})
        changed = str(before.tree) != str(after.tree)
        yield {"verb": FEASIBILITY, "features": features(names, step.argument, before), "label": changed}
        yield {"verb": COMPLETENESS, "features": features(names, step.argument, before, after), "label": changed}
        decoy = rng.choice(walk)
        if decoy.after != step.after:
            wrong = features(names, step.argument, before, SeenPhone(read_dump(decoy.after)))
            yield {"verb": COMPLETENESS, "features": wrong, "label": False}


def train(*, to: Path | None = None, seed: int = 0, walks: int = 240) -> Path:
    """Walk, train both guards and write them; the file."""
    rng = random.Random(seed)
    rows_by_walk = [list(rows_of(walk, rng)) for walk in walk_all(TRAINING_SEEDS + 1000 * seed, walks)]
    networks = {verb: fit_network(rows_by_walk, verb, seed=seed, **LEARNING) for verb in (FEASIBILITY, COMPLETENESS)}
    verbs = Counter(row["verb"] for rows in rows_by_walk for row in rows)
    card = {
        "about": "Feasibility and completeness of actions on phones, from UI trees. "
        "Made by `python -m training.phones`.",
        "walks": walks,
        "seed": seed,
        "samples": {verb: verbs[verb] for verb in networks},
    }
    target = to or PLACE
    stored = {"card": card} | {verb: network.to_json() for verb, network in networks.items()}
    atomic_write(target, json.dumps(stored) + "\n")
    return target


if __name__ == "__main__":
    print(train())
