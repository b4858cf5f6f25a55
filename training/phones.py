"""The shipped learned guards of phones: walks over the embedded phone, trains and writes them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sdg.envs.phone.affordances import PhoneAffordances
from sdg.experiments.bench.gate.rollouts import COMPLETENESS, FEASIBILITY
from sdg.experiments.bench.phone.data import PhoneTransition, read_seen, walk_all
from sdg.gate.phones import PLACE
from sdg.storage import atomic_write
from training.skills import fit_network

TRAINING_SEEDS = 1000
"""First seeds of the walks to learn from; tasks have others."""


LEARNING: Mapping[str, Any] = {"hidden": (16,), "alpha": 1.0, "solver": "lbfgs", "max_iter": 1000}


def rows_of(walk: Sequence[PhoneTransition], rng: random.Random) -> Iterator[dict[str, Any]]:
    """What is learned from a walk: features and labels of both guards."""
    facts = PhoneAffordances().features
    for each in walk:
        before, after = read_seen(each.before), read_seen(each.after)
        asks = frozenset({each.name})
        changed = str(before.tree) != str(after.tree)
        yield {"verb": FEASIBILITY, "features": facts(asks, each.argument, before), "label": changed}
        yield {"verb": COMPLETENESS, "features": facts(asks, each.argument, before, after), "label": changed}
        other = rng.choice(walk)
        if other.after != each.after:
            false = facts(asks, each.argument, before, read_seen(other.after))
            yield {"verb": COMPLETENESS, "features": false, "label": False}


def train(*, to: Path | None = None, seed: int = 0, walks: int = 240) -> Path:
    """Walk, train both guards and write them; the file."""
    rng = random.Random(seed)
    parts = [list(rows_of(walk, rng)) for walk in walk_all(TRAINING_SEEDS + 1000 * seed, walks)]
    networks = {verb: fit_network(parts, verb, seed=seed, **LEARNING) for verb in (FEASIBILITY, COMPLETENESS)}
    card = {
        "about": "Feasibility and completeness of actions on phones, from UI trees. "
        "Made by `python -m training.phones`.",
        "walks": walks,
        "seed": seed,
        "samples": {verb: sum(row["verb"] == verb for part in parts for row in part) for verb in networks},
    }
    target = to or PLACE
    atomic_write(target, json.dumps({"card": card} | {verb: net.plain() for verb, net in networks.items()}) + "\n")
    return target


if __name__ == "__main__":
    print(train())
