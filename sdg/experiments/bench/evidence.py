"""Ablations: the same unseen instructions with parts replaced.

A row has the success, and steps relative to the bot.

    sdg bench evidence --seed N --instructions 1000 [--agents sdg,scripted] [--levels Open] [--json]

| agent | what is different |
|---|---|
| sdg | nothing: the shipped skills, or those of `--library` |
| scripted | hand-written skills: shortest paths on the robot's own map, an upper bound for learning |
| random-skills, random:SKILL | random weights in the skills, in this one alone |
| sdg-repeats | without the rule to take, of the sampled actions, the one taken least often |
| no-rehearsals, round-1 | a library without the last round of practice, without the last two |
| paper-choices | API names and k-means alone, confirmed subgoals, restored starts, the paper's perception and model |
| primitives | the hand-written planner over primitive actions |
| ppo-flat | one policy per level: the paper's model on view and mission, for as many steps as the skills had |
| random, random-masked, bot | each action; each that changes something; minigrid's bot, which sees the hidden state |

Libraries with other settings and flat policies are trained once, into `--out`; `--config` names what from. What `--out`
holds is neither trained nor played again, so that rows can be made in pieces. BossLevel-unlocking holds the missions
that SynthSeq doesn't have under the same seed. Seeds used in development (`sdg/experiments/seeds.toml`) are refused
without `--allow-dev-seeds`.
"""

import hashlib
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sdg.agents.agents import Task
from sdg.console import progress
from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.levels import PAPER_LEVELS, level_name
from sdg.envs.domains import domain_of_data
from sdg.envs.instructions import STRIDE, seeds
from sdg.envs.kernels import cache_folder
from sdg.errors import UserError
from sdg.experiments.bench import options
from sdg.experiments.config.assembly import LIBRARY, run_settings
from sdg.experiments.config.config import find_config, load, shipped_config
from sdg.experiments.play.episodes import PlainRecipe, Recipe, evaluation_tasks
from sdg.experiments.play.players import FlatAgent, PlannerRecipe, recipes
from sdg.experiments.report.data import value_of
from sdg.experiments.results.comparison import compare, cores, find_library, open_folder, run_missing_jobs
from sdg.experiments.results.ledger import seed_set
from sdg.experiments.run.runs import ACCOUNTS, PROCESSOR, run
from sdg.experiments.workers.workers import Workers
from sdg.pipeline.records import policy_path, save_policy
from sdg.skills.library.store import library_checksum, load_library
from sdg.storage import RunFolder, read_artefact

FLAT_AGENT = "ppo-flat"
LAYOUTS = 4000
"""Training layouts a level."""
LEARNING_RATE = 1e-3


@dataclass(frozen=True, slots=True)
class FlatJob:
    """One level to train on for `steps` steps; weights go to the run folder `folder`, `unit` is the level."""

    folder: Path
    unit: str
    steps: int


def train_level(job: FlatJob) -> dict[str, Any]:
    """Train, store the weights and return a row for the journal."""
    from sdg.experiments.baselines.paper_model import PaperShape, train_paper_model
    from sdg.skills.learning.ppo import PPOSettings

    bank = LevelBank.build(job.unit, seeds("training", count=LAYOUTS))
    began = time.process_time()
    ppo = PPOSettings(n_steps=32, n_epochs=4, gamma=0.99, learning_rate=LEARNING_RATE)
    policy, steps, episodes = train_paper_model(bank, timesteps=job.steps, seed=0, shape=PaperShape(), ppo=ppo)
    save_policy(job.folder, job.unit, policy.weights)
    return {
        "unit": job.unit,
        "environment_steps": steps,
        "episodes": episodes,
        "cpu_seconds": round(time.process_time() - began, 1),
    }


def train_policies(folder: Path, levels: Sequence[str], *, steps: int) -> int:
    """Train the flat policies of these levels, each with an even share of `steps`; returns all environment steps.

    A level with a policy isn't trained again.
    """
    steps_a_level = steps // len(PAPER_LEVELS)
    settings = {"steps_a_level": steps_a_level, "layouts": LAYOUTS, "learning_rate": LEARNING_RATE}
    with open_folder(folder, settings, seed=0) as run:
        # Only these jobs may write (policies and banks of layouts), because they run no generated code.
        workers = Workers(cores(), writes=(folder, cache_folder(), Path(tempfile.gettempdir())))
        results = run_missing_jobs(
            [FlatJob(folder, level, steps_a_level) for level in levels],
            run.journal("flat"),
            lambda missing: (row for _, row in workers(train_level, missing)),
            name="flat",
        )
    return sum(row["environment_steps"] for row in results)


