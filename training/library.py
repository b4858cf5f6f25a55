"""The shipped library: trained, measured, and written with its card into the package.

    python -m training.library [RUN]

Planners play with it on layouts that no stage has seen, and the success of each skill from the states in which they
call it becomes the library's own figure.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sdg.deduction.library_skills import Option, options_of
from sdg.envs.babyai.levels import PAPER_LEVELS
from sdg.experiments.cli.main import resolve, run_stages
from sdg.experiments.play.episodes import evaluation_tasks
from sdg.experiments.play.players import PlannerRecipe, recipes
from sdg.experiments.results.comparison import SHIPPED, compare, planner_identity
from sdg.induction.skill_requests import requests_of_skill, starts_of
from sdg.skills.learning.train import are_done
from sdg.skills.library.library import SkillLibrary
from sdg.skills.library.store import load_library, save_library
from sdg.skills.practice.env import play
from sdg.skills.practice.starts import Starts, are_possible
from sdg.skills.statistics import wilson_interval
from sdg.storage import Journal

Row = dict[str, Any]
CONFIG = "library"
FIGURES_SEED = 91
"""Which unseen layouts the figures come from; Table 1 is measured on others."""
LEAST = 100
"""Episodes that a skill's figure needs; a skill that planners call less often keeps the figure of its training."""
MOST = 1000
"""Commands that a skill's figure comes from, at most."""
AT_ONCE = 250
"""Episodes that are played side by side."""


def ship(run: Path, to: Path | None, *, instructions: int) -> list[Row]:
    """Measure the library of a run folder and write it to `to` or else into the package; a row for each skill."""
    library, folder = load_library(run / "library"), run / "figures"
    planner = PlannerRecipe("sdg", run / "library")
    tasks = evaluation_tasks(PAPER_LEVELS, instructions=instructions, repeats=1, seed=FIGURES_SEED)
    config = {"instructions": instructions, "repeats": 1} | planner_identity(planner)
    compare(recipes(("sdg",), planner), tasks, folder=folder, seed=FIGURES_SEED, config=config)
    episodes = [row for row in Journal(folder / "episodes.jsonl") if row["agent"] == "sdg"]
    rows = measure_skills(options_of(library), episodes, most=MOST, seed=FIGURES_SEED)
    save_library(with_figures(library, rows, least=LEAST), to or SHIPPED)
    return rows


def measure_skills(
    options: Mapping[str, Option], episodes: Sequence[Mapping[str, Any]], *, most: int, seed: int
) -> list[Row]:
    """A row for each skill: success of single attempts (actions sampled) within its horizon, from up to `most` starts.

    Starts whose aim was reached already are left out. In which order episodes come makes no difference.
    """
    ordered = sorted(episodes, key=lambda row: str(row["unit"]))
    return [_measure(option, ordered, most=most, seed=seed) for option in options.values()]


def _measure(option: Option, episodes: Sequence[Mapping[str, Any]], *, most: int, seed: int) -> Row:
    requests = requests_of_skill(episodes, option)
    row: Row = {"name": option.name, "asked": len(requests), "horizon": option.horizon}
    all_starts = starts_of(requests, option.domain)
    if all_starts is None:
        return row
    undone = np.flatnonzero(~are_done(all_starts))
    if not len(undone):
        return row
    chosen = np.sort(np.random.default_rng(seed).permutation(len(undone))[:most])
    starts = all_starts.take(undone[chosen])
    reached = _reached(option, starts, seed=seed)
    possible = are_possible(starts.rows, starts.targets, range(len(starts)))
    return row | {"already": len(requests) - len(undone)} | _rates(reached, possible)


def _reached(option: Option, starts: Starts, *, seed: int) -> np.ndarray:
    """From which starts the skill reaches its aim, bool (n,)."""
    batches = []
    for first in range(0, len(starts), AT_ONCE):
        batch = starts.take(np.arange(first, min(first + AT_ONCE, len(starts))))
        batches.append(play(option.policy, batch, horizon=option.horizon, seed=seed + first)[0])
    return np.concatenate(batches)


def _rates(reached: np.ndarray, possible: np.ndarray) -> Row:
    """Success over all commands; and over those that the perception doesn't rule out, with the count of the others."""
    every, known = (wilson_interval(int(hits.sum()), len(hits)) for hits in (reached, reached[possible]))
    return {
        "success_unfiltered": every.value,
        "unfiltered_low": every.low,
        "unfiltered_high": every.high,
        "commands": len(reached),
        "success_known": known.value if possible.any() else None,
        "known_low": known.low if possible.any() else None,
        "known_high": known.high if possible.any() else None,
        "left_out": int((~possible).sum()),
    }


def with_figures(library: SkillLibrary, rows: Sequence[Mapping[str, Any]], *, least: int) -> SkillLibrary:
    """The library with these figures over all commands in place of training's, for skills with `least` commands."""
    measured = {row["name"]: row for row in rows if (row.get("commands") or 0) >= least}
    skills = []
    for skill in library.skills:
        row = measured.get(skill.name)
        if row is not None:
            skill = replace(
                skill,
                success_rate=row["success_unfiltered"],
                success_interval=(row["unfiltered_low"], row["unfiltered_high"]),
                episodes=row["commands"],
                success_known=row["success_known"],
                left_out=row["left_out"],
            )
        skills.append(skill)
    return replace(library, skills=tuple(skills))


if __name__ == "__main__":
    config, folder = resolve(CONFIG, Path([*sys.argv[1:], "runs/library"][0]), overlay=[], seed=None)
    run_stages("induce", config, folder, fresh=True, as_json=False, quiet=False)
    for skill_row in ship(folder, None, instructions=200):
        print(skill_row)
