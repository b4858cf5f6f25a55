"""What a config names, built: models, searches, plans and agents."""

from __future__ import annotations

from envs.babyai.perception import NAMES
from experiments.config import RunConfig
from sdg.induce import InduceSettings
from sdg.pipeline import Plan
from sdg.verify import VerifySettings
from skills.search import RandomSearch, Search, SearchSettings
from skills.training import TrainSettings

RESERVED = (*NAMES, "forget_visited_rooms", "program")
"""Names that a skill can't have, because programs use them for something else."""


def plan_of(config: RunConfig) -> Plan:
    """The stages' own settings."""
    verify, induce = config.verify, config.induce
    return Plan(
        levels=config.levels,
        instructions=config.instructions_per_level,
        seed=config.seed,
        retries=config.hypothesize.retries,
        repairs=config.hypothesize.repairs,
        temperature=config.model.temperature,
        max_tokens=config.model.max_tokens,
        training_layouts=induce.training_layouts,
        validation_layouts=induce.validation_layouts,
        verify=VerifySettings(verify.t_verify, verify.most_per_subgoal),
        induce=InduceSettings(
            text=induce.text,
            max_k=induce.k_max,
            validation_share=induce.validation_share,
            use_unconfirmed=induce.use_unconfirmed,
            first_timesteps=induce.first_timesteps,
            fresh_starts=induce.fresh_starts,
            train=TrainSettings(
                total_timesteps=induce.total_timesteps,
                n_envs=induce.n_envs,
                horizon=induce.horizon,
                enough=induce.target_success,
                ppo=induce.ppo.model_dump(),
            ),
        ),
        processes=config.processes,
    )


def search_of(config: RunConfig) -> Search:
    """PPO, or the learning-free search that it is compared with."""
    verify = config.verify
    settings = SearchSettings(
        n_envs=verify.n_envs,
        horizon=verify.horizon,
        bonus=verify.bonus,
        learning_rate=verify.learning_rate,
        ent_coef=verify.ent_coef,
    )
    if verify.search == "random":
        return RandomSearch(settings)
    from skills.ppo_env import PPOSearch

    return PPOSearch(settings)
