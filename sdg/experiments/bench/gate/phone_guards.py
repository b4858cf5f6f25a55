"""The learned guards of phones, measured on walks over the embedded phone that they never saw.

    python -m training.phones     walks, trains and writes the guards
    sdg bench gate --world phone             agreement of the shipped judge with the phone's state

Feasibility is learned from whether the screen changed. Completeness is learned from true pairs of screens, and from
false ones in which the screen after belongs to another action (ResponsibleTA, section 4.2). The phone's state plays no
part in the labels; the judge's verdicts are compared with it.
"""

import random
from collections.abc import Mapping
from typing import Any

from sdg.experiments.bench.phone.data import observe_dump, walk_all
from sdg.gate.executor import Command
from sdg.gate.phones import LearnedPhoneGuard
from sdg.skills.statistics import wilson_interval

MEASURING_SEEDS, WALKS = 12_000, 20
"""First seed of the walks to measure on (tasks use others), and their number."""


def judge_rows() -> list[Mapping[str, Any]]:
    """Agreement of the learned judge with the phone's state on new walks: on true pairs, on pairs with the screen of
    another action, and on both."""
    guard, rng = LearnedPhoneGuard(), random.Random(1)
    right: dict[str, list[bool]] = {"feasibility": [], "completeness": [], "swapped": []}
    for walk in walk_all(MEASURING_SEEDS, WALKS):
        for step in walk:
            command, before = Command(step.name, step.argument), observe_dump(step.before)
            right["feasibility"].append(guard.feasible(command, before).passed == step.changed)
            right["completeness"].append(
                guard.complete(command, before, observe_dump(step.after)).passed == step.changed
            )
            swapped = rng.choice(walk)
            if swapped.after not in (step.after, step.before):
                right["swapped"].append(not guard.complete(command, before, observe_dump(swapped.after)).passed)
    right["judge"] = right["completeness"] + right["swapped"]
    rates = {name: wilson_interval(sum(values), len(values)) for name, values in right.items()}
    return [
        {
            "question": name,
            "agreement": round(rate.value, 4),
            "low": rate.low,
            "high": rate.high,
            "pairs": len(right[name]),
        }
        for name, rate in rates.items()
    ]
