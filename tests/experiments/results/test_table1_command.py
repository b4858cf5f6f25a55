"""`sdg bench table1`: one command, rows that a machine can read, files, and a folder that goes on."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from sdg.deduction.episode import EpisodeResult
from sdg.envs.babyai.practice.inputs import MAP_INPUTS
from sdg.envs.babyai.world import instructions
from sdg.experiments.bench import options, table1 as bench_table1
from sdg.experiments.cli.main import main
from sdg.experiments.play.players import PlannerRecipe, recipes
from sdg.experiments.results.comparison import grounding_texts
from sdg.experiments.results.rows import summarise
from sdg.llm.model import BudgetExceeded
from sdg.skills.library.library import CheckTemplate, LibraryError, Skill, SkillLibrary
from sdg.skills.library.store import load_library, save_library
from sdg.skills.subgoal import CheckFunction
from sdg.storage import read_journal
from tests.shared.library_samples import random_bits

NEEDED = {"level", "agent", "success_rate", "low", "high", "episodes", "median_steps", "llm_calls", "tokens"}
CHECKS = {
    "look_for": ("find the red ball", "len(find_objects('red ball')) > 0"),
    "walk_to": ("go next to the red ball", "any([thing.facing for thing in find_objects('red ball')])"),
}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Two skills with random weights, stored."""
    rng = np.random.default_rng(0)
    skills = []
    for name, (text, condition) in CHECKS.items():
        check = CheckFunction("check", f"def check():\n    return {condition}\n")
        skills.append(
            Skill(
                name=name, description=text, takes_argument=True, argument_examples=("red ball",), members=(text,),
                checks=(CheckTemplate(check, "red ball"),), horizon=20, success_rate=0.5, success_interval=(0.4, 0.6),
                episodes=10, environment_steps=0,
            )
        )  # fmt: skip
    weights = {name: dict(random_bits(MAP_INPUTS, rng).weights) for name in CHECKS}
    save_library(SkillLibrary(tuple(skills), weights), tmp_path / "library")
    return tmp_path / "library"


