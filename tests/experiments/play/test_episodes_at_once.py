"""Episodes wait for their model side by side: there are as many as questions may be under way, on however few cores."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sdg.agents.agents import Task
from sdg.deduction.deduce import DeductionSettings
from sdg.envs.instructions import seeds
from sdg.experiments.play.episodes import EpisodeJob, run_jobs
from sdg.experiments.play.players import BOT_RECIPE, PRIMITIVES, PlannerRecipe
from sdg.llm.provider import ModelSettings
from sdg.storage import Journal, RunFolderError

MODEL = """
import threading

class Together:
    together = threading.Barrier(4)

    def complete(self, messages):
        self.together.wait(120)
        return "```python\\ndef program():\\n    turn_left()\\n```"
"""


def test_a_slow_model_is_not_waited_for_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own model, which answers nobody before four have asked."""
    (tmp_path / "waits_for_four.py").write_text(MODEL)
    monkeypatch.syspath_prepend(tmp_path)
    model = ModelSettings("waits_for_four:Together", concurrency=4)
    recipe = PlannerRecipe("own", None, skills=PRIMITIVES, model=model, settings=DeductionSettings(interactions=1))
    tasks = [Task("GoToLocal", seed) for seed in seeds("evaluation", count=8, seed=3)]
    with Journal(tmp_path / "episodes.jsonl") as journal:
        rows = run_jobs([EpisodeJob(recipe, task) for task in tasks], journal=journal, processes=1)
    assert [row.seed for row in rows] == [task.seed for task in tasks]
    assert {row.llm_calls for row in rows} == {1}
    assert all(row.steps == 1 for row in rows)
    sys.modules.pop("waits_for_four")


def test_equal_jobs_are_played_once(tmp_path: Path) -> None:
    job, heard = EpisodeJob(BOT_RECIPE, Task("GoToLocal", seeds("training", count=1, seed=3)[0])), []
    with Journal(tmp_path / "episodes.jsonl") as journal:
        first, second = run_jobs([job, job], journal=journal, done=heard.append)
    assert [first] == [second] == heard


def test_an_episode_from_anybody_is_refused_by_its_file(tmp_path: Path) -> None:
    job = EpisodeJob(BOT_RECIPE, Task("GoToLocal", seeds("training", count=1, seed=3)[0]))
    with Journal(tmp_path / "episodes.jsonl") as journal:
        journal.append({"unit": job.unit, "agent": None})
        with pytest.raises(RunFolderError, match=r"episodes.jsonl has a row .*agent.*another folder"):
            run_jobs([job], journal=journal)
