"""Learners of skills by name, as files have them too; `sdg.skills.learning` says what a learner is."""

from typing import Any

from sdg.envs.registry import Registry

LEARNERS = Registry[Any]("learner", {"ppo": "sdg.skills.learning.vec_env:PPO", "sb3": "sdg.skills.learning.sb3:SB3"})
