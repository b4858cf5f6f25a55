"""The gate on phones: its learned guards on walks over the embedded phone that they never saw, and ResponsibleTA's
Table 2, the same tasks and mistakes with and without the gate.

    python -m training.phones     walks, trains and writes the guards
    sdg bench gate --world phone             agreement of the shipped judge with the phone's state
    sdg bench gate --world phone --table 2 [--draws 168] [--seed 0]

Feasibility is learned from whether the screen changed. Completeness is learned from true pairs of screens, and from
false ones in which the screen after belongs to another action (ResponsibleTA, section 4.2). The phone's state plays no
part in the labels; the judge's verdicts are compared with it.

In Table 2 the planner is `phoneclumsy`: rules, with one action in four spoilt. Which one follows from draw, task and
the action's number alone, so that all arms meet the same mistakes as long as they take the same path. Held-out tasks
aren't played. The last rows are differences, task by task, with intervals over tasks.
"""

import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from sdg.envs.phone.tasks import embedded_tasks, held_out
from sdg.experiments.bench.gate.figures import estimate
from sdg.experiments.bench.phone.data import observe_dump, walk_all
from sdg.experiments.bench.phone.episodes import PhoneJob, PhoneSetting, play_all
from sdg.experiments.results.comparison import cores
from sdg.gate.executor import Command
from sdg.gate.phones import LearnedPhoneGuard
from sdg.llm.provider import ModelSettings
from sdg.screen_agent.modes import TEXT
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


ARMS = {"no gate": ("open",), "gate": ("phone", "confirm"), "learned": ("phone", "phone-learned", "confirm")}
"""Guards of each arm; the others are compared with the first."""


def rows(*, draws: int, seed: int, processes: int = 0) -> list[Mapping[str, Any]]:
    """A row for each arm over about `draws` episodes, shares in [0, 1], and their differences. Raises NoBrowser."""
    jobs = [PhoneJob(task, TEXT.name) for task in embedded_tasks() if task.id not in held_out()]
    repeats = max(draws // len(jobs), 1)
    groups = np.tile(np.arange(len(jobs)), repeats)
    measures: dict[str, dict[str, np.ndarray]] = {}
    for arm, guards in ARMS.items():
        episodes = []
        for draw in range(repeats):
            setting = PhoneSetting(ModelSettings("phoneclumsy", str(1000 * seed + draw)), guards)
            by_task = {episode.task: episode for episode in play_all(jobs, setting, processes=processes or cores())}
            episodes += [by_task[job.task.id] for job in jobs]
        measures[arm] = {
            "success": np.array([float(episode.complete) for episode in episodes]),
            "reasonable_operations": np.array([episode.reasonable_operations for episode in episodes]),
        }
    without, *_ = measures.values()
    for arm in tuple(ARMS)[1:]:
        measures[f"{arm} - no gate"] = {name: values - without[name] for name, values in measures[arm].items()}
    table: list[dict[str, Any]] = [{"world": "phone", "arm": arm, "n": len(groups)} for arm in measures]
    for row in table:
        for name, values in measures[row["arm"]].items():
            row |= estimate((name, f"{name}_low", f"{name}_high"), values, groups)
    return [*table]
