"""A search that learns, killed beside a row of its journal: the resumed run searches with what was learned by then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sdg.console import Quiet
from sdg.errors import UserError
from sdg.experiments.workers.workers import Workers, use_workers
from sdg.llm.babylang.model import BabyLang
from sdg.pipeline.pipeline import Pipeline
from sdg.pipeline.plan import Plan
from sdg.skills.practice.starts import Starts
from sdg.skills.search.trial import RandomSearch, SearchedTask, SearchResult
from sdg.skills.subgoal import CheckFunction
from sdg.storage import Journal, RunFolder, RunSettings, read_journal
from sdg.verification.verify import VerifySettings

LIMITS = VerifySettings(t_verify=3000, most_per_subgoal=100)
PLAN = Plan(levels=("GoToLocal",), instructions=4, seed=0, retries=1, verify=LIMITS)


class Learning(RandomSearch):
    """Learns nothing but how often it was asked; what it knows shows in the steps that it says it took."""

    def __init__(self) -> None:
        super().__init__()
        self.learned: tuple[dict[str, np.ndarray], tuple[SearchedTask, ...]] = ({}, ())

    def __call__(
        self, start: Starts, check: CheckFunction, *, must_succeed: bool, budget: int, seed: int
    ) -> SearchResult:
        """See `sdg.skills.search.trial.Search`."""
        result = super().__call__(start, check, must_succeed=must_succeed, budget=budget, seed=seed)
        (weights, tasks), inputs = self.learned, start.domain.inputs
        asked = weights["b1"] if weights else np.zeros(inputs.actions, np.float32)
        matrix = np.zeros((inputs.size, inputs.actions), np.float32)
        self.learned = {"w1": matrix, "b1": asked + 1}, (*tasks, (check, (len(tasks),)))
        return replace(result, steps=result.steps + int(asked[0]) + 100 * len(tasks))


class Killed(Exception):
    """The run ends here."""


def ground(folder: Path) -> None:
    with RunFolder.start(folder, RunSettings({}, "", 0)) as run:
        Pipeline(PLAN, run, model=BabyLang(), search=Learning(), progress=Quiet()).ground()


def left_behind(folder: Path) -> dict[str, bytes]:
    paths = [folder / "verifications.jsonl", *(folder / "skills").iterdir()]
    return {path.name: path.read_bytes() for path in paths}


@pytest.mark.parametrize("stands", [False, True])
def test_a_run_killed_beside_a_row_ends_like_one_left_alone(
    stands: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground(tmp_path / "whole")
    units = [row["unit"] for row in read_journal(tmp_path / "whole" / "verifications.jsonl")]
    assert {unit.rpartition("/")[2] for unit in units} == {"0", "1"}
    append = Journal.append
    for last in range(len(units)):
        numbers = count()

        def append_until(journal: Journal, row: Mapping[str, Any]) -> dict[str, Any]:
            is_last = journal.path.stem == "verifications" and next(numbers) == last  # noqa: B023
            if stands or not is_last:
                record = append(journal, row)
            if is_last:
                raise Killed
            return record

        folder = tmp_path / str(last)
        with monkeypatch.context() as patch:
            patch.setattr(Journal, "append", append_until)
            with pytest.raises(Killed):
                ground(folder)
        ground(folder)
        assert left_behind(folder) == left_behind(tmp_path / "whole"), units[last]


def test_shards_can_not_share_a_search_that_learns(tmp_path: Path) -> None:
    """The policy of the merged run would be that of one shard, and its library another one than a local run's."""
    with (
        RunFolder.start(tmp_path / "shard", RunSettings({}, "", 0)) as run,
        use_workers(shard=(1, 2)),
        pytest.raises(UserError, match="leave --shard out until it is done"),
    ):
        Pipeline(
            PLAN, run, model=BabyLang(), search=Learning(), progress=Quiet(), parallel=Workers(1, folder=run.path)
        ).ground()
    assert not (tmp_path / "shard" / "verifications.jsonl").read_bytes()
