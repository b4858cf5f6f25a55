"""What planners ask of skills: the states in which commands begin when programs run, as starts of the batch engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from envs.babyai.bank import LevelBank
from envs.babyai.memory import Memory
from sdg.agents import PlannerAgent, Task, play_task
from sdg.gate.verdict import Command
from skills.rows import join_rows, take_rows
from skills.starts import Starts, join, restored, target_row
from skills.subgoal import CheckFunction


@dataclass(frozen=True, eq=False)
class Asked:
    """One command of one episode: where the robot was (by its actions so far) and what it knew (`memory`, one row)."""

    level: str
    seed: int
    command: Command
    actions: tuple[int, ...]
    memory: Memory


def listen(agent: PlannerAgent, tasks: Iterable[Task]) -> list[Asked]:
    """Every command of every task's episode, in order. Raises what planners raise."""
    asked: list[Asked] = []
    for task in tasks:

        def heard(command: Command, actions: Sequence[int], memory: Memory, task: Task = task) -> None:
            known = take_rows(memory, np.zeros(1, np.int64))
            asked.append(Asked(task.level, task.seed, command, tuple(actions), known))

        play_task(replace(agent, heard=heard), task)
    return asked


def starts_of(asked: Sequence[Asked], check_of: Callable[[Command], CheckFunction]) -> Starts:
    """The commands as starts, in order; `check_of` says what a command aims at. ValueError when there are none."""
    parts, places = [], []
    for level in sorted({each.level for each in asked}):
        mine = [i for i, each in enumerate(asked) if each.level == level]
        parts.append(_level_starts([asked[i] for i in mine], level, check_of=check_of))
        places += mine
    return join(parts).take(np.argsort(places))


def _level_starts(asked: Sequence[Asked], level: str, *, check_of: Callable[[Command], CheckFunction]) -> Starts:
    seeds = sorted({each.seed for each in asked})
    bank = LevelBank.build(level, seeds)
    layouts = [seeds.index(each.seed) for each in asked]
    state, _ = restored(bank, layouts, actions=[each.actions for each in asked])
    memory = join_rows([each.memory for each in asked])
    numbers: dict[CheckFunction, int] = {}
    check = np.array([numbers.setdefault(check_of(each.command), len(numbers)) for each in asked], np.int64)
    targets = np.stack([target_row(each.command.argument) for each in asked])
    return Starts(state, memory, targets, tuple(numbers), check)


__all__ = ["Asked", "listen", "starts_of"]
