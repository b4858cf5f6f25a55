"""Every snippet of the corpus ends as expected, in time and without a side effect; benign ones as plain Python does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sdg.experiments.bench import hostile
from sdg.experiments.bench.hostile import run_corpus
from sdg.experiments.bench.hostile_world import SnippetWorld, load
from sdg.experiments.cli.main import main
from sdg.prompts.replies import extract_code

DATA = Path(__file__).parents[3] / "data"
SNIPPETS: list[dict[str, Any]] = json.loads((DATA / "hostile-own.json").read_text(encoding="utf-8"))
WORLD: dict[str, Any] = json.loads((DATA / "hostile-world.json").read_text(encoding="utf-8"))
IN_WORLD = ["--world", str(DATA / "hostile-world.json")]


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    budgets = dict.fromkeys(("check", "program"), 20_000)  # a program's own 400,000 take minutes: see the slow test
    return list(run_corpus(SNIPPETS, WORLD, budgets=budgets, timeout_seconds=30.0))  # a busy machine is no fault


def test_the_corpus_has_every_kind() -> None:
    kinds = [snippet["kind"] for snippet in SNIPPETS]
    assert {kind: kinds.count(kind) >= 60 for kind in ("escape", "dos", "broken", "benign")} == dict.fromkeys(
        ("escape", "dos", "broken", "benign"), True
    )


def test_every_snippet_ends_as_expected(rows: list[dict[str, Any]]) -> None:
    wrong = [
        (row["name"], row["outcome"], row["expected"], row["message"])
        for row in rows
        if row["outcome"] != row["expected"]
    ]
    assert wrong == []


def test_no_snippet_has_a_side_effect(rows: list[dict[str, Any]]) -> None:
    assert [(row["name"], row["effects"]) for row in rows if row["effects"]] == []
    assert [row["name"] for row in rows if row["worker"] == "crashed"] == []


def test_every_denial_of_service_ends_within_two_seconds(rows: list[dict[str, Any]]) -> None:
    assert [
        (row["name"], row["work_seconds"])
        for row in rows
        if (row["work_seconds"] or 9.0) > 2.0 and row["work_seconds"] != 0
    ] == []


def test_refusals_say_something_a_model_can_act_on(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["outcome"] in ("reject", "error"):
            assert len(row["message"]) > 15, row
            assert "Traceback" not in row["message"], row


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_programs_with_all_of_their_budget_end_as_expected() -> None:
    programs = [snippet for snippet in SNIPPETS if snippet["api"] == "program"]
    rows = list(run_corpus(programs, WORLD, timeout_seconds=30.0))
    assert {row["budget"] for row in rows} == {400_000}
    assert [row["name"] for row in rows if row["outcome"] != row["expected"] or row["effects"]] == []
    assert [row["name"] for row in rows if row["worker"] != "well" or row["work_seconds"] > 40.0] == []


@pytest.mark.parametrize(
    "snippet",
    [snippet for snippet in SNIPPETS if snippet["kind"] == "benign" and snippet["api"] == "check"],
    ids=lambda snippet: str(snippet["name"]),
)
def test_benign_checks_answer_as_plain_python_does(snippet: dict[str, Any]) -> None:
    functions = SnippetWorld(WORLD).perception()
    names: dict[str, Any] = {**functions, "print": lambda *values: None}
    exec(compile(extract_code(snippet["code"]), "plain", "exec"), names)
    assert load(snippet["code"], api="check", data=WORLD)(functions) is bool(names["check"]())


def test_the_command_reports_what_is_not_as_expected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = tmp_path / "two.json"
    good = {"name": "good", "api": "check", "code": "def check():\n    return True\n", "expect": "ok"}
    corpus.write_text(json.dumps([good, {**good, "name": "wrong", "expect": "reject"}]), encoding="utf-8")
    assert main(["bench", "hostile", str(corpus), *IN_WORLD, "--wrong", "--json"]) == 0, "another outcome is no harm"
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (row["name"], row["outcome"], row["expected"], row["differs"]) == ("wrong", "ok", "reject", True)
    (tmp_path / "hostile-world.json").write_text(json.dumps(WORLD), "utf-8")
    assert main(["bench", "hostile", str(corpus), "--json"]) == 0, "the world lies beside the corpus"
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["name"], row["differs"]) for row in rows] == [("good", False), ("wrong", True)]


def test_a_corpus_without_a_world_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (corpus := tmp_path / "one.json").write_text("[]", "utf-8")
    assert main(["bench", "hostile", str(corpus)]) == 2
    assert "hostile-world.json: name the data of the snippets' world with --world" in capsys.readouterr().err


@pytest.mark.parametrize("harm", [{"worker": "killed"}, {"worker": "crashed"}, {"effects": ["file left.txt"]}])
def test_the_command_fails_for_lost_workers_and_side_effects(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, harm: dict[str, Any]
) -> None:
    (corpus := tmp_path / "one.json").write_text(
        json.dumps([{"name": "harm", "code": "", "expect": "ok"}]), encoding="utf-8"
    )
    row = {"name": "harm", "outcome": "ok", "worker": "well", "effects": [], "expected": "ok", "differs": False, **harm}
    monkeypatch.setattr(hostile, "run_corpus", lambda *_, **__: iter([row]))
    assert main(["bench", "hostile", str(corpus), *IN_WORLD, "--wrong", "--json"]) == 1
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [row]
