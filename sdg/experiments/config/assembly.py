"""Builds what a config names: models, searches, plans and agents."""

import os
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from sdg.envs.domains import domain
from sdg.envs.files import has_lines
from sdg.experiments.config.config import CONFIGS, ModelConfig, RunConfig, TypedModelConfig, dump
from sdg.experiments.play.players import PlannerRecipe
from sdg.llm.budget import EPISODE, HYPOTHESIS, TRANSLATION, describe_cost
from sdg.llm.model import Sampling
from sdg.llm.provider import ModelChoice, ModelSettings
from sdg.llm.registry import concurrency_of, provider_of
from sdg.llm.secrets import TRUST_VARIABLE, is_loopback
from sdg.pipeline.plan import Explorers, Plan
from sdg.skills.search.skill_search import SkillSearch
from sdg.skills.search.trial import CountSearch, RandomSearch, Search
from sdg.storage import RunSettings, json_values

LIBRARY = "library"
REHEARSAL = "rehearsal"
"""The name of the planner that rehearses in a cycle is REHEARSAL-CYCLE."""


def reserved_names(config: RunConfig) -> tuple[str, ...]:
    """Names that a skill can't have, because programs use them for something else."""
    world = domain(config.world)
    return (*world.perceivable.functions, *([world.forgets] if world.forgets else []), "program")


def library_of(run: Path, *, cycle: int, cycles: int) -> Path:
    """The folder of a cycle's library: the last cycle's library is the run's, earlier ones stay beside it."""
    return run / LIBRARY if cycle == cycles else run / f"{LIBRARY}-{cycle}"


def run_settings(config: RunConfig) -> RunSettings:
    """The settings that a run folder must match, and the typed command."""
    return RunSettings(json_values(config), dump(config), config.seed, ("sdg", *sys.argv[1:]))


def plan_of(config: RunConfig) -> Plan:
    """The stages' own settings."""
    return Plan(
        levels=config.levels,
        instructions=config.instructions_per_level,
        seed=config.seed,
        domain=domain(config.world),
        retries=config.hypothesize.retries,
        repairs=config.hypothesize.repairs,
        temperature=config.model.temperature,
        max_tokens=config.model.max_tokens,
        concurrency=concurrency_of(model_settings(config, None)),
        training_layouts=config.induce.training_layouts,
        validation_layouts=config.induce.validation_layouts,
        verify=config.verify,
        induce=config.induce,
        processes=config.processes,
        cycles=config.cycles,
    )


def model_identity(config: RunConfig) -> dict[str, Any]:
    """The settings that decide a model's replies; folders of its answers are identified by them."""
    return {name: getattr(config.model, name) for name in ("kind", "name", "temperature", "max_tokens")}


def model_settings(config: RunConfig, folder: Path | None) -> ModelSettings:
    """The model that the config names, as a value that travels and holds no key: budget ledger and transcript lie in
    the run folder; without a folder nothing is kept."""
    model = config.model
    return ModelSettings(
        **{field.name: getattr(model, field.name) for field in fields(ModelChoice)},
        trusted=_is_trusted(model),
        transcript=_transcript(model.transcript) if model.transcript else None,
        record=folder / "transcript.jsonl" if folder else None,
        cache=model.cache and provider_of(model.kind).network,
        ledger=folder / "spent.json" if folder else None,
        privacy=config.privacy,
        budget=config.budget,
    )


def _transcript(name: str) -> Path:
    """The recording of that name, here or beside the shipped configs."""
    return Path(name) if has_lines(Path(name)) or not has_lines(CONFIGS / name) else CONFIGS / name


def _is_trusted(model: ModelConfig) -> bool:
    """Whether the user chose the address that gets the key; a config file of others may name any address."""
    own = model.base_url is None or isinstance(model, TypedModelConfig) or is_loopback(model.base_url)
    return own or model.base_url in os.environ.get(TRUST_VARIABLE, "").split()


SUBGOALS = 3
"""Usual count per instruction."""


def expected_cost(config: RunConfig, *, until: str) -> str:
    """A run's expected use of its model up to a stage, in a line; "" for a model that needs no server."""
    settings = model_settings(config, None)
    if not provider_of(settings.kind).network:
        return ""
    levels, evaluate = len(config.levels), config.evaluate
    instructions = levels * config.instructions_per_level
    work = [(HYPOTHESIS, instructions)]
    if until not in ("hypothesize", "verify"):
        rehearsals = levels * config.induce.rehearsals * config.cycles
        work += [(TRANSLATION, SUBGOALS * instructions), (EPISODE, rehearsals)]
    if until in ("solve", "run"):
        baselines = len({"sdg-action", "random-skills"} & set(evaluate.baselines)) if until == "run" else 0
        levels = len(evaluate.levels or config.levels)
        work += [(EPISODE, levels * evaluate.instructions * evaluate.repeats * (1 + baselines))]
    return describe_cost(work, settings.budget, concurrency=concurrency_of(settings))


def planner_of(
    config: RunConfig, run: Path | None, library: Path, *, agent: str, stage: str = "solve"
) -> PlannerRecipe:
    """The run's planner with the skills of a library folder, under a name; its questions belong to `stage`."""
    return PlannerRecipe(
        agent,
        library,
        model=model_settings(config, run),
        sampling=Sampling(temperature=config.model.temperature, max_tokens=config.model.max_tokens, stage=stage),
        settings=config.deduce,
        domain=config.world,
        guards=config.deduce.guards,
    )


def explorers_of(config: RunConfig) -> Explorers:
    """A function that makes a search use a library's skills, or leaves it as it is without `verify.explorers`."""
    return lambda library, search: (
        SkillSearch(library, search, config.verify.search) if config.verify.explorers else search
    )


def search_of(config: RunConfig) -> Search:
    """The search that `verify.method` names."""
    if config.verify.method == "ppo" and domain(config.world).inputs.bounds is not None:
        from sdg.skills.search.learned_search import LearnedSearch

        return LearnedSearch(config.verify.search, config.induce.train.ppo)
    if config.verify.method == "ppo":
        from sdg.skills.search.ppo_search import PPOSearch

        return PPOSearch(config.verify.search)
    search = RandomSearch if config.verify.method == "random" else CountSearch
    return search(config.verify.search)
