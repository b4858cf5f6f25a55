"""Table 1: success on unseen instructions by level and agent, beside published figures (SDG, section 5)."""

import statistics
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sdg.agents.agents import Task
from sdg.envs.babyai.levels import PAPER_LEVELS
from sdg.envs.domains import DEFAULT
from sdg.experiments.play.episodes import (
    ALL,
    BOT,
    EpisodeResult,
    Recipe,
    run_jobs,
    with_bot_steps,
)
from sdg.experiments.results.formats import Cell, format_number, percent
from sdg.skills.statistics import wilson_interval
from sdg.storage import Journal

PUBLISHED: Mapping[str, Mapping[str, float]] = {
    "SDG (gpt-3.5-turbo)": dict(zip(PAPER_LEVELS, (99.9, 92.9, 91.9, 92.4, 78.9, 75.9), strict=True)),
    "SDG-action (gpt-3.5-turbo)": dict(zip(PAPER_LEVELS, (55.1, 47.6, 0.0, 0.0, 0.0, 0.0), strict=True)),
    "BabyAI 1.0 IL (1M demos)": dict(zip(PAPER_LEVELS, (99.8, 99.4, 99.2, 100.0, 87.7, 77.0), strict=True)),
    "BabyAI 1.1 IL (1M demos)": dict(zip(PAPER_LEVELS, (100.0, 100.0, 100.0, 100.0, 93.9, 90.4), strict=True)),
    "LISA (100k demos)": {"SynthSeq": 61.2, "BossLevel": 69.8},
}
"""Success rates in %, as published: SDG and LISA from arXiv 2309.01352 (table 1), imitation from arXiv 2007.12770 (its
figures for PickupLoc, and 1.1's for Open, at second hand). Imitation plays one episode from the raw view; here
perception is named and skills are retried, so the protocols differ."""


Summary = Mapping[str, Any]
"""The results of an agent's episodes of a level (or of all); rates in [0, 1], `low` and `high` Wilson's 95 % ends.

`spl` is success weighted by path length with the bot's steps for the shortest (Anderson et al. 2018, capped at 1);
`within_15` and `within_20` are the shares solved in at most 1.5 and 2 times the bot's steps, `bot_within_15` is the
share in which the bot takes at most 1.5 times the agent's, because two explorers with equal knowledge differ by luck.
None where the bot's are unknown. `solved_by_interaction[k - 1]` counts the episodes that needed at most k programs. As
nothing is reset between programs, that is what a limit of k would have given. `new_texts` is the share of instructions
whose text was not among those grounded, `steps_to_bot` the median of steps over the bot's on the same seed; None where
unknown."""


def run_table1(
    recipes: Sequence[Recipe],
    tasks: Sequence[Task],
    *,
    journal: Journal,
    processes: int = 1,
    done: Callable[[EpisodeResult], None] = lambda row: None,
    known: Collection[str] | None = None,
) -> list[Summary]:
    """Play what the journal lacks and summarise: a row for each level and agent, then one over all levels per agent.

    `known` are the texts of the instructions that were grounded, where that is known. Raises what agents raise;
    finished episodes stay recorded.
    """
    episodes: list[EpisodeResult] = []
    for recipe in recipes:
        # A planner with another preset of perception plays in another domain, which its tasks name.
        world = getattr(recipe, "domain", DEFAULT)
        own_tasks = [replace(task, domain_name=world) for task in tasks]
        jobs = with_bot_steps(recipe, own_tasks, journal=journal, processes=processes, done=done)
        episodes += run_jobs(jobs, journal=journal, processes=processes, done=done)
    return summarise(episodes, known=known)


def summarise(episodes: Sequence[EpisodeResult], *, known: Collection[str] | None = None) -> list[Summary]:
    """Per level and agent in order of appearance, then per agent over all its levels."""
    groups: dict[tuple[str, str], list[EpisodeResult]] = {}
    for level, episode in [*((row.level, row) for row in episodes), *((ALL, row) for row in episodes)]:
        groups.setdefault((level, episode.agent), []).append(episode)
    return [_summary(level, agent, group, known) for (level, agent), group in groups.items()]


