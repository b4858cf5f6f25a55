"""Intervals agree with textbook values and cover what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sdg.skills.statistics import (
    bootstrap_clustered,
    wilson_interval,
)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        # Published worked values: Newcombe (1998), Statistics in Medicine 17, table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_agrees_with_published_values(successes: int, trials: int, low: float, high: float) -> None:
    interval = wilson_interval(successes, trials)
    assert interval.low == pytest.approx(low, abs=5e-5)
    assert interval.high == pytest.approx(high, abs=5e-5)
    assert interval.value == successes / trials


def test_wilson_is_symmetric_and_bounded() -> None:
    for trials in (1, 7, 300):
        for successes in range(trials + 1):
            interval, mirror = wilson_interval(successes, trials), wilson_interval(trials - successes, trials)
            assert 0.0 <= interval.low <= interval.value <= interval.high <= 1.0
            assert interval.low == pytest.approx(1 - mirror.high)
    assert wilson_interval(300, 300).high == 1.0
    assert wilson_interval(0, 300).low == 0.0


def test_wilson_covers_the_truth() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for successes in rng.binomial(300, 0.96, size=2000):
        interval = wilson_interval(int(successes), 300)
        hits += interval.low <= 0.96 <= interval.high
    assert 0.93 <= hits / 2000 <= 0.98


@pytest.mark.parametrize(("successes", "trials"), [(-1, 3), (4, 3)])
def test_wilson_refuses_impossible_counts(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match=r"0\.\.trials"):
        wilson_interval(successes, trials)


def test_nothing_tried_says_nothing() -> None:
    interval = wilson_interval(0, 0)
    assert math.isnan(interval.value)
    assert (interval.low, interval.high) == (0.0, 1.0)


def test_answers_of_one_answerer_are_not_many_answers() -> None:
    scores, clusters = [1.0] * 10 + [0.0] * 10, ["a"] * 10 + ["b"] * 10
    together = bootstrap_clustered(scores, clusters, seed=0)
    apart = bootstrap_clustered(scores, range(20), seed=0)
    assert together.value == apart.value == 0.5
    assert (together.low, together.high) == (0.0, 1.0)
    assert 0.2 < apart.low < apart.high < 0.8
    assert math.isnan(bootstrap_clustered(scores, ["a"] * 20, seed=0).low)
