"""Table 1: success on unseen instructions by level and agent.

It takes a trained library, and it resumes.

    sdg bench table1 --instructions 100 --repeats 3 --seed 0 [--json]
    sdg bench table1 --levels all19 --agents sdg,random,bot      the 19 levels that the BabyAI paper published

`--agents ppo-flat` adds the policies of `sdg bench evidence` (`--flat`), `--agents chat` a model that names one action
a turn; that is a question per step, which is expensive with a real model. The folder `--out` keeps every episode
(`episodes.jsonl`), the table as Markdown, LaTeX and CSV, and `results.json`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sdg.deduction.deduce import DeductionSettings
from sdg.envs.babyai.levels import PAPER_LEVELS, level_name
from sdg.experiments.bench import options
from sdg.experiments.bench.evidence import FLAT_AGENT, flat_checksum
from sdg.experiments.play.episodes import evaluation_tasks
from sdg.experiments.play.players import FLAT, PlannerRecipe, recipes
from sdg.experiments.results.comparison import compare, find_library, named_model, planner_identity

AGENTS = ("sdg", "sdg-restart", "sdg-action", "random-skills", "random", "bot")
NEED_NO_LIBRARY = {"sdg-action", "chat", FLAT_AGENT, "random", "bot"}

PUBLISHED_LEVELS = (
    "GoToObj",
    "GoToRedBallGrey",
    "GoToRedBall",
    "GoToLocal",
    "PutNextLocal",
    "PickupLoc",
    "GoToObjMaze",
    "GoTo",
    "Pickup",
    "UnblockPickup",
    "Open",
    "Unlock",
    "PutNextS7N4",
    "Synth",
    "SynthLoc",
    "GoToSeq",
    "SynthSeq",
    "GoToImpUnlock",
    "BossLevel",
)
"""The levels of the BabyAI paper's table 1 (arXiv 1810.08272), in its order. minigrid registers no plain PutNext; its
largest variant stands for it."""


def rows(
    *,
    seed: options.Seed = 0,
    instructions: options.Instructions = 100,
    repeats: options.Repeats = 3,
    levels: Annotated[Sequence[str], options.list_option("levels by name or id, or all19")] = PAPER_LEVELS,
    agents: options.Agents = AGENTS,
    library: options.Library = "",
    out: options.Out = None,
    llm: options.Llm = "babylang",
    base_url: options.BaseUrl = "",
    budget: options.Budget = options.NO_BUDGET,
    interactions: Annotated[int, typer.Option(min=1, help="programs an instruction")] = 4,
    attempts: Annotated[int, typer.Option(min=1, help="tries of a skill call")] = 5,
    processes: options.Processes = 0,
    flat: Annotated[Path, typer.Option(metavar="DIR", help="the policies of the agent ppo-flat")] = FLAT,
) -> list[Mapping[str, Any]]:
    """The rows of the table. Raises UserError for levels, agents, counts or a library that aren't there."""
    folder = Path(out or f"runs/table1-{seed}")
    level_names = list(map(level_name, PUBLISHED_LEVELS if tuple(levels) == ("all19",) else levels))
    recipes(agents, PlannerRecipe("sdg", None))  # A wrong name is reported before a missing library.
    planner = PlannerRecipe(
        "sdg",
        find_library(library) if set(agents) - NEED_NO_LIBRARY else None,
        model=named_model(llm, base_url, folder=folder, budget=budget),
        settings=DeductionSettings(interactions=interactions, attempts=attempts),
    )
    config = {"instructions": instructions, "repeats": repeats} | planner_identity(planner, llm, base_url)
    if FLAT_AGENT in agents:
        config |= {"flat": flat_checksum(flat, level_names)}
    tasks = evaluation_tasks(level_names, instructions=instructions, repeats=repeats, seed=seed)
    return compare(
        recipes(agents, planner, flat=flat), tasks, folder=folder, seed=seed, config=config, processes=processes
    )
