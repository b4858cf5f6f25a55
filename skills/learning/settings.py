"""Settings of PPO."""

from __future__ import annotations

from dataclasses import dataclass

from sdg.skills.settings import Count, NotNegative, Positive, Share, Size


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
