"""Intervals for success rates and for scores over seeds.

Sources: E. B. Wilson (1927), the score interval of a proportion; R. Agarwal et al. (2021), "Deep RL at the Edge of the
Statistical Precipice", the interquartile mean with a stratified bootstrap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the ends of its interval, all in the unit of the estimate (rates in [0, 1])."""

    value: float
    low: float
    high: float


def wilson_interval(successes: int, trials: int, *, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of a success rate. Without trials nothing is known: value nan, [0, 1].

    Raises ValueError unless 0 <= successes <= trials and 0 < confidence < 1.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must lie in 0..trials, got {successes} of {trials}")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    if trials == 0:
        return Interval(math.nan, 0.0, 1.0)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    rate = successes / trials
    centre = (rate + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    # At 0 and at n of n the ends are exactly 0 and 1; rounding would leave 1e-17 beside them.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return Interval(rate, low, high)


def interquartile_mean(values: Sequence[float] | np.ndarray) -> float:
    """Mean of the middle half: the values between the quartiles, with the two at its edges weighted in part.

    Raises ValueError for no values.
    """
    ordered = np.sort(np.asarray(values, np.float64).ravel())
    if ordered.size == 0:
        raise ValueError("the interquartile mean of no values is not defined")
    return float(ordered @ _middle_half(ordered.size))


def _middle_half(n: int) -> np.ndarray:
    """Weights (n,) of sorted values: each value stands for 1/n of the mass, cut at 1/4 and 3/4 of it."""
    edges = np.arange(n + 1) / n
    inside = np.clip(edges[1:], 0.25, 0.75) - np.clip(edges[:-1], 0.25, 0.75)
    weights: np.ndarray = inside / inside.sum()
    return weights


def iqm_interval(
    strata: Sequence[Sequence[float]], *, seed: int, resamples: int = 2000, confidence: float = 0.95
) -> Interval:
    """Interquartile mean over all scores with its percentile interval from a bootstrap stratified by task.

    `strata` holds one sequence of scores per task (for instance one success rate per repeat); each resample draws with
    replacement within every task, so that a task's weight never changes. Raises ValueError for an empty stratum.
    """
    rows = [np.asarray(stratum, np.float64) for stratum in strata]
    if not rows or any(row.size == 0 for row in rows):
        raise ValueError("a stratified bootstrap needs at least one score in every stratum")
    rng = np.random.default_rng(seed)
    draws = [rng.choice(row, size=(resamples, row.size), replace=True) for row in rows]
    sample = np.sort(np.concatenate(draws, axis=1), axis=1)
    means = sample @ _middle_half(sample.shape[1])
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(interquartile_mean(np.concatenate(rows)), float(low), float(high))
