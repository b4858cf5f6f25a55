"""Bounds of settings, as annotations: a config file's values are checked against them when it is read."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Gt, Le

Count = Annotated[int, Ge(1), Le(10**9)]
Size = Annotated[int, Ge(1), Le(2**16)]
"""For things made at once: arrays, processes, layouts."""
Natural = Annotated[int, Ge(0), Le(2**16)]
LayoutSeed = Annotated[int, Ge(0), Le(2**31 - 1)]
Share = Annotated[float, Ge(0), Le(1)]
Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]


@dataclass(frozen=True, slots=True)
class PPOSettings:
    """How a skill is learned; names are stable-baselines3's."""

    n_steps: Size = 16
    """steps of each environment between two updates"""
    batch_size: Size = 1024
    """rows of a minibatch"""
    n_epochs: Count = 8
    """passes over a rollout"""
    learning_rate: Positive = 1e-3
    """of Adam"""
    ent_coef: NotNegative = 0.01
    """weight of the entropy bonus"""
    gamma: Share = 0.97
    """discount"""
    gae_lambda: Share = 0.95
    """of generalised advantage estimation"""
    clip_range: Positive = 0.2
    """of the policy ratio"""
    max_grad_norm: Positive = 0.5
    """gradients are clipped to this norm"""
    hidden: tuple[Size, Size] = (128, 64)
    """widths of the network's two layers"""
