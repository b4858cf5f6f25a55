"""Completeness on screens is learned as attribution: on which element did the command act, judging by before and after?

A network scores each element of the screen before, and the answer "none of them"; training gives the element that was
acted on most of the softmax. A command is complete where its target is the likelier one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sdg.gate.learned import GuardNetwork

HIDDEN, EPOCHS, BATCH, RATE = 48, 12, 32, 2e-3
DROPPED, DECAY = 0.15, 1e-2
LEAST_SCALE = 0.15
"""Of a feature, so that rare ones aren't blown up."""
RIVALS = 4.0
"""The number of other elements that a target competes with; chosen on kinds left out in turn."""


@dataclass(frozen=True, slots=True)
class Case:
    """The outcome of an act: `features` f32 (n + 1, k), a row for each element and one for none; `acted`, bool (n + 1,)
    marks the elements that were acted on."""

    features: np.ndarray
    acted: np.ndarray
    weight: float = 1.0


def fit_attribution(cases: Sequence[Case], *, seed: int = 0) -> GuardNetwork:
    """A network that tells which element was acted on. ValueError for no cases."""
    import torch
    from torch import nn

    if not cases:
        raise ValueError("no page shows an effect: gather more of them")
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    rows = np.concatenate([case.features for case in cases])
    mean, scale = rows.mean(axis=0), np.maximum(rows.std(axis=0), LEAST_SCALE)
    x, is_element, acted = (torch.from_numpy(array) for array in _padded(cases, mean, scale))
    weights = torch.tensor([case.weight for case in cases], dtype=torch.float32)
    layers = [nn.Linear(x.shape[2], HIDDEN), nn.Linear(HIDDEN, HIDDEN // 2), nn.Linear(HIDDEN // 2, 1)]
    drop = nn.Dropout(DROPPED)
    network = nn.Sequential(
        nn.Dropout(DROPPED / 2), layers[0], nn.ReLU(), drop, layers[1], nn.ReLU(), layers[2], nn.Flatten(-2)
    )
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY)
    steps = EPOCHS * (len(cases) // BATCH + 1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps + 1, pct_start=0.1)
    for _ in range(EPOCHS):
        order = rng.permutation(len(cases))
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            scores = network(x[batch]).masked_fill(~is_element[batch], -1e9)
            right = scores.masked_fill(~acted[batch], -1e9)
            losses = scores.logsumexp(dim=1) - right.logsumexp(dim=1)
            loss = (losses * weights[batch]).sum() / weights[batch].sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    stored = tuple((layer.weight.detach().numpy().T, layer.bias.detach().numpy()) for layer in layers)
    return GuardNetwork(mean, scale, stored, rivals=RIVALS)


def _padded(cases: Sequence[Case], mean: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features f32 (cases, n, k); which of their rows aren't padding and which were acted on, bool (cases, n)."""
    most = max(len(case.features) for case in cases)
    x = np.zeros((len(cases), most, len(mean)), np.float32)
    is_element, acted = np.zeros((2, len(cases), most), bool)
    for number, case in enumerate(cases):
        count = len(case.features)
        x[number, :count] = (case.features - mean) / scale
        is_element[number, :count], acted[number, :count] = True, case.acted
    return x, is_element, acted
