"""A policy over real numbers: tanh layers as plain arrays, played without torch, for numbered or continuous actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdg.envs.batch import Inputs


@dataclass(frozen=True, eq=False)
class MLPPolicy:
    """A `sdg.skills.policy.network.Policy` over a domain's `Inputs`: arrays w1, b1, w2, b2 and so on, a layer each.

    The last layer gives logits of numbered actions, or the means of continuous ones, which `log_std` (actions,) makes a
    normal distribution. Raises ValueError where the arrays don't fit the inputs or one another.
    """

    weights: Mapping[str, np.ndarray]
    inputs: Inputs

    def __post_init__(self) -> None:
        depth, actions = (len(self.weights) + 1) // 2, self.inputs.actions
        depth -= self.inputs.bounds is not None
        wanted = {f"{kind}{layer}" for layer in range(1, depth + 1) for kind in "wb"}
        wanted |= {"log_std"} if self.inputs.bounds is not None else set()
        if not depth or set(self.weights) != wanted:
            raise ValueError(f"a policy has the arrays w1, b1, w2, b2, ..., got {', '.join(sorted(self.weights))}")
        width = self.inputs.size
        for layer in range(1, depth + 1):
            matrix, bias = self.weights[f"w{layer}"], self.weights[f"b{layer}"]
            out = actions if layer == depth else bias.shape[-1] if bias.ndim else 0
            if matrix.shape != (width, out) or bias.shape != (out,):
                raise ValueError(f"layer {layer} has shapes {matrix.shape} and {bias.shape}, expected {width} inputs")
            width = out
        if "log_std" in wanted and self.weights["log_std"].shape != (actions,):
            raise ValueError(f"log_std has shape {self.weights['log_std'].shape}, expected ({actions},)")
        layers = tuple((self.weights[f"w{layer}"], self.weights[f"b{layer}"]) for layer in range(1, depth + 1))
        object.__setattr__(self, "_layers", layers)

    def act(self, memory: Any, row: int, target: np.ndarray, rng: np.random.Generator) -> Any:
        """Sample an action for one row of memory and a target i16 (w,): a number, or f32 (actions,) within bounds."""
        observation = np.zeros(self.inputs.size, self.inputs.dtype)
        frame = self.inputs.write_row(memory, row, target, observation)
        values = self.outputs(observation)
        if self.inputs.bounds is not None:
            return self._draw(values, rng)
        self.inputs.to_world_row(values, frame)
        self.inputs.mask_noops_row(memory, row, values)
        return int(np.argmax(values + rng.gumbel(size=values.shape)))

    def act_batch(self, memory: Any, targets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Sample actions i64 (n,) or f32 (n, actions) for all rows and targets i16 (n, w)."""
        observations = np.zeros((len(targets), self.inputs.size), self.inputs.dtype)
        frames = np.zeros(len(targets), np.int64)
        self.inputs.write(memory, targets, frames, observations)
        values = self.outputs(observations)
        if self.inputs.bounds is not None:
            return self._draw(values, rng)
        values = self.inputs.to_world(values, frames)
        self.inputs.mask_noops(memory, values)
        return np.argmax(values + rng.gumbel(size=values.shape), axis=1)

    def outputs(self, observations: np.ndarray) -> np.ndarray:
        """Logits or means f32 (..., actions) of observations (..., size)."""
        *hidden, (matrix, bias) = self._layers  # type: ignore[attr-defined]
        values = np.asarray(observations, np.float32)
        for weights, offset in hidden:
            values = np.tanh(values @ weights + offset)
        out: np.ndarray = values @ matrix + bias
        return out

    def _draw(self, means: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        drawn = means + np.exp(self.weights["log_std"]) * rng.standard_normal(means.shape, np.float32)
        assert self.inputs.bounds is not None
        return np.clip(drawn, *self.inputs.bounds).astype(np.float32)
