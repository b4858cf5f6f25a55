"""Intervals for success rates and for scores over seeds.

Sources: E. B. Wilson (1927), the score interval of a proportion; R. Agarwal et al. (2021), "Deep RL at the Edge of the
Statistical Precipice", the interquartile mean with a stratified bootstrap.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sdg.skills.statistics import Interval, wilson_interval

__all__ = ["Interval", "interquartile_mean", "iqm_interval", "mean_interval", "wilson_interval"]


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


def mean_interval(
    strata: Sequence[Sequence[float]], *, seed: int, resamples: int = 2000, confidence: float = 0.95
) -> Interval:
    """Mean over strata of their means, with its percentile interval from a bootstrap within every stratum.

    For few scores (five training seeds, say) where an interquartile mean would rest on three of them. With five scores
    a percentile interval is somewhat narrow. Raises ValueError for an empty stratum.
    """
    rows = [np.asarray(stratum, np.float64) for stratum in strata]
    if not rows or any(row.size == 0 for row in rows):
        raise ValueError("a stratified bootstrap needs at least one score in every stratum")
    rng = np.random.default_rng(seed)
    draws = [rng.choice(row, size=(resamples, row.size), replace=True).mean(axis=1) for row in rows]
    tail = (1 - confidence) / 2
    low, high = np.quantile(np.mean(draws, axis=0), [tail, 1 - tail])
    return Interval(float(np.mean([row.mean() for row in rows])), float(low), float(high))
