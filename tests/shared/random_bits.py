"""A policy over binary inputs that has learned nothing."""

from __future__ import annotations

import numpy as np

from sdg.envs.batch import Inputs
from sdg.skills.policy.network import BitsPolicy, random_weights, shapes


def random_bits(inputs: Inputs, rng: np.random.Generator, *, hidden: tuple[int, int] = (128, 64)) -> BitsPolicy:
    """Random weights for these inputs, with hidden layers of these widths."""
    sizes = shapes(inputs.size, hidden, inputs.actions)
    return BitsPolicy(random_weights({name: np.zeros(size) for name, size in sizes.items()}, rng), inputs)
