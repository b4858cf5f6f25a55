"""The learner's gradients are those that torch's autograd finds for the same network."""

from __future__ import annotations

import numpy as np

from sdg.envs.babyai.practice.inputs import MAP_INPUTS, N_ACTIONS, SIZE
from sdg.skills.learning.gradients import Batch, BitRows, Network
from sdg.skills.settings import PPOSettings
from tests.shared.embedding_bag import BagNetwork


def test_the_network_with_embedding_bag_is_the_learners() -> None:
    rng, n = np.random.default_rng(0), 60
    own = Network.create(MAP_INPUTS, (24, 12), rng)
    bag = BagNetwork.of(Network(MAP_INPUTS, (24, 12), own.parameters.copy()))
    inputs = BitRows(MAP_INPUTS, n)
    inputs.append((rng.random((n, SIZE)) < 0.1).astype(np.uint8))
    batch = Batch(rng.integers(0, N_ACTIONS, n), *rng.standard_normal((3, n)).astype(np.float32))
    before = own.parameters.copy()
    for _ in range(3):
        for network in (own, bag):
            network.compute_gradient(inputs, batch, rng.permutation(n), PPOSettings())
            network.adam_step(1e-3, 0.5)
    assert np.abs(own.parameters - before).max() > 1e-3
    np.testing.assert_allclose(bag.parameters, own.parameters, atol=1e-4)
    for mine, its in zip(own.evaluate(inputs, slice(0, n)), bag.evaluate(inputs, slice(0, n)), strict=True):
        np.testing.assert_allclose(its, mine, atol=1e-3)
