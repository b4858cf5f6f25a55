"""Practice in which subgoals follow one another without reset, for bodies whose states no pool of starts can hold.

A check such as "0.25 metres nearer than when the subgoal began" can be asked again where it fired. So an episode is a
chain of subgoals, and each call begins in the state in which the last one left the body: falling over costs all later
rewards. A row goes on with its subgoal, or with that of another start of the pool (`redraw`).
"""

from typing import Any

import numpy as np

from sdg.skills.practice.env import PracticeEnv
from sdg.skills.practice.starts import are_possible

DRAWS = 8
"""Most subgoals that are tried for a row until one is possible where the body is."""


class ChainedPractice(PracticeEnv):
    """Rows that begin the next subgoal where the last one ended; `redraw` is how often it is another, in [0, 1].

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
        for _ in range(DRAWS):
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
