"""What was grounded is read in the order of the instructions, however the jobs happened to finish."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from experiments.cli_progress import Quiet
from sdg.llm.babylang.model import BabyLang
from sdg.pipeline import Grounding, Plan
from sdg.runlog import RunFolder, RunSettings
from skills.search import RandomSearch


def backwards(function: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Workers that finish in the opposite order."""
    for job in reversed(jobs):
        yield job, function(job)


def test_the_order_of_finishing_changes_nothing_that_follows(tmp_path: Path) -> None:
    plan = Plan(levels=("GoToLocal",), instructions=4, seed=0, retries=0)
    with RunFolder.start(tmp_path / "run", RunSettings({}, "", 0)) as folder:
        grounding = Grounding(
            plan, folder, model=BabyLang(), search=RandomSearch(), progress=Quiet(), parallel=backwards
        )
        seeds = [row["seed"] for row in grounding.ground()]
        assert [row["seed"] for row in folder.journal("verifications")] == seeds[::-1]
    assert seeds == sorted(seeds)
