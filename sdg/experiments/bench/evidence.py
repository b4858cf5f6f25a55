"""Ablations: the same unseen instructions with parts replaced; success, and steps relative to the bot.

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

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sdg.console import UserError, progress
from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.levels import PAPER_LEVELS
from sdg.envs.instructions import STRIDE, seeds
from sdg.experiments.bench import options
from sdg.experiments.bench.flat_policies import FLAT_AGENT, flat_checksum, train_policies
from sdg.experiments.config.assembly import LIBRARY, settings_of
from sdg.experiments.config.config import find_config, load
from sdg.experiments.play.episodes import Recipe
from sdg.experiments.play.players import FlatRecipe, PlannerRecipe, recipes
from sdg.experiments.results.comparison import PlannerSettings, compare, library_checksum
from sdg.experiments.results.ledger import seed_set
from sdg.experiments.results.rows import Instructions, Summary
from sdg.experiments.run.accounts import ACCOUNTS, PROCESSOR
from sdg.experiments.run.runs import run
from sdg.skills.library.store import load_library
from sdg.storage import RunFolder, read_artefact

Row = dict[str, Any]

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

PLAIN = ("sdg", "sdg-repeats", "scripted", "random-skills", "random", "random-masked", "bot")
"""Agents that `sdg bench table1` has under the same names."""
REPLACED = "random:"
OTHERS: Mapping[str, str] = {"primitives": "sdg-action"}
AGENTS = (*PLAIN, *OTHERS, *VARIANTS, FLAT_AGENT)
NEED_NO_LIBRARY = {"scripted", "random", "random-masked", "bot", *OTHERS, *VARIANTS, FLAT_AGENT}

SHOWN = (
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
    config: Annotated[str, typer.Option(help="what other libraries are trained from")] = "library",
    steps: Annotated[int, typer.Option(min=1, help="environment steps of the flat policies, in all")] = 3_000_000,
    allow_dev_seeds: Annotated[bool, typer.Option(help="allow seeds used in development; nothing to publish")] = False,
    processes: options.Processes = 0,
    out: options.Out = None,
) -> list[Row]:
    """A row for each level and agent. Raises UserError for unusable agents, levels, seeds or libraries."""
    told, folder = seed_set(seed, allow_dev_seeds=allow_dev_seeds), Path(out or f"runs/evidence-{seed}")
    if unknown := [name for name in agents if name not in AGENTS and not name.startswith(REPLACED)]:
        raise UserError(f"there is no agent {unknown[0]!r}; there are {', '.join(AGENTS)} and {REPLACED}SKILL")
    plain = [level for level in levels if level != UNLOCKING]
    sets = {"": Instructions.of(plain, instructions, seed=seed)} if plain else {}
    if len(plain) < len(levels):
        sets[UNLOCKING] = Instructions(("BossLevel",), instructions, 1, seed, unlocking_layouts(instructions, seed))
    trained_on = tuple(dict.fromkeys(level for asked in sets.values() for level in asked.levels))
    base = PlannerSettings(library, with_library=not NEED_NO_LIBRARY.issuperset(agents)).recipe(folder)
    found = []
    for name in agents:
        recipe, cost = _recipe(name, base, folder=folder, config=config, levels=trained_on, steps=steps)
        for kind, asked in sets.items():
            # One folder for all agents, so that the bot plays once; names hold a digest of what they stand for.
            table = compare([recipe], asked, folder=folder / (kind or "episodes"), config={}, processes=processes)
            mine = [row for row in table if row.agent == recipe.agent]
            found += [_row(name, row, level=kind or row.level, told=told, cost=cost) for row in mine]
    return found


def _recipe(
    name: str, base: PlannerRecipe, *, folder: Path, config: str, levels: Sequence[str], steps: int
) -> tuple[Recipe, Row]:
    """The agent of a row, trained if necessary, and what the row's training cost."""
    if name in VARIANTS:
        library = grounded_variant(config, folder / "libraries" / name, overlay=VARIANTS[name])
        played = replace(base, agent=_with_digest(name, library_checksum(library)), library=library)
        return replace(played, domain=load_library(library).domain), _cost_of(library)
    if name == FLAT_AGENT:
        trained = train_policies(folder / FLAT_AGENT, levels, steps=steps)
        checksum = flat_checksum(folder / FLAT_AGENT, levels)
        return FlatRecipe(folder / FLAT_AGENT, _with_digest(name, checksum)), {"training_steps": trained}
    try:
        [recipe] = recipes([OTHERS.get(name, name)], base)
    except ValueError as error:
        raise UserError(str(error)) from None
    if isinstance(recipe, PlannerRecipe) and recipe.library is not None:
        known = replace(recipe, agent=_with_digest(name, library_checksum(recipe.library)))
        return known, _cost_of(recipe.library) if name == "sdg" else {}
    return recipe, {}


def _with_digest(name: str, checksum: str) -> str:
    return f"{name}@{checksum[:8]}"


def grounded_variant(config: str, place: Path, *, overlay: Sequence[str]) -> Path:
    """Train the library of a config with other settings, in its own run folder; an interrupted run is resumed."""
    settings = load(find_config(config), overlay=overlay)
    if not (place / LIBRARY / "library.json").is_file():
        progress().note(f"training {place.name}: {', '.join(overlay)}")
        with RunFolder.start(place, settings_of(settings)) as run_folder:
            run(settings, run_folder, until="induce", progress=progress())
    return place / LIBRARY


def _cost_of(library: Path) -> Row:
    """Environment steps from the library's provenance, processor seconds from the results of the run that made it."""
    spent = load_library(library).provenance.get(ACCOUNTS, {})
    results = library.parent / "results.json"
    clocked = read_artefact(results).get(ACCOUNTS, {}) if results.is_file() else {}
    return {"training_steps": spent.get("all_steps"), "training_cpu_seconds": clocked.get(PROCESSOR)}


def unlocking_layouts(count: int, seed: int) -> tuple[int, ...]:
    """Seeds under which BossLevel has a mission that SynthSeq doesn't have, because SynthSeq never mentions what lies
    behind a locked door. Raises UserError for more than the user's seed has."""
    found: list[int] = []
    for first in range(0, STRIDE, AT_ONCE):
        drawn = seeds("evaluation", count=first + AT_ONCE, seed=seed, level=UNLOCKING)[first:]
        boss, synth = (LevelBank.build(level, drawn) for level in ("BossLevel", "SynthSeq"))
        found += [each for i, each in enumerate(drawn) if boss.mission(i) != synth.mission(i)]
        if len(found) >= count:
            return tuple(found[:count])
    raise UserError(f"of {STRIDE} layouts {len(found)} have a mission of BossLevel alone: ask for fewer instructions")


AT_ONCE = 500
"""Layouts that are generated and examined at a time; about one in twenty counts."""


def _row(name: str, row: Summary, *, level: str, told: str, cost: Row) -> Row:
    values = asdict(row)
    return {"agent": name, "level": level} | {key: values[key] for key in SHOWN} | {"seed_set": told} | cost
