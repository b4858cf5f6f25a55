"""Runs over settings and training seeds, each in a folder of its own, and a table with intervals across the seeds."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdg.errors import UserError
from sdg.experiments.config.assembly import run_settings
from sdg.experiments.config.config import RunConfig, find_config, load
from sdg.experiments.run.runs import run
from sdg.pipeline.plan import Progress
from sdg.skills.settings import Count, Share
from sdg.skills.statistics import student_interval, wilson_interval
from sdg.storage import RunFolder, file_name, json_values, of_file, refuse_links

AGENT = "sdg"
STUDY = "study.log"


@dataclass(frozen=True, slots=True)
class SeedRow:
    """The figures of a run's results for a level and an agent that a sweep needs."""

    level: str
    agent: str
    success_rate: Share
    episodes: Count


def sweep(
    config: str, settings: Sequence[str], *, seeds: Sequence[int], folder: Path, at_once: int, progress: Progress
) -> Iterator[dict[str, Any]]:
    """A row for each combination of the settings (`key=a,b`) and level, over the training `seeds`.

    Runs that are finished in `folder` aren't run again; others run `at_once` at a time. Raises, before any run,
    ConfigError for an unknown setting, UserError for combinations that are the same run, and then the errors of runs.
    """
    combinations = [list(combination) for combination in itertools.product(*map(_choices, settings))]
    pairs = [(overlay, seed) for overlay in combinations for seed in seeds]
    run_configs = [load(find_config(config), overlay=overlay, seed=seed) for overlay, seed in pairs]
    if twin := next((index for index, run_config in enumerate(run_configs) if run_config in run_configs[:index]), 0):
        raise UserError(f"--set {' '.join(pairs[twin][0])} is the same run as another setting: leave one of them out")
    folders = [folder / file_name(" ".join(overlay) or "as-it-is") / f"seed-{seed}" for overlay, seed in pairs]
    refuse_links(folder)
    with ThreadPoolExecutor(at_once) as threads:
        side_by_side = threads.map if at_once > 1 else map  # an interrupt ends what runs in the main thread at once
        results = list(
            side_by_side(lambda run_config, path: _results(run_config, path, progress), run_configs, folders)
        )
    for number, overlay in enumerate(combinations):
        results_of_seeds = results[number * len(seeds) : (number + 1) * len(seeds)]
        agent_rows = [row for rows in results_of_seeds for row in rows if row["agent"] == AGENT]
        for level in dict.fromkeys(row["level"] for row in agent_rows):
            level_rows = [row for row in agent_rows if row["level"] == level]
            yield {"setting": " ".join(overlay) or "-", "level": level} | summarise_seeds(level_rows)


def search(config: str, settings: Sequence[str], *, trials: int, folder: Path, **rest: Any) -> Iterator[dict[str, Any]]:
    """The rows of `sweep` for up to `trials` combinations that Optuna picks, each by the results of earlier ones; the
    study is kept in `folder`, so that a search can resume.

    A combination's score is its mean success over levels. Raises UserError without the package optuna, and as `sweep`
    does.
    """
    try:
        from optuna import create_study, logging
        from optuna.samplers import TPESampler
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend
    except ModuleNotFoundError:
        raise UserError("--search needs optuna: pip install --constraint constraints.txt 'sdg[search]'") from None
    choices = list(map(_choices, settings))
    firsts = [values[0] for values in choices]
    for place, values in enumerate(choices):
        for setting in values:
            load(find_config(config), overlay=[*firsts[:place], setting, *firsts[place + 1 :]], seed=0)
    folder.mkdir(parents=True, exist_ok=True)
    refuse_links(folder)
    logging.set_verbosity(logging.WARNING)
    study = create_study(
        storage=JournalStorage(JournalFileBackend(str(folder / STUDY))),
        sampler=TPESampler(seed=0),
        study_name=config,
        direction="maximize",
        load_if_exists=True,
    )
    results: dict[str, list[dict[str, Any]]] = {}
    for _ in range(trials):
        trial = study.ask()
        overlay = [str(trial.suggest_categorical(values[0].partition("=")[0], values)) for values in choices]
        rows = results[" ".join(overlay)] = list(sweep(config, overlay, folder=folder, **rest))
        study.tell(trial, sum(row["success_rate"] for row in rows) / max(1, len(rows)))
    yield from itertools.chain(*results.values())


def summarise_seeds(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Mean success across training seeds with Student's 95 % interval, at least as wide as that of all episodes.

    `rows` have `success_rate` in [0, 1] and `episodes`, one for each seed.
    """
    rates = [row["success_rate"] for row in rows]
    episodes = sum(row["episodes"] for row in rows)
    successes = sum(row["success_rate"] * row["episodes"] for row in rows)
    across = student_interval(rates).widen(wilson_interval(round(successes), episodes))
    return {
        "seeds": len(rows),
        "episodes": episodes,
        "success_rate": across.value,
        "low": max(across.low, 0.0),
        "high": min(across.high, 1.0),
        "lowest": min(rates),
        "highest": max(rates),
    }


def _choices(setting: str) -> list[str]:
    """`key=a,b` as `key=a` and `key=b`; commas in brackets or braces belong to a value. UserError for no values."""
    key, equals, text = setting.partition("=")
    depths = itertools.accumulate((letter in "[{") - (letter in "]}") for letter in text)
    marked = ("\0" if letter == "," and not depth else letter for letter, depth in zip(text, depths, strict=True))
    values = [value for value in "".join(marked).split("\0") if value]
    if not equals or not values:
        raise UserError(f"--set {setting}: write --set KEY=A,B, such as --set verify.t_verify=1000,3000")
    return [f"{key}={value}" for value in values]


def _results(config: RunConfig, path: Path, progress: Progress) -> list[Mapping[str, Any]]:
    with RunFolder.start(path, run_settings(config)) as folder:
        if (folder.read_json("results.json") or {}).get("rows") is None:
            progress.note(f"run: {path}")
            list(run(config, folder, until="run", progress=progress))
        rows = {"rows": (folder.read_json("results.json") or {}).get("rows")}
        return list(json_values(of_file(dict[str, tuple[SeedRow, ...]], rows, path=path / "results.json")["rows"]))
