"""How sure a figure is: intervals of success rates, and of scores over repeats.

Sources: E. B. Wilson (1927), the score interval of a proportion; R. Agarwal et al. (2021), "Deep RL at the Edge of the
Statistical Precipice", the interquartile mean with a stratified bootstrap. scipy does the work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000
"""Of a bootstrap."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the ends of its interval, all in the unit of the estimate (rates in [0, 1]); nan: unknown."""

    value: float
    low: float
    high: float

    def widened(self, other: Interval) -> Interval:
        """The same estimate with ends that hold the other interval, too; an unknown end counts for nothing."""
        low, high = np.fmin(self.low, other.low), np.fmax(self.high, other.high)
        return Interval(self.value, float(min(low, self.value)), float(max(high, self.value)))


def wilson_interval(successes: int, trials: int, *, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of a success rate. Without trials nothing is known: value nan, [0, 1].

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


def interquartile_mean(scores: Sequence[float] | np.ndarray) -> np.ndarray:
    """Mean of the middle half of scores (..., n): those at the quartiles are weighted in part.

    Raises ValueError for no scores.
    """
    ordered = np.sort(np.asarray(scores, np.float64), axis=-1)
    if not ordered.shape[-1]:
        raise ValueError("the interquartile mean of no values is not defined")
    # Each score stands for 1/n of the mass, cut at 1/4 and 3/4 of it.
    edges = np.clip(np.arange(ordered.shape[-1] + 1) / ordered.shape[-1], 0.25, 0.75)
    return ordered @ np.diff(edges) * 2


def mean_of_strata(*strata: np.ndarray) -> np.ndarray:
    """The mean over strata of their means, each (..., n)."""
    return np.mean([stratum.mean(axis=-1) for stratum in strata], axis=0)


def iqm_of_strata(*strata: np.ndarray) -> np.ndarray:
    """The interquartile mean over the scores of all strata."""
    return interquartile_mean(np.concatenate(strata, axis=-1))


def bootstrap_interval(
    strata: Sequence[Sequence[float]],
    statistic: Callable[..., np.ndarray] = mean_of_strata,
    *,
    seed: int,
    resamples: int = RESAMPLES,
) -> Interval:
    """A statistic of scores with its 95 % percentile interval from resampling within every stratum (a task, say).

    Where no stratum has two scores that differ resampling says nothing: the ends are nan. Raises ValueError for an
    empty stratum.
    """
    from scipy.stats import bootstrap

    rows = [np.asarray(stratum, np.float64) for stratum in strata]
    if not rows or any(row.size == 0 for row in rows):
        raise ValueError("a stratified bootstrap needs at least one score in every stratum")
    value = float(statistic(*rows))
    if all(np.ptp(row) == 0 for row in rows):
        return Interval(value, math.nan, math.nan)
    # A single score is itself in every resample; scipy asks for two.
    pairs = [np.repeat(row, 2) if row.size == 1 else row for row in rows]
    found = bootstrap(
        pairs,
        lambda *samples, axis=-1: statistic(*samples),
        n_resamples=resamples,
        vectorized=True,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return Interval(value, float(found.confidence_interval.low), float(found.confidence_interval.high))


def bootstrap_clustered(scores: Sequence[float] | np.ndarray, clusters: Sequence[Hashable], *, seed: int) -> Interval:
    """The mean of scores with its 95 % percentile interval where whole clusters are drawn: those of a cluster (who
    answered, say) aren't independent. One cluster says nothing of how others differ: the ends are nan.

    Raises ValueError for no scores.
    """
    values = np.asarray(scores, np.float64)
    if not values.size or len(values) != len(clusters):
        raise ValueError("a clustered bootstrap needs scores, and the cluster of each")
    names = list(dict.fromkeys(clusters))
    members = [values[[each == name for each in clusters]] for name in names]
    sums, counts = np.array([part.sum() for part in members]), np.array([part.size for part in members])
    if len(names) == 1:
        return Interval(float(values.mean()), math.nan, math.nan)
    drawn = np.random.default_rng(seed).integers(len(names), size=(RESAMPLES, len(names)))
    low, high = np.percentile(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1), (2.5, 97.5))
    return Interval(float(values.mean()), float(low), float(high))
