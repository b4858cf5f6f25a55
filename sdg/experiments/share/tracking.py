"""Curves and episodes of a run for a tracker of experiments, by its own callback.

log_run(Path("runs/quickstart"), mlflow.log_metrics)      # or wandb.log
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from sdg.deduction.episode import EpisodeResult
from sdg.storage import STEP, read_description, read_metrics, read_rows


def log_run(run: Path, log: Callable[..., object]) -> int:
    """Call `log({name: number}, step=number)` for each point of a curve, then for each episode; returns their number.

    Steps count the calls, because trackers want them in order. Raises RunFolderError for a folder that is no run,
    and for episodes of another kind.
    """
    read_description(run)
    step = -1
    for step, values in enumerate(_values(run)):
        log(values, step=step)
    return step + 1


def _values(run: Path) -> Iterator[dict[str, float]]:
    for row in sorted(read_metrics(run / "metrics.jsonl"), key=lambda row: (str(row.get("unit")), row.get(STEP, 0))):
        name = f"{row.get('unit')}".replace(" ", "_")
        yield {f"{name}/{key}": float(value) for key, value in row.items() if isinstance(value, int | float)}
    journal = run / "episodes.jsonl"
    for episode in read_rows(journal, EpisodeResult) if journal.exists() else ():
        head = f"episodes/{episode.agent}/{episode.level}"
        yield {f"{head}/success": float(bool(episode.success)), f"{head}/steps": float(episode.steps)}
