"""The bench of worlds: what is recorded, what is measured, and what it is compared with."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium_robotics", reason="the extra `mujoco` isn't installed")

from sdg.deduction.episode import EpisodeResult
from sdg.deduction.library_skills import options_of
from sdg.deduction.planner import describe_skill
from sdg.envs.domains import domain
from sdg.envs.instructions import seeds
from sdg.errors import UserError
from sdg.experiments.baselines.world_env import GOALS, WorldEnv, success_of_flat, train_sb3_flat
from sdg.experiments.bench.worlds import command
from sdg.experiments.bench.worlds.command import FIELDS, play, rows
from sdg.experiments.bench.worlds.run_words import RunWords, programs_of
from sdg.experiments.bench.worlds.words import WORDS
from sdg.gate.executor import Command
from sdg.skills.checks.check import compile_check
from sdg.skills.learning.by_hand import SkillSpec
from sdg.skills.library.library import CheckTemplate, Skill, SkillLibrary
from sdg.skills.library.store import save_library
from sdg.storage import Journal, RunFolderError, hold, read_journal


def untrained_library(world: str) -> SkillLibrary:
    """The skills by hand with small random weights."""
    inputs, rng = domain(world).inputs, np.random.default_rng(0)
    shapes = {"w1": (inputs.size, 8), "b1": (8,), "w2": (8, inputs.actions), "b2": (inputs.actions,)}
    weights = {name: rng.normal(0, 0.1, shape).astype(np.float32) for name, shape in shapes.items()}
    weights |= {"log_std": np.zeros(inputs.actions, np.float32)}
    skills = tuple(_skill(spec) for spec in WORDS[world].skills)
    return SkillLibrary(skills, {skill.name: weights for skill in skills}, {}, world)


def _skill(spec: SkillSpec) -> Skill:
    check = CheckTemplate(spec.check, next(iter(spec.arguments), ""))
    return Skill(
        name=spec.name,
        description=spec.description,
        takes_argument=bool(spec.arguments),
        argument_examples=spec.arguments,
        members=(spec.description,),
        checks=(check,),
        horizon=20,
        success_rate=0.5,
        success_interval=(0.0, 1.0),
        episodes=1,
        environment_steps=7,
        learner="sb3",
    )


def test_recorded_rows_have_every_field() -> None:
    for row in rows():
        assert set(FIELDS) <= set(row)
        assert row["level"] in domain(row["world"]).levels()
        assert 0 <= row["low"] <= row["success_rate"] <= row["high"] <= 1
        assert row["episodes"] > 0
        assert row["training_seeds"] > 0


def test_what_there_is_not_is_named() -> None:
    with pytest.raises(UserError, match="no moon"):
        rows(measure=True, worlds=("moon",))


@pytest.mark.parametrize("world", list(WORDS))
def test_checks_by_hand_are_admitted_about_every_argument(world: str) -> None:
    kind = domain(world)
    for spec in WORDS[world].skills:
        for check in spec.about_each(kind.language):
            compile_check(check, kind)


@pytest.mark.parametrize("world", list(WORDS))
def test_programs_by_hand_run_on_every_level(world: str) -> None:
    skills = options_of(untrained_library(world))
    for level in domain(world).levels():
        robot = play(world, skills, level, seeds("evaluation", count=1, seed=3, level=level)[0])
        assert robot.actions


@pytest.mark.parametrize("world", list(WORDS))
def test_every_mission_has_a_program(world: str) -> None:
    for level in domain(world).levels():
        opened_world = domain(world).open(level)
        for seed in seeds("evaluation", count=12, level=level):
            opened_world.reset(seed)
            assert "def program" in WORDS[world].program(opened_world.mission)


def test_a_prompt_says_what_ends_a_call_and_a_failure_how_far_it_came() -> None:
    skills = options_of(untrained_library("table"))
    assert describe_skill(skills["touch"]).endswith("acts until:\n        return distance('red block') <= 0.085")
    robot = play("table", skills, "Touch", seeds("evaluation", count=1, seed=3, level="Touch")[0])
    [name] = [block.name for block in robot.perception().get_blocks()]
    pair = f"{name} to {robot.perception().get_spots()[0].name}"
    assert re.fullmatch(r"distance was \d.\d\d and is \d.\d\d", robot.perform(Command("push", pair)).note)


def test_a_measured_row_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "learn_library", lambda *_, **__: untrained_library("table"))
    options: dict[str, Any] = {
        "measure": True,
        "worlds": ("table",),
        "levels": ("Touch",),
        "episodes": 2,
        "out": tmp_path,
    }
    (by_hand, at_random) = rows(**options, agents=("by-hand", "random-skills"))
    assert by_hand["environment_steps"] == 7 * len(WORDS["table"].skills)
    assert (by_hand["episodes"], by_hand["agent"]) == (2, "by-hand")
    assert at_random["environment_steps"] == 0
    (tmp_path / "table-0" / "library.json").unlink()
    assert rows(**options, agents=("by-hand",)) == [by_hand]
    for other_question in ({"seed": 77}, {"episodes": 3}, {"training_seeds": 2}, {"steps": 1000}):
        with pytest.raises(RunFolderError, match="was begun with"):
            rows(**options | other_question, agents=("by-hand",))
    with hold(tmp_path / "run.lock"), pytest.raises(RunFolderError, match="in use"):
        rows(**options)
    journal = tmp_path / "rows.jsonl"
    journal.write_text(re.sub(r'"success_rate":[^,]*|,"crc32":\d+', "", journal.read_text()).replace("{,", "{"))
    with pytest.raises(RunFolderError, match=r"rows.jsonl"):
        rows(**options, agents=("by-hand",))


CONFIG = """
name: words
domain: table
levels: [Touch]
model: {kind: "examples.worlds.by_hand:TABLE", name: somebody}
deduce: {attempts: 1, budget: 20000000}
"""


def run_folder(place: Path) -> Path:
    save_library(untrained_library("table"), place / "library")
    (place / "config.yaml").write_text(CONFIG)
    return place


def test_a_run_s_words_are_measured_with_one_question_an_instruction(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "run")
    options = {"measure": True, "run": str(run), "levels": ("Touch",), "episodes": 6, "out": tmp_path / "out"}
    (row,) = rows(**options)
    assert set(row) == set(FIELDS)
    assert (row["agent"], row["level"], row["episodes"]) == ("words-of-somebody", "Touch", 6)
    questions, played = (read_journal(tmp_path / f"out/{name}.jsonl") for name in ("asked", "played"))
    assert len({row["instruction"] for row in played}) == len(questions) <= 4
    assert {question["instruction"]: question["program"] for question in questions}.items() >= {
        (row["instruction"], row["program"]) for row in played
    }
    assert rows(**options) == [row]
    for changes in ({"llm": "examples.worlds.by_hand:TABLE:another"}, {"assignments": ["deduce.attempts=2"]}):
        with pytest.raises(RunFolderError, match="was begun with another config"):
            rows(**options | changes)
    save_library(replace(untrained_library("table"), provenance={"another": 1}), tmp_path / "run/library")
    with pytest.raises(RunFolderError, match="library was"):
        rows(**options)


def episode_row(*, program: str, first: str, **more: Any) -> dict[str, Any]:
    """A row of a run's episodes, with the first of its programs."""
    episode = {"unit": "one", "agent": "sdg", "level": "Touch", "seed": 1, "steps": 3, "max_steps": 200}
    return {**episode, "success": False, "program": program, "trace": [{"program": first, "calls": []}], **more}


