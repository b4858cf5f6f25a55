"""Levels for stable-baselines3, and its policies as skills: `sdg.sb3_env`, `sdg.sb3_skill`."""

from collections.abc import Callable
from functools import partial
from typing import Any, overload

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from sdg.envs import domains
from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.practice.inputs import N_WORDS, SIZE
from sdg.envs.instructions import seeds
from sdg.errors import UserError, refuse
from sdg.experiments.baselines.level_env import LevelVecEnv
from sdg.experiments.baselines.sb3_policy import LONGEST, MAP, MISSION, SB3_POLICY, pattern_of, words_of
from sdg.experiments.baselines.world_env import MissionEnv
from sdg.skills.checks.from_function import template_of
from sdg.skills.learning.by_hand import SkillSpec, measure_skill
from sdg.skills.learning.sb3 import SB3Rows, as_arrays, parameters_of
from sdg.skills.library.library import MAX_HORIZON, LearnedSkill, is_skill_name

SPACE = spaces.Dict(
    {MAP: spaces.Box(0, 1, (SIZE,), np.uint8), MISSION: spaces.MultiDiscrete(np.full(LONGEST, N_WORDS))}
)


class MissionVecEnv(SB3Rows):
    """n rows of a level on the batch engine, a `VecEnv`, with same-step auto-reset over a bank of layouts.

    An observation has `map`, u8 (n, SIZE) bits of what the robot remembers, with the first thing that the mission names
    marked, and `mission`, i64 (n, LONGEST) numbers of its words. Rewards are the level's own.
    """

    def __init__(self, bank: LevelBank, n: int, *, seed: int) -> None:
        language = domains.domain(domains.DEFAULT).language
        rows = LevelVecEnv(
            bank, n, seed=seed, target_of=lambda text: language.row(next(iter(language.mentions(text)), ""))
        )
        super().__init__(rows, SPACE)
        self.level = bank.level
        self._rows = rows
        self._words = np.stack([words_of(text) for text in bank.missions])[bank.layouts.mission]

    def reset(self) -> dict[str, np.ndarray]:
        """Begin a random layout in every row."""
        return self._with_missions(self._rows.reset())

    def step_wait(self) -> Any:
        """Observations, rewards f32 (n,), dones bool (n,), infos as stable-baselines3 reads them."""
        before = self._words[self._rows.layout_of]
        maps, rewards, dones, infos = self._rows.step(self._actions)
        for i in np.flatnonzero(dones):
            infos[i]["terminal_observation"] = {MAP: infos[i]["terminal_observation"], MISSION: before[i]}
        return self._with_missions(maps), rewards, dones, infos

    def missions(self) -> list[str]:
        """The instruction of each row in words."""
        return [self._rows.bank.mission(int(layout)) for layout in self._rows.layout_of]

    def _with_missions(self, maps: np.ndarray) -> dict[str, np.ndarray]:
        return {MAP: maps, MISSION: self._words[self._rows.layout_of]}


@overload
def sb3_env(level: str, n: int = 64, *, seed: int = 0, layouts: int = 1000) -> MissionVecEnv: ...


@overload
def sb3_env(level: str, n: int = 64, *, domain: str, seed: int = 0, layouts: int = 1000) -> VecEnv: ...


def sb3_env(level: str, n: int = 64, *, domain: str = domains.DEFAULT, seed: int = 0, layouts: int = 1000) -> VecEnv:
    """`n` environments of a level for stable-baselines3: `PPO("MultiInputPolicy", sdg.sb3_env("GoToLocal", 64))`.

    They play `layouts` layouts of the training seeds. In another `domain` (a key of `sdg.envs.domains` or
    module:attribute) use "MlpPolicy": an observation is what its policies see about the first thing that the mission
    names. Raises ValueError for an unknown level.
    """
    if n < 1 or layouts < 1:
        raise UserError(f"there is at least 1 environment and 1 layout, not {n} and {layouts}")
    if domain != domains.DEFAULT:
        world = domains.domain(domain)
        return DummyVecEnv(
            [partial(MissionEnv, world, level, count=-(-layouts // n), seed=seed * n + row) for row in range(n)]
        )
    return MissionVecEnv(LevelBank.build(level, seeds("training", count=layouts, seed=seed)), n, seed=seed)


def sb3_skill(
    model: BaseAlgorithm,
    check: Callable[..., object] | str,
    *,
    name: str,
    mission: str,
    horizon: int = 64,
    seed: int = 0,
) -> LearnedSkill:
    """Turn a policy that stable-baselines3 learned on `sdg.sb3_env` into a skill that a library stores and plays
    without torch.

    `check` says when the skill is done (as for `sdg.train`). `mission` is the instruction in the observation, such as
    "go to the {}", with {} for the skill's argument. The success rate is measured on 400 layouts that the policy wasn't
    trained on. Raises UserError for a model that learned elsewhere or whose network isn't MultiInputPolicy's own.
    """
    env, policy = getattr(model, "env", None), getattr(model, "policy", None)
    if not isinstance(env, MissionVecEnv) or getattr(env, "observation_space", None) != SPACE:
        raise UserError(
            "only what learned on an environment of sdg.sb3_env can become a skill (PPO or A2C), in BabyAI's levels; "
            "elsewhere sdg.train(..., domain=, learner='sb3') learns one"
        )
    world = domains.domain(domains.DEFAULT)
    template = template_of(check, world)
    slots, others = mission.count("{}"), set("{}") & set(mission.replace("{}", ""))
    misses = (
        f"the mission {mission!r} has one {{}} for the argument exactly if the check has a parameter, and no others"
    )
    faults = (
        (not is_skill_name(name), f"{name!r} can't be a skill's name: take one in lower-case letters and _"),
        (not 1 <= horizon <= MAX_HORIZON, f"a horizon is 1 to {MAX_HORIZON:,} steps, not {horizon}"),
        (slots != bool(template.argument) or others, misses),
    )
    refuse(UserError, faults)
    try:
        weights = as_arrays(parameters_of(policy)) | {MISSION: pattern_of(mission)}
        stored_policy = SB3_POLICY.policy(weights, world)
    except (AttributeError, ValueError) as error:
        raise UserError(f"this policy can't be stored: {error}; use PPO('MultiInputPolicy', ...) as it comes") from None
    skill = measure_skill(
        SkillSpec(name, mission.format(template.argument), template.check, horizon),
        stored_policy,
        level=env.level,
        domain=world,
        argument=template.argument,
        learner="sb3-policy",
        seed=seed,
        steps=int(model.num_timesteps),
    )
    return LearnedSkill(skill, weights, world.name)
