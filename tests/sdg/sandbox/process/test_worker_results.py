"""What a worker sends is its own job's result, or costs that job alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sdg.agents.agents import Agent, ReplayAgent, Task
from sdg.deduction.episode import WORKER_LOST
from sdg.envs.babyai.bot import bot_actions
from sdg.experiments.play.episodes import BOT_RECIPE, EpisodeJob, PlainRecipe, run_jobs
from sdg.hypothesis.hypothesis import Hypothesis
from sdg.induction.practice import PracticeJob
from sdg.pipeline.attempts import _Job
from sdg.skills.learning.train import Point, TrainingResult
from sdg.skills.search.trial import RandomSearch
from sdg.skills.subgoal import CheckFunction, Subgoal
from sdg.storage import Journal
from sdg.verification.verify import Verification, VerifySettings
from tests.shared.pool_target import SOURCE


def play_as_another(name: str) -> Agent:
    return ReplayAgent("bot", bot_actions)


def test_a_row_of_another_episode_costs_its_own(tmp_path: Path) -> None:
    """Else the bot's episode would count as played, by a worker that somebody took over."""
    jobs = [EpisodeJob(recipe, Task("GoToLocal", 1)) for recipe in (PlainRecipe("evil", play_as_another), BOT_RECIPE)]
    with Journal(tmp_path / "episodes.jsonl") as journal:
        evil, bot = run_jobs(jobs, journal=journal)
    assert (evil.agent, evil.cause, bot.agent, bot.success) == ("evil", WORKER_LOST, "bot", True)
    assert "its unit is 'bot/" in evil.error


GOAL = Subgoal("be there", CheckFunction("check", SOURCE))
JOB = _Job("GoToLocal/1/0", Hypothesis("go", (GOAL,)), None, "GoToLocal", 1, VerifySettings(), RandomSearch(), 0)  # type: ignore[arg-type]
ROW = Verification(
    unit="GoToLocal/1/0",
    level="GoToLocal",
    seed=1,
    instruction="go",
    verified=False,
    searched_steps=0,
    replayed_steps=0,
    cause="",
    agreement=None,
    subgoals=(),
)
OTHER_ROWS = {"unit": "GoToLocal/2/0", "level": "BossLevel", "seed": True, "instruction": "stay", "subgoals": 5}
TRAINED = TrainingResult({"w": np.zeros(1)}, (), 0, Point(0, 0.0, 0.0, 0.0, 0.0, 0, 0.0))
OTHERS_TRAINED = {
    "weights": {"w": 5}, "best": 5, "curve": (5,), "environment_steps": "1", "other_steps": {"a": "b"}, "measured": 5
}  # fmt: skip
RESULTS_OF: list[tuple[Any, Any, list[Any]]] = [
    (
        JOB,
        (ROW, None),
        [5, ([], None), ([ROW], None), ([ROW, ROW], None), ({}, None), (ROW, 5)]
        + [(replace(ROW, **{name: value}), None) for name, value in OTHER_ROWS.items()],  # type: ignore[arg-type]
    ),
    (
        PracticeJob.__new__(PracticeJob),
        TRAINED,
        [5, {}, TRAINED.best] + [replace(TRAINED, **{name: value}) for name, value in OTHERS_TRAINED.items()],  # type: ignore[arg-type]
    ),
]


@pytest.mark.parametrize(("job", "result", "lies"), RESULTS_OF)
def test_what_is_no_result_of_a_job_is_refused(job: Any, result: Any, lies: list[Any]) -> None:
    assert job.receive(result) == result
    for lie in lies:
        with pytest.raises((ValueError, TypeError, AttributeError)):
            job.receive(lie)
