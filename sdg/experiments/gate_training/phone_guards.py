"""The learned guards of phones: trained on walks over the embedded phone by what was seen, measured on others.

    sdg train-guards --world phone      walks, trains and writes the guards
    sdg bench gate --world phone             agreement of the shipped judge with the phone's state on walks it never saw

Feasibility is learned from whether the screen changed. Completeness is learned from true pairs of screens, and from
false ones in which the screen after belongs to another action (ResponsibleTA, section 4.2). The state has no part in
the labels; it is what the judge's verdicts are compared with.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sdg.envs.phone.affordances import PhoneAffordances
from sdg.experiments.bench.phone.walks import Transition, observe_dump, read_seen, walk_all
from sdg.experiments.gate_training.rollouts import COMPLETENESS, FEASIBILITY
from sdg.experiments.gate_training.training import fit_network
from sdg.gate.phones import PLACE, LearnedPhoneGuard
from sdg.gate.verdict import Command
from sdg.skills.statistics import wilson_interval
from sdg.storage import atomic_write

TRAINING_SEEDS, MEASURING_SEEDS = 1000, 12_000
"""First seeds of the walks to learn from and to measure on; tasks have others."""
LEARNING: Mapping[str, Any] = {"hidden": (16,), "alpha": 1.0, "solver": "lbfgs", "max_iter": 1000}


def rows_of(walk: Sequence[Transition], rng: random.Random) -> Iterator[dict[str, Any]]:
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
        "about": "Feasibility and completeness of actions on phones, from UI trees. Made by `sdg train-guards`.",
        "walks": walks,
        "seed": seed,
        "samples": {verb: sum(row["verb"] == verb for part in parts for row in part) for verb in networks},
    }
    target = to or PLACE
    atomic_write(target, json.dumps({"card": card} | {verb: net.plain() for verb, net in networks.items()}) + "\n")
    return target


def judge_rows(*, walks: int = 20, place: Path = PLACE) -> list[Mapping[str, Any]]:
    """Agreement of the learned judge with the phone's state on new walks: of true pairs, of pairs with the screen of
    another action, and of both."""
    guard, rng = LearnedPhoneGuard(place=place), random.Random(1)
    right: dict[str, list[bool]] = {"feasibility": [], "completeness": [], "swapped": []}
    for walk in walk_all(MEASURING_SEEDS, walks):
        for each in walk:
            command, before = Command(each.name, each.argument), observe_dump(each.before)
            right["feasibility"].append(guard.feasible(command, before).passed == each.changed)
            right["completeness"].append(
                guard.complete(command, before, observe_dump(each.after)).passed == each.changed
            )
            other = rng.choice(walk)
            if other.after not in (each.after, each.before):
                right["swapped"].append(not guard.complete(command, before, observe_dump(other.after)).passed)
    right["judge"] = right["completeness"] + right["swapped"]
    found: list[Mapping[str, Any]] = []
    for name, values in right.items():
        sure = wilson_interval(sum(values), len(values))
        rate = round(sum(values) / len(values), 4)
        found.append({"question": name, "agreement": rate, "low": sure.low, "high": sure.high, "pairs": len(values)})
    return found
