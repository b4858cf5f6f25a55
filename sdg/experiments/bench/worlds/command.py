"""What skills are worth where moves can't be programmed.

The worlds are `ant` and `table`, a row per agent.

sdg bench worlds [--json]             the rows that were measured, as they were recorded
sdg bench worlds --measure [...]      make them again: hours of one core; what is finished in --out is kept
sdg bench worlds --measure --run DIR  the same row for a run's library and its model's programs

`by-hand` learns skills from checks written by hand and runs programs written by hand over them; `random-skills` runs
the same programs over the same skills with random weights; `flat-ppo`, `sac` and `sac-her` are stable-baselines3's,
trained on each level itself for as many steps. Success is the world's own judgement, on unseen seeds; all environment
steps of practice and validation are counted. The simulator gives places and maps to all agents alike.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sdg.console import Row
from sdg.deduction.library_skills import options_of, random_options_of
from sdg.deduction.program import Scope, run_program
from sdg.deduction.protocols import CalledSkill
from sdg.deduction.robot import Robot
from sdg.envs.domains import domain
from sdg.envs.instructions import seeds
from sdg.errors import UserError
from sdg.experiments.bench import options
from sdg.experiments.bench.worlds.run_words import RunWords
from sdg.experiments.bench.worlds.words import WORDS
from sdg.experiments.results.comparison import open_folder
from sdg.gate.executor import GatedExecutor
from sdg.gate.rules import RulesGuard
from sdg.skills.learning.by_hand import learn_library
from sdg.skills.library.library import SkillLibrary
from sdg.skills.library.store import load_library, save_library
from sdg.skills.settings import Count, Share
from sdg.skills.statistics import wilson_interval
from sdg.storage import Rows

BUDGET = 50_000_000
"""Guard steps that a program may take: programs over a body ask for its place at every turn."""


def play(world_name: str, skills: Mapping[str, CalledSkill], level: str, seed: int) -> Robot:
    """The robot after the hand-written program ran in a seed's episode."""
    kind = domain(world_name)
    world = kind.open(level)
    world.reset(seed)
    robot = Robot(world, skills, domain=kind, rng=np.random.default_rng(seed), attempts=1)
    gate = RulesGuard({name: skill.usage for name, skill in skills.items()}, resolve=kind.language.resolve)
    run_program(WORDS[world_name].program(world.mission), Scope(robot, GatedExecutor(robot, gate)), budget=BUDGET)
    return robot


def success_of(world: str, skills: Mapping[str, CalledSkill], level: str, *, episodes: int, seed: int) -> int:
    """How many of `episodes` unseen episodes of a level the hand-written program solves with these skills."""
    layouts = seeds("evaluation", count=episodes, seed=seed, level=level)
    return sum(play(world, skills, level, layout).ending.done for layout in layouts)


RECORDED_ROWS = "recorded.json"
"""The rows that are kept beside this file."""
BY_HAND, RANDOM = "by-hand", "random-skills"
FLAT = ("flat-ppo", "sac", "sac-her")


@dataclass(frozen=True, slots=True)
class WorldFigures:
    """A stored row: a level's success rate in [0, 1] with its interval, and the costs of training."""

    unit: str
    world: str
    level: str
    agent: str
    success_rate: Share
    low: Share
    high: Share
    episodes: Count
    environment_steps: int
    training_seeds: Count


FIELDS = tuple(field.name for field in fields(WorldFigures))[1:]


