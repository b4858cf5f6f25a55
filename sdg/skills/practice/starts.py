"""Where practice begins: rows of a batch world, each with a target and the check that gives reward (SDG, section 4.4).

Starts are restored by replaying the saved actions of experiences (`restore`), or reached on fresh layouts by earlier
skills (`fresh_starts`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sdg.envs.batch import BatchWorld, Layouts
from sdg.envs.domain import Domain, Language
from sdg.skills.checks.template import string_constants
from sdg.skills.subgoal import CheckFunction


@dataclass(frozen=True, eq=False)
class Starts:
    """M moments to begin from: `rows` (M), `targets` i16 (M, w), `check_of` i64 (M,) indexes `checks`."""

    rows: BatchWorld
    targets: np.ndarray
    checks: tuple[CheckFunction, ...]
    check_of: np.ndarray

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def domain(self) -> Domain:
        """The domain of these moments."""
        return self.rows.domain

    @property
    def memory(self) -> Any:
        """The memory of each moment's agent."""
        return self.rows.memory

    def take(self, rows: np.ndarray) -> Starts:
        """The starts at `rows`, in that order."""
        return Starts(self.rows.take(rows), self.targets[rows], self.checks, self.check_of[rows])


def restore(
    domain: Domain,
    layouts: Layouts,
    chosen: Sequence[int],
    *,
    actions: Sequence[Sequence[Any]],
    moments: Sequence[tuple[int, int]] | None = None,
    forgot: Sequence[Iterable[int]] = (),
) -> BatchWorld:
    """A row for each of `moments` (i, t): the state after the first t of `actions[i]`, replayed from layout
    `chosen[i]`; without `moments` the state after all actions, for each i.

    A new subgoal begins there. `forgot[i]` are the steps before which the agent forgot where it had been.
    """
    moments = [(i, len(row_actions)) for i, row_actions in enumerate(actions)] if moments is None else moments
    world = domain.begin(layouts, np.asarray(chosen))
    states = domain.blank(len(moments))
    moments_at, forgets_at = _by_step(moments), _by_step([(i, t) for i, steps in enumerate(forgot) for t in steps])
    for t in range(max(moments_at, default=-1) + 1):
        for _, i in forgets_at.get(t, ()):
            world.forget(i)
        if t in moments_at:
            numbers, rows = np.array(moments_at[t]).T
            states.put(numbers, world, rows)
        moves = [row_actions[t] if t < len(row_actions) else domain.wait for row_actions in actions]
        # Some worlds' actions are single numbers in some rows and several in others: then there is no array of them.
        world.step(np.array(moves) if len({np.shape(action) for action in moves}) <= 1 else moves)  # type: ignore[arg-type]
    states.begin_subgoals()
    return states


def _by_step(moments: Iterable[tuple[int, int]]) -> dict[int, list[tuple[int, int]]]:
    """Step t -> (number of the moment, i) of its moments."""
    by_step: dict[int, list[tuple[int, int]]] = {}
    for number, (i, t) in enumerate(moments):
        by_step.setdefault(t, []).append((number, i))
    return by_step


def are_possible(rows: BatchWorld, targets: np.ndarray, numbers: Iterable[int]) -> np.ndarray:
    """bool (n,): whether each row's target is possible there, as far as its agent has perceived."""
    language, sense = rows.domain.language, rows.domain.persistence
    return np.array(
        [sense.is_possible(rows.perception(int(row)), language.description_of(targets[row])) for row in numbers], bool
    )


def join(parts: Sequence[Starts]) -> Starts:
    """All starts of all parts, in order. Raises ValueError for none."""
    if not parts:
        raise ValueError("no starts to join: nothing was restored and nothing was reached")
    offsets = np.cumsum([0] + [len(part.checks) for part in parts[:-1]])
    return Starts(
        rows=parts[0].domain.join(part.rows for part in parts),
        targets=np.concatenate([part.targets for part in parts]),
        checks=tuple(check for part in parts for check in part.checks),
        check_of=np.concatenate([part.check_of + offset for part, offset in zip(parts, offsets, strict=True)]),
    )


def perturb_starts(starts: Starts, *, most: int, seed: int) -> Starts:
    """The starts after up to `most` random moves each: the same places, seen from elsewhere. Unchanged in a domain
    without actions that only move."""
    rng, domain = np.random.default_rng(seed), starts.domain
    if not domain.hints.stroll:
        return starts
    world, everyone = domain.blank(len(starts)), np.arange(len(starts))
    world.put(everyone, starts.rows, everyone)
    lengths = rng.integers(most + 1, size=len(starts))
    for t in range(most):
        world.step(np.where(t < lengths, rng.choice(domain.hints.stroll, size=len(starts)), domain.wait))
    world.begin_subgoals()
    return replace(starts, rows=world)


def target_of(check: CheckFunction, language: Language) -> np.ndarray:
    """A check's target i16 (w,): the last description in its source (put A next to *B*)."""
    nothing = language.row("")
    targets = [language.row(text) for text in string_constants(check.source)]
    return next((target for target in reversed(targets) if not np.array_equal(target, nothing)), nothing)
