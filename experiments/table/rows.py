"""Table 1: success on unseen instructions, level by level and agent by agent, beside published ones (SDG, section 5).

sdg bench table1 --instructions 100 --repeats 3 --seed 0
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sdg.envs.babyai.levels import PAPER_LEVELS
from sdg.experiments.play.episodes import BOT, Done, Recipe, evaluation_tasks, run_jobs, unheard, with_bot_steps
from sdg.experiments.table.formats import Cell
from sdg.experiments.table.statistics import Interval, iqm_interval, wilson_interval
from sdg.run import Journal

Row = dict[str, Any]
ALL = "all"
"""The level's name in rows that summarise all levels of an agent."""

PUBLISHED: Mapping[str, Mapping[str, float]] = {
    "SDG (gpt-3.5-turbo)": dict(zip(PAPER_LEVELS, (99.9, 92.9, 91.9, 92.4, 78.9, 75.9), strict=True)),
    "SDG-action (gpt-3.5-turbo)": dict(zip(PAPER_LEVELS, (55.1, 47.6, 0.0, 0.0, 0.0, 0.0), strict=True)),
    "BabyAI 1.0 IL (1M demos)": dict(zip(PAPER_LEVELS, (99.8, 99.4, 99.2, 100.0, 87.7, 77.0), strict=True)),
    "BabyAI 1.1 IL (1M demos)": dict(zip(PAPER_LEVELS, (100.0, 100.0, 100.0, 100.0, 93.9, 90.4), strict=True)),
    "LISA (100k demos)": {"SynthSeq": 61.2, "BossLevel": 69.8},
}
"""Success rates in %, as published: SDG and LISA from arXiv 2309.01352 (table 1), imitation from arXiv 2007.12770 (its
figures for PickupLoc, and 1.1's for Open, at second hand). Imitation plays one episode from the raw view; here
perception is named and skills are retried: the protocols differ."""


@dataclass(frozen=True, slots=True)
class Table1Settings:
    """`instructions` fresh evaluation seeds for each of `levels` and of `repeats`; `seed` chooses them."""

    levels: tuple[str, ...] = PAPER_LEVELS
    instructions: int = 100
    repeats: int = 3
    seed: int = 0


def run_table1(
    recipes: Sequence[Recipe],
    settings: Table1Settings,
    *,
    journal: Journal,
    processes: int = 1,
    done: Done = unheard,
    known: Collection[str] | None = None,
) -> list[Row]:
    """Play what the journal lacks and summarise: a row for each level and agent, then one over all levels per agent.

    `known` are the texts of the instructions that were grounded, where that is known.
    Raises ValueError for levels or counts that can't be had, and what agents raise; finished episodes stay recorded.
    """
    tasks = evaluation_tasks(
        settings.levels, instructions=settings.instructions, repeats=settings.repeats, seed=settings.seed
    )
    episodes: dict[str, list[Row]] = {}
    for recipe in recipes:
        jobs = with_bot_steps(recipe, tasks, journal=journal, processes=processes, done=done)
        episodes[recipe.agent] = run_jobs(jobs, journal=journal, processes=processes, done=done)
    return summarise([row for rows in episodes.values() for row in rows], seed=settings.seed, known=known)


def summarise(episodes: Sequence[Row], *, seed: int = 0, known: Collection[str] | None = None) -> list[Row]:
    """Table rows of journal rows: per level and agent in order of appearance, then per agent over all its levels.

    `new_texts` is the share of instructions whose text is not among the `known` ones; None where those aren't given.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in episodes:
        groups.setdefault((row["level"], row["agent"]), []).append(row)
    rows = [
        _level_row(level, agent, rows=group, seed=seed) | {"new_texts": _new_texts(group, known)}
        for (level, agent), group in groups.items()
    ]
    for agent in dict.fromkeys(agent for _, agent in groups):
        own = [row for row in episodes if row["agent"] == agent]
        rows.append(_agent_row(agent, own, seed=seed) | {"new_texts": _new_texts(own, known)})
    return rows


def _new_texts(rows: Sequence[Row], known: Collection[str] | None) -> float | None:
    return None if known is None else statistics.fmean(row["instruction"] not in known for row in rows)


def _level_row(level: str, agent: str, *, rows: Sequence[Row], seed: int) -> Row:
    """One level: Wilson's interval over its episodes, and the interquartile mean over its repeats."""
    wins = sum(row["success"] for row in rows)
    iqm = iqm_interval([_rates(rows)], seed=seed)
    means = {"iqm": iqm.value, "iqm_low": iqm.low, "iqm_high": iqm.high}
    return _summary(level, agent, rows=rows, rate=wilson_interval(wins, len(rows))) | means


