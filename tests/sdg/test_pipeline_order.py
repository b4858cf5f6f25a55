"""Stages 1 and 2 over a run folder: the order of what is read, and what the next attempt is told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sdg.console import Quiet
from sdg.llm.babylang.model import BabyLang
from sdg.llm.model import Completion, Message, NotRecorded, Sampling
from sdg.pipeline.pipeline import Pipeline
from sdg.pipeline.plan import Plan
from sdg.skills.search.trial import RandomSearch
from sdg.storage import RunFolder, RunSettings


def backwards(function: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Workers that finish in the opposite order."""
    for job in reversed(jobs):
        yield job, function(job)


def test_the_order_of_finishing_changes_nothing_that_follows(tmp_path: Path) -> None:
    plan = Plan(levels=("GoToLocal",), instructions=4, seed=0, retries=0)
    with RunFolder.start(tmp_path / "run", RunSettings({}, "", 0)) as folder:
        grounding = Pipeline(
            plan, folder, model=BabyLang(), search=RandomSearch(), progress=Quiet(), parallel=backwards
        )
        seeds = [row.seed for row in grounding.ground()]
        assert [row["seed"] for row in folder.journal("verifications")] == seeds[::-1]
    assert seeds == sorted(seeds)


class Together(BabyLang):
    """The stand-in, which answers no question before six are asked."""

    def __init__(self) -> None:
        self.together = threading.Barrier(6)

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        self.together.wait(60)
        return super().complete(messages, sampling=sampling)


def test_hypotheses_are_asked_many_at_a_time_and_written_in_order(tmp_path: Path) -> None:
    written = []
    for model, concurrency in ((BabyLang(), 1), (Together(), 6)):
        plan = Plan(levels=("GoToLocal",), instructions=12, seed=0, concurrency=concurrency)
        path = tmp_path / str(concurrency)
        with RunFolder.start(path, RunSettings({}, "", 0)) as folder:
            Pipeline(plan, folder, model=model, search=RandomSearch(), progress=Quiet()).attempts.hypothesize()
        written.append((path / "hypotheses.jsonl").read_bytes())
    assert written[0] == written[1]


class Scripted:
    """A model whose goals are sensible and whose second check can't be trusted."""

    name = "scripted"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        self.asked.append(messages[-1].content)
        checks = ("get_steps() > 2", "get_steps()")
        goals = [f"Goal {n}: wait\n```python\ndef check_{n}():\n    return {c}\n```" for n, c in enumerate(checks, 1)]
        return Completion("\n".join(goals), self.name)


def test_an_attempt_after_a_check_that_fails_is_told_of_it(tmp_path: Path) -> None:
    plan, model = Plan(levels=("GoToLocal",), instructions=1, seed=0, retries=1, repairs=0), Scripted()
    with RunFolder.start(tmp_path / "run", RunSettings({}, "", 0)) as folder:
        list(Pipeline(plan, folder, model=model, search=RandomSearch(), progress=Quiet(), parallel=backwards).ground())
        causes = [row["cause"] for row in folder.journal("verifications")]
    first, second = model.asked
    assert "What was tried before" not in first
    assert "could not get past goal 2" in second
    assert causes[0] in second


def test_a_hypothesis_whose_repair_was_not_recorded_is_not_verified_and_the_others_go_on(tmp_path: Path) -> None:
    class Told(Scripted):
        def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
            if "What was tried before" in messages[-1].content:
                raise NotRecorded("the transcript has 0 replies")
            reply = super().complete(messages, sampling=sampling)
            return replace(reply, text=reply.text.replace("return get_steps()\n", "return get_steps() > 10**6\n"))

    plan = Plan(levels=("GoToLocal",), instructions=2, seed=0, retries=1, repairs=0)
    with RunFolder.start(tmp_path / "run", RunSettings({}, "", 0)) as folder:
        options = {"model": Told(), "search": RandomSearch(), "progress": Quiet(), "parallel": backwards}
        grounded = list(Pipeline(plan, folder, **options).ground())
        causes = [row["cause"] for row in folder.journal("verifications")]
    assert causes[2:] == ["no hypothesis: the transcript has 0 replies"] * 2
    assert sorted(row.cause for row in grounded) == sorted(causes[:2])


def test_a_lost_worker_is_no_goal_s_fault(tmp_path: Path) -> None:
    def losing(function: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        for job in jobs:
            yield job, job.on_lost("it was silent")

    plan, model = Plan(levels=("GoToLocal",), instructions=1, seed=0, retries=1, repairs=0), Scripted()
    with RunFolder.start(tmp_path / "run", RunSettings({}, "", 0)) as folder:
        list(Pipeline(plan, folder, model=model, search=RandomSearch(), progress=Quiet(), parallel=losing).ground())
    assert len(model.asked) == 2
    assert all("What was tried before" not in prompt for prompt in model.asked)
