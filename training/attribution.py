"""Completeness on screens is learned as attribution: which element was acted on, told from before and after?

A network gives each element of the screen before a score, and one to none of them; it is trained so that the one that
was acted on has most of the softmax. A command is complete where its target is the likelier one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sdg.gate.learned import GuardNetwork

HIDDEN, EPOCHS, BATCH, RATE = 48, 12, 32, 2e-3
DROPPED, DECAY = 0.15, 1e-2
LEAST_SCALE = 0.15
"""Of a feature: what is rare isn't blown up."""
RIVALS = 4.0
"""How many others that something can be done with a target is weighed against; chosen on kinds left out in turn."""


@dataclass(frozen=True, slots=True)
class Case:
    """What came of an act: `features` f32 (n + 1, k), a row for each element and one for none; `acted` (bool (n + 1,))
    are those that it was; `weight` in training."""

    features: np.ndarray
    acted: np.ndarray
    weight: float = 1.0


def attributing(cases: Sequence[Case], *, seed: int = 0) -> GuardNetwork:
    """A network that tells which element was acted on. ValueError for no cases."""
    import torch
    from torch import nn

    if not cases:
        raise ValueError("no page shows an effect: gather more of them")
    torch.manual_seed(seed)
    rng, every = np.random.default_rng(seed), np.concatenate([each.features for each in cases])
    mean, scale = every.mean(axis=0), np.maximum(every.std(axis=0), LEAST_SCALE)
    x, there, acted = (torch.from_numpy(each) for each in _padded(cases, mean, scale))
    weights = torch.tensor([each.weight for each in cases], dtype=torch.float32)
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
            rows = order[start : start + BATCH]
            told = network(x[rows]).masked_fill(~there[rows], -1e9)
            right = told.masked_fill(~acted[rows], -1e9)
            loss = ((told.logsumexp(dim=1) - right.logsumexp(dim=1)) * weights[rows]).sum() / weights[rows].sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    stored = tuple((each.weight.detach().numpy().T, each.bias.detach().numpy()) for each in layers)
    return GuardNetwork(mean, scale, stored, rivals=RIVALS)


def _padded(cases: Sequence[Case], mean: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features f32 (cases, n, k), where there are any and which were acted on, bool (cases, n)."""
    most = max(len(each.features) for each in cases)
    x = np.zeros((len(cases), most, len(mean)), np.float32)
    there, acted = np.zeros((2, len(cases), most), bool)
    for number, case in enumerate(cases):
        count = len(case.features)
        x[number, :count] = (case.features - mean) / scale
        there[number, :count], acted[number, :count] = True, case.acted
    return x, there, acted
