"""`sdg solve --level`: one instruction with a stored library; what is wrong is said in one message."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from sdg.envs.babyai.practice.inputs import MAP_INPUTS
from sdg.envs.instructions import SPLITS
from sdg.errors import UserError
from sdg.experiments.cli.main import main
from sdg.experiments.play.players import PlannerRecipe
from sdg.experiments.play.solve import solve
from sdg.experiments.results import comparison
from sdg.llm.model import Sampling
from sdg.skills.library.library import CheckTemplate, Skill, SkillLibrary
from sdg.skills.library.store import save_library
from sdg.skills.subgoal import CheckFunction
from tests.shared.library_samples import random_bits

CHECKS = {
    "look_for": ("find the red ball", "len(find_objects('red ball')) > 0"),
    "walk_to": ("go next to the red ball", "any([thing.facing for thing in find_objects('red ball')])"),
}


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two skills with random weights, stored; the working directory is elsewhere and has no library."""
    rng = np.random.default_rng(0)
    skills = tuple(
        Skill(
            name=name,
            description=text,
            takes_argument=True,
            argument_examples=("red ball",),
            members=(text,),
            checks=(CheckTemplate(CheckFunction("check", f"def check():\n    return {condition}\n"), "red ball"),),
            horizon=20,
            success_rate=0.5,
            success_interval=(0.4, 0.6),
            episodes=10,
            environment_steps=0,
        )
        for name, (text, condition) in CHECKS.items()
    )
    weights = {name: dict(random_bits(MAP_INPUTS, rng).weights) for name in CHECKS}
    save_library(SkillLibrary(skills, weights), tmp_path / "stored")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(comparison, "SHIPPED", tmp_path / "shipped")
    return tmp_path / "stored"


def planner(library: Path) -> PlannerRecipe:
    return PlannerRecipe("sdg", library, sampling=Sampling(stage="solve"))


def solve_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert main(["solve", *arguments, "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    return dict(json.loads(line))


def test_the_levels_own_instruction_is_played_and_judged(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = set()
    for seed in (*range(8), 2_000_000):
        row = solve_json(capsys, "--level", "BabyAI-GoToLocal-v0", "--layout", str(seed), "--library", str(library))
        assert row == solve("GoToLocal", seed, recipe=planner(library))[0] | {"film": "solve.gif"}
        assert Path("solve.gif").read_bytes().startswith(b"GIF89a")
        assert (row["level"], row["seed"], row["library"]) == ("GoToLocal", seed, str(library))
        assert row["outcome"] in ("solved", "failed")
        assert (row["outcome"] == "solved") == (row["cause"] == "")
        assert "def program():" in str(row["program"])
        assert row["calls"]
        several = row["interactions"] > 1  # type: ignore[operator]
        assert all(call.startswith("program ") == several for call in row["calls"])  # type: ignore[attr-defined]
        assert row["steps"] == len(row["actions"])  # type: ignore[arg-type]
        outcomes.add(row["outcome"])
    assert outcomes == {"solved", "failed"}, "random weights do both; the seeds must show it"


def test_own_words_are_given_to_the_verifier(library: Path) -> None:
    own = solve("GoToLocal", 3, instruction="Go to  an object.", recipe=planner(library))[0]
    assert own["instruction"] == "go to an object", "as BabyAI's own grammar says it, but for its article"
    assert (own["outcome"], own["note"], own["cause"]) == ("solved", "", "")


def test_what_cannot_be_verified_is_run_and_unjudged(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "go to the red door"
    command = ["solve", "--level", "GoToLocal", "--layout", "3", "--library", str(library), "--instruction", words]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "outcome: unjudged" in printed
    assert f"instruction: {words}" in printed
    assert "note: this world has nothing that" in printed
    row = solve("GoToLocal", 3, instruction=words, recipe=planner(library))[0]
    assert row["calls"]
    assert (row["outcome"], row["instruction"]) == ("unjudged", words), "a Python call claims as little as the command"
    assert row["note"].startswith("this world has nothing that")


def test_words_that_no_program_came_of_are_asked_wrongly(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["solve", "--level", "GoToLocal", "--library", str(library), "--instruction", "do a dance", "--json"]
    assert main(command) == 2
    captured = capsys.readouterr()
    row = json.loads(captured.out)
    assert (row["outcome"], row["steps"], row["calls"]) == ("unjudged", 0, [])
    assert "no program came of 'do a dance'" in captured.err
    assert "go to D, open D, pick up D or put D next to D" in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--level", "GoToLocl", "--library", "STORED"], "did you mean"),
        (["--level", "GoToLocal", "--layout", "-1", "--library", "STORED"], "a seed is 0 to"),
        (["--level", "GoToLocal", "--library", "nowhere"], "there is no skill library in nowhere"),
        (["--level", "GoToLocal"], "train one with `sdg run`"),
        (["--level", "GoToLocal", "--library", "STORED", "--instruction", " "], "an instruction has words"),
        (["--level", "GoToLocal", "--library", "STORED", "--instruction", "go " * 300], "1 to 500 characters"),
        (["--level", "GoToLocal", "--library", "STORED", "--fresh"], "--fresh belongs to a run"),
        (["--level", "GoToLocal", "--library", "STORED", "--llm", "gpt"], "there is no model provider"),
        (
            ["--level", "GoToLocal", "--library", "STORED", "--instruction", "go to teh red bal"],
            "'go to teh red bal' is no instruction; did you mean 'go to the red ball'?",
        ),
        (["--level", "GoToLocal", "--seed", "-1", "--library", "STORED"], "a seed is 0 or more"),
        (["--level", "GoToLocal", "--library", "STORED", "--film", "notes.txt"], "name it notes.gif, not notes.txt"),
        (["--layout", "5"], "--layout needs --level"),
        (["--layout", "0"], "--layout needs --level"),
        (["--film", "f.gif"], "--film needs --level"),
        (["--instruction", "go to a ball"], "--instruction needs --level"),
        (["--library", "STORED"], "--library needs --level"),
    ],
)
def test_what_can_be_asked_differently_exits_with_2(
    library: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    arguments = [str(library) if argument == "STORED" else argument for argument in arguments]
    assert main(["solve", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert "Traceback" not in captured.err


def test_the_shipped_library_is_used_where_none_is_named(library: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError):
        comparison.find_library()
    shutil.copytree(library, tmp_path / "shipped")
    library.rename(Path("library"))
    assert comparison.find_library() == tmp_path / "shipped"
    assert comparison.find_library(".") == Path("library"), "a run's folder names the library in it"


def test_a_seed_is_the_users_and_a_layout_a_layouts(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--level", "GoToLocal", "--library", str(library)]
    assert solve_json(capsys, *arguments, "--seed", "1")["seed"] in SPLITS["evaluation"]
    assert solve_json(capsys, *arguments, "--layout", "5")["seed"] == 5
