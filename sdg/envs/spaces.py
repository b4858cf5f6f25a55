"""A domain's inputs and actions as gymnasium's spaces."""

from typing import Any

import numpy as np
from gymnasium import spaces

from sdg.envs.batch import Inputs


def spaces_of(inputs: Inputs) -> tuple[spaces.Box, spaces.Space[Any]]:
    """The space of what policies see, (size,), and the space of their actions: Discrete, or a Box (actions,)."""
    low, high = (0, 1) if np.dtype(inputs.dtype) == np.uint8 else (-np.inf, np.inf)
    observation_space = spaces.Box(low, high, (inputs.size,), inputs.dtype)
    if inputs.bounds is None:
        return observation_space, spaces.Discrete(inputs.actions)
    return observation_space, spaces.Box(inputs.bounds[0], inputs.bounds[1], dtype=np.float32)