def rows(
    *,
    measure: Annotated[bool, typer.Option("--measure", help="measure again what --out doesn't hold yet")] = False,
    seed: options.Seed = 0,
    worlds: Annotated[Sequence[str], options.list_option("worlds")] = tuple(WORDS),
    levels: Annotated[Sequence[str], options.list_option("levels; all by default")] = (),
    agents: options.Agents = (BY_HAND, RANDOM, "flat-ppo"),
    episodes: Annotated[int, typer.Option(min=1, help="unseen episodes a level")] = 100,
    training_seeds: Annotated[int, typer.Option(min=1, help="policies, each learned from nothing")] = 1,
    first_training_seed: Annotated[int, typer.Option(min=0, help="the first of them")] = 0,
    steps: Annotated[int, typer.Option(min=0, help="environment steps; those of the words by default")] = 0,
    run: Annotated[str, typer.Option(metavar="DIR", help="a run folder, whose words alone are measured")] = "",
    llm: Annotated[str, typer.Option(metavar="KIND[:NAME]", help="who is asked in place of the run's model")] = "",
    base_url: options.BaseUrl = "",
    assignments: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="as in sdg run")] = None,
    out: options.Out = None,
) -> list[Row]:
    """The rows. Raises UserError for unknown worlds, levels or agents, RunFolderError for --out of another question."""
    if run and not measure:
        raise UserError("a run's words are played anew: add --measure to --run")
    if not measure:
        return list(json.loads((Path(__file__).parent / RECORDED_ROWS).read_text("utf-8"))["rows"])
    if unknown := (set(worlds) - set(WORDS)) | (set(agents) - {BY_HAND, RANDOM, *FLAT}):
        raise UserError(f"there is no {', '.join(sorted(unknown))}; agents are {', '.join((BY_HAND, RANDOM, *FLAT))}")
    folder = Path(out or ("runs/worlds-words" if run else "runs/worlds"))
    names = {"levels": list(levels)}
    question = dict[str, Any](episodes=episodes)
    if run:
        words = RunWords.open(Path(run), folder, llm=llm, base_url=base_url, assignments=assignments or ())
        worlds, agents, numbers = (words.config.world,), (words.agent,), range(1)
        question |= words.question
    else:
        numbers = range(first_training_seed, first_training_seed + training_seeds)
        names |= {"worlds": list(worlds), "agents": list(agents)}
        question |= {"training_seeds": training_seeds, "first_training_seed": first_training_seed, "steps": steps}

    def success(world: str, level: str, agent: str, number: int) -> tuple[int, int]:
        if run:
            return words.success_of(level, episodes=episodes, seed=seed), words.steps()
        return _success(world, agent, level, number, folder=folder, steps=steps, episodes=episodes, seed=seed)

    with open_folder(folder, names | question, seed=seed, may_change=tuple(names)) as run_folder:
        journal = Rows(run_folder.journal("rows"), WorldFigures)
        units = [(world, level, agent) for world in worlds for agent in agents for level in _levels(world, levels)]
        figures = [
            journal.get("/".join(unit))
            or journal.append(_figures_of(unit, [success(*unit, number) for number in numbers], episodes=episodes))
            for unit in units
        ]
    return [{name: getattr(row, name) for name in FIELDS} for row in figures]


def _levels(world: str, levels: Sequence[str]) -> list[str]:
    return [domain(world).level_name(level) for level in levels or domain(world).levels()]


def _figures_of(unit: tuple[str, str, str], results: Sequence[tuple[int, int]], *, episodes: int) -> WorldFigures:
    """The row of a unit from its results: solved episodes and environment steps, for each training."""
    interval = wilson_interval(sum(count for count, _ in results), episodes * len(results))
    steps = round(float(np.mean([steps for _, steps in results])))
    return WorldFigures(
        "/".join(unit), *unit, interval.value, interval.low, interval.high, episodes, steps, len(results)
    )


def _success(
    world: str, agent: str, level: str, number: int, *, folder: Path, steps: int, episodes: int, seed: int
) -> tuple[int, int]:
    """How many episodes were solved after one training, and the environment steps of that training."""
    if agent in (BY_HAND, RANDOM):
        library = _library(world, folder / f"{world}-{number}", seed=number, steps=steps)
        skills, training_steps = options_of(library), sum(skill.environment_steps for skill in library)
        if agent == RANDOM:
            skills, training_steps = random_options_of(library, seed=number), 0
        return success_of(world, skills, level, episodes=episodes, seed=seed), training_steps
    from sdg.experiments.baselines.world_env import success_of_flat, train_sb3_flat

    training_steps = steps or sum(spec.total_timesteps for spec in WORDS[world].skills)
    model = train_sb3_flat(agent, world, level, steps=training_steps, seed=number)
    return success_of_flat(model, world, level, episodes=episodes, seed=seed), training_steps


def _library(world: str, place: Path, *, seed: int, steps: int) -> SkillLibrary:
    """The skills for the hand-written checks, learned under a seed, or loaded if the folder has them."""
    if not (place / "library.json").is_file():
        words = WORDS[world]
        share = steps / sum(spec.total_timesteps for spec in words.skills) if steps else 1.0
        specs = [replace(spec, total_timesteps=max(1, round(share * spec.total_timesteps))) for spec in words.skills]
        place.parent.mkdir(parents=True, exist_ok=True)
        with (place.parent / f"{place.name}.log").open("a", encoding="utf-8") as log:
            library = learn_library(
                domain(world),
                words.level,
                specs,
                settings=words.settings,
                seed=seed,
                training_starts=200,
                on_evaluation=partial(print, file=log, flush=True),
            )
        save_library(library, place)
    return load_library(place)
