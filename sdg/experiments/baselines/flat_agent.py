"""The baseline without grounding: one policy acts on the mission's words until the episode is over."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sdg.agents.agents import Task, act_out
from sdg.deduction.episode import Episode
from sdg.envs.world import World
from sdg.experiments.baselines.paper_model import PaperPolicy


@dataclass(frozen=True)
class FlatAgent:
    """Plays a level with the policy that `policy_of(level)` gives, actions sampled."""

    name: str
    policy_of: Callable[[str], PaperPolicy] = field(repr=False)

    def play(self, world: World, task: Task) -> Episode:
        """Act until the mission is done, failed or out of time. Raises ValueError for a level without a policy."""
        policy, rng = self.policy_of(task.level), np.random.default_rng(task.random_seed)
        return act_out(world, lambda: policy.act_on_text(world.memory, 0, world.mission, rng))
