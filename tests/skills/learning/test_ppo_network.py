"""The network of bits against torch: the same outputs, the same gradient of the same loss, the same steps."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sdg.envs.babyai.practice.inputs import MAP_INPUTS, MOSTLY_ON, N_ACTIONS, SIZE
from sdg.skills.learning.gradients import VALUE_WEIGHT, Batch, BitRows, Network
from sdg.skills.settings import PPOSettings
from tests.shared.library_samples import random_bits

N = 70
SETTINGS = PPOSettings(clip_range=0.2, ent_coef=0.03)
MAX_GRAD_NORM = 0.5


def observations(rng: np.random.Generator, n: int = N) -> np.ndarray:
    rows = (rng.random((n, SIZE)) < 0.1).astype(np.uint8)
    rows[:, MOSTLY_ON] = rng.random((n, MOSTLY_ON.stop - MOSTLY_ON.start)) < 0.7
    rows[0], rows[1] = 0, 1
    return rows


def network(rng: np.random.Generator) -> Network:
    net = Network.create(MAP_INPUTS, (24, 12), rng)
    net.parameters[:] += 0.1 * rng.standard_normal(net.parameters.shape).astype(np.float32)
    return net


def torch_outputs(views: list[torch.Tensor], rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    w1, b1, w2, b2, w3, b3 = views
    signs = torch.ones(SIZE, 1, dtype=w1.dtype)
    signs[MOSTLY_ON] = -1
    out = torch.relu(torch.relu(torch.as_tensor(rows, dtype=w1.dtype) @ (signs * w1) + b1) @ w2 + b2) @ w3 + b3
    return out[:, :N_ACTIONS], out[:, N_ACTIONS]


def torch_loss(views: list[torch.Tensor], rows: np.ndarray, batch: Batch, settings: PPOSettings) -> torch.Tensor:
    """As stable-baselines3 writes it (PPO.train)."""
    logits, values = torch_outputs(views, rows)
    chosen = torch.distributions.Categorical(logits=logits)
    advantages, before, returns = (
        torch.as_tensor(array, dtype=torch.float64)
        for array in (batch.advantages, batch.log_probabilities, batch.returns)
    )
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    ratio = torch.exp(chosen.log_prob(torch.as_tensor(batch.actions)) - before)
    clipped = torch.clamp(ratio, 1 - settings.clip_range, 1 + settings.clip_range)
    policy = -torch.min(advantages * ratio, advantages * clipped).mean()
    value = torch.nn.functional.mse_loss(returns, values)
    return policy - settings.ent_coef * chosen.entropy().mean() + VALUE_WEIGHT * value


def batch_of(rng: np.random.Generator, logits: np.ndarray) -> Batch:
    """Actions whose ratio lies within the clip range for some and outside for others."""
    actions = rng.integers(0, N_ACTIONS, N)
    log = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    before = log[np.arange(N), actions] + rng.normal(0, 0.3, N).astype(np.float32)
    return Batch(actions, before, *rng.standard_normal((2, N)).astype(np.float32))


def test_outputs_are_torchs_and_the_policys() -> None:
    rng = np.random.default_rng(0)
    net, rows, inputs = network(rng), observations(rng), BitRows(MAP_INPUTS, N)
    logits, values = net.evaluate(inputs, inputs.append(rows))
    views = [torch.as_tensor(view) for view in net.views(net.parameters)]
    expected, worth = torch_outputs(views, rows)
    np.testing.assert_allclose(logits, expected, atol=1e-4)
    np.testing.assert_allclose(values, worth, atol=1e-4)
    np.testing.assert_allclose(net.policy().outputs(rows), logits, atol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_is_torchs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net, rows, inputs = network(rng), observations(rng), BitRows(MAP_INPUTS, N)
    logits, _ = net.evaluate(inputs, inputs.append(rows))
    batch = batch_of(rng, logits)
    net.compute_gradient(inputs, batch, np.arange(N), SETTINGS)
    views = [torch.tensor(view, dtype=torch.float64, requires_grad=True) for view in net.views(net.parameters)]
    torch_loss(views, rows, batch, SETTINGS).backward()
    for mine, its in zip(net.views(net.gradient), views, strict=True):
        assert its.grad is not None
        scale = float(its.grad.abs().max())
        assert scale > 0
        np.testing.assert_allclose(mine, its.grad, atol=1e-4 * scale)


def test_a_part_of_the_samples_in_another_order() -> None:
    rng = np.random.default_rng(5)
    net, rows, inputs = network(rng), observations(rng), BitRows(MAP_INPUTS, N)
    logits, _ = net.evaluate(inputs, inputs.append(rows))
    batch, chosen = batch_of(rng, logits), rng.permutation(N)[:20]
    net.compute_gradient(inputs, batch, chosen, SETTINGS)
    partly, alone = net.gradient.copy(), BitRows(MAP_INPUTS, 20)
    alone.append(rows[chosen])
    arrays = (batch.actions, batch.log_probabilities, batch.advantages, batch.returns)
    net.compute_gradient(alone, Batch(*(array[chosen] for array in arrays)), np.arange(20), SETTINGS)
    assert (net.gradient == partly).all()


def test_steps_are_adams_with_the_gradient_cut() -> None:
    rng = np.random.default_rng(1)
    net = network(rng)
    parameters = torch.nn.Parameter(torch.tensor(net.parameters))
    adam = torch.optim.Adam([parameters], lr=1e-3, eps=1e-5)
    for size in (1e-4, 1.0, 1e-2, 1e-3):
        net.gradient[:] = size * rng.standard_normal(len(net.gradient)).astype(np.float32)
        parameters.grad = torch.tensor(net.gradient)
        torch.nn.utils.clip_grad_norm_([parameters], MAX_GRAD_NORM)
        adam.step()
        net.adam_step(1e-3, MAX_GRAD_NORM)
        np.testing.assert_allclose(net.parameters, parameters.detach(), atol=2e-6)


def test_weights_begin_orthogonal() -> None:
    w1, b1, w2, _, w3, _ = (lambda net: net.views(net.parameters))(
        Network.create(MAP_INPUTS, (24, 12), np.random.default_rng(2))
    )
    np.testing.assert_allclose(w1.T @ w1, 2 * np.eye(24), atol=1e-5)
    np.testing.assert_allclose(w2.T @ w2, 2 * np.eye(12), atol=1e-5)
    np.testing.assert_allclose(w3[:, :N_ACTIONS].T @ w3[:, :N_ACTIONS], 1e-4 * np.eye(N_ACTIONS), atol=1e-7)
    assert not b1.any()


def test_lists_of_bits_grow_and_are_used_again() -> None:
    rng, inputs = np.random.default_rng(3), BitRows(MAP_INPUTS, 12)
    net, rows = network(rng), np.ones((4, SIZE), np.uint8)
    first, _ = net.evaluate(inputs, inputs.append(rows))
    again = [inputs.append(rows) for _ in range(2)][1]
    assert (net.evaluate(inputs, again)[0] == first).all()
    inputs.used = 0
    assert (net.evaluate(inputs, inputs.append(rows))[0] == first).all()


def test_a_policy_is_taken_over_and_given_back() -> None:
    rng = np.random.default_rng(4)
    policy, net = random_bits(MAP_INPUTS, rng, hidden=(32, 64)), Network.create(MAP_INPUTS, (32, 64), rng)
    net.load(policy)
    assert all((net.policy().weights[name] == array).all() for name, array in policy.weights.items())
    with pytest.raises(ValueError, match="w1"):
        Network.create(MAP_INPUTS, (24, 64), rng).load(policy)
