"""A small network that plays one skill: two hidden layers over binary inputs, plain numpy arrays, no torch needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sdg.envs.babyai.perception.memory import LEFT, RIGHT, Memory
from sdg.envs.babyai.practice.action_mask import bar_futile, bar_futile_rows
from sdg.envs.babyai.practice.features import FAR, SIZE, write_batch, write_features
from sdg.envs.babyai.practice.mirror import MIRRORED, side_of, swap_logits
from sdg.envs.kernels import kernel

N_ACTIONS = 6
"""left, right, forward, pickup, drop, toggle; minigrid's `done` is never used."""

SHAPES = {
    "w1": (SIZE, None),
    "b1": (None,),
    "w2": (None, None),
    "b2": (None,),
    "w3": (None, N_ACTIONS),
    "b3": (N_ACTIONS,),
}


@kernel
def _forward(features: np.ndarray, w1, b1, w2, b2, w3, b3) -> np.ndarray:  # type: ignore[no-untyped-def]
    """Logits (N_ACTIONS,) of one binary input vector: the first layer only adds the rows that are switched on."""
    hidden = b1.copy()
    for j in range(features.shape[0]):
        if features[j]:
            hidden += w1[j]
    hidden = np.maximum(hidden, np.float32(0.0))
    second = b2.copy()
    for j in range(hidden.shape[0]):
        if hidden[j] > 0:
            second += hidden[j] * w2[j]
    second = np.maximum(second, np.float32(0.0))
    logits = b3.copy()
    for j in range(second.shape[0]):
        if second[j] > 0:
            logits += second[j] * w3[j]
    return logits


@dataclass(frozen=True, eq=False)
class Policy:
    """pi(a | map, target): weights are float32 arrays named as in `SHAPES`; None there is the width of a hidden layer.

    Raises ValueError where the arrays don't fit together.
    """

    weights: Mapping[str, np.ndarray]

    def __post_init__(self) -> None:
        if set(self.weights) != set(SHAPES):
            raise ValueError(f"a policy has the arrays {sorted(SHAPES)}, got {sorted(self.weights)}")
        for name, shape in SHAPES.items():
            have = self.weights[name].shape
            if len(have) != len(shape) or any(want not in (None, got) for want, got in zip(shape, have, strict=True)):
                raise ValueError(f"policy array {name} has shape {have}, expected {shape}")
        w = self.weights
        if not (
            w["w1"].shape[1] == w["b1"].shape[0] == w["w2"].shape[0]
            and w["w2"].shape[1] == w["b2"].shape[0] == w["w3"].shape[0]
        ):
            raise ValueError("the layers of the policy don't fit one another")
        arrays = tuple(np.ascontiguousarray(w[name], np.float32) for name in SHAPES)
        object.__setattr__(self, "_arrays", arrays)
        object.__setattr__(self, "_features", np.zeros(SIZE, np.uint8))

    def act(self, memory: Memory, row: int, target: np.ndarray, rng: np.random.Generator) -> int:
        """Sample an action (0..5) that may change something, for one row of memory and a target int16 (4,)."""
        side = side_of(memory, row, target, FAR)
        write_features(memory, row, target, side, self._features)  # type: ignore[attr-defined]
        logits = _forward(self._features, *self._arrays)  # type: ignore[attr-defined]
        if side == MIRRORED:
            logits[LEFT], logits[RIGHT] = logits[RIGHT], logits[LEFT]
        bar_futile(memory, row, logits)
        return int(np.argmax(logits + rng.gumbel(size=N_ACTIONS)))

    def act_batch(self, memory: Memory, targets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Sample actions int64 (n,) that may change something, for all rows and targets int16 (n, 4)."""
        features, sides = np.zeros((len(targets), SIZE), np.uint8), np.zeros(len(targets), np.int64)
        write_batch(memory, targets, sides, features)
        logits = swap_logits(self.logits(features), sides)
        bar_futile_rows(memory, logits)
        return np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)

    def logits(self, features: np.ndarray) -> np.ndarray:
        """Action logits float32 (n, 6) of binary inputs (n, SIZE), with the turns as the inputs show them."""
        w = self.weights
        hidden = np.maximum(features.astype(np.float32) @ w["w1"] + w["b1"], 0.0)
        hidden = np.maximum(hidden @ w["w2"] + w["b2"], 0.0)
        out: np.ndarray = hidden @ w["w3"] + w["b3"]
        return out


def random_policy(rng: np.random.Generator, *, hidden: int = 128) -> Policy:
    """A policy with random weights: the row of Table 1 that shows what is owed to learning."""
    sizes = {
        "w1": (SIZE, hidden),
        "b1": (hidden,),
        "w2": (hidden, 64),
        "b2": (64,),
        "w3": (64, N_ACTIONS),
        "b3": (N_ACTIONS,),
    }
    return Policy({k: (rng.standard_normal(s) / np.sqrt(s[0])).astype(np.float32) for k, s in sizes.items()})
