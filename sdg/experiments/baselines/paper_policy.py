"""The model of the BabyAI paper as a policy: a GRU over the words, convolutions over the view, two FiLM layers.

Source: Chevalier-Boisvert et al. (2019), "BabyAI: a platform to study the sample efficiency of grounded language
learning", section 4.1 (FiLM: Perez et al., 2018), without its LSTM memory. Arrays have the names and shapes that torch
gives them, so that weights travel between `paper_model.py`, which learns them, and this file, which
plays them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from sdg.envs.babyai.cells import TRIPLES
from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.babyai.practice.inputs import N_ACTIONS
from sdg.envs.babyai.practice.paper_view import N_WORDS, VIEW, argument_text, numbers_of, write_views

HEAD = 64
"""Width of the layer between features and actions."""


def shapes(width: int, words: int) -> dict[str, tuple[int, ...]]:
    """Shapes of all arrays for so many channels and so many units that hold the text (the paper: 128 and 128)."""
    found: dict[str, tuple[int, ...]] = {
        "embedding.weight": (N_WORDS, words),
        "gru.weight_ih_l0": (3 * words, words),
        "gru.weight_hh_l0": (3 * words, words),
        "gru.bias_ih_l0": (3 * words,),
        "gru.bias_hh_l0": (3 * words,),
        "conv1.weight": (width, 3, 2, 2),
        "conv1.bias": (width,),
        "conv2.weight": (width, width, 3, 3),
        "conv2.bias": (width,),
        "head.weight": (HEAD, width),
        "head.bias": (HEAD,),
        "action.weight": (N_ACTIONS, HEAD),
        "action.bias": (N_ACTIONS,),
    }
    for film in ("film1", "film2"):
        for conv in ("conv1", "conv2"):
            found |= {f"{film}.{conv}.weight": (width, width, 3, 3), f"{film}.{conv}.bias": (width,)}
        for line in ("scale", "shift"):
            found |= {f"{film}.{line}.weight": (width, words), f"{film}.{line}.bias": (width,)}
    return found


@dataclass(frozen=True, eq=False)
class PaperPolicy:
    """pi(a | view, text). For a skill the text is its argument. Raises ValueError where the arrays don't fit."""

    weights: Mapping[str, np.ndarray]
    _texts: dict[str, np.ndarray] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        have = {name: array.shape for name, array in self.weights.items()}
        if "conv1.weight" not in have or "gru.weight_hh_l0" not in have or len(have["gru.weight_hh_l0"]) != 2:
            raise ValueError(f"a policy of the paper's model has other arrays than {sorted(have)}")
        want = shapes(have["conv1.weight"][0], have["gru.weight_hh_l0"][1])
        wrong = sorted(name for name in want.keys() | have.keys() if want.get(name) != have.get(name))
        if wrong:
            name = wrong[0]
            raise ValueError(f"policy array {name} has shape {have.get(name)}, expected {want.get(name)}")

    def act(self, memory: Memory, row: int, target: np.ndarray, rng: np.random.Generator) -> int:
        """Sample an action (0..5) for one row of memory and a target int16 (4,)."""
        return self.act_on_text(memory, row, argument_text(target), rng)

    def act_on_text(self, memory: Memory, row: int, text: str, rng: np.random.Generator) -> int:
        """Sample an action (0..5) for one row of memory and a text, such as a whole mission."""
        logits = self.logits_of(_views(Memory(*(array[[row]] for array in memory))), [text])[0]
        return int(np.argmax(logits + rng.gumbel(size=N_ACTIONS)))

    def act_batch(self, memory: Memory, targets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Sample actions int64 (n,) for all rows and targets int16 (n, 4)."""
        logits = self.logits_of(_views(memory), [argument_text(target) for target in targets])
        return np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)

    def logits_of(self, views: np.ndarray, texts: list[str]) -> np.ndarray:
        """Action logits f32 (n, 6) of packed views u8 (n, 7, 7) and a text each."""
        w = self.weights
        said = np.stack([self._said(text) for text in texts])
        x = TRIPLES[views].astype(np.float32).transpose(0, 3, 1, 2)
        x = _pooled(np.maximum(_convolved(x, w["conv1.weight"], w["conv1.bias"]), 0.0))
        x = _pooled(np.maximum(_convolved(x, w["conv2.weight"], w["conv2.bias"]), 0.0))
        for film in ("film1", "film2"):
            x = np.maximum(_convolved(x, w[f"{film}.conv1.weight"], w[f"{film}.conv1.bias"]), 0.0)
            x = _convolved(x, w[f"{film}.conv2.weight"], w[f"{film}.conv2.bias"])
            scale = said @ w[f"{film}.scale.weight"].T + w[f"{film}.scale.bias"]
            shift = said @ w[f"{film}.shift.weight"].T + w[f"{film}.shift.bias"]
            x = np.maximum(x * scale[:, :, None, None] + shift[:, :, None, None], 0.0)
        features = _pooled(x).reshape(len(x), -1)
        hidden = np.tanh(features @ w["head.weight"].T + w["head.bias"])
        out: np.ndarray = hidden @ w["action.weight"].T + w["action.bias"]
        return out

    def _said(self, text: str) -> np.ndarray:
        """The GRU's last state f32 (words,) after a text; kept, because a skill's argument lasts many steps."""
        if text not in self._texts:
            if len(self._texts) > 10_000:
                self._texts.clear()
            self._texts[text] = self._read(numbers_of(text))
        return self._texts[text]

    def _read(self, numbers: tuple[int, ...]) -> np.ndarray:
        w = self.weights
        state = np.zeros(w["gru.weight_hh_l0"].shape[1], np.float32)
        for number in numbers:
            given = w["gru.weight_ih_l0"] @ w["embedding.weight"][number] + w["gru.bias_ih_l0"]
            known = w["gru.weight_hh_l0"] @ state + w["gru.bias_hh_l0"]
            (r, z, n), (hr, hz, hn) = np.split(given, 3), np.split(known, 3)
            update = _sigmoid(z + hz)
            state = (1 - update) * np.tanh(n + _sigmoid(r + hr) * hn) + update * state
        return state


def _views(memory: Memory) -> np.ndarray:
    out = np.zeros((len(memory.steps), VIEW, VIEW), np.uint8)
    write_views(memory, out)
    return out


def _convolved(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """A convolution f32 (n, c, h, w) -> (n, d, h', w') with one cell of zeros around."""
    side = weight.shape[-1]
    around = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = sliding_window_view(around, (side, side), axis=(2, 3))
    n, _, high, wide = windows.shape[:4]
    rows = windows.transpose(0, 2, 3, 1, 4, 5).reshape(n * high * wide, -1)
    out: np.ndarray = (rows @ weight.reshape(len(weight), -1).T + bias).reshape(n, high, wide, -1)
    return out.transpose(0, 3, 1, 2)


def _pooled(x: np.ndarray) -> np.ndarray:
    """The largest of each 2 x 2 cells: (n, c, h, w) -> (n, c, h // 2, w // 2)."""
    n, c, high, wide = x.shape
    cut = x[:, :, : high // 2 * 2, : wide // 2 * 2]
    out: np.ndarray = cut.reshape(n, c, high // 2, 2, wide // 2, 2).max(axis=(3, 5))
    return out


def _sigmoid(x: np.ndarray) -> np.ndarray:
    out: np.ndarray = 1 / (1 + np.exp(-x))
    return out
