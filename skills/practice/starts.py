"""Where practice begins: rows of world and memory, each with a target and the check that pays (SDG, section 4.4).

Starts are restored by replaying the saved actions of experiences, or reached on fresh layouts by earlier skills.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.engine.state import State
from sdg.envs.babyai.perception.description import parse
from sdg.envs.babyai.perception.memory import FORWARD, LEFT, RIGHT, Memory, forget_visited_rooms
from sdg.envs.babyai.practice.batch import DONE, Rows, begin_subgoals, join_rows, put_rows, take_rows
from sdg.envs.babyai.practice.features import NO_TARGET
from sdg.skills.subgoal import CheckFunction

_WALK = (LEFT, RIGHT, FORWARD, FORWARD)


@dataclass(frozen=True, eq=False)
class Starts:
    """M states to begin from: `targets` i16 (M, 4), `check_of` i64 (M,) indexes `checks`."""

    state: State
    memory: Memory
    targets: np.ndarray
    checks: tuple[CheckFunction, ...]
    check_of: np.ndarray

    def __len__(self) -> int:
        return len(self.targets)

    def take(self, rows: np.ndarray) -> Starts:
        """The starts at `rows`, in that order."""
        return Starts(
            take_rows(self.state, rows),
            take_rows(self.memory, rows),
            self.targets[rows],
            self.checks,
            self.check_of[rows],
        )


def target_row(argument: str) -> np.ndarray:
    """The argument of a skill as i16 (4,); nothing is marked for "" and for words that describe no object."""
    try:
        return parse(argument).row()
    except ValueError:
        return np.array(NO_TARGET, np.int16)


def join(parts: Sequence[Starts]) -> Starts:
    """All starts of all parts, in order."""
    if not parts:
        raise ValueError("no starts to join: nothing was restored and nothing was reached")
    offsets = np.cumsum([0] + [len(part.checks) for part in parts[:-1]])
    return Starts(
        state=join_rows([part.state for part in parts]),
        memory=join_rows([part.memory for part in parts]),
        targets=np.concatenate([part.targets for part in parts]),
        checks=tuple(check for part in parts for check in part.checks),
        check_of=np.concatenate([part.check_of + offset for part, offset in zip(parts, offsets, strict=True)]),
    )


def restored(bank: LevelBank, layouts: Sequence[int], *, actions: Sequence[Sequence[int]]) -> tuple[State, Memory]:
    """Row i as `actions[i]`, played from layout `layouts[i]` of the bank, leave it: a new subgoal begins there."""
    return replayed(bank, layouts, actions=actions, moments=[(i, len(played)) for i, played in enumerate(actions)])


def replayed(
    bank: LevelBank,
    layouts: Sequence[int],
    *,
    actions: Sequence[Sequence[int]],
    moments: Sequence[tuple[int, int]],
    forgot: Sequence[Iterable[int]] = (),
) -> tuple[State, Memory]:
    """A row for each of `moments` (i, t): what the first t of `actions[i]`, played from layout `layouts[i]`, leave.

    A new subgoal begins there. `forgot[i]` are the steps before which the visited rooms were forgotten.
    """
    rows = Rows(len(layouts))
    rows.begin(bank, np.asarray(layouts))
    state, memory = (take_rows(part, np.zeros(len(moments), np.int64)) for part in (rows.state, rows.memory))
    wanted, forgets = _by_step(moments), _by_step((i, t) for i, steps in enumerate(forgot) for t in steps)
    for t in range(max(wanted, default=-1) + 1):
        for _, i in forgets.get(t, ()):
            forget_visited_rooms(rows.memory, i)
        if t in wanted:
            numbers, of = np.array(wanted[t]).T
            put_rows(rows.state, of, state, numbers)
            put_rows(rows.memory, of, memory, numbers)
        rows.step(np.array([played[t] if t < len(played) else DONE for played in actions]))
    begin_subgoals(memory)
    return state, memory


def wandered(starts: Starts, *, most: int, seed: int) -> Starts:
    """The same starts after up to `most` random steps and turns each: the same rooms, seen from other places."""
    rng, everyone = np.random.default_rng(seed), np.arange(len(starts))
    rows, lengths = Rows(len(starts)), rng.integers(most + 1, size=len(starts))
    put_rows(starts.state, everyone, rows.state, everyone)
    put_rows(starts.memory, everyone, rows.memory, everyone)
    for t in range(most):
        rows.step(np.where(t < lengths, rng.choice(_WALK, size=len(starts)), DONE))
    begin_subgoals(rows.memory)
    return replace(starts, state=rows.state, memory=rows.memory)


def _by_step(moments: Iterable[tuple[int, int]]) -> dict[int, list[tuple[int, int]]]:
    """(number of the moment, i) by t."""
    found: dict[int, list[tuple[int, int]]] = {}
    for number, (i, t) in enumerate(moments):
        found.setdefault(t, []).append((number, i))
    return found


def mark(check: CheckFunction) -> np.ndarray:
    """What a check is about, as a target i16 (4,): the last description in its source (put A next to *B*)."""
    described = [target_row(text) for text in string_constants(check.source)]
    described = [target for target in described if tuple(target) != NO_TARGET]
    return described[-1] if described else np.array(NO_TARGET, np.int16)


def string_constants(source: str) -> list[str]:
    """The string constants of some source, in the order in which they stand; [] when it doesn't parse."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [str(node.value) for node in sorted(found, key=lambda node: (node.lineno, node.col_offset))]
