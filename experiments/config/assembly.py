"""What a config names, built: models, searches, plans and agents."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sdg.envs.babyai.perception.snapshot import NAMES
from sdg.experiments.config.config import RunConfig, dump
from sdg.experiments.play import players
from sdg.experiments.play.episodes import Recipe
from sdg.llm.budget import Limits, Prices
from sdg.llm.model import LanguageModel, Sampling
from sdg.llm.registry import ModelSettings, build
from sdg.pipeline import Explorers, Plan
from sdg.run import RunSettings, plain
from sdg.skills.search.search import RandomSearch, Search
from sdg.skills.search.skill_search import SkilledSearch

LIBRARY = "library"

RESERVED = (*NAMES, "forget_visited_rooms", "program")
"""Names that a skill can't have, because programs use them for something else."""


def library_of(run: Path, *, cycle: int, cycles: int) -> Path:
    """Where a run keeps what a cycle learned: the last cycle's library is the run's, earlier ones stay beside it."""
    return run / LIBRARY if cycle == cycles else run / f"{LIBRARY}-{cycle}"


def settings_of(config: RunConfig) -> RunSettings:
    """What a run folder is held to, and the command that was typed."""
    return RunSettings(plain(config), dump(config), config.seed, ("sdg", *sys.argv[1:]))


def plan_of(config: RunConfig) -> Plan:
    """The stages' own settings."""
    return Plan(
        levels=config.levels,
        instructions=config.instructions_per_level,
        seed=config.seed,
        retries=config.hypothesize.retries,
        repairs=config.hypothesize.repairs,
        temperature=config.model.temperature,
        max_tokens=config.model.max_tokens,
        training_layouts=config.induce.training_layouts,
        validation_layouts=config.induce.validation_layouts,
        verify=config.verify,
        induce=config.induce,
        processes=config.processes,
        cycles=config.cycles,
    )


def language_model(config: RunConfig, folder: Path) -> LanguageModel:
    """The config's model with its wrappers: cache, budget ledger and transcript lie in the run folder."""
    return build(model_settings(config, folder))


def model_settings(config: RunConfig, folder: Path | None) -> ModelSettings:
    """Which model the config names, as a value that travels to worker processes; without a folder nothing is kept."""
    model, budget = config.model, config.budget
    return ModelSettings(
        kind=model.kind,
        name=model.name,
        base_url=model.base_url,
        api_key=os.environ.get("OPENAI_API_KEY"),
        timeout_seconds=model.timeout_seconds,
        retries=model.retries,
        transcript=Path(model.transcript) if model.transcript else None,
        record=folder / "transcript.jsonl" if folder else None,
        cache=folder / "replies.sqlite" if folder and model.cache and model.kind == "openai" else None,
        ledger=folder / "spent.json" if folder else None,
        fault_rate=model.fault_rate,
        fault_seed=config.seed,
        limits=Limits(tokens=budget.tokens, money=budget.money),
        prices=Prices(budget.prompt_price, budget.completion_price),
    )


def planner_of(
    config: RunConfig, run: Path | None, library: Path, *, agent: str, stage: str = "solve"
) -> players.PlannerRecipe:
    """The run's planner with the skills of a library folder, under a name; `stage` is what it is asked for."""
    return players.PlannerRecipe(
        agent,
        library,
        model=model_settings(config, run),
        sampling=Sampling(temperature=config.model.temperature, max_tokens=config.model.max_tokens, stage=stage),
        settings=config.deduce,
    )


def recipes(config: RunConfig, folder: Path, *, everyone: bool) -> list[Recipe]:
    """sdg, and with `everyone` the agents that the config compares it with."""
    sdg = planner_of(config, folder, folder / LIBRARY, agent="sdg")
    compared = config.evaluate.baselines if everyone else ()
    return players.recipes(("sdg", *compared), sdg)


def explorers_of(config: RunConfig) -> Explorers:
    """What makes a search use the skills of a library; the same search again where the config doesn't want that."""
    if not config.verify.explorers:
        return lambda library, search: search
    return lambda library, search: SkilledSearch(library, search, config.verify.search)


def search_of(config: RunConfig) -> Search:
    """PPO, or the learning-free search that it is compared with."""
    if config.verify.method == "random":
        return RandomSearch(config.verify.search)
    from sdg.skills.learning.vec_env import PPOSearch

    return PPOSearch(config.verify.search)
