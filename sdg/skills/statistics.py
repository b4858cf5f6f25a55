"""Uncertainty of figures: intervals of success rates, and of scores over repeats.

Source: E. B. Wilson (1927), the score interval of a proportion. scipy does the work.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000
"""Resamples of a bootstrap."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the ends of its interval, all in the unit of the estimate (rates in [0, 1]); nan: unknown."""

    value: float
    low: float
    high: float

    def widen(self, other: "Interval") -> "Interval":
        """This estimate with ends that include the other interval; an unknown end is ignored."""
        low, high = np.fmin(self.low, other.low), np.fmax(self.high, other.high)
        return Interval(self.value, float(min(low, self.value)), float(max(high, self.value)))


def wilson_interval(successes: int, trials: int, *, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of a success rate. Without trials: value nan, [0, 1].

    Raises ValueError unless 0 <= successes <= trials and 0 < confidence < 1.
    """
    from scipy.stats import binomtest  # takes half a second to import

    if not 0 <= successes <= trials:
        raise ValueError(f"successes must lie in 0..trials, got {successes} of {trials}")
    if trials == 0:
        return Interval(math.nan, 0.0, 1.0)
    ends = binomtest(successes, trials).proportion_ci(confidence, method="wilson")
    return Interval(successes / trials, float(ends.low), float(ends.high))


def student_interval(scores: Sequence[float]) -> Interval:
    """The mean of independent scores (of training seeds, say) with Student's 95 % interval; one score: ends nan.

    Raises ValueError for no scores.
    """
    from scipy.stats import t

    values = np.asarray(scores, np.float64)
    if not values.size:
        raise ValueError("the mean of no scores is not defined")
    if values.size == 1:
        return Interval(float(values[0]), math.nan, math.nan)
    reach = float(t.ppf(0.975, values.size - 1) * values.std(ddof=1) / math.sqrt(values.size))
    return Interval(float(values.mean()), float(values.mean()) - reach, float(values.mean()) + reach)


def bootstrap_clustered(scores: Sequence[float] | np.ndarray, clusters: Sequence[Hashable], *, seed: int) -> Interval:
    """The mean of scores with its 95 % percentile interval from draws of whole clusters: scores of one cluster (from
    one respondent, say) aren't independent. One cluster says nothing about how others differ: the ends are nan.

    Raises ValueError for no scores.
    """
    values = np.asarray(scores, np.float64)
    if not values.size or len(values) != len(clusters):
        raise ValueError("a clustered bootstrap needs scores, and the cluster of each")
    names = list(dict.fromkeys(clusters))
    members = [values[[cluster == name for cluster in clusters]] for name in names]
    sums, counts = np.array([member.sum() for member in members]), np.array([member.size for member in members])
    if len(names) == 1:
        return Interval(float(values.mean()), math.nan, math.nan)
    samples = np.random.default_rng(seed).integers(len(names), size=(RESAMPLES, len(names)))
    low, high = np.percentile(sums[samples].sum(axis=1) / counts[samples].sum(axis=1), (2.5, 97.5))
    return Interval(float(values.mean()), float(low), float(high))
