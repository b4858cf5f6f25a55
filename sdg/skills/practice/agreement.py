"""Tests of a check before and after it is trusted: its health, whether it asks anything, and its agreement with the
world's judge."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sdg.sandbox.guard import GuardError
from sdg.skills.checks.check import compile_check, fault_of
from sdg.skills.practice.env import PracticeEnv
from sdg.skills.practice.starts import Starts
from sdg.skills.subgoal import CheckFunction

ROWS = 8
WAIT = 16
"""Steps for which an action is repeated."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Steps of a walk on which check and world both said yes, only the check did, or only the world did."""

    both: int = 0
    only_check: int = 0
    only_world: int = 0


def faults(start: Starts, checks: Sequence[CheckFunction], *, steps: int, seed: int) -> tuple[list[str], int]:
    """Ask all checks about the states of a random walk of ROWS rows and `steps` steps; the fault of each ("" for
    none) and the steps walked.

    Raises `Refused` for a check that the guard doesn't admit.
    """
    functions = [compile_check(check, start.domain) for check in checks]
    env = _walkers(start, checks[:1], seed)
    snapshots = [env.rows.perception(0)]
    for _ in range(steps):
        env.step(env.random_actions())
        snapshots += [env.rows.perception(row) for row in range(ROWS)]
    return [fault_of(check, snapshots) for check in functions], env.steps


def agreement(start: Starts, check: CheckFunction, *, steps: int, seed: int) -> Agreement:
    """Walk at random from the start of the last subgoal and compare its check with the mission's own verdict.

    Rows begin again when the mission is over and every 10 steps, because both verdicts are about events.
    """
    env = _walkers(start, (check,), seed)
    counts = np.zeros(3, np.int64)
    for t in range(steps):
        fired, over, succeeded = env.step(env.random_actions())
        counts += np.count_nonzero((fired & succeeded, fired & ~succeeded, ~fired & succeeded), axis=1)
        rows = np.flatnonzero(over | fired | (t % 10 == 9))
        env.restore(rows, np.zeros(len(rows), np.int64))
    return Agreement(*counts.tolist())


def pays_for_nothing(starts: Starts, *, seed: int) -> tuple[str, int]:
    """After what all checks come true, whichever action is repeated: "any one action", "any 5 actions" (at most WAIT),
    so that nothing can be learned from them; "" where they don't, or are true at these starts. And the environment
    steps of the trial, which ends at the first walk that isn't so.
    """
    bounds, everyone = starts.domain.inputs.bounds, np.arange(len(starts))
    env = PracticeEnv(starts, len(starts), horizon=WAIT, seed=seed)
    actions = range(len(starts.domain.actions)) if bounds is None else (np.clip(0, *bounds), *bounds)
    env.restore(everyone, everyone)
    if env.reward(env.memory, starts.check_of).any():
        return "", env.steps
    waits: set[int] = set()
    for action in actions:
        env.restore(everyone, everyone)
        for _ in range(max(waits, default=WAIT)):
            fired, over, _ = env.step(np.array([action] * len(starts)))
            if (fired | over).any():
                break
        waits.add(int(env.age[0]))
        if not fired.all() or len(waits) > 1:
            return "", env.steps
    (wait,) = waits
    return "any one action" if wait == 1 else f"any {wait} actions", env.steps


def fault_everywhere(starts: Starts, *, steps: int, seed: int) -> tuple[str, int]:
    """Why no check can be asked about any state of a random walk from its start, "" where one can; and the environment
    steps walked, which end there."""
    checks = [compile_check(starts.checks[number], starts.domain) for number in starts.check_of]
    env, everyone, fault = PracticeEnv(starts, len(starts), horizon=1, seed=seed), np.arange(len(starts)), ""
    env.restore(everyone, everyone)
    for _ in range(steps):
        for row, check in enumerate(checks):
            try:
                check(env.rows.perception(row))
            except GuardError as error:
                fault = str(error)
            else:
                return "", env.steps
        env.step(env.random_actions())
    return fault, env.steps


def _walkers(start: Starts, checks: Sequence[CheckFunction], seed: int) -> PracticeEnv:
    pool = Starts(start.rows, start.targets, tuple(checks), np.zeros(1, np.int64))
    env = PracticeEnv(pool, ROWS, horizon=1, seed=seed)
    env.restore(np.arange(ROWS), np.zeros(ROWS, np.int64))
    return env
