"""Figure 4: both ways of practice are judged on the same starts, and only their beginnings differ."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sdg.envs.babyai.domain import BABYAI
from sdg.experiments.bench import fig4 as bench_fig4
from sdg.experiments.cli.errors import UserError
from sdg.experiments.cli.progress import Quiet
from sdg.experiments.config.assembly import settings_of
from sdg.experiments.config.config import load
from sdg.experiments.run import runs
from sdg.experiments.run.grounded import Grounded, grounded
from sdg.run import RunFolder

CONFIG = """
name: small
levels: [PutNextLocal]
instructions_per_level: 6
processes: 1
verify: {method: random}
induce: {train: {n_envs: 32, ppo: {batch_size: 256}}}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has verified six instructions by random search."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "small.yaml").write_text(CONFIG)
    config = load(folder / "small.yaml")
    settings = settings_of(config)
    with RunFolder.start(folder / "run", settings) as place:
        list(runs.run(config, place, until="verify", progress=Quiet()))
    return folder / "run"


def late(found: Grounded) -> str:
    """A skill whose subgoals begin after others."""
    return next(name for name, members in found.members.items() if all(m.restore_actions for m in members))


def test_practice_without_restoring_begins_at_reset(run: Path) -> None:
    members = grounded(run).members[late(grounded(run))]
    restored = bench_fig4.practice_starts(members, bench_fig4.WITH, BABYAI)
    reset = bench_fig4.practice_starts(members, bench_fig4.WITHOUT, BABYAI)
    assert restored is not None
    assert reset is not None
    assert (restored.memory.steps > 0).all()
    assert (reset.memory.steps == 0).all()
    assert {check.source for check in reset.checks} >= {check.source for check in restored.checks}


def test_both_ways_are_judged_alike_and_the_folder_goes_on(run: Path, tmp_path: Path) -> None:
    name = late(grounded(run))
    before = sorted((path.name, path.stat().st_mtime_ns) for path in run.iterdir())
    shared = {"run": str(run), "steps": 1500, "episodes": 20, "skills": (name,), "processes": 1}
    table = bench_fig4.rows(seeds=1, out=str(tmp_path / "f"), **shared)  # type: ignore[arg-type]
    assert sorted((path.name, path.stat().st_mtime_ns) for path in run.iterdir()) == before, "a run is only read"
    ours = {row["practice"]: row for row in table if row["skill"] == name}
    assert set(ours) == {*bench_fig4.MODES, bench_fig4.DIFFERENCE}
    with_it, without = (ours[mode] for mode in bench_fig4.MODES)
    assert with_it["validation_starts"] == without["validation_starts"] > 0
    assert ours[bench_fig4.DIFFERENCE]["difference"] == pytest.approx(with_it["area"] - without["area"])
    curves = (tmp_path / "f/curves.jsonl").read_text()
    again = bench_fig4.rows(seeds=2, out=str(tmp_path / "f"), **shared)  # type: ignore[arg-type]
    assert (tmp_path / "f/curves.jsonl").read_text().startswith(curves)
    assert {row["seeds"] for row in again} == {2}
    assert {json.loads(line)["unit"].rpartition("/")[2] for line in curves.splitlines()} == {"0"}
    assert (tmp_path / "f/fig4.png").read_bytes().startswith(b"\x89PNG")


def test_a_curve_is_level_before_its_first_point() -> None:
    read = bench_fig4.on_grid([(100, 0.2), (200, 0.6)], np.array([0.0, 150.0, 300.0]))
    assert read.tolist() == pytest.approx([0.2, 0.4, 0.6])


def test_what_is_no_run_is_refused(tmp_path: Path, run: Path) -> None:
    with pytest.raises(UserError, match="holds no run"):
        bench_fig4.rows(run=str(tmp_path))
    with pytest.raises(UserError, match="no skill 'fly'"):
        bench_fig4.rows(run=str(run), skills=("fly",))
