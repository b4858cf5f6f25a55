"""Phone tasks in AndroidLab's four modes, with its four metrics.

    sdg bench phone [--json]                            the embedded phone and the rule-based planner, offline
    sdg bench phone --llm openai:NAME --base-url URL --modes som-react --tasks held-out
    sdg bench phone --device adb --tasks clock.yaml     AndroidLab's tasks on a real phone; its scorer reads the traces
    sdg bench phone --walks 50 [--llm openai:NAME]      data (`data.py`): walks, and tasks that the model derives

The embedded phone is nine small apps in Chromium: its figures are not AndroidLab's. Metrics are shares in [0, 1],
computed as AndroidLab's code does. `held_out_success_rate` covers the 15 tasks from which no prompt, rule or guard was
made; `--tasks measured` are these and 45 others. Beside them: `false_completes` (finish was said, the task isn't
solved), `side_effects` (episodes that changed something the task doesn't ask for), `confirmed` (presses that can't be
undone, to which the benchmark says yes; on a real phone you are asked in the terminal). The folder keeps every episode,
and with --traces AndroidLab's folder of each.
phonerules and phonerandom are no language models.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

import typer

from sdg.envs.phone.metrics import summarise
from sdg.envs.phone.tasks import PhoneTask, embedded_tasks, held_out, measured_tasks
from sdg.envs.ui.browser import require_browser
from sdg.errors import UserError
from sdg.experiments.bench import options
from sdg.experiments.bench.phone.androidlab import read_tasks
from sdg.experiments.bench.phone.data import walk_rows
from sdg.experiments.bench.phone.episodes import EMBEDDED, PhoneJob, PhonePlayed, PhoneSetting, play_all
from sdg.experiments.results.comparison import cores, named_model, open_folder, publish, run_missing_jobs
from sdg.gate.registry import check_guards
from sdg.llm.registry import is_rule_based
from sdg.screen_agent.modes import PHONE_MODES
from sdg.skills.statistics import wilson_interval
from sdg.storage import Rows


def rows(
    *,
    modes: Annotated[Sequence[str], options.list_option(f"of {', '.join(PHONE_MODES)}")] = PHONE_MODES,
    tasks: Annotated[Sequence[str], options.list_option("ids; all, seen, held-out, measured; AndroidLab's files")] = (
        "all",
    ),
    llm: Annotated[
        str, typer.Option(metavar="KIND[:NAME]", help="phonerules, phonerandom, openai:NAME or replay:FILE")
    ] = "phonerules",
    base_url: options.BaseUrl = "",
    budget: options.Budget = options.NO_BUDGET,
    guards: Annotated[Sequence[str], options.list_option("the gate's guards")] = ("phone", "confirm"),
    judge: Annotated[
        str, typer.Option(metavar="KIND:NAME", help="a model that judges answers; comparison without")
    ] = "",
    device: Annotated[str, typer.Option(help="embedded, adb or adb:SERIAL")] = EMBEDDED,
    masked: Annotated[bool, typer.Option("--masked", help="keep private values from the model")] = False,
    traces: Annotated[bool, typer.Option("--traces", help="keep AndroidLab's folder of each episode")] = False,
    processes: Annotated[
        int, typer.Option("--processes", min=0, help="episodes at once; 0: one a core, 16 of a served model")
    ] = 0,
    walks: Annotated[int, typer.Option(min=0, help="make data instead: walks by chance, of 25 actions each")] = 0,
    minari: Annotated[bool, typer.Option("--minari", help="keep the walks as a Minari dataset, too")] = False,
    timeout: Annotated[float, typer.Option(min=1, help="seconds that a served model may be silent")] = 600.0,
    out: options.Out = None,
) -> list[Mapping[str, Any]]:
    """The rows. Raises UserError for unknown options and without a browser, DeviceLost when a real phone is gone."""
    if walks:
        name = "" if is_rule_based(llm.partition(":")[0]) else llm
        place = Path(out or "runs/phone-data")
        return walk_rows(place, walks=walks, minari=minari, llm=name, base_url=base_url, budget=budget)
    embedded = device == EMBEDDED
    check_options(modes, guards, device)
    task_list = chosen_tasks(tasks, embedded=embedded)
    folder = Path(out or f"runs/phone-{re.sub('[^A-Za-z0-9.]+', '-', llm)}")
    model = named_model(llm, base_url, folder=folder, budget=budget)
    setting = PhoneSetting(
        replace(model, timeout_seconds=timeout, concurrency=processes or model.concurrency),
        tuple(guards),
        device,
        named_model(judge, base_url, folder=folder) if judge else None,
        masked,
        folder / "traces" if traces or not embedded else None,
    )
    identity = dict[str, Any](
        llm=llm, base_url=base_url, guards=list(guards), judge=judge, device=device, masked=masked
    )
    jobs = [PhoneJob(task, mode) for mode in modes for task in task_list]
    selection = {"modes": list(modes), "tasks": [task.id for task in task_list]}
    with open_folder(folder, identity | selection, seed=0, may_change=tuple(selection)) as run:
        play = partial(play_all, setting=setting, processes=processes or cores())
        episodes = run_missing_jobs(
            jobs, Rows(run.journal("episodes"), PhonePlayed), play, name="episodes", unit="episode"
        )
        mode_rows: list[Mapping[str, Any]] = [
            mode_row(mode, [episode for episode in episodes if episode.mode == mode], setting) for mode in modes
        ]
        doubtful_answers = [[episode.unit, episode.message] for episode in episodes if episode.disagreement]
        run.write_json("disagreements.json", {"answers": doubtful_answers})
        publish(run, mode_rows)
    return mode_rows


def check_options(modes: Sequence[str], guards: Sequence[str], device: str) -> None:
    """Raises UserError for unknown modes, guards or devices, and without a browser."""
    if device != EMBEDDED and device.partition(":")[0] != "adb":
        raise UserError(f"--device {device!r:.40} is neither embedded nor adb[:SERIAL]")
    if unknown := [mode for mode in modes if mode not in PHONE_MODES]:
        raise UserError(f"--modes {unknown[0]!r:.40} is none of {', '.join(PHONE_MODES)}")
    if device == EMBEDDED:
        require_browser("the embedded phone needs", "playwright")
    check_guards(guards)


def chosen_tasks(names: Sequence[str], *, embedded: bool) -> list[PhoneTask]:
    """Tasks by id, group or file, each once. Raises UserError."""
    if not embedded:
        tasks = list(dict.fromkeys(task for name in names for task in read_tasks(Path(name))))
        if twice := [name for name, count in Counter(task.id for task in tasks).items() if count > 1]:
            raise UserError(f"two tasks are called {twice[0]!r:.60}, and each has a folder of its own")
    else:
        known = {task.id: task for task in embedded_tasks()}
        groups = {
            "all": known.keys(),
            "held-out": held_out(),
            "measured": measured_tasks(),
            "seen": known.keys() - held_out(),
        }
        if unknown := [name for name in names if name not in groups and name not in known]:
            raise UserError(f"there is no task {unknown[0]!r:.60}; tasks are {', '.join(known)}")
        ids = {task for name in names for task in groups.get(name, {name})}
        tasks = [task for task in known.values() if task.id in ids]
    if not tasks:
        raise UserError("no task is named: give --tasks all")
    return tasks


def mode_row(mode: str, episodes: Sequence[PhonePlayed], setting: PhoneSetting) -> dict[str, Any]:
    """The row of one mode. Without the embedded phone's state nothing is judged here: AndroidLab's scorer does that."""
    judged = setting.device == EMBEDDED
    metrics = summarise(episodes, len(episodes))
    unseen = [episode for episode in episodes if episode.task in held_out()]
    interval = wilson_interval(sum(episode.complete for episode in episodes), len(episodes))
    seconds = sum(episode.seconds for episode in episodes)
    shares = {name: value if judged or name.startswith("reasonable") else None for name, value in metrics.items()}
    return {
        "mode": mode,
        **{name: value if value is None else round(value, 4) for name, value in shares.items()},
        "tasks": len(episodes),
        "low": interval.low if judged else None,
        "high": interval.high if judged else None,
        "held_out_success_rate": round(mean(row.complete for row in unseen), 4) if unseen and judged else None,
        "false_completes": sum(episode.false_complete for episode in episodes) if judged else None,
        "side_effects": sum(bool(episode.side_effects) for episode in episodes),
        "disagreements": sum(episode.disagreement for episode in episodes),
        "confirmed": sum(episode.confirmed for episode in episodes),
        "lost": sum(episode.end == "page" for episode in episodes),
        "actions": sum(episode.steps for episode in episodes),
        "actions_per_second": round(sum(episode.steps for episode in episodes) / seconds, 2) if seconds else None,
        "tokens": sum(episode.tokens for episode in episodes),
        "seconds": round(seconds, 1),
        "model": setting.model.kind + (f":{setting.model.name}" if setting.model.name else ""),
        "rule_based": is_rule_based(setting.model.kind),
        "guards": list(setting.guards),
        "device": setting.device,
    }
