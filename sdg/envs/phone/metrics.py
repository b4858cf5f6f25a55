"""AndroidLab's four metrics, computed as its authors' code does (THUDM/Android-Lab at 373fc1d).

Shares in [0, 1] over all tasks, those without a trace included:

steps      flags by step: {"judge_page": True, "1": True, "2": False, "complete": False}, or None: not judged
Success Rate                 tasks whose last judged step is complete
Sub-Goal Success Rate        1 for a complete task, else the share of the last judged step's flags that are true
Reversed Redundancy Ratio    mean over complete tasks of reference length / steps; none below 5 % success
Reasonable Operation Ratio   1 - (screens equal to the one before) / (steps - 1), the last screen left out
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

SAME = 0.999
"""Share of the values that aren't white on both screens above which two screens count as the same."""
MAX_REPEATS = 5
"""A sixth repetition of an action in a row ends what is scored."""
MIN_SUCCESS = 0.05
"""Success rate below which no Reversed Redundancy Ratio is reported."""
_ASIDE = ("complete", "judge_page")


@dataclass(frozen=True, slots=True)
class TaskScore:
    """One task: flags of its last judged step, its scored steps, how often a screen stayed as it was, and the length of
    a shortest path (0: not known)."""

    flags: Mapping[str, bool]
    steps: int = 0
    unchanged: int = 0
    shortest: int = 0

    @property
    def complete(self) -> bool:
        """Whether the task was solved."""
        return self.flags.get("complete") is True

    @property
    def sub_goals(self) -> float:
        """Its share of the Sub-Goal Success Rate, in [0, 1]."""
        flags = [bool(value) for name, value in self.flags.items() if name not in _ASIDE]
        if self.complete:
            return 1.0
        return sum(flags) / len(flags) if flags else 0.0

    @property
    def reversed_redundancy(self) -> float | None:
        """Shortest path / steps; None where the task isn't solved or the path isn't known."""
        return self.shortest / self.steps if self.complete and self.steps and self.shortest else None

    @property
    def reasonable_operations(self) -> float:
        """Its share of the Reasonable Operation Ratio, in [0, 1]; 1 for a single step."""
        return 1.0 if self.steps == 1 else 1 - self.unchanged / (self.steps - 1)


def score_steps(
    judged: Sequence[Mapping[str, bool] | None],
    actions: Sequence[str],
    same: Callable[[int, int], bool],
    *,
    shortest: int = 0,
) -> TaskScore:
    """A task's score from its steps: flags and actions as text, a value for each step; `same` compares the screens that
    two steps (by number, from 0) were decided on."""
    flags: Mapping[str, bool] = {"complete": False}
    scored: list[int] = []
    repeats = 0
    for number, step in enumerate(judged):
        repeats = repeats + 1 if number and actions[number] == actions[number - 1] else 0
        if repeats > MAX_REPEATS:
            break
        if step is None:
            continue
        scored.append(number)
        if step.get("judge_page", True):
            flags = step
    # With two screens or fewer nothing is compared, and the last screen never is.
    return TaskScore(flags, len(scored), sum(same(*pair) for pair in pairwise(scored[:-1])), shortest)


def same_screen(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether two screenshots, RGB u8 (h, w, 3), count as the same; of different shapes they never do."""
    if before.shape != after.shape:
        return False
    inked = (before != 255) | (after != 255)
    total = np.count_nonzero(inked)
    return bool(total and np.count_nonzero((before == after) & inked) / total > SAME)


def summarise(scores: Sequence[TaskScore], tasks: int) -> dict[str, float | None]:
    """The four metrics as shares over `tasks` tasks, of which `scores` were played. Raises ValueError for none."""
    if tasks < max(len(scores), 1):
        raise ValueError(f"{len(scores)} tasks were played, so {tasks} can't be all of them")
    complete = [score for score in scores if score.complete]
    success = len(complete) / tasks
    return {
        "success_rate": success,
        "sub_goal_success_rate": sum(score.sub_goals for score in scores) / tasks,
        "reversed_redundancy_ratio": (
            sum(score.reversed_redundancy or 0.0 for score in complete) / len(complete)
            if success >= MIN_SUCCESS
            else None
        ),
        "reasonable_operation_ratio": sum(score.reasonable_operations for score in scores) / tasks,
    }
