"""Table 1: fresh seeds, a journal that is never done twice, and rows that say what the episodes say."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from sdg.agents.agents import Agent, RandomAgent, Task, World, play_task
from sdg.deduction.episode import Episode, EpisodeResult
from sdg.envs.instructions import SPLITS
from sdg.experiments.bench.options import names
from sdg.experiments.play.episodes import BOT_RECIPE, EpisodeJob, Recipe, evaluation_tasks, run_jobs
from sdg.experiments.play.players import PlannerRecipe, recipes
from sdg.experiments.results.formats import comma_separated, latex, markdown
from sdg.experiments.results.rows import COLUMNS, paper_columns, paper_table, run_table1, summarise
from sdg.storage import Journal


@dataclass(frozen=True)
class RandomRecipe:
    agent: str = "random"

    def build(self) -> Agent:
        return RandomAgent(self.agent)


def row(**changes: object) -> EpisodeResult:
    base = {
        "unit": "u", "agent": "sdg", "level": "GoToLocal", "seed": 1, "repeat": 0, "success": True, "steps": 6,
        "max_steps": 64, "bot_steps": 4, "interactions": 1, "skill_calls": 2, "llm_calls": 1, "tokens": 100,
        "seconds": 0.1, "cause": "",
    }  # fmt: skip
    return EpisodeResult.from_json(base | changes)


def test_tasks_are_evaluation_seeds_and_never_repeat() -> None:
    tasks = evaluation_tasks(["GoToLocal", "Open"], instructions=5, repeats=3, seed=7)
    assert len(tasks) == 30
    for level in ("GoToLocal", "Open"):
        layouts = [task.seed for task in tasks if task.level == level]
        assert len(set(layouts)) == 15
        assert all(seed in SPLITS["evaluation"] for seed in layouts)
    other_tasks = evaluation_tasks(["GoToLocal"], instructions=5, repeats=3, seed=8)
    assert not {task.seed for task in tasks} & {task.seed for task in other_tasks}


def test_what_is_named_twice_counts_once() -> None:
    once = evaluation_tasks(["GoToLocal"], instructions=5, repeats=1, seed=7)
    assert evaluation_tasks(["GoToLocal", "GoToLocal"], instructions=5, repeats=1, seed=7) == once
    assert recipes(["bot", "bot"], PlannerRecipe("sdg", None)) == [BOT_RECIPE]
    assert names("a, b,a") == names(("a", "b", "a")) == ("a", "b")


def test_a_run_that_was_broken_off_goes_on_to_the_same_table(tmp_path: Path) -> None:
    tasks = evaluation_tasks(("GoToLocal", "PickupLoc"), instructions=3, repeats=2, seed=1)
    agents: list[Recipe] = [RandomRecipe(), BOT_RECIPE]
    with Journal(tmp_path / "whole.jsonl") as journal:
        whole = run_table1(agents, tasks, journal=journal)
        lines = (tmp_path / "whole.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "broken.jsonl").write_text("".join(lines[:10]) + lines[10][:40])
    played: list[object] = []
    with Journal(tmp_path / "broken.jsonl") as journal:
        again = run_table1(agents, tasks, journal=journal, done=lambda row: played.append(row.unit))
        assert len(journal) == len(lines) == 24
    assert len(played) == 14
    assert [row | {"seconds": 0.0} for row in whole] == [row | {"seconds": 0.0} for row in again]
    assert [row["success_rate"] for row in whole if row["agent"] == "bot"] == [1.0, 1.0, 1.0]


@pytest.mark.slow
def test_processes_change_nothing_but_the_time(tmp_path: Path) -> None:
    tasks = evaluation_tasks(["GoToLocal"], instructions=6, repeats=1, seed=3)
    jobs = [EpisodeJob(RandomRecipe(), task) for task in tasks]
    with Journal(tmp_path / "one.jsonl") as first, Journal(tmp_path / "two.jsonl") as second:
        alone = run_jobs(jobs, journal=first, processes=1)
        together = run_jobs(jobs, journal=second, processes=2)
    assert [replace(row, seconds=0.0) for row in alone] == [replace(row, seconds=0.0) for row in together]


@dataclass(frozen=True)
class Tiring:
    agent: str = "tiring"
    name: str = "tiring"

    def build(self) -> Agent:
        return self

    def play(self, world: World, task: Task) -> Episode:
        if task.seed % 3 == 2:
            raise RuntimeError("the budget is spent")
        return RandomAgent().play(world, task)


def test_an_agent_that_raises_leaves_what_was_finished(tmp_path: Path) -> None:
    tasks = [Task("GoToLocal", seed) for seed in (2_000_001, 2_000_002, 2_000_003)]
    tasks.sort(key=lambda task: task.seed % 3)
    with Journal(tmp_path / "j.jsonl") as journal:
        with pytest.raises(RuntimeError, match="budget"):
            run_jobs([EpisodeJob(Tiring(), task) for task in tasks], journal=journal)
        assert len(journal) == 2


def test_failures_count_with_the_whole_limit() -> None:
    rows = [row(), row(steps=8), row(success=False, steps=3, cause="refused", interactions=4)]
    level, everything = summarise(rows)
    assert (level["level"], everything["level"]) == ("GoToLocal", "all")
    assert level["success_rate"] == pytest.approx(2 / 3)
    assert level["low"] < level["success_rate"] < level["high"]
    assert level["median_steps"] == 8
    assert level["steps_to_bot"] == 2.0
    assert level["tokens_per_solved"] == 150
    assert level["causes"] == {"refused": 1}
    assert level["success_at_one_interaction"] == pytest.approx(2 / 3)
    assert level["solved_by_interaction"] == (2, 2, 2, 2)


def test_success_after_debugging_is_no_success_at_one_interaction() -> None:
    level, _ = summarise([row(), row(interactions=2)])
    assert (level["success_rate"], level["success_at_one_interaction"]) == (1.0, 0.5)


def test_all_levels_weigh_alike_over_all() -> None:
    rows = [row(level="GoToLocal", repeat=n) for n in range(3)]
    rows += [row(level="BossLevel", repeat=n, success=False, cause="out of time") for n in range(3)]
    assert summarise(rows)[-1]["success_rate"] == 0.5


def test_rows_of_every_agent_have_the_same_fields() -> None:
    played = play_task(RandomAgent(), Task("GoToLocal", 2_000_000), bot_steps=5)
    want = {"unit", "agent", "level", "seed", "instruction", "success", "steps", "max_steps", "bot_steps", "actions",
            "program", "error", "interactions", "skill_calls", "llm_calls", "tokens", "seconds", "cause"}  # fmt: skip
    assert want <= set(played)
    assert played["steps"] == len(played["actions"])
    json.dumps(played)


def test_formats_hold_hostile_cells() -> None:
    rows = [{"agent": 'a|b & 50% _x_ "q"\n\\end{tabular}', "level": "L", "rate": float("nan")}]
    columns = {"agent": lambda row: str(row["agent"]), "level": lambda row: str(row["level"])}
    assert markdown(rows, columns).count("\n") == 3
    assert r"a\|b" in markdown(rows, columns)
    assert r"\textbackslash end\{tabular\}" in latex(rows, columns)
    assert latex(rows, columns).count(r"\end{tabular}") == 1
    assert next(csv.DictReader(io.StringIO(comma_separated(rows))))["agent"] == rows[0]["agent"]


def test_the_table_prints_measured_beside_published() -> None:
    rows = summarise([row(), row(agent="random", success=False, cause="out of time", llm_calls=0, tokens=0)])
    assert "| GoToLocal | sdg | 100.0 |" in markdown(rows, COLUMNS)
    text = markdown(paper_table(rows, ["GoToLocal"]), paper_columns(["GoToLocal"]))
    assert "| sdg | 100.0 |" in text
    assert "| SDG (gpt-3.5-turbo) | 99.9 |" in text


def test_no_interval_has_no_width() -> None:
    for many in (1, 3, 200):
        for success in (True, False):
            rows = summarise(
                [row(unit=str(n), seed=n, success=success, cause="" if success else "x") for n in range(many)]
            )
            assert all(row["high"] - row["low"] > 0.01 for row in rows)
            assert all(row["low"] <= row["success_rate"] <= row["high"] for row in rows)
