"""The `sdg` command: what is printed where, exit codes, and that nothing but a message is shown."""

from __future__ import annotations

import inspect
import json
import re
import signal
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import sdg.experiments.run
from sdg.envs.instructions import seeds
from sdg.errors import UserError
from sdg.experiments.bench import BENCHMARKS
from sdg.experiments.cli import main as cli
from sdg.experiments.config.config import load
from sdg.experiments.results import comparison
from sdg.llm.model import BudgetExceeded
from sdg.storage import RunError, RunFolder, read_journal
from tests.shared.library_samples import a_library

Run = Callable[..., Any]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[Run], None]]:
    """Puts a function in the place of sdg.experiments.run.runs.run, in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    before = signal.getsignal(signal.SIGTERM)

    def put(run: Run) -> None:
        module = types.ModuleType("sdg.experiments.run.runs")
        vars(module).update(run=run)
        monkeypatch.setitem(sys.modules, "sdg.experiments.run.runs", module)
        monkeypatch.setattr(sdg.experiments.run, "runs", module, raising=False)

    yield put
    signal.signal(signal.SIGTERM, before)


def one_row(config: Any, folder: RunFolder, *, until: str, progress: Any) -> Iterator[dict[str, Any]]:
    with progress.stage("s", total=2, unit="units") as stage:
        stage.advance(2, steps=10)
    print("noise from a library")
    yield {"until": until, "seed": config.seed, "text": "a\x1b[31m\u2028[b]"}


@pytest.mark.parametrize("command", ["hypothesize", "verify", "induce", "solve", "run"])
def test_json_is_one_object_a_row_and_nothing_else(
    runs: Callable[[Run], None], capsys: pytest.CaptureFixture[str], command: str
) -> None:
    runs(one_row)
    assert cli.main([command, "--config", "fast", "--seed", "7", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"until": command, "seed": 7, "text": "a\x1b[31m\u2028[b]"}
    assert "noise from a library" in captured.err
    assert "rule-based planner" in captured.err
    assert "s: 2/2 units (" in captured.err
    assert Path("runs/fast/config.yaml").exists()


def test_a_table_is_harmless_to_a_terminal(runs: Callable[[Run], None], capsys: pytest.CaptureFixture[str]) -> None:
    runs(one_row)
    assert cli.main(["run", "-c", "fast", "--quiet"]) == 0
    captured = capsys.readouterr()
    assert "\x1b" not in captured.out + captured.err
    assert "a\\x1b[31m\\u2028[b]" in captured.out


@pytest.mark.parametrize(
    "command", [["run"], ["solve"], ["do", "a task"], ["compose", "nowhere"], ["bench", "miniwob"]]
)
def test_a_folder_s_own_config_counts_only_where_it_is_named(
    runs: Callable[[Run], None], command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs(one_row)
    miniwob = "sdg.experiments.bench.screens.command"
    monkeypatch.setattr(f"{miniwob}.require_browser", str)
    monkeypatch.setattr(f"{miniwob}.open_folder", raiser(UserError("far enough")))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "stranger", raising=False)
    Path("stranger.py").write_text("open('ran', 'w').close()")
    Path("configs").mkdir()
    for name in ("quickstart", "models"):
        for place in (Path(name), Path("configs") / f"{name}.yaml"):
            place.write_text("name: stranger\nlevels: [GoToLocal]\ndomain: 'stranger:DOMAIN'\n")
    cli.main(command)
    assert not Path("ran").exists()
    assert cli.main(["run", "--config", "quickstart"]) == 2
    assert Path("ran").exists(), "the folder's own config would have run it"


def raiser(error: BaseException) -> Run:
    def run(config: Any, folder: RunFolder, **_: Any) -> Any:
        folder.journal("episodes").append({"unit": "done"})
        raise error

    return run


def noted(error: Exception, note: str) -> Exception:
    error.add_note(note)
    return error


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (RunError("the disk is full"), 1, "sdg: the disk is full"),
        (BudgetExceeded("10 tokens are spent, set budget.tokens higher"), 1, "sdg: 10 tokens are spent"),
        (ValueError("odd\x1b"), 1, r"sdg: unexpected ValueError: odd\x1b. What was finished is kept. SDG_DEBUG=1"),
        (KeyError(), 1, "unexpected KeyError"),
        (noted(KeyError("gone"), " in Flag/3/0\x1b"), 1, r"unexpected KeyError: 'gone' in Flag/3/0\x1b. What was"),
        (MemoryError(), 1, "out of memory"),
        (RecursionError("deep"), 1, "unexpected RecursionError"),
        (KeyboardInterrupt(), 130, "interrupted; what was finished is kept"),
    ],
)
def test_failures_are_one_message_and_keep_what_was_finished(
    runs: Callable[[Run], None], capsys: pytest.CaptureFixture[str], error: BaseException, code: int, message: str
) -> None:
    runs(raiser(error))
    assert cli.main(["run", "-c", "fast", "-q"]) == code
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""
    assert [row["unit"] for row in read_journal(Path("runs/fast/episodes.jsonl"))] == ["done"]
    assert not Path("runs/fast/run.lock").exists()


def test_debugging_shows_the_traceback(
    runs: Callable[[Run], None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDG_DEBUG", "1")
    runs(raiser(ValueError("odd\x1b")))
    assert cli.main(["run", "-c", "fast", "-q"]) == 1
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "-c", "nowhere"], "there is no config nowhere; shipped are ant, babyai"),
        (["run", "-c", "fast", "--set", "levels=[Opn]"], "did you mean Open"),
        (["run", "-c", "fast", "--set", "verify.search.horizn=3"], "did you mean horizon"),
        (["run", "-c", "fast", "--llm", "gpt"], "there is no model provider 'gpt'; there are babylang"),
        (["run", "-c", "fast", "--llm", "openai"], "kind openai needs a name: --llm openai:NAME"),
        (["run", "-c", "fast", "--seed", "x"], "as an integer. Try `sdg --help`"),
        (["run", "--nonsense"], "No such option: --nonsense"),
        (["dance"], "No such command 'dance'"),
        (["report", "nowhere"], "nowhere is no folder"),
        (["report", "empty"], "holds no run"),
        (["skills", "nowhere"], "nowhere is no folder"),
        (["skills", "empty"], "has no skills yet"),
        (["skills"], "no library is shipped here. `sdg run` trains one"),
        (["show", "GoToLocl"], "did you mean"),
        (["show", "runs/nowhere"], "there is no folder runs/nowhere"),
        (["show", "GoToLocal", "--split", "test"], "there are grounding, validation"),
        (["show", "GoToLocal", "--layout", "5"], "it belongs to grounding"),
        (["show", "GoToLocal", "--seed", "-1"], "a seed is 0 or more"),
        (["show", "empty"], "holds no run"),
        (["show", "GoToLocal", "--kind", "nonsense", "--failed"], "--kind belongs to a run folder"),
        (["show", "GoToLocal", "--failed"], "--failed belongs to a run folder"),
        (["show", "GoToLocal", "episodes"], "unit belongs to a run folder"),
        (["show", "empty", "--layout", "0"], "--layout belongs to a level"),
        (["show", "empty", "--split", "evaluation"], "--split belongs to a level"),
        (["show", "empty", "e", "--kind", "skills"], "--kind chooses among units, and one is named"),
        (["skills", "--licence", "mit"], "--licence belongs to `sdg skills export`"),
        (["skills", "empty", "--agent", "bot"], "--agent belongs to `sdg skills export`"),
        (
            ["skills", "export", "empty", "--hub", "h", "--minari", "m-v0"],
            "--minari is no part of an export to a --hub",
        ),
        (["skills", "export", "empty", "--hub", "h", "--agent", "bot"], "--agent is no part of an export to a --hub"),
        (["skills", "export", "empty", "--minari", "m-v0", "--licence", "mit"], "--licence belongs to --hub"),
        (["bench", "nothing"], "there is no benchmark 'nothing'"),
        (["run", "-c", "fast", "--out", "file"], "is a file"),
        (["run", "-c", "fast", "--out", "strange"], "holds no run but other things"),
    ],
)
def test_what_can_be_asked_differently_exits_with_2(
    runs: Callable[[Run], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    runs(one_row)
    for folder in ("empty", "strange"):
        Path(folder).mkdir()
    Path("strange/thesis.tex").touch()
    Path("file").touch()
    monkeypatch.setattr(comparison, "SHIPPED", Path("shipped"))
    assert cli.main(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_a_run_goes_on_with_the_config_it_has(runs: Callable[[Run], None], capsys: pytest.CaptureFixture[str]) -> None:
    runs(one_row)
    assert cli.main(["run", "-c", "fast", "-o", "r", "--set", "verify.search.horizon=9", "-q"]) == 0
    assert cli.main(["run", "-o", "r", "-q"]) == 0
    assert cli.main(["run", "-o", "r", "-q", "--set", "budget.tokens=5"]) == 0
    capsys.readouterr()
    assert cli.main(["run", "-c", "fast", "-o", "r", "-q"]) == 2
    assert "verify.search.horizon was 9, is 250" in capsys.readouterr().err
    assert cli.main(["run", "-c", "fast", "-o", "r", "--fresh"]) == 0
    assert "the earlier run is in r.old" in capsys.readouterr().err
    assert Path("r.old/run.json").exists()
    assert json.loads(Path("r/run.json").read_text())["resumed"] == []


def test_llm_names_a_model(runs: Callable[[Run], None]) -> None:
    models = []

    def run(config: Any, folder: RunFolder, **_: Any) -> list[Any]:
        models.append((config.model.kind, config.model.name, config.model.base_url))
        return []

    runs(run)
    arguments = ["run", "-c", "fast", "-q", "--llm", "openai:qwen:7b", "--set", "model.base_url=http://127.0.0.1:1/v1"]
    assert cli.main(arguments) == 0
    assert models == [("openai", "qwen:7b", "http://127.0.0.1:1/v1")]
    for name in ("4", "a #2", "@rec/x", "[a]", "null", 'é"\\n'):
        assert cli.main(["run", "-c", "fast", "-q", "--fresh", "--llm", f"openai:{name}"]) == 0
        assert models[-1] == ("openai", name, None)
    Path("recorded").mkdir()
    for out, name in (("one", "recorded"), ("two", "recorded/transcript.jsonl")):
        assert cli.main(["verify", "-c", "fast", "-q", "--out", out, "--llm", f"replay:{name}"]) == 0
        assert load(Path(out) / "config.yaml").model.transcript == "recorded/transcript.jsonl"


def test_show_lists_instructions_and_units(runs: Callable[[Run], None], capsys: pytest.CaptureFixture[str]) -> None:
    runs(raiser(KeyboardInterrupt()))
    assert cli.main(["show", "BabyAI-GoToLocal-v0", "--count", "2", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["seed"] for row in rows] == seeds("evaluation", count=2, level="GoToLocal")
    assert cli.main(["show", "GoToLocal", "--layout", str(rows[1]["seed"])]) == 0
    assert f"instruction: {rows[1]['instruction']}" in capsys.readouterr().out
    cli.main(["run", "-c", "fast", "-q"])
    capsys.readouterr()
    assert cli.main(["show", "runs/fast", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unit"] == "done"
    odd = {"level": 5, "agent": "sdg", "success_rate": 0.5, "low": 0.25, "high": [], "episodes": {}, "tokens": 10**400}
    Path("runs/fast/results.json").write_text(json.dumps({"schema": 1, "rows": [odd, 7, odd | {"high": 0.75}]}))
    assert cli.main(["show", "runs/fast"]) == 0
    assert "50.0 [25.0, 75.0]" in capsys.readouterr().out
    assert cli.main(["show", "runs/fast", "done"]) == 0
    assert "unit: done" in capsys.readouterr().out
    assert cli.main(["show", "runs/fast", "don"]) == 2
    assert "did you mean done" in capsys.readouterr().err


def test_skills_without_a_folder_are_those_of_the_shipped_library(
    runs: Callable[[Run], None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    a_library().save("shipped")
    monkeypatch.setattr(comparison, "SHIPPED", Path("shipped"))
    assert cli.main(["skills", "--json"]) == 0
    names = [json.loads(line)["name"] for line in capsys.readouterr().out.splitlines()]
    assert names == [skill.name for skill in a_library().skills]


def test_doctor_finds_this_machine_ready(runs: Callable[[Run], None], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--json"]) == 0
    rows = {row["check"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    assert rows["torch"]["status"] == "ok"
    assert rows["levels"]["found"].startswith("96 levels")
    assert all(row["advice"] or row["status"] == "ok" for row in rows.values())


def test_doctor_says_what_is_wrong(
    runs: Callable[[Run], None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("file").touch()
    monkeypatch.setenv("SDG_CACHE_DIR", "file/cache")
    assert cli.main(["doctor", "--json"]) == 1
    rows = {row["check"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    assert rows["cache folder"]["status"] == "bad"
    assert "SDG_CACHE_DIR" in rows["cache folder"]["advice"]


@pytest.mark.parametrize("command", ["", "run", "report", "doctor", "skills", "show", "bench"])
def test_every_command_has_help(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert cli.main([*command.split(), "--help"]) == 0
    help_text = capsys.readouterr().out
    assert "Usage: sdg" in help_text
    assert not re.search(r"^  [a-z]+ .*\.\.\.$", help_text, re.MULTILINE), "a summary is cut off"


def test_benchmarks_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench"]) == 0
    help_text = capsys.readouterr().out
    assert all(re.search(rf"^  {name} +\S", help_text, re.MULTILINE) for name in BENCHMARKS)


@pytest.mark.parametrize("name", list(BENCHMARKS))
def test_every_benchmark_says_what_it_takes(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert cli.main(["bench", name, "--help"]) == 0
    help_text = capsys.readouterr().out
    assert help_text.startswith(f"Usage: sdg bench {name}")
    rows = BENCHMARKS.get(name)
    hints = get_type_hints(getattr(rows, "func", rows), include_extras=True)
    for option, about in inspect.signature(rows).parameters.items():
        infos = getattr(hints.get(option), "__metadata__", ())  # in Annotated, typer keeps the first name as `default`
        names = [str(name) for info in infos for name in (info.default, *(info.param_decls or ()))]
        flags = [name for name in names if name.startswith("--")]
        flag = flags[0] if flags else f"--{option.replace('_', '-')}"
        typed = r"\[?FILE" if about.kind is about.POSITIONAL_OR_KEYWORD else re.escape(flag)
        help_line = re.search(rf"^  {typed}.*?(?:  +|\n +)(\S.*)", help_text, re.MULTILINE)
        assert help_line is not None, option
        assert len(help_line[1]) > 3, f"--{option} has no sentence of help"


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("sdg ")