def flat_checksum(folder: Path, levels: Sequence[str]) -> str:
    """A digest of the policies of these levels. Raises UserError where one of them was not trained."""
    if missing := [level for level in levels if not policy_path(folder, level).is_file()]:
        raise UserError(
            f"{folder} has no flat policy for {missing[0]}: train it with "
            f"`sdg bench evidence --agents {FLAT_AGENT} --levels {missing[0]}`, or name another folder with --flat"
        )
    return hashlib.sha256(b"".join(policy_path(folder, level).read_bytes() for level in levels)).hexdigest()


UNLOCKING = "BossLevel-unlocking"
"""Missions that only BossLevel has, because they mention something behind a locked door."""

VARIANTS: Mapping[str, tuple[str, ...]] = {
    "no-rehearsals": ("induce.rounds=2",),
    "round-1": ("induce.rounds=1",),
    "paper-choices": (
        *("perception=paper", "induce.text=api", "induce.review=false", "induce.use_unconfirmed=false"),
        *("induce.rounds=1", "induce.first_timesteps=100000", "induce.train.learner=paper-model"),
    ),
}
"""Libraries that are trained with other settings than the shipped one, as overlays of its config."""

RANDOM_SKILL_PREFIX = "random:"
AGENT_ALIASES: Mapping[str, str] = {"primitives": "sdg-action"}
"""Agents that `sdg bench table1` has under another name."""
AGENTS = (
    *("sdg", "sdg-repeats", "scripted", "random-skills", "random", "random-masked", "bot"),
    *(*AGENT_ALIASES, *VARIANTS, FLAT_AGENT),
)
NEED_NO_LIBRARY = {"scripted", "random", "random-masked", "bot", *AGENT_ALIASES, *VARIANTS, FLAT_AGENT}

COLUMNS = (
    *("success_rate", "low", "high", "episodes", "steps_to_bot", "spl", "within_15", "within_20"),
    *("bot_within_15", "success_at_one_interaction", "median_steps", "new_texts"),
)


def rows(
    *,
    seed: options.Seed,
    instructions: options.Instructions = 100,
    levels: Annotated[Sequence[str], options.list_option("levels, or what BossLevel alone has")] = (
        *PAPER_LEVELS,
        UNLOCKING,
    ),
    agents: Annotated[Sequence[str], options.list_option("rows of the table above")] = AGENTS,
    library: options.Library = "",
    config: Annotated[str, typer.Option(help="what other libraries are trained from (default: library)")] = "",
    steps: Annotated[int, typer.Option(min=1, help="environment steps of the flat policies, in all")] = 3_000_000,
    allow_dev_seeds: Annotated[bool, typer.Option(help="allow seeds used in development; nothing to publish")] = False,
    processes: options.Processes = 0,
    out: options.Out = None,
) -> list[dict[str, Any]]:
    """A row for each level and agent. Raises UserError for unusable agents, levels, seeds or libraries."""
    seed_label = seed_set(seed, allow_dev_seeds=allow_dev_seeds)
    folder = Path(out or f"runs/evidence-{seed}")
    if unknown := [name for name in agents if name not in AGENTS and not name.startswith(RANDOM_SKILL_PREFIX)]:
        raise UserError(
            f"there is no agent {unknown[0]!r}; there are {', '.join(AGENTS)} and {RANDOM_SKILL_PREFIX}SKILL"
        )
    level_names = [level_name(level) for level in levels if level != UNLOCKING]
    sets = {"": evaluation_tasks(level_names, instructions=instructions, repeats=1, seed=seed)} if level_names else {}
    if len(level_names) < len(levels):
        sets[UNLOCKING] = [Task("BossLevel", layout) for layout in unlocking_layouts(instructions, seed)]
    trained_on = tuple(dict.fromkeys(task.level for tasks in sets.values() for task in tasks))
    base = PlannerRecipe("sdg", None if NEED_NO_LIBRARY.issuperset(agents) else find_library(library))
    all_rows = []
    for name in agents:
        recipe, cost = _recipe(name, base, folder=folder, config=config, levels=trained_on, steps=steps)
        for kind, tasks in sets.items():
            # One folder for all agents, so that the bot plays once; agents' names hold digests of their weights.
            table = compare(
                [recipe],
                tasks,
                folder=folder / (kind or "episodes"),
                seed=seed,
                config={"instructions": instructions, "repeats": 1},
                processes=processes,
            )
            all_rows += [
                {"agent": name, "level": kind or row["level"]}
                | {key: row[key] for key in COLUMNS}
                | {"seed_set": seed_label}
                | cost
                for row in table
                if row["agent"] == recipe.agent
            ]
    return all_rows