def _agent_row(agent: str, rows: Sequence[Row], *, seed: int) -> Row:
    """Over all levels: the interquartile mean of the success rates of levels x repeats, resampled within levels."""
    levels = dict.fromkeys(row["level"] for row in rows)
    strata = [_rates([row for row in rows if row["level"] == level]) for level in levels]
    return _summary(ALL, agent, rows=rows, rate=iqm_interval(strata, seed=seed))


def _rates(rows: Sequence[Row]) -> list[float]:
    """The success rate of each repeat."""
    repeats = dict.fromkeys(row["repeat"] for row in rows)
    return [statistics.fmean(row["success"] for row in rows if row["repeat"] == repeat) for repeat in repeats]


def _summary(level: str, agent: str, *, rows: Sequence[Row], rate: Interval) -> Row:
    """One row; `solved_by_interaction[k - 1]` counts the episodes that needed at most k programs. As nothing is reset
    between programs, that is what a limit of k would have given."""
    solved = [row for row in rows if row["success"]]
    tokens = sum(row["tokens"] for row in rows)
    most = max(1, *(row["interactions"] for row in rows))
    by_interaction = [sum(row["success"] and row["interactions"] <= k for row in rows) for k in range(1, most + 1)]
    return {
        "level": level,
        "agent": agent,
        "success_rate": rate.value,
        "low": rate.low,
        "high": rate.high,
        "episodes": len(rows),
        "median_steps": statistics.median(_steps(row) for row in rows),
        "llm_calls": sum(row["llm_calls"] for row in rows),
        "tokens": tokens,
        "steps_to_bot": _steps_to_bot(rows),
        "success_at_one_interaction": by_interaction[0] / len(rows),
        "solved_by_interaction": by_interaction,
        "skill_calls": sum(row["skill_calls"] for row in rows),
        "tokens_per_solved": tokens / len(solved) if solved else None,
        "seconds": round(sum(row["seconds"] for row in rows), 2),
        "causes": dict(Counter(row["cause"] for row in rows if not row["success"]).most_common()),
    }


def _steps(row: Row) -> int:
    """Steps of an episode; a failure counts with the whole limit."""
    return int(row["steps"] if row["success"] else row["max_steps"])


def _steps_to_bot(rows: Sequence[Row]) -> float | None:
    """Median over episodes of steps / the bot's steps on the same seed (0 steps count as 1); None without a bot."""
    ratios = [max(1, _steps(row)) / max(1, row["bot_steps"]) for row in rows if row["bot_steps"] is not None]
    return statistics.median(ratios) if ratios else None


def columns() -> Mapping[str, Cell]:
    """What the printed table shows, by heading."""
    return {
        "level": lambda row: str(row["level"]),
        "agent": lambda row: str(row["agent"]),
        "success %": lambda row: f"{100 * row['success_rate']:.1f}",
        "95 % interval": lambda row: f"{100 * row['low']:.1f} to {100 * row['high']:.1f}",
        "at 1 interaction %": lambda row: f"{100 * row['success_at_one_interaction']:.1f}",
        "episodes": lambda row: str(row["episodes"]),
        "median steps": lambda row: f"{row['median_steps']:g}",
        "steps / bot": lambda row: _number(row["steps_to_bot"], ".2f"),
        "new texts %": lambda row: _number(row["new_texts"] and 100 * row["new_texts"], ".0f"),
        "LLM calls": lambda row: str(row["llm_calls"]),
        "tokens / solved": lambda row: _number(row["tokens_per_solved"], ".0f"),
    }


def wide(rows: Sequence[Row], levels: Sequence[str]) -> list[Row]:
    """Table 1 as the paper sets it: an agent a line, a level a column (success in %), then the published figures."""
    measured: dict[str, dict[str, float]] = {}
    for row in rows:
        measured.setdefault(row["agent"], {})[row["level"]] = 100 * row["success_rate"]
    lines = [*measured.items(), *PUBLISHED.items()]
    return [{"agent": agent} | {level: rates.get(level) for level in levels} for agent, rates in lines]


def wide_columns(levels: Sequence[str]) -> Mapping[str, Cell]:
    """The columns of `wide`."""
    shown = {level: (lambda row, level=level: _number(row[level], ".1f")) for level in levels}
    return {"agent": lambda row: str(row["agent"])} | shown


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


__all__ = ["ALL", "BOT", "PUBLISHED", "Table1Settings", "columns", "run_table1", "summarise", "wide", "wide_columns"]