def _summary(level: str, agent: str, rows: Sequence[EpisodeResult], texts: Collection[str] | None) -> Summary:
    successes = [row for row in rows if row.success]
    rate = wilson_interval(len(successes), len(rows))
    tokens = sum(row.tokens for row in rows)
    bots = [row.steps if row.agent == BOT and row.success else row.bot_steps for row in rows]
    with_bot = [(row, max(1, bot)) for row, bot in zip(rows, bots, strict=True) if bot is not None]
    ratios = [max(1, row.counted_steps) / bot for row, bot in with_bot]
    paths = [bot / max(bot, row.steps) if row.success else 0.0 for row, bot in with_bot]
    within_15 = [bool(row.success) and row.steps <= 1.5 * bot for row, bot in with_bot]
    within_20 = [bool(row.success) and row.steps <= 2 * bot for row, bot in with_bot]
    bot_within_15 = [not row.success or bot <= 1.5 * row.steps for row, bot in with_bot]
    most = max(1, *(row.interactions for row in rows))
    by_interaction = tuple(sum(row.interactions <= count for row in successes) for count in range(1, most + 1))
    return {
        "level": level,
        "agent": agent,
        "success_rate": rate.value,
        "low": rate.low,
        "high": rate.high,
        "episodes": len(rows),
        "median_steps": statistics.median(row.counted_steps for row in rows),
        "llm_calls": sum(row.llm_calls for row in rows),
        "tokens": tokens,
        "steps_to_bot": statistics.median(ratios) if ratios else None,
        "spl": statistics.fmean(paths) if paths else None,
        "within_15": statistics.fmean(within_15) if with_bot else None,
        "within_20": statistics.fmean(within_20) if with_bot else None,
        "bot_within_15": statistics.fmean(bot_within_15) if with_bot else None,
        "success_at_one_interaction": by_interaction[0] / len(rows),
        "solved_by_interaction": by_interaction,
        "skill_calls": sum(row.skill_calls for row in rows),
        "tokens_per_solved": tokens / len(successes) if successes else None,
        "seconds": round(sum(row.seconds for row in rows), 2),
        "causes": dict(Counter(row.cause for row in rows if not row.success).most_common()),
        "new_texts": None if texts is None else statistics.fmean(row.instruction not in texts for row in rows),
    }


COLUMNS: Mapping[str, Cell[Summary]] = {
    "level": lambda row: row["level"],
    "agent": lambda row: row["agent"],
    "success %": lambda row: percent(row["success_rate"]),
    "95 % interval": lambda row: f"{percent(row['low'])} to {percent(row['high'])}",
    "at 1 interaction %": lambda row: percent(row["success_at_one_interaction"]),
    "episodes": lambda row: str(row["episodes"]),
    "median steps": lambda row: f"{row['median_steps']:g}",
    "steps / bot": lambda row: format_number(row["steps_to_bot"], ".2f"),
    "SPL": lambda row: format_number(row["spl"], ".3f"),
    "within 1.5 of the bot %": lambda row: format_number(row["within_15"] and 100 * row["within_15"], ".1f"),
    "new texts %": lambda row: format_number(row["new_texts"] and 100 * row["new_texts"], ".0f"),
    "LLM calls": lambda row: str(row["llm_calls"]),
    "tokens / solved": lambda row: format_number(row["tokens_per_solved"], ".0f"),
}
"""Columns of the printed table, by heading."""


def paper_table(rows: Sequence[Summary], levels: Sequence[str]) -> list[dict[str, Any]]:
    """The paper's table: a row per agent, a column per level (success in %, None if it wasn't measured), and the
    published figures below."""
    rates = {(row["agent"], row["level"]): 100 * row["success_rate"] for row in rows}
    measured = [
        {"agent": agent} | {level: rates.get((agent, level)) for level in levels}
        for agent in dict.fromkeys(row["agent"] for row in rows)
    ]
    return [*measured, *({"agent": agent} | dict(rates) for agent, rates in PUBLISHED.items())]


def paper_columns(levels: Sequence[str]) -> Mapping[str, Cell[Mapping[str, Any]]]:
    """The columns of `paper_table`."""
    rates = {level: (lambda row, level=level: format_number(row.get(level), ".1f")) for level in levels}
    return {"agent": lambda row: str(row["agent"])} | rates  # type: ignore[dict-item]
