"""The library that is shipped: trained, measured, and put with its card where it is looked for.

    python -m training.library [RUN]

Planners play with it on layouts that no stage has seen, and the success of each skill from the states in which it was
asked for becomes the library's own figure.
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
from sdg.skills.practice.starts import are_possible
from sdg.skills.statistics import wilson_interval
from sdg.storage import Journal

Row = dict[str, Any]
CONFIG = "library"
FIGURES_SEED = 91
"""Which unseen layouts the figures come from; Table 1 is measured on others."""
LEAST = 100
"""Episodes that a skill's figure needs; one that planners ask for less keeps the figure of its training."""
MOST = 1000
"""Commands that a skill's figure comes from, at most."""
AT_ONCE = 250
"""Episodes that are played side by side."""


def ship(run: Path, to: Path | None, *, instructions: int) -> list[Row]:
    """Measure the library of a run folder and put it in `to` (where it is shipped); a row for each skill."""
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
    asked = requests_of_skill(episodes, option)
    head: Row = {"name": option.name, "asked": len(asked), "horizon": option.horizon}
    every = starts_of(asked, option.domain)
    left = np.flatnonzero(~are_done(every)) if every is not None else ()
    if every is None or not len(left):
        return head
    starts = every.take(left[np.sort(np.random.default_rng(seed).permutation(len(left))[:most])])
    parts = [np.arange(i, min(i + AT_ONCE, len(starts))) for i in range(0, len(starts), AT_ONCE)]
    played = [play(option.policy, starts.take(part), horizon=option.horizon, seed=seed + part[0]) for part in parts]
    reached = np.concatenate([each[0] for each in played])
    return (
        head
        | {"already": len(asked) - len(left)}
        | _rates(reached, are_possible(starts.rows, starts.targets, range(len(starts))))
    )


def _rates(reached: np.ndarray, known: np.ndarray) -> Row:
    """Every command counted; and those that what was perceived doesn't rule out, with the count left out."""
    every, possible = (wilson_interval(int(hit.sum()), len(hit)) for hit in (reached, reached[known]))
    return {
        "success_unfiltered": every.value,
        "unfiltered_low": every.low,
        "unfiltered_high": every.high,
        "commands": len(reached),
        "success_known": possible.value if known.any() else None,
        "known_low": possible.low if known.any() else None,
        "known_high": possible.high if known.any() else None,
        "left_out": int((~known).sum()),
    }


def with_figures(library: SkillLibrary, rows: Sequence[Mapping[str, Any]], *, least: int) -> SkillLibrary:
    """The library with these figures, every command counted, in place of training's; those of fewer than `least`
    commands don't count."""
    measured = {row["name"]: row for row in rows if (row.get("commands") or 0) >= least}
    skills = [
        replace(
            skill,
            success_rate=row["success_unfiltered"],
            success_interval=(row["unfiltered_low"], row["unfiltered_high"]),
            episodes=row["commands"],
            success_known=row["success_known"],
            left_out=row["left_out"],
        )
        if (row := measured.get(skill.name)) is not None
        else skill
        for skill in library.skills
    ]
    return replace(library, skills=tuple(skills))


def main(run: Path = Path("runs/library")) -> None:
    """Train in a run folder and ship what was learned."""
    config, folder = resolve(CONFIG, run, llm=None, assignments=None)
    run_stages("induce", config, folder, fresh=True, as_json=False, quiet=False)
    for found in ship(folder, None, instructions=200):
        print(found)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