def _recipe(
    name: str, base: PlannerRecipe, *, folder: Path, config: str, levels: Sequence[str], steps: int
) -> tuple[Recipe, dict[str, Any]]:
    """The agent of a row, trained if necessary, and the costs of the row's training."""
    if name in VARIANTS:
        library = grounded_variant(config, folder / "libraries" / name, overlay=VARIANTS[name])
        agent = _with_digest(name, library_checksum(library))
        world = domain_of_data(load_library(library).domain).name
        return replace(base, agent=agent, library=library, domain=world), _cost_of(library)
    if name == FLAT_AGENT:
        steps_taken = train_policies(folder / FLAT_AGENT, levels, steps=steps)
        agent = _with_digest(name, flat_checksum(folder / FLAT_AGENT, levels))
        return PlainRecipe(agent, FlatAgent, (folder / FLAT_AGENT,)), {"training_steps": steps_taken}
    [recipe] = recipes([AGENT_ALIASES.get(name, name)], base)
    if isinstance(recipe, PlannerRecipe) and recipe.library is not None:
        agent = _with_digest(name, library_checksum(recipe.library))
        return replace(recipe, agent=agent), _cost_of(recipe.library) if name == "sdg" else {}
    return recipe, {}


def _with_digest(name: str, checksum: str) -> str:
    return f"{name}@{checksum[:8]}"


def grounded_variant(config: str, place: Path, *, overlay: Sequence[str]) -> Path:
    """Train the library of a config with other settings, in its own run folder; an interrupted run is resumed."""
    settings = load(find_config(config) if config else shipped_config("library"), overlay=overlay)
    if not (place / LIBRARY / "library.json").is_file():
        progress().note(f"training {place.name}: {', '.join(overlay)}")
        with RunFolder.start(place, run_settings(settings)) as run_folder:
            run(settings, run_folder, until="induce", progress=progress())
    return place / LIBRARY


def _cost_of(library: Path) -> dict[str, Any]:
    """Environment steps from the library's provenance, processor seconds from the results of the run that made it."""
    library_accounts = value_of(load_library(library).provenance, ACCOUNTS, dict)
    results = library.parent / "results.json"
    run_accounts = value_of(read_artefact(results), ACCOUNTS, dict) if results.is_file() else {}
    return {"training_steps": library_accounts.get("all_steps"), "training_cpu_seconds": run_accounts.get(PROCESSOR)}


def unlocking_layouts(count: int, seed: int) -> tuple[int, ...]:
    """Seeds under which BossLevel has a mission that SynthSeq doesn't have, because SynthSeq never mentions what lies
    behind a locked door. Raises UserError for more than the user's seed has."""
    layouts: list[int] = []
    for first in range(0, STRIDE, LAYOUTS_AT_ONCE):
        candidates = seeds("evaluation", count=first + LAYOUTS_AT_ONCE, seed=seed, level=UNLOCKING)[first:]
        boss, synth = (LevelBank.build(level, candidates) for level in ("BossLevel", "SynthSeq"))
        layouts += [layout for i, layout in enumerate(candidates) if boss.mission(i) != synth.mission(i)]
        if len(layouts) >= count:
            return tuple(layouts[:count])
    raise UserError(f"of {STRIDE} layouts {len(layouts)} have a mission of BossLevel alone: ask for fewer instructions")


LAYOUTS_AT_ONCE = 500
"""Layouts that are generated and examined at a time; about one in twenty counts."""
