"""The figures of a guard: accuracy, average precision, F1 and calibration, with intervals over rollouts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sdg.skills.statistics import bootstrap_clustered

BINS = 10


def figures(
    labels: np.ndarray, chances: np.ndarray, groups: np.ndarray, *, against: np.ndarray | None
) -> dict[str, Any]:
    """The figures of a guard's chances of yes (n,) for labels (n,), True for yes; no is the positive class.

    `groups` (n,) are resampled whole; `against` are another guard's chances, to measure the lead. NaN without items.
    """
    from sklearn.metrics import average_precision_score, f1_score

    if not len(labels):
        return {"accuracy": np.nan, "average_precision": np.nan, "f1": np.nan, "n": 0}
    says_yes = chances >= 0.5
    right = (says_yes == labels).astype(float)
    row = {
        "accuracy": round(float(right.mean()), 4),
        "average_precision": round(float(average_precision_score(~labels, 1 - chances)), 4),
        "f1": round(float(f1_score(~labels, ~says_yes, zero_division=0)), 4),
        "calibration_error": round(calibration_error(labels, chances), 4),
        "n": len(labels),
    } | estimate(("accuracy", "low", "high"), right, groups)
    if against is not None:
        ahead = bootstrap_clustered(right - ((against >= 0.5) == labels), groups.tolist(), seed=0)
        row |= {"ahead_low": round(100 * ahead.low, 2), "ahead_high": round(100 * ahead.high, 2)}
    return row


def calibration_error(labels: np.ndarray, chances: np.ndarray) -> float:
    """The expected calibration error (Guo et al. 2017) in [0, 1]: how far chances are from actual shares of yes."""
    bins, gaps = np.minimum((chances * BINS).astype(int), BINS - 1), chances - labels
    return float(sum(abs(gaps[bins == number].mean()) * np.mean(bins == number) for number in np.unique(bins)))


def estimate(names: tuple[str, str, str], values: np.ndarray, groups: np.ndarray) -> dict[str, float]:
    """A mean and the ends of its interval over groups, under three names."""
    mean = bootstrap_clustered(values, groups.tolist(), seed=0)
    return dict(zip(names, (round(number, 4) for number in (mean.value, mean.low, mean.high)), strict=True))


def arm_row(world: str, arm: str, trials: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The row of one arm of a comparison: success with its interval over trials, and steps."""
    return {
        "world": world,
        "arm": arm,
        "n": len(trials),
        **estimate(
            ("success", "low", "high"), np.array([row["success"] for row in trials], float), np.arange(len(trials))
        ),
        "valid_steps": sum(row["valid"] for row in trials),
        "executed_steps": sum(row["executed"] for row in trials),
    }