def test_programs_that_the_run_holds_are_not_asked_for_again(tmp_path: Path) -> None:
    run, program = run_folder(tmp_path / "run"), "def program():\n    get_blocks()\n"
    with Journal(run / "episodes.jsonl") as journal:
        for colour in ("red", "green", "blue", "yellow"):
            mission = f"touch the {colour} block"
            journal.append(episode_row(unit=colour, instruction=mission, program="later", first=program))
    rows(measure=True, run=str(run), levels=("Touch",), episodes=3, out=tmp_path / "out")
    assert not (tmp_path / "out/asked.jsonl").exists()
    assert {row["program"] for row in read_journal(tmp_path / "out/played.jsonl")} == {program}


@pytest.mark.parametrize("row", [{}, {"trace": [{}]}, {"trace": 5}, {"program": 5}])
def test_rows_of_a_stranger_s_run_are_refused_in_words(tmp_path: Path, row: dict[str, Any]) -> None:
    run = run_folder(tmp_path / "run")
    with Journal(run / "episodes.jsonl") as journal:
        journal.append({"unit": "of nobody"})
        good_row = episode_row(unit="good", instruction="touch it", success=True, program="first", first="first")
        journal.append(good_row)
        assert RunWords.open(run, tmp_path).programs({}) == {"touch it": "first"}
        journal.append((good_row | row if row else {"agent": "sdg"}) | {"unit": "e"})
    with pytest.raises(RunFolderError, match=r"episodes.jsonl has a row .*'e'"):
        RunWords.open(run, tmp_path).programs({})


def test_another_model_is_asked_at_its_own_address_and_not_the_recording(tmp_path: Path) -> None:
    run, here = run_folder(tmp_path / "run"), "http://127.0.0.1:1/v1"
    words = RunWords.open(
        run, tmp_path, llm="openai:other", base_url=here, assignments=("model.timeout_seconds=7", "processes=1")
    )
    model = words.config.model
    assert (model.kind, model.name, model.base_url, model.transcript) == ("openai", "other", here, None)
    assert (model.timeout_seconds, words.config.processes, words.agent) == (7, 1, "words-of-other")


def test_a_recording_is_asked_in_place_of_the_run_s_model(tmp_path: Path) -> None:
    words = RunWords.open(run_folder(tmp_path / "run"), tmp_path / "words", llm="replay:other.jsonl")
    assert (words.config.model.kind, words.config.model.transcript) == ("replay", "other.jsonl")


def test_a_program_that_did_it_comes_before_the_first() -> None:
    failed = EpisodeResult.from_json(episode_row(instruction="touch it", program="last", first="first"))
    assert programs_of([failed, replace(failed, success=True)]) == {"touch it": "last"}
    assert programs_of([failed]) == {"touch it": "first"}


def test_a_folder_without_a_library_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no run folder with a library"):
        rows(measure=True, run=str(tmp_path))
    with pytest.raises(UserError, match="add --measure"):
        rows(run=str(tmp_path))


@pytest.mark.parametrize("world", list(GOALS))
def test_flat_learners_get_the_mission_and_its_own_reward(world: str) -> None:
    level = {"ant": "AntMaze_UMaze-v5", "table": "PushToSpot"}[world]
    env = WorldEnv(world, level)
    observation, _ = env.reset(options={"seed": 3})
    assert env.observation_space.contains(observation | {"observation": observation["observation"].astype(np.float32)})
    again, reward, *_ = env.step(np.zeros(env.action_space.shape, np.float32))
    assert reward == 0
    goal = again["desired_goal"]
    assert env.compute_reward(np.stack([goal, goal + 9]), np.stack([goal, goal]), [{}, {}]).tolist() == [1, 0]


def test_a_flat_policy_is_trained_and_played() -> None:
    model = train_sb3_flat("flat-ppo", "table", "Touch", steps=1, seed=0)
    assert 0 <= success_of_flat(model, "table", "Touch", episodes=1, seed=0) <= 1
