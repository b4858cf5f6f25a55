"""States of a world restored by replaying saved actions, where practice begins (SDG, section 4.4)."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sdg.envs.batch import BatchWorld, Layouts
from sdg.envs.domain import Domain


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
    moments_at, forgets = _by_step(moments), _by_step([(i, t) for i, steps in enumerate(forgot) for t in steps])
    for t in range(max(moments_at, default=-1) + 1):
        for _, i in forgets.get(t, ()):
            world.forget(i)
        if t in moments_at:
            numbers, of = np.array(moments_at[t]).T
            states.put(numbers, world, of)
        moves = [row_actions[t] if t < len(row_actions) else domain.wait for row_actions in actions]
        # Some worlds' actions are single numbers in some rows and several in others: then there is no array of them.
        world.step(np.array(moves) if len({np.shape(action) for action in moves}) <= 1 else moves)  # type: ignore[arg-type]
    states.begin_subgoals()
    return states


def _by_step(moments: Iterable[tuple[int, int]]) -> dict[int, list[tuple[int, int]]]:
    """(number of the moment, i) by t."""
    by_step: dict[int, list[tuple[int, int]]] = {}
    for number, (i, t) in enumerate(moments):
        by_step.setdefault(t, []).append((number, i))
    return by_step
