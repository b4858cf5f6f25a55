"""A small network that plays one skill: two hidden layers over binary inputs, plain numpy arrays, no torch needed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from sdg.envs.batch import Inputs
from sdg.envs.kernels import kernel


class Policy(Protocol):
    """pi(a | perception, target), which plays a skill."""

    @property
    def weights(self) -> Mapping[str, np.ndarray]:
        """Float32 arrays by name."""
        ...

    def act(self, memory: Any, row: int, target: np.ndarray, rng: np.random.Generator) -> Any:
        """Sample an action for one row of a domain's memory and a target i16 (w,)."""
        ...

    def act_batch(self, memory: Any, targets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Sample actions for all rows of a memory and targets i16 (n, w)."""
        ...


def round_weights(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The nearest float32 arrays that a file can hold without loss in half the space, see `pack`."""
    limit = np.finfo(np.float16).max
    return {
        name: np.clip(array, -limit, limit).astype(np.float16).astype(np.float32) for name, array in weights.items()
    }


def pack(array: np.ndarray) -> np.ndarray:
    """An array as it is stored: float16 where that loses nothing, else float32."""
    array = np.ascontiguousarray(array, np.float32)
    with np.errstate(over="ignore"):
        half = array.astype(np.float16)
    return half if np.array_equal(half, array) else array


ARRAYS = ("w1", "b1", "w2", "b2", "w3", "b3")
"""Weights and biases of the two hidden layers and of the logits: w1 (inputs, h1), w2 (h1, h2), w3 (h2, actions)."""


def shapes(size: int, hidden: tuple[int, int], out: int) -> dict[str, tuple[int, ...]]:
    """The shape of each array for `size` inputs, hidden layers of these widths and `out` outputs."""
    h1, h2 = hidden
    return {"w1": (size, h1), "b1": (h1,), "w2": (h1, h2), "b2": (h2,), "w3": (h2, out), "b3": (out,)}


@kernel
def _forward(features: np.ndarray, w1, b1, w2, b2, w3, b3) -> np.ndarray:  # type: ignore[no-untyped-def]
    """Logits (actions,) of one binary input vector: the first layer only adds the rows of bits that are on."""
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
class MLPPolicy:
    """A `Policy` over a domain's `Inputs` that samples from its network's outputs: arrays w1, b1, w2, b2 and so on, a
    layer each, with tanh between them.

    The last layer gives logits of numbered actions, or the means of continuous ones, whose normal distribution has
    `log_std` (actions,). Raises ValueError where the arrays don't fit the inputs or one another.
    """

    weights: Mapping[str, np.ndarray]
    inputs: Inputs
    activation: ClassVar[Any] = np.tanh

    def __post_init__(self) -> None:
        extra = {"log_std"} if self.inputs.bounds is not None else set()
        depth = (len(self.weights) + 1) // 2 - len(extra)
        names = {f"{kind}{layer}" for layer in range(1, depth + 1) for kind in "wb"} | extra
        if not depth or set(self.weights) != names:
            raise ValueError(f"a policy has the arrays w1, b1, w2, b2, ..., got {', '.join(sorted(self.weights))}")
        width = self.inputs.size
        widths = [*(self.weights[f"b{layer}"].size for layer in range(1, depth)), self.inputs.actions]
        for layer, out in enumerate(widths, 1):
            matrix, bias = self.weights[f"w{layer}"], self.weights[f"b{layer}"]
            if matrix.shape != (width, out) or bias.shape != (out,):
                raise ValueError(f"layer {layer} has shapes {matrix.shape} and {bias.shape}, expected {width} inputs")
            width = out
        if "log_std" in names and self.weights["log_std"].shape != (self.inputs.actions,):
            raise ValueError(f"log_std has shape {self.weights['log_std'].shape}, expected ({self.inputs.actions},)")
        layers = tuple((self.weights[f"w{layer}"], self.weights[f"b{layer}"]) for layer in range(1, depth + 1))
        object.__setattr__(self, "_layers", layers)

    def outputs(self, observations: np.ndarray) -> np.ndarray:
        """Logits or means f32 (..., actions) of observations (..., size)."""
        *hidden, (matrix, bias) = self._layers  # type: ignore[attr-defined]
        values = np.asarray(observations, np.float32)
        for weights, offset in hidden:
            values = self.activation(values @ weights + offset)
        return values @ matrix + bias

    def act(self, memory: Any, row: int, target: np.ndarray, rng: np.random.Generator) -> Any:
        """Sample an action for one row of memory and a target i16 (w,): a number, or f32 (actions,) within bounds."""
        observation = np.zeros(self.inputs.size, self.inputs.dtype)
        frame = self.inputs.write_row(memory, row, target, observation)
        values = self.outputs(observation)
        if self.inputs.bounds is not None:
            return self.inputs.actions_to_world(self._draw(values[None], rng), np.array([frame]))[0]
        values = self.inputs.to_world(values[None], np.array([frame]))[0]
        self.inputs.mask_noops_row(memory, row, values)
        return int(np.argmax(values + rng.gumbel(size=values.shape)))

    def act_batch(self, memory: Any, targets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Sample actions i64 (n,) or f32 (n, actions) for all rows and targets i16 (n, w)."""
        observations = np.zeros((len(targets), self.inputs.size), self.inputs.dtype)
        frames = np.zeros(len(targets), np.int64)
        self.inputs.write(memory, targets, frames, observations)
        values = self.outputs(observations)
        if self.inputs.bounds is not None:
            return self.inputs.actions_to_world(self._draw(values, rng), frames)
        values = self.inputs.to_world(values, frames)
        self.inputs.mask_noops(memory, values)
        return np.argmax(values + rng.gumbel(size=values.shape), axis=1)

    def _draw(self, means: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        samples = means + np.exp(self.weights["log_std"]) * rng.standard_normal(means.shape, np.float32)
        assert self.inputs.bounds is not None
        return np.clip(samples, *self.inputs.bounds).astype(np.float32)


@dataclass(frozen=True, eq=False)
class BitsPolicy(MLPPolicy):
    """A `Policy` over binary inputs, with ReLUs. Raises ValueError where the arrays (`ARRAYS`) don't fit together."""

    activation: ClassVar[Any] = staticmethod(lambda sums: np.maximum(sums, 0.0))

    def __post_init__(self) -> None:
        if set(self.weights) != set(ARRAYS):
            raise ValueError(f"a policy has the arrays {', '.join(ARRAYS)}, got {', '.join(sorted(self.weights))}")
        super().__post_init__()
        arrays = tuple(np.ascontiguousarray(self.weights[name], np.float32) for name in ARRAYS)
        object.__setattr__(self, "_arrays", arrays)

    def outputs(self, observations: np.ndarray) -> np.ndarray:
        """Logits f32 (..., actions) of binary inputs u8 (..., size); for one row bits that are off cost nothing."""
        one_row = observations.ndim == 1
        return _forward(observations, *self._arrays) if one_row else super().outputs(observations)  # type: ignore[attr-defined]


def random_weights(weights: Mapping[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random arrays of the same shapes, which show what learning contributes; the spread of actions stays as it is."""
    # Layer by layer, weights before biases: a file gives its arrays in any order.
    arrays = dict(sorted(weights.items(), key=lambda item: (item[0][1:], item[0].startswith("b"))))
    drawn = {
        name: (rng.standard_normal(array.shape) / np.sqrt(max((1, *array.shape[:1])))).astype(np.float32)
        for name, array in arrays.items()
    }
    return drawn | {name: arrays[name] for name in ("log_std",) if name in arrays}
