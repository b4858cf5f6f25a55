"""Policies over real numbers: what they accept, and that they play as the network that was learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sdg.envs.defaults import PlainInputs
from sdg.skills.policy.network import MLPPolicy, random_weights


class Numbers(PlainInputs):
    """Three numbers; a row's memory is the numbers themselves."""

    size, actions = 3, 2

    def write_row(self, memory: Any, row: int, target: np.ndarray, out: np.ndarray) -> int:
        out[:] = memory[row]
        return 0


class Torques(Numbers):
    bounds = np.array([[-1.0, -0.5], [1.0, 0.5]], np.float32)


def weights(rng: np.random.Generator, **others: np.ndarray) -> dict[str, np.ndarray]:
    shapes = {"w1": (3, 8), "b1": (8,), "w2": (8, 2), "b2": (2,)}
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()} | others


def test_numbered_actions_are_drawn_as_the_logits_say() -> None:
    rng = np.random.default_rng(0)
    policy = MLPPolicy(weights(rng), Numbers())
    memory = np.array([[0.1, -0.2, 0.1]], np.float32)
    logits = policy.outputs(memory[0]).astype(np.float64)
    expected = np.exp(logits)[1] / np.exp(logits).sum()
    drawn = [policy.act(memory, 0, np.zeros(1, np.int16), rng) for _ in range(4000)]
    assert np.mean(drawn) == pytest.approx(expected, abs=0.03)
    many = policy.act_batch(np.repeat(memory, 4000, 0), np.zeros((4000, 1), np.int16), rng)
    assert many.mean() == pytest.approx(expected, abs=0.03)


def test_continuous_actions_spread_around_the_mean_within_their_bounds() -> None:
    rng = np.random.default_rng(0)
    quiet = weights(rng, log_std=np.array([-9.0, -9.0], np.float32))
    memory = np.array([[0.1, 0.0, -0.1]], np.float32)
    policy = MLPPolicy(quiet, Torques())
    mean = np.clip(policy.outputs(memory[0]), *Torques.bounds)
    assert policy.act(memory, 0, np.zeros(1, np.int16), rng) == pytest.approx(mean, abs=0.01)
    loud = MLPPolicy(quiet | {"log_std": np.array([2.0, 2.0], np.float32)}, Torques())
    drawn = loud.act_batch(np.repeat(memory, 500, 0), np.zeros((500, 1), np.int16), rng)
    assert drawn.dtype == np.float32
    assert drawn.min(0).tolist() == [-1.0, -0.5]
    assert drawn.max(0).tolist() == [1.0, 0.5]


def test_random_weights_do_not_depend_on_the_order_in_which_a_file_gives_them() -> None:
    good = weights(np.random.default_rng(0), log_std=np.ones(2, np.float32), scale=np.float32(2))
    first = random_weights(good, np.random.default_rng(1))
    again = random_weights(dict(reversed(good.items())), np.random.default_rng(1))
    assert {name: array.shape for name, array in first.items()} == {name: np.shape(good[name]) for name in good}
    assert all(np.array_equal(first[name], again[name]) for name in good)
    assert first["log_std"].tolist() == [1, 1]
    assert np.allclose(first["w1"], np.random.default_rng(1).standard_normal((3, 8)) / np.sqrt(3))
    MLPPolicy({name: array for name, array in first.items() if name != "scale"}, Torques())


@pytest.mark.parametrize("broken", ["w1", "b2", "log_std", "w3"])
def test_arrays_that_do_not_fit_are_refused(broken: str) -> None:
    good = weights(np.random.default_rng(0), log_std=np.zeros(2, np.float32))
    MLPPolicy(good, Torques())
    with pytest.raises(ValueError, match=r"policy|layer|log_std"):
        MLPPolicy(good | {broken: np.zeros((5, 5), np.float32)}, Torques())
    with pytest.raises(ValueError, match="arrays"):
        MLPPolicy({name: array for name, array in good.items() if name != "log_std"}, Torques())
