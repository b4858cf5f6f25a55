"""What a config names, built: models, searches, plans and agents."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from envs.babyai.perception import NAMES, api_text
from experiments.config import RunConfig, check, dump
from experiments.config_yaml import parse
from experiments.episodes import BotRecipe, Recipe
from sdg.agents import Agent, PlannerAgent, RandomAgent, action_agent
from sdg.deduce import DeductionSettings, Planner
from sdg.induce import InduceSettings
from sdg.llm.budget import Limits, Prices
from sdg.llm.model import LanguageModel, Sampling
from sdg.llm.registry import ModelSettings, build
from sdg.options import options_of, random_options_of
from sdg.pipeline import Plan
from sdg.planner_prompts import Prompts
from sdg.verify import VerifySettings
from skills.check import GuardedCheck
from skills.library_io import load_library
from skills.search import RandomSearch, Search, SearchSettings
from skills.training import TrainSettings

LIBRARY = "library"
SDG, ACTION, RANDOM_SKILLS = "sdg", "sdg-action", "random-skills"

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


def language_model(config: RunConfig, folder: Path, *, record: bool = True) -> LanguageModel:
    """The config's model with its wrappers: cache, budget ledger and transcript lie in the run folder."""
    model, budget = config.model, config.budget
    return build(
        ModelSettings(
            kind=model.kind,
            name=model.name,
            base_url=model.base_url,
            api_key=os.environ.get("OPENAI_API_KEY"),
            timeout_seconds=model.timeout_seconds,
            retries=model.retries,
            transcript=Path(model.transcript) if model.transcript else None,
            record=folder / "transcript.jsonl" if record else None,
            cache=folder / "replies.sqlite" if model.cache and model.kind == "openai" else None,
            ledger=folder / "spent.json",
            fault_rate=model.fault_rate,
            fault_seed=config.seed,
            limits=Limits(tokens=budget.tokens, money=budget.money),
            prices=Prices(budget.prompt_price, budget.completion_price),
        )
    )


@dataclass(frozen=True, slots=True)
class PlannerRecipe:
    """How to make sdg, sdg-action or the same skills with random weights, in any process."""

    agent: str
    config_text: str
    folder: Path

    def build(self) -> Agent:
        """The agent, with the model and the library of the run folder."""
        config = check(parse(self.config_text, source="config.yaml"))
        model = language_model(config, self.folder)
        deduction = DeductionSettings(interactions=config.deduce.interactions, attempts=config.deduce.attempts)

        def planner(seed: int) -> Planner:
            sampling = Sampling(
                temperature=config.model.temperature, seed=seed % 2**31, max_tokens=config.model.max_tokens
            )
            return Planner(model, Prompts(api_text()), sampling)

        if self.agent == ACTION:
            return action_agent(planner, judge=GuardedCheck.compile, settings=deduction)
        library = load_library(self.folder / LIBRARY)
        skills = options_of(library) if self.agent == SDG else random_options_of(library, seed=config.seed)
        return PlannerAgent(self.agent, planner, skills, GuardedCheck.compile, settings=deduction)


@dataclass(frozen=True, slots=True)
class RandomRecipe:
    """The agent that draws every action."""

    agent: str = "random"

    def build(self) -> Agent:
        """It needs nothing."""
        return RandomAgent()


def recipes(config: RunConfig, folder: Path, *, everyone: bool) -> list[Recipe]:
    """sdg, and with `everyone` the agents that the config compares it with."""
    text = dump(config)
    known: dict[str, Recipe] = {
        "sdg_action": PlannerRecipe(ACTION, text, folder),
        "random_skills": PlannerRecipe(RANDOM_SKILLS, text, folder),
        "random": RandomRecipe(),
        "bot": BotRecipe(),
    }
    compared = [known[name] for name in config.evaluate.baselines] if everyone else []
    return [PlannerRecipe(SDG, text, folder), *compared]


def search_settings(config: RunConfig) -> SearchSettings:
    """What both searches are told."""
    verify = config.verify
    return SearchSettings(
        n_envs=verify.n_envs,
        horizon=verify.horizon,
        bonus=verify.bonus,
        learning_rate=verify.learning_rate,
        ent_coef=verify.ent_coef,
    )


def search_of(config: RunConfig) -> Search:
    """PPO, or the learning-free search that it is compared with."""
    if config.verify.search == "random":
        return RandomSearch(search_settings(config))
    from skills.ppo_env import PPOSearch

    return PPOSearch(search_settings(config))
