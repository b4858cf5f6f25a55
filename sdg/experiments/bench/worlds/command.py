"""What skills are worth where moves can't be programmed: the worlds `ant` and `table`, by agent.

sdg bench worlds [--json]             the rows that were measured, as they were recorded
sdg bench worlds --measure [...]      make them again: hours of one core; what is finished in --out is kept
sdg bench worlds --measure --run DIR  the same row for a run's library and its model's programs

`by-hand` learns skills from checks written by hand and runs programs written by hand over them; `random-skills` runs
the same programs over the same skills with random weights; `flat-ppo`, `sac` and `sac-her` are stable-baselines3's,
trained on each level itself for as many steps. Success is the world's own judgement, on unseen seeds; all environment
steps of practice and validation are counted. The simulator gives places and maps to all agents alike.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sdg.console import UserError
from sdg.deduction.library_skills import options_of, random_options_of
from sdg.deduction.program import Scope, run_program
from sdg.deduction.protocols import CalledSkill
from sdg.deduction.robot import Robot
from sdg.envs.domains import domain
from sdg.envs.instructions import seeds
from sdg.experiments.bench import options
from sdg.experiments.bench.worlds.run_words import RunWords
from sdg.experiments.bench.worlds.words import WORDS
from sdg.gate.executor import GatedExecutor
from sdg.gate.rules import RulesGuard
from sdg.skills.learning.by_hand import learn_library
from sdg.skills.learning.train import Point
from sdg.skills.library.library import SkillLibrary
from sdg.skills.library.store import load_library, save_library
from sdg.skills.statistics import wilson_interval
from sdg.storage.files import atomic_write

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
    return sum(play(world, skills, level, each).ending.done for each in layouts)


Row = Mapping[str, Any]
RECORDED = "recorded.json"
BY_HAND, RANDOM = "by-hand", "random-skills"
FLAT = ("flat-ppo", "sac", "sac-her")
FIELDS = ("world", "level", "agent", "success_rate", "low", "high", "episodes", "environment_steps", "training_seeds")


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
    """The rows. Raises UserError for unknown worlds, levels or agents."""
    if run and not measure:
        raise UserError("a run's words are played anew: add --measure to --run")
    if not measure:
        return recorded_rows()
    if unknown := (set(worlds) - set(WORDS)) | (set(agents) - {BY_HAND, RANDOM, *FLAT}):
        raise UserError(f"there is no {', '.join(sorted(unknown))}; agents are {', '.join((BY_HAND, RANDOM, *FLAT))}")
    folder, all_rows = Path(out or "runs/worlds"), []
    if run:
        words = RunWords.open(Path(run), folder, llm=llm, base_url=base_url, assignments=assignments or ())
        return _measure_run(words, levels, episodes=episodes, seed=seed)
    for world in worlds:
        level_names = [domain(world).level_name(level) for level in levels or domain(world).levels()]
        for agent in agents:
            numbers = range(first_training_seed, first_training_seed + training_seeds)
            settings = {"seeds": numbers, "steps": steps, "episodes": episodes, "seed": seed, "folder": folder}
            all_rows += list(_measure(world, agent, level_names, settings=settings))
    return all_rows


def recorded_rows() -> list[Row]:
    """The rows that are kept beside this file."""
    return list(json.loads((files(__package__) / RECORDED).read_text("utf-8"))["rows"])


def _measure(world: str, agent: str, levels: Sequence[str], *, settings: Mapping[str, Any]) -> Iterator[Row]:
    for level in levels:
        place = settings["folder"] / f"{world}-{level}-{agent}.json"
        if not place.is_file():
            results = [_success(world, agent, level, number=number, settings=settings) for number in settings["seeds"]]
            sure = wilson_interval(sum(count for count, _ in results), settings["episodes"] * len(results))
            steps = round(float(np.mean([steps for _, steps in results])))
            values = (world, level, agent, sure.value, sure.low, sure.high, settings["episodes"], steps, len(results))
            _keep(place, values)
        yield json.loads(place.read_text("utf-8"))


def _keep(place: Path, values: Sequence[Any]) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(place, json.dumps(dict(zip(FIELDS, values, strict=True))) + "\n")


def _measure_run(words: RunWords, levels: Sequence[str], *, episodes: int, seed: int) -> list[Row]:
    world, table = words.config.world, []
    for level in [domain(world).level_name(level) for level in levels or domain(world).levels()]:
        place = words.folder / f"{world}-{level}-{words.agent}.json"
        if not place.is_file():
            sure = wilson_interval(words.success_of(level, episodes=episodes, seed=seed), episodes)
            _keep(place, (world, level, words.agent, sure.value, sure.low, sure.high, episodes, words.steps(), 1))
        table.append(json.loads(place.read_text("utf-8")))
    return table


def _success(world: str, agent: str, level: str, *, number: int, settings: Mapping[str, Any]) -> tuple[int, int]:
    """How many episodes were solved after one training, and the environment steps of that training."""
    place = settings["folder"] / f"{world}-{number}"
    episodes, seed = settings["episodes"], settings["seed"]
    if agent in (BY_HAND, RANDOM):
        library = _library(world, place, seed=number, steps=settings["steps"])
        skills, training_steps = options_of(library), sum(skill.environment_steps for skill in library)
        if agent == RANDOM:
            skills, training_steps = random_options_of(library, seed=number), 0
        return success_of(world, skills, level, episodes=episodes, seed=seed), training_steps
    from sdg.experiments.baselines.world_env import success_of_flat, train_flat

    training_steps = settings["steps"] or sum(spec.total_timesteps for spec in WORDS[world].skills)
    model = train_flat(agent, world, level, steps=training_steps, seed=number)
    return success_of_flat(model, world, level, episodes=episodes, seed=seed), training_steps


def _library(world: str, place: Path, *, seed: int, steps: int) -> SkillLibrary:
    """The skills for the hand-written checks, learned under a seed, or loaded if the folder has them."""
    if not (place / "library.json").is_file():
        words = WORDS[world]
        share = steps / sum(spec.total_timesteps for spec in words.skills) if steps else 1.0
        specs = [replace(spec, total_timesteps=max(1, round(share * spec.total_timesteps))) for spec in words.skills]
        place.parent.mkdir(parents=True, exist_ok=True)
        with (place.parent / f"{place.name}.log").open("a", encoding="utf-8") as log:

            def note(name: str, point: Point) -> None:
                print(name, point, file=log, flush=True)

            library = learn_library(
                domain(world),
                words.level,
                specs,
                settings=words.settings,
                seed=seed,
                training_starts=200,
                on_evaluation=note,
            )
        save_library(library, place)
    return load_library(place)
