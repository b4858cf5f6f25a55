"""Success of each skill from the states in which planners ask for it, on layouts that no stage has seen.

    sdg bench skills --instructions 200 --seed 0 [--library DIR] [--json]

The planner plays the levels' instructions first (a folder of Table 1 that is there already serves: `--out`); every
command begins an attempt of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sdg.deduction.library_skills import Option, options_of
from sdg.envs.babyai.levels import PAPER_LEVELS
from sdg.experiments.bench import options
from sdg.experiments.bench.yardsticks.bot_needs import bot_needs
from sdg.experiments.bench.yardsticks.shortest_paths import NEVER, shortest
from sdg.experiments.play.players import recipes
from sdg.experiments.table.comparison import PlannerSettings, compare
from sdg.experiments.table.rows import Instructions
from sdg.induction.skill_requests import requests_of_skill, starts_of
from sdg.run import Journal
from sdg.skills.learning.train import are_done, are_known
from sdg.skills.library.library import SkillLibrary
from sdg.skills.library.store import load_library
from sdg.skills.practice.env import play
from sdg.skills.practice.starts import Starts
from sdg.skills.statistics import wilson_interval

Row = dict[str, Any]
AT_ONCE = 250
"""Episodes that are played side by side."""

HAND, STRAYED, TIME = "hand changed", "another room", "out of steps"
"""How attempts fail: something was taken or put down, the robot is in another room, neither."""


def figures(options: Mapping[str, Option], episodes: Sequence[Mapping[str, Any]], *, most: int, seed: int) -> list[Row]:
    """A row for each skill: success of single attempts (actions sampled) within its horizon, from up to `most` starts.

    Starts whose aim was reached already are left out, and those that neither a search nor the skill solves. The search
    sees everything and walks straight there; beside it, for skills that look for something, is minigrid's bot, which
    has to look (`bot_needs.py`). In which order episodes come (jobs finish as they like) makes no difference.
    """
    ordered = sorted(episodes, key=lambda row: str(row["unit"]))
    return [_figures(option, ordered, most=most, seed=seed) for option in options.values()]


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


def _figures(option: Option, episodes: Sequence[Mapping[str, Any]], *, most: int, seed: int) -> Row:
    asked = requests_of_skill(episodes, option)
    head: Row = {"name": option.name, "asked": len(asked), "horizon": option.horizon}
    every = starts_of(asked, option.domain)
    left = np.flatnonzero(~are_done(every)) if every is not None else ()
    if every is None or not len(left):
        return head | dict.fromkeys(("success_rate", "low", "high"))
    chosen = left[np.sort(np.random.default_rng(seed).permutation(len(left))[:most])]
    starts = every.take(chosen)
    played = _played(option, starts, seed=seed)
    row = head | {"already": len(asked) - len(left)} | _of_all(played[0], are_known(starts))
    row |= _of_searched(*played)
    if option.takes_argument and not option.usage.needs_seen_target:
        needs = bot_needs([asked[i] for i in chosen], limit=option.horizon // 2)
        row |= _of_bot(played[0][needs != NEVER])
    return row


def _played(option: Option, starts: Starts, *, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """One attempt from every start: (reached, steps, steps of the shortest way, causes)."""
    near = shortest(starts, limit=option.horizon)
    parts = [np.arange(i, min(i + AT_ONCE, len(starts))) for i in range(0, len(starts), AT_ONCE)]
    played = [play(option.policy, starts.take(part), horizon=option.horizon, seed=seed + part[0]) for part in parts]
    causes = [cause for part, each in zip(parts, played, strict=True) for cause in _causes(starts.take(part), each[2])]
    reached, steps = (np.concatenate([each[number] for each in played]) for number in (0, 1))
    return reached, steps, near, causes


def _of_all(reached: np.ndarray, known: np.ndarray) -> Row:
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


def _of_searched(reached: np.ndarray, steps: np.ndarray, near: np.ndarray, causes: Sequence[str]) -> Row:
    """Among what the search or the skill solved within the horizon."""
    solvable = reached | (near > 0)
    rate = wilson_interval(int(reached.sum()), int(solvable.sum()))
    both = reached & (near > 0)
    return {
        "unsolvable": int((~solvable).sum()),
        "success_rate": rate.value,
        "low": rate.low,
        "high": rate.high,
        "episodes": int(solvable.sum()),
        "steps": float(steps[solvable].mean()) if solvable.any() else None,
        "within_twice": float((both & (steps <= 2 * near)).sum() / (near > 0).sum()) if (near > 0).any() else None,
        "steps_to_shortest": float(np.median(steps[both] / near[both])) if both.any() else None,
        "by_shortest": _by_shortest(reached, near),
        "causes": dict(Counter(cause for cause, failed in zip(causes, solvable & ~reached, strict=True) if failed)),
    }


def _of_bot(reached: np.ndarray) -> Row:
    """Among what the bot solves in half the horizon: the skill may take twice as long as the bot ever needs there."""
    rate = wilson_interval(int(reached.sum()), len(reached)) if len(reached) else None
    return {
        "bot_episodes": len(reached),
        "bot_success_rate": rate.value if rate else None,
        "bot_low": rate.low if rate else None,
        "bot_high": rate.high if rate else None,
    }


def _by_shortest(reached: np.ndarray, near: np.ndarray) -> dict[str, list[int]]:
    """Episodes solved and all, by the steps of the shortest way: how far off is what fails?"""
    among = {f"{low}-{high - 1}": (near >= low) & (near < high) for low, high in pairwise((1, 4, 8, 16, 32, 64))}
    return {name: [int(reached[rows].sum()), int(rows.sum())] for name, rows in among.items() if rows.any()}


def _causes(before: Starts, after: Starts) -> list[str]:
    """What an attempt that ended in `after` failed of, if it failed."""
    hand = before.rows.holding() != after.rows.holding()
    room = before.rows.places() != after.rows.places()
    return [HAND if held else STRAYED if away else TIME for held, away in zip(hand, room, strict=True)]


def rows(
    *,
    seed: options.Seed = 0,
    instructions: options.Instructions = 200,
    levels: options.Levels = PAPER_LEVELS,
    library: options.Library = "",
    out: options.Out = None,
    most: Annotated[int, typer.Option(min=1, help="starts of one skill")] = 1000,
    processes: options.Processes = 0,
) -> list[Mapping[str, Any]]:
    """A row for each skill of the library. Raises UserError for what isn't there."""
    folder = Path(out or f"runs/skills-{seed}")
    planner, asked = PlannerSettings(library), Instructions.of(levels, instructions, seed=seed)
    recipe = planner.recipe(folder)
    compare(recipes(("sdg",), recipe), asked, folder=folder, config=planner.config(recipe), processes=processes)
    assert recipe.library is not None
    episodes = [row for row in Journal(folder / "episodes.jsonl") if row["agent"] == "sdg"]
    return list(figures(options_of(load_library(recipe.library)), episodes, most=most, seed=seed))


__all__ = ["rows"]