def test_every_agent_plays_and_the_table_is_written(library: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    table = bench_table1.rows(
        seed=3, instructions=2, repeats=1, levels=("GoToLocal",), library=str(library), out=str(out), processes=1
    )
    assert [row["agent"] for row in table if row["level"] == "GoToLocal"] == list(bench_table1.AGENTS)
    assert all(set(row) >= NEEDED for row in table)
    assert {row["level"] for row in table} == {"GoToLocal"}, "a row for each level and agent, nothing else"
    by_agent = {row["agent"]: row for row in table if row["level"] == "GoToLocal"}
    assert by_agent["bot"]["success_rate"] == 1.0
    assert by_agent["sdg"]["llm_calls"] >= 2
    assert by_agent["sdg"]["tokens"] > 0
    assert by_agent["random"]["llm_calls"] == 0
    assert by_agent["sdg-action"]["skill_calls"] > 0
    text = (out / "table.md").read_text()
    assert "| SDG (gpt-3.5-turbo) | 99.9 |" in text
    assert r"\begin{tabular}" in (out / "table.tex").read_text()
    assert len(list(csv.DictReader((out / "table.csv").read_text().splitlines()))) == 2 * len(table)
    assert json.loads((out / "results.json").read_text())["rows"][0]["agent"] == "sdg"


def test_a_budget_stops_a_benchmark_and_more_of_it_goes_on(library: Path, tmp_path: Path) -> None:
    arguments = {"seed": 3, "instructions": 2, "repeats": 1, "levels": ("GoToLocal",), "agents": ("sdg",)}
    arguments |= {"library": str(library), "out": tmp_path / "out", "processes": 1}
    with pytest.raises(BudgetExceeded, match="tokens is spent"):
        bench_table1.rows(**arguments, budget=options.budget("tokens=1"))
    assert len(read_journal(tmp_path / "out" / "episodes.jsonl")) <= 1 + arguments["instructions"], "the bot's and one"
    rows = bench_table1.rows(**arguments, budget=options.budget("tokens=10000000"))
    assert [row["episodes"] for row in rows if row["agent"] == "sdg"] == [2]


def test_the_command_prints_rows_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = [
        "bench",
        "table1",
        "--levels",
        "GoToLocal",
        "--agents",
        "random",
        "--repeats",
        "1",
        "--out",
        "t",
        "--json",
    ]
    assert main([*command, "--instructions", "2"]) == 0
    first = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["episodes"] for row in first] == [2]
    before = (tmp_path / "t/episodes.jsonl").read_text()
    assert main([*command, "--instructions=3"]) == 0
    after = (tmp_path / "t/episodes.jsonl").read_text()
    assert after.startswith(before), "what was played is not played again"
    assert len(after.splitlines()) == 2 * 3
    unit = json.loads(after.splitlines()[0])["unit"]
    capsys.readouterr()
    assert main(["show", "t", unit]) == 0
    trace = capsys.readouterr().out.splitlines()[-1].removeprefix("trace: ")
    assert (tmp_path / trace).read_bytes().startswith(b"GIF89a")
    assert main(["show", "t", unit, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unit"] == unit


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--agents", "human"], "there is no agent 'human'"),
        (["--levels", "GoToMars"], "GoToMars"),
        (["--library", "nowhere"], "no skill library"),
        (["--instructions", "many"], "valid integer"),
        (["--colour", "red"], "No such option: --colour"),
        (["--instructions"], "requires an argument"),
    ],
)
def test_what_there_is_not_is_said_in_one_line(
    options: list[str], says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    more = [] if "--library" in options or "--agents" in options else ["--agents", "random"]
    assert main(["bench", "table1", *more, *options]) == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert captured.out == ""
    assert "Traceback" not in captured.err


def test_another_library_needs_another_folder(
    library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["bench", "table1", "--levels", "GoToLocal", "--instructions", "1", "--repeats", "1", "--out", "t"]
    assert main([*command, "--agents", "sdg", "--library", str(library)]) == 0
    assert main([*command, "--agents", "random"]) == 2
    assert "library" in capsys.readouterr().err


def test_new_texts_are_those_that_no_grounding_instruction_has(capsys: pytest.CaptureFixture[str]) -> None:
    provenance = {"levels": ["GoToLocal"], "instructions_per_level": 40, "seed": 2, "model": "x"}
    grounding = frozenset(mission.text for mission in instructions("GoToLocal", split="grounding", count=40, seed=2))
    assert grounding_texts(provenance) == grounding
    assert grounding_texts({"levels": ["GoToLocal"], "seed": 2}) is None
    assert grounding_texts(provenance | {"levels": ["GoToMars"]}) is None
    for much in ({"instructions_per_level": 10**6}, {"levels": ["GoToLocal"] * 300}):
        assert grounding_texts(provenance | much) is None
        assert "which instructions are new isn't told" in capsys.readouterr().err
    shared = {"unit": "u", "seed": 1, "agent": "a", "level": "L", "repeat": 0,
              "success": True, "steps": 1, "max_steps": 9,
              "bot_steps": 1, "interactions": 1, "skill_calls": 0, "llm_calls": 0, "tokens": 0,
              "seconds": 0.0, "cause": ""}  # fmt: skip
    texts = ("go to the sea", *sorted(grounding)[:3])
    rows = [EpisodeResult.from_json(shared | {"instruction": text}) for text in texts]
    assert [row["new_texts"] for row in summarise(rows, known=grounding)] == [0.25, 0.25]
    assert [row["new_texts"] for row in summarise(rows)] == [None, None]


def test_recipes_are_values_that_travel(library: Path) -> None:
    import pickle

    base = PlannerRecipe("sdg", library)
    plain = ("sdg", "sdg-restart", "sdg-ungated", "sdg-action", "sdg-repeats", "random-skills", "chat", "ppo-flat")
    skill = load_library(library).skills[0].name
    everyone = (*plain, "random", "bot", f"random:{skill}")
    for recipe in recipes(everyone, base):
        again = pickle.loads(pickle.dumps(recipe))
        assert again == recipe
        assert hash(again) == hash(recipe)
        assert again.build().name == recipe.agent
    with pytest.raises(LibraryError, match="has no skill 'fly'"):
        recipes(["random:fly"], base)[0].build()
    with pytest.raises(ValueError, match="needs a skill library"):
        PlannerRecipe("sdg", None).build()
