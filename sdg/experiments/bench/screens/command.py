"""Computer tasks from screenshots: MiniWoB++ in a real browser.

There is a row per task ("computer tasks", Tables 1 to 3).

    sdg bench miniwob --tasks click-button,login-user --seeds 0-49 --llm webrules [--json]
    sdg bench miniwob --seeds 0-19 --llm openai:NAME --base-url URL
    sdg bench miniwob --set model.timeout_seconds=3600 --set model.retries=1 ...      a slow server
    sdg bench miniwob --eyes true ...          the page's own elements in place of the parser's: a reference

Success is a positive raw reward; there are at most 10 answers per episode, and the pages' time limits are lifted.
Without `--tasks` the paper's 74 tasks are played: 73 by name, drag-circle as a guess for the 74th (`guessed`). `unseen`
marks the 15 from which nothing was made. `confirmed` counts presses that can't be undone (send, delete), to which the
benchmark says yes. `cause_counts` sorts failures: vision (solved when replayed with the page's own elements), reasoning
(not even then), model (it gave no answer: `--set model.timeout_seconds=3600`), other (the page broke). The folder keeps
every episode, screenshots of failures, `report.html` and the means: over tasks, over the unseen ones, over tasks that
took one answer and those that took more. webrules is a rule-based planner, no language model; it gets no worked
example, real models get one of another seed.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, median
from typing import Annotated, Any

import typer

from sdg.console import progress
from sdg.envs.ui.browser import require_browser
from sdg.envs.ui.tasks import GUESSED, SEEN, TASKS, UNSEEN, task_name
from sdg.errors import UserError
from sdg.experiments.bench import options
from sdg.experiments.bench.screens.episodes import SCREENSHOT, TRUE, ScreenEpisode, ScreenJob, Setting, lose, play
from sdg.experiments.config.config import load, shipped_config
from sdg.experiments.play.browsers import play_in_processes
from sdg.experiments.play.desktop import check_mode
from sdg.experiments.play.film import data_address
from sdg.experiments.report.page import render
from sdg.experiments.results.comparison import cores, named_model, open_folder, publish, run_missing_jobs
from sdg.gate.registry import check_guards
from sdg.llm.provider import ModelSettings
from sdg.llm.registry import is_rule_based
from sdg.screen_agent.modes import MODES, TEXT
from sdg.skills.statistics import wilson_interval
from sdg.storage import Rows, atomic_write

GROUPS: Mapping[str, tuple[str, ...]] = {"all": TASKS, "seen": SEEN, "unseen": UNSEEN}
"""Names that stand for many tasks."""
PATIENCE = ("timeout_seconds", "reply_seconds", "retries", "concurrency")
"""Settings of a model that `--set` takes: how long to wait for it and how often to ask it."""
MAX_SEEDS = 100_000
"""Seeds beyond the first of a range."""
MAX_SHOWN = 300
"""Failures that the report shows."""


def rows(
    *,
    tasks: Annotated[Sequence[str], options.list_option("tasks by name; or all, seen, unseen")] = ("all",),
    seeds: Annotated[
        str, typer.Option(metavar="A-B", help="seeds of the episodes of each task, both ends included")
    ] = "0-4",
    llm: Annotated[str, typer.Option(metavar="KIND[:NAME]", help="webrules, openai:NAME or replay:FILE")] = "webrules",
    base_url: options.BaseUrl = "",
    assignments: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="as in sdg run")] = None,
    budget: options.Budget = options.NO_BUDGET,
    guards: Annotated[Sequence[str], options.list_option("the gate's guards")] = ("open",),
    eyes: Annotated[str, typer.Option(help="screenshot; true: the page's own elements, a reference")] = SCREENSHOT,
    mode: Annotated[str, typer.Option(help=f"how the model is asked: {', '.join(MODES)}")] = TEXT.name,
    processes: options.Processes = 0,
    out: options.Out = None,
) -> list[Mapping[str, Any]]:
    """The rows. Raises UserError for unknown tasks, seeds, guards or eyes, and without a browser."""
    task_names, numbers = chosen_tasks(tasks), chosen_seeds(seeds)
    if eyes not in (SCREENSHOT, TRUE):
        raise UserError(f"--eyes {eyes!r:.40} is neither {SCREENSHOT} nor {TRUE}")
    check_mode(mode)
    require_browser("the benchmark needs")
    check_guards(guards)
    folder = Path(out or f"runs/miniwob-{re.sub('[^A-Za-z0-9.]+', '-', llm)}{'-true' if eyes == TRUE else ''}")
    model = with_patience(named_model(llm, base_url, folder=folder, budget=budget), assignments or ())
    setting = Setting(
        model,
        tuple(guards),
        eyes,
        exemplars=not is_rule_based(model.kind),
        mode=mode,
        failures=folder / "failures",
    )
    identity = {"llm": llm, "base_url": base_url, "guards": list(guards), "eyes": eyes, "mode": mode}
    with open_folder(
        folder, identity | {"tasks": task_names, "seeds": seeds}, seed=0, may_change=("tasks", "seeds")
    ) as run:
        episodes = run_missing_jobs(
            [ScreenJob(task, seed) for task in task_names for seed in numbers],
            Rows(run.journal("episodes"), ScreenEpisode),
            lambda missing: play_in_processes(play, lose, missing, setting, processes=processes or cores()),
            name="episodes",
            unit="episode",
        )
        task_rows: list[Mapping[str, Any]] = [
            task_row(task, [episode for episode in episodes if episode.task == task], setting) for task in task_names
        ]
        means = mean_rows(task_rows)
        (folder / "report.html").unlink(missing_ok=True)
        atomic_write(folder / "report.html", report(task_rows, means, episodes, folder))
        publish(run, [*task_rows, *means])
    for row in means:
        progress().note(f"{row['task']}: {100 * row['success_rate']:.1f} % over {row['tasks']} tasks")
    return task_rows


def with_patience(model: ModelSettings, assignments: Sequence[str]) -> ModelSettings:
    """The model with its PATIENCE settings from `model.KEY=VALUE`. Raises UserError for any other key."""
    keys = [assignment.partition("=")[0].removeprefix("model.") for assignment in assignments]
    if wrong := [key for key in keys if key not in PATIENCE]:
        raise UserError(f"--set {wrong[0]!r:.60} isn't model.{', model.'.join(PATIENCE)}; the rest are options here")
    config = load(shipped_config("models"), overlay=list(assignments)).model
    return replace(model, **{key: getattr(config, key) for key in keys})


def chosen_tasks(names: Sequence[str]) -> list[str]:
    """Tasks by name or group, each once, in the order of the table. Raises UserError."""
    chosen = {task for name in names for task in GROUPS.get(name) or (task_name(name),)}
    if not chosen:
        raise UserError("no task is named: give --tasks all")
    return [task for task in TASKS if task in chosen]


def chosen_seeds(text: str) -> list[int]:
    """`A-B` or `A` or `A,B` as numbers. Raises UserError."""
    numbers: set[int] = set()
    for span in str(text).split(","):
        match = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", span)
        first = int(match[1]) if match else 0
        last = int(match[2] or first) if match else -1
        if not first <= last <= first + MAX_SEEDS:
            raise UserError(f"--seeds {text!r:.40} isn't A-B, such as 0-49")
        numbers.update(range(first, last + 1))
    return sorted(numbers)


def task_row(task: str, episodes: Sequence[ScreenEpisode], setting: Setting) -> dict[str, Any]:
    """The row of one task."""
    solved = [episode for episode in episodes if episode.success]
    interval = wilson_interval(len(solved), len(episodes))
    return {
        "task": task,
        "success_rate": round(len(solved) / len(episodes), 4),
        "low": interval.low,
        "high": interval.high,
        "episodes": len(episodes),
        "cause_counts": dict(sorted(Counter(episode.cause for episode in episodes if not episode.success).items())),
        "unseen": task in UNSEEN,
        "guessed": task == GUESSED,
        "steps": "one" if median([episode.completions for episode in solved or episodes]) <= 1 else "many",
        "answers": round(mean(episode.completions for episode in episodes), 2),
        "commands": round(mean(episode.commands for episode in episodes), 2),
        "confirmed": sum(episode.confirmed for episode in episodes),
        "tokens": sum(episode.tokens for episode in episodes),
        "seconds": round(mean(episode.seconds for episode in episodes), 2),
        "model": setting.model.kind + (f":{setting.model.name}" if setting.model.name else ""),
        "rule_based": is_rule_based(setting.model.kind),
        "eyes": setting.eyes,
    }


def mean_rows(task_rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Means over tasks: all, used in development, unseen, with one answer, with more."""
    groups = {
        "(mean over all)": task_rows,
        "(mean over looked-at)": [row for row in task_rows if not row["unseen"]],
        "(mean over unseen)": [row for row in task_rows if row["unseen"]],
        "(mean over one-step)": [row for row in task_rows if row["steps"] == "one"],
        "(mean over n-step)": [row for row in task_rows if row["steps"] == "many"],
    }
    return [
        {
            "task": name,
            "success_rate": round(mean(row["success_rate"] for row in group), 4),
            "episodes": sum(row["episodes"] for row in group),
            "cause_counts": dict(sum((Counter(row["cause_counts"]) for row in group), Counter())),
            "tasks": len(group),
            "tasks_at_90": sum(row["success_rate"] >= 0.9 for row in group),
        }
        for name, group in groups.items()
        if group
    ]


def report(
    task_rows: Sequence[Mapping[str, Any]],
    means: Sequence[Mapping[str, Any]],
    episodes: Sequence[ScreenEpisode],
    folder: Path,
) -> str:
    """One offline page: the table, then failures with their screenshots. Texts of pages and models are escaped.

    Failures of unseen tasks are only counted.
    """
    failures = []
    for episode in [row for row in episodes if not row.success and row.task not in UNSEEN][:MAX_SHOWN]:
        picture = folder / "failures" / f"{episode.task}-{episode.seed}.png"
        failures.append((episode, data_address("image/png", picture.read_bytes()) if picture.is_file() else ""))
    return render(
        "miniwob.html",
        rows=(*means, *task_rows),
        failures=failures,
        model=task_rows[0]["model"],
        rule_based=task_rows[0]["rule_based"],
    )
