"""Where skills are practised: n rows of a batch world that start from a pool and get their reward from check functions.

Policies see the domain's `Inputs`, nothing else. Learners use it through `skills/learning/vec_env.py`.
"""

from typing import Any

import numpy as np

from sdg.skills.checks.reward import BatchReward
from sdg.skills.policy.network import Policy
from sdg.skills.practice.starts import Starts, are_possible

MAX_DRAWS = 8
"""Most subgoals that are tried for a row until one is possible where the body is."""


class PracticeEnv:
    """n rows that play from `starts` for at most `horizon` steps each; the check of a row's start ends it.

    With `require_same_place` a check counts only in the part of the world in which the row began: "nothing unseen here"
    is soon true elsewhere.
    """

    def __init__(self, starts: Starts, n: int, *, horizon: int, seed: int, require_same_place: bool = False) -> None:
        self.starts, self.horizon, self.require_same_place = starts, horizon, require_same_place
        self.inputs = starts.domain.inputs
        self.start_of, self.began_in, self.age = np.zeros((3, n), np.int64)
        self.reward = BatchReward(starts.checks, starts.domain)
        self.rows = starts.domain.blank(n)
        self.memory = self.rows.memory
        """The memory of each row's agent."""
        self.rng = np.random.default_rng(seed)
        self.targets = np.zeros((n, starts.targets.shape[1]), starts.targets.dtype)
        self.steps, self.goes_on = 0, np.zeros(n, bool)
        """Steps taken in all, and the rows whose latest step reached their check while the task went on."""
        self.frames = np.ones(n, np.int64)

    def restore(self, rows: np.ndarray, starts: np.ndarray) -> None:
        """Put `rows` into the moments `starts` (indices into the pool)."""
        self.rows.put(rows, self.starts.rows, starts)
        self.start_of[rows] = starts
        self.targets[rows] = self.starts.targets[starts]
        self.age[rows] = 0
        if self.require_same_place:
            self.began_in[rows] = self.rows.places()[rows]

    def restore_random(self, rows: np.ndarray) -> None:
        """Put `rows` into moments drawn from the pool."""
        self.restore(rows, self.rng.integers(len(self.starts), size=len(rows)))

    def features(self) -> np.ndarray:
        """Inputs (n, size) of all rows."""
        out = np.zeros((len(self.age), self.inputs.size), self.inputs.dtype)
        self.inputs.write(self.memory, self.targets, self.frames, out)
        return out

    def random_actions(self) -> np.ndarray:
        """An action for each row, drawn evenly: numbers (n,), or f32 (n, actions) within their bounds."""
        if self.inputs.bounds is None:
            return self.rng.integers(len(self.starts.domain.actions), size=len(self.age))
        low, high = self.inputs.bounds
        return self.rng.uniform(low, high, (len(self.age), len(low))).astype(np.float32)

    def unmirror(self, actions: np.ndarray) -> np.ndarray:
        """The actions (n,) for `step` from actions chosen by the latest `features`, which may be mirrored."""
        return self.inputs.actions_to_world(actions, self.frames)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Step all rows; (fired, task over, task succeeded) as bool (n,). A step that ends the task as failed reaches
        nothing, whatever its check says.
        """
        over, succeeded = self.rows.step(actions)
        self.age += 1
        self.steps += len(actions)
        fired = self.reward(self.memory, self.starts.check_of[self.start_of]) & (succeeded | ~over)
        if self.require_same_place:
            fired &= self.rows.places() == self.began_in
        self.goes_on = fired & ~over
        return fired, over, succeeded


class ChainedPractice(PracticeEnv):
    """Rows that begin the next subgoal where the last one ended; `redraw` in [0, 1] is how often it is a different one.

    A check such as "0.25 metres nearer than when the subgoal began" can be asked again where it fired. So an episode is
    a chain of subgoals, for bodies whose states no pool of starts can hold, and each call begins in the state in which
    the last one left the body: falling over costs all later rewards.

    A subgoal that failed is always replaced, and so is one that is done already or impossible there by what was
    perceived. A body is lost when no subgoal at all is possible for it any more, although some was when its subgoal
    began.
    """

    def __init__(self, *args: Any, redraw: float, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self.redraw = redraw
        self._is_well = np.ones(len(self.age), bool)

    def restore(self, rows: np.ndarray, starts: np.ndarray) -> None:
        """Put `rows` into the moments `starts` (indices into the pool)."""
        super().restore(rows, starts)
        self._is_well[rows] = self._are_well(rows)

    def go_on(self, rows: np.ndarray, *, reached: np.ndarray) -> np.ndarray:
        """Begin the next subgoal of `rows` where they are; `reached`: whether each reached the one before.

        Returns the rows for which no possible subgoal was found that isn't done already.
        """
        self.rows.begin_subgoals(rows)
        self.age[rows], self._is_well[rows] = 0, self._are_well(rows)
        stale = rows[~reached | (self.rng.random(len(rows)) < self.redraw)]
        for _ in range(MAX_DRAWS):
            self.start_of[stale] = self.rng.integers(len(self.starts), size=len(stale))
            self.targets[stale] = self.starts.targets[self.start_of[stale]]
            verdicts = self.reward(self.memory, self.starts.check_of[self.start_of])[rows]
            stale = rows[verdicts | ~are_possible(self.rows, self.targets, rows)]
            if not len(stale):
                break
        return stale

    def are_lost(self) -> np.ndarray:
        """bool (n,): whether the body of each row was lost since its subgoal began."""
        return self._is_well & ~self._are_well(np.arange(len(self.age)))

    def _are_well(self, rows: np.ndarray) -> np.ndarray:
        sense = self.starts.domain.persistence
        return np.array([sense.is_possible(self.rows.perception(int(row)), "") for row in rows], bool)


def success_of(
    policy: Policy, starts: Starts, *, horizon: int, seed: int, require_same_place: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Play every start once: (reached bool (M,), steps taken i64 (M,)), with actions sampled as in use."""
    batch_size = starts.domain.can.at_once
    reached, steps = np.zeros(len(starts), bool), np.full(len(starts), horizon, np.int64)
    for first in range(0, len(starts), batch_size):
        rows = np.arange(first, min(first + batch_size, len(starts)))
        reached[rows], steps[rows], _ = play(
            policy, starts.take(rows), horizon=horizon, seed=seed + first, require_same_place=require_same_place
        )
    return reached, steps


def play(
    policy: Policy, starts: Starts, *, horizon: int, seed: int, require_same_place: bool = False
) -> tuple[np.ndarray, np.ndarray, Starts]:
    """Run a skill from every start at once; (reached, steps, the starts' rows after each attempt)."""
    n = len(starts)
    env = PracticeEnv(starts, n, horizon=horizon, seed=seed, require_same_place=require_same_place)
    env.restore(np.arange(n), np.arange(n))
    after = starts.take(np.arange(n))
    fired = env.reward(env.memory, starts.check_of)
    reached, steps = fired.copy(), np.where(fired, 0, horizon)
    dead = np.zeros(n, bool)
    for t in range(1, horizon + 1):
        if (reached | dead).all():
            break
        fired, over, _ = env.step(policy.act_batch(env.memory, env.targets, env.rng))
        new = np.flatnonzero(fired & ~reached & ~dead)
        after.rows.put(new, env.rows, new)
        reached[new], steps[new] = True, t
        dead |= over
    failures = np.flatnonzero(~reached)
    after.rows.put(failures, env.rows, failures)
    return reached, steps, after
