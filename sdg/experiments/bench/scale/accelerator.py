"""The learner's batch on an accelerator: how long its updates take there, and whether they equal a CPU core's."""

import copy
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sdg.envs.defaults import PlainInputs
from sdg.skills.learning.ppo import RowsVecEnv
from sdg.skills.learning.sb3 import SB3Learner, SB3Settings, devices

UPDATES = 100
WIDTHS = (64, 128, 512)
"""Widths of both hidden layers; the table uses 64, the ant 128."""


class Noise(RowsVecEnv):
    """Rows of random numbers in the ant's shapes, which reward a small first torque."""

    def __init__(self) -> None:
        super().__init__(16)
        self.inputs, self._rng = PlainInputs(), np.random.default_rng(0)
        self.inputs.size, self.inputs.actions = 51, 8
        self.inputs.bounds = np.array([[-1.0] * 8, [1.0] * 8], np.float32)

    def reset(self) -> np.ndarray:
        return self._rng.standard_normal((self.num_envs, self.inputs.size), np.float32)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        rewards = (abs(actions[:, 0]) < 0.3).astype(np.float32)
        return self.reset(), rewards, self._rng.random(self.num_envs) < 0.02, self._infos


def rows() -> Iterator[dict[str, Any]]:
    """A row per width and device: seconds of 100 updates, and how far (`distance`) parameters end from a core's."""
    for width in WIDTHS:
        learners = {device: _learner(width, device) for device in devices()}
        learners["cpu"].learn(1)  # one rollout: all learners learn from its samples below
        samples = vars(learners["cpu"].rollout_buffer)
        start = copy.deepcopy(learners["cpu"].policy.state_dict())
        reference: dict[str, Any] = {}
        for device in learners:
            for _ in range(2):  # the first updates load the kernels
                ppo = _learner(width, device)
                vars(ppo.rollout_buffer).update({name: samples[name] for name in samples if name != "device"})
                ppo._setup_learn(1)
                ppo.policy.load_state_dict(start)
                np.random.seed(0)
                began = time.perf_counter()
                ppo.train()
                parameters = {name: tensor.cpu() for name, tensor in ppo.policy.state_dict().items()}
                seconds = time.perf_counter() - began
            reference = reference or parameters
            difference = distance(parameters, reference)
            yield {
                "engine": device,
                "workers": 1,
                "units": UPDATES,
                "equal": difference <= 1e-4,
                "note": f"{width} wide: {seconds:.3f} s, {difference:.1e} from a core's",
            }


def _learner(width: int, device: str) -> Any:
    """A new learner of stable-baselines3 with `UPDATES` updates per rollout."""
    settings = SB3Settings(
        n_steps=256, batch_size=1024, n_epochs=UPDATES // 4, learning_rate=3e-4, hidden=(width, width), device=device
    )
    rows: Any = Noise()
    return SB3Learner(rows, settings, seed=0).ppo


def distance(parameters: Mapping[str, Any], expected: Mapping[str, Any]) -> float:
    """Distance of parameters from the expected ones, as a share of the expected ones' norm."""
    squares = sum(float((parameters[name] - tensor).double().square().sum()) for name, tensor in expected.items())
    return (squares / sum(float(tensor.double().square().sum()) for tensor in expected.values())) ** 0.5
