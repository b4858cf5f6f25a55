"""The report: whole, offline, unmoved by hostile text, and there for runs that aren't finished or are damaged."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sdg.deduction.episode import EpisodeResult
from sdg.experiments.cli.show import traces
from sdg.experiments.config.config import RunConfig
from sdg.experiments.play.episodes import ALL
from sdg.experiments.play.film import episode_gif
from sdg.experiments.report import panels
from sdg.experiments.report.data import (
    MAX_NAMES,
    beside,
    calls,
    chosen_episodes,
    curves,
    examples,
    read_run,
    settings_apart,
    success_rows,
)
from sdg.experiments.report.exchanges import exchanges, samples, spending as asked_spending
from sdg.experiments.report.page import write
from sdg.experiments.results.rows import summarise
from sdg.experiments.run.runs import library_costs
from sdg.llm.budget import BudgetSettings
from sdg.llm.model import COUNTS, Completion, Message, Sampling
from sdg.llm.transcript import RecordingModel
from sdg.storage import read_journal
from tests.shared.report_example import LEVELS, make_run

HOSTILE = (
    "<script>alert(1)</script>'\"><img src=http://evil.example/x onerror=alert(1)>"
    "\x1b[2J\u202e{{ 7*7 }}$\\frac{$_x\ud800\x00"
)
FILES = ("skills.jsonl", "episodes.jsonl", "verifications.jsonl", "metrics.jsonl", "induction.json", "results.json")


class Page(html.parser.HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self.source = path.read_text("utf-8")
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data

    def values(self, name: str) -> list[str]:
        return [value for _, attribute, value in self.attributes if attribute == name]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("report") / "example", episodes=3)


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "copy"))


def pictures(page: Page, kind: str) -> list[bytes]:
    start = f"data:image/{kind};base64,"
    return [base64.b64decode(uri[len(start) :]) for uri in page.values("src") if uri.startswith(start)]


def test_two_runs_stand_side_by_side(run: Path, copy: Path, tmp_path: Path) -> None:
    results = json.loads((copy / "results.json").read_text("utf-8"))
    gone = results["rows"].pop(0)
    results["rows"][0] |= {"success_rate": 0.5, "low": 0.25, "high": 0.75}
    (copy / "results.json").write_text(json.dumps(results), "utf-8")
    description = json.loads((copy / "run.json").read_text("utf-8"))
    description["config"]["model"]["kind"] = HOSTILE
    (copy / "run.json").write_text(json.dumps(description), "utf-8")
    rates = {pair["of"]: pair for pair in beside(read_run(run), read_run(copy))}
    row = results["rows"][0]
    assert rates[f"{gone['level']}: solved by {gone['agent']}"]["there"] == {}
    assert rates[f"{row['level']}: solved by {row['agent']}"]["there"]["rate"] == 0.5
    page = Page(write(run, tmp_path / "r.html", beside=copy))
    assert "script" not in page.tags
    assert "25.0 to 75.0" in page.text
    assert "model.kind" in page.text
    assert "levels" not in [key for key, _, _ in settings_apart(read_run(run), read_run(copy))]
    assert "Beside" not in Page(write(run, tmp_path / "alone.html")).text


@pytest.mark.parametrize(
    ("world", "is_shown"),
    [({"perception": "paper"}, True), ({"domain": "ant"}, False), ({"domain": "no:world"}, False)],
)
def test_films_show_the_runs_own_world(copy: Path, tmp_path: Path, world: dict[str, str], is_shown: bool) -> None:
    description = json.loads((copy / "run.json").read_text("utf-8"))
    description["config"] |= world
    (copy / "run.json").write_text(json.dumps(description), "utf-8")
    page = Page(write(copy, tmp_path / "r.html"))
    episode = {"kind": "episodes", **read_journal(copy / "episodes.jsonl")[0]}
    assert [line.partition(":")[0] for line in traces(copy, [episode])] == ["trace" if is_shown else "no trace"]
    assert bool(pictures(page, "gif")) == is_shown
    assert ("can't be shown" in page.text) != is_shown


def test_a_film_is_never_written_through_a_link_out_of_the_run(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (copy / "traces").symlink_to(tmp_path / "mine")
    (line,) = traces(copy, [{"kind": "episodes", **read_journal(copy / "episodes.jsonl")[0]}])
    assert line.startswith("no trace: ")
    assert "link" in line
    assert not [*(tmp_path / "mine").iterdir()]


def test_an_unfinished_run_has_the_figures_of_a_finished_one(run: Path) -> None:
    data = read_run(run)
    assert {row["success"] for row in data.episodes} == {True, False}
    finished = [
        row for row in summarise([EpisodeResult.from_json(row) for row in data.episodes]) if row["level"] != ALL
    ]
    unfinished = success_rows(replace(data, results={}))
    assert unfinished == [{name: row[name] for name in unfinished[0]} for row in finished]
    assert "median_steps" in unfinished[0]


def test_the_report_has_everything(run: Path, tmp_path: Path) -> None:
    page = Page(write(run, tmp_path / "r.html"))
    gifs, drawings = pictures(page, "gif"), pictures(page, "svg+xml")
    failed = sum(row["success"] is False and row["agent"] == "sdg" for row in read_journal(run / "episodes.jsonl"))
    assert 0 < failed <= 4
    assert len(gifs) == len(LEVELS) + failed, "an episode a level, and the failures"
    assert len(drawings) == 3 + 1
    assert all(drawing.startswith(b"<?xml") for drawing in drawings)
    for word in (
        "rule-based planner",
        "not a language model",
        "def program():",
        "put_next_to_object",
        "Pick error!",
        "0.97",
    ):
        assert word in page.text
    assert "Gaps" not in page.text
    assert page.tags.count("h1") == 1
    assert all(page.values("alt"))


def test_what_the_model_was_asked_is_summed_up_and_shown(copy: Path, tmp_path: Path) -> None:
    recorded = RecordingModel(Answers(), copy / "transcript.jsonl")
    for stage, text in (
        ("solve", "write <a> program"),
        ("solve", "## Program that failed\n\nmend it"),
        ("solve", "again"),
    ):
        recorded.complete([Message("user", text)], sampling=Sampling(stage=stage))
    page = Page(write(copy, tmp_path / "r.html"))
    for word in ("solve: the first prompt", "write <a> program", "solve: the first repair", "mend it", "answer 2"):
        assert word in page.text
    assert "answer 3" not in page.text
    rows = asked_spending(exchanges(copy, []), BudgetSettings(prompt_price=1e6, completion_price=1e6))
    assert rows == [{"stage": "solve", "calls": 3, "prompt": 30, "completion": 6, "money": 36.0}]


@pytest.mark.parametrize(("cached_price", "money"), [(None, 10.0), (1.0, 1.0), ("x", 10.0)])
def test_tokens_that_the_server_s_cache_held_cost_what_the_config_says(
    copy: Path, cached_price: object, money: float
) -> None:
    description = json.loads((copy / "run.json").read_text("utf-8"))
    description["config"]["budget"] = {"prompt_price": 10.0, "completion_price": 0.0, "cached_price": cached_price}
    (copy / "run.json").write_text(json.dumps(description), "utf-8")
    entry = {"schema": 3, "key": "k", "stage": "solve", "sampling": {}, "messages": [{"role": "user", "content": "x"}]}
    reply = {"text": "y", "prompt_tokens": 10**6, "cached_tokens": 10**6}
    (copy / "transcript.jsonl").write_text(json.dumps(entry | {"reply": reply}) + "\n")
    assert f'<td class="n">{money:.2f}</td></tr>' in write(copy).read_text("utf-8")


@pytest.mark.parametrize("count", [10**400, -7, 1e400, "x", None], ids="{!r:.9}".format)
def test_what_is_no_plausible_count_of_tokens_costs_nothing(copy: Path, tmp_path: Path, count: Any) -> None:
    entry = {"schema": 3, "key": "k", "stage": "induce", "sampling": {}, "messages": [{"role": "user", "content": "x"}]}
    counts = dict.fromkeys(COUNTS, count)
    for folder in (copy, tmp_path):
        (folder / "transcript.jsonl").write_text(json.dumps(entry | {"reply": {"text": "y"} | counts}) + "\n")
    assert "</html>" in write(copy).read_text()
    (row,) = asked_spending(exchanges(copy, []), BudgetSettings(prompt_price=1e6, completion_price=1e6))
    assert (row["calls"], row["prompt"], row["completion"], row["money"]) == (1, 0, 0, 0.0)
    spent = library_costs(tmp_path, RunConfig("run"), stages={})
    assert (spent["model_calls"], spent["prompt_tokens"], spent["completion_tokens"]) == (1, 0, 0)


def test_levels_and_agents_without_end_are_a_gap(copy: Path, tmp_path: Path) -> None:
    rows = [
        {"unit": str(n), "level": f"L{n // 2}", "agent": f"A{n}", "verified": True, "success_rate": 1.0}
        for n in range(900)
    ]
    for name in ("verifications", "episodes"):
        (copy / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    results = json.loads((copy / "results.json").read_text("utf-8"))
    (copy / "results.json").write_text(json.dumps(results | {"rows": rows}), "utf-8")
    data = read_run(copy)
    assert [row["unit"] for row in examples(data)] == [str(n) for n in range(0, MAX_NAMES, 2)]
    assert len(success_rows(data)) == len(data.episodes) == MAX_NAMES
    page = Page(write(copy, tmp_path / "r.html"))
    assert f"{900 - MAX_NAMES} rows of more than {MAX_NAMES} levels or agents aren't shown" in page.text


def test_of_each_level_the_first_of_the_best_is_chosen(copy: Path) -> None:
    episodes = enumerate([("B", False), ("A", False), ("B", True), ("A", False), ("B", True)])
    rows = [{"unit": str(n), "level": level, "agent": "sdg", "success": success} for n, (level, success) in episodes]
    (copy / "episodes.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert [row["unit"] for row in chosen_episodes(read_run(copy))] == ["2", "1"]


def test_an_exchange_without_a_question_is_a_gap(copy: Path) -> None:
    entry = {"schema": 3, "key": "k", "stage": "solve", "sampling": {}, "messages": [], "reply": {"text": "x"}}
    (copy / "transcript.jsonl").write_text(2 * (json.dumps(entry) + "\n"))
    page = Page(write(copy))
    assert "Line 1 of the transcript" in page.text
    assert "is no exchange of schema 3" in page.text


def test_exchanges_are_read_one_at_a_time_and_their_stages_are_few(copy: Path) -> None:
    messages = [{"role": "user", "content": "x"}]
    entry = {"schema": 3, "key": "k", "sampling": {}, "messages": messages, "reply": {"text": "x"}}
    lines = [json.dumps(entry | {"stage": f"s{n}"}) for n in range(300)]
    (copy / "transcript.jsonl").write_text("\n".join([*lines, "[]", "[]", ""]))
    gaps: list[str] = []
    rows = asked_spending(exchanges(copy, gaps), BudgetSettings())
    assert len(rows) <= 101
    assert sum(row["calls"] for row in rows) == 300
    assert len(samples(exchanges(copy, gaps))) <= 100
    assert len(gaps) == 1
    assert not isinstance(exchanges(copy, gaps), list)


class Answers:
    """A model that counts its answers."""

    name = "answers"

    def __init__(self) -> None:
        self.said = 0

    def complete(self, messages: object, *, sampling: Sampling) -> Completion:
        self.said += 1
        return Completion(f"answer {self.said}", self.name, prompt_tokens=10, completion_tokens=2)


def test_the_report_loads_nothing_and_runs_nothing(run: Path, tmp_path: Path) -> None:
    page = Page(write(run, tmp_path / "r.html"))
    assert not {"script", "link", "iframe", "object", "embed", "form", "base"} & set(page.tags)
    assert all(uri.startswith("data:image/") for uri in page.values("src"))
    assert all(uri.startswith("#") for uri in page.values("href"))
    assert not [name for _, name, _ in page.attributes if name.startswith("on") or name == "style"]
    (policy,) = [value for value in page.values("content") if "default-src" in value]
    style = re.search(r"<style>(.*?)</style>", page.source, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "url(" not in style[1]


def poison(value: Any, key: str = "") -> Any:
    """The same value with hostile text in place of every text but those that find it."""
    if isinstance(value, dict):
        return {k: poison(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [poison(item, key) for item in value]
    if isinstance(value, str) and key not in ("unit", "level", "agent"):
        return HOSTILE
    return f"{value}{HOSTILE}" if key == "unit" else value


def test_hostile_text_stays_text(copy: Path) -> None:
    for name in ("episodes.jsonl", "verifications.jsonl", "metrics.jsonl", "skills.jsonl"):
        rows = [poison(json.loads(line)) for line in (copy / name).read_text().splitlines()]
        (copy / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in ("induction.json", "run.json"):
        (copy / name).write_text(json.dumps(poison(json.loads((copy / name).read_text()))))
    rows = [{"level": HOSTILE, "agent": HOSTILE, "success_rate": 0.5, "low": 0.4, "high": 0.6}]
    (copy / "results.json").write_text(json.dumps({"schema": 1, "rows": rows, "stages": {HOSTILE: {"seconds": 1}}}))
    page = Page(write(copy))
    assert "script" not in page.tags
    assert "http" not in "".join(page.values("src"))
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert "<script>alert(1)</script>" in page.text
    assert "{{ 7*7 }}" in page.text
    for character in ("\x1b", "\u202e", "\x00"):
        assert character not in page.source
    assert b"<script" not in b"".join(pictures(page, "svg+xml"))


@pytest.mark.parametrize("missing", [FILES, *[(name,) for name in FILES]])
def test_a_run_under_way_has_a_report(copy: Path, missing: tuple[str, ...]) -> None:
    for name in missing:
        (copy / name).unlink()
    page = Page(write(copy))
    assert all(f"There is no {name} (yet)." in page.text for name in missing)


@pytest.mark.parametrize(
    "junk", ["", "\x00\x01", "[]", "null", '{"schema": 99}', '{"schema": 1}', '{"unit": 1}\n{"unit": 2}\n{}']
)
def test_damaged_files_become_gaps(copy: Path, junk: str) -> None:
    for name in FILES:
        (copy / name).write_text(junk)
    assert "sdg" in Page(write(copy)).text


ODD = [None, True, "x", 3, -1.5, 1e308, 10**400, [], {}, [[]], [None], {"a": 1}, HOSTILE, ["a", 1], [[1, 2], [3]]]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:20])
def test_odd_values_in_any_field_are_survived(copy: Path, odd: Any) -> None:
    def spoilt(row: dict[str, Any]) -> list[dict[str, Any]]:
        return [row | {key: odd} for key in row if key != "unit"]

    for name in ("episodes.jsonl", "verifications.jsonl", "metrics.jsonl", "skills.jsonl"):
        first = json.loads((copy / name).read_text().splitlines()[0])
        rows = [row | {"unit": f"u{n}"} for n, row in enumerate(spoilt(first))]
        (copy / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, inner in (("induction.json", "clusters"), ("results.json", "rows")):
        value = json.loads((copy / name).read_text())
        value[inner] = spoilt(value[inner][0])
        (copy / name).write_text(json.dumps(value))
        assert "</html>" in write(copy).read_text()
        (copy / name).write_text(json.dumps(value | {key: odd for key in value if key != "schema"}))
    assert "</html>" in write(copy).read_text()


def test_a_report_of_a_run_in_use_leaves_it_alone(copy: Path) -> None:
    with (copy / "episodes.jsonl").open("ab") as file:
        file.write(b'{"unit": "torn')
    before = (copy / "episodes.jsonl").read_bytes()
    write(copy)
    assert (copy / "episodes.jsonl").read_bytes() == before
    assert len(read_run(copy).episodes) == 3 * 2 * len(LEVELS)


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"level": "Nowhere", "seed": 1, "actions": []},
        {"level": "GoToLocal", "seed": -1, "actions": []},
        {"level": "GoToLocal", "seed": 1, "actions": [9]},
        {"level": "GoToLocal", "seed": 1, "actions": ["left"]},
        {"level": "GoToLocal", "seed": 1, "actions": [0] * 10_000},
    ],
)
def test_rows_that_cannot_be_played_are_refused(row: dict[str, Any]) -> None:
    episode = {"unit": "u", "agent": "a", "success": True, "steps": 1, "max_steps": 9} | row
    with pytest.raises(ValueError, match=r"\w"):
        episode_gif(EpisodeResult.from_json(episode), domain_name="babyai")


def test_plots_are_the_same_every_time() -> None:
    assert len({panels.success_plot(["a"], {"b": [(0, 0.5, 0.4, 0.6)]}) for _ in range(2)}) == 1
    assert len({panels.curves_plot({"skill": {"training": [(0, 0.5), (9, 0.9)]}}) for _ in range(2)}) == 1
    assert panels.label("_hidden\n" + "x" * 99).startswith("hidden x")


def test_curves_of_rounds_follow_one_another_and_begin_with_what_was_practised(run: Path, tmp_path: Path) -> None:
    rows = [
        {
            "unit": f"skill/{number}/0",
            "skill": "pick",
            "environment_steps": steps,
            "train_success": train,
            "validation_success": judged,
        }
        for number, points in enumerate(([(0, 0.0, 0.2), (100, 0.5, 0.6)], [(0, 0.0, 0.6), (300, 0.9, 1.0)]), 1)
        for steps, train, judged in points
    ]
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    (copy / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert curves(read_run(copy)) == {
        "pick": {
            "training": [(100.0, 0.5), (400.0, 0.9)],
            "validation": [(0.0, 0.2), (100.0, 0.6), (100.0, 0.6), (400.0, 1.0)],
        }
    }


def test_calls_and_refusals_are_counted(run: Path, tmp_path: Path) -> None:
    def call(name: str, *, success: bool, reason: str = "") -> dict[str, Any]:
        verdicts = [["rules", not reason, reason, 1.0]]
        return {"name": name, "success": success, "refused": bool(reason), "verdicts": verdicts}

    trace = [call("goto", success=True), call("goto", success=False), call("pick", success=False, reason="too far")]
    episode = {"unit": "a", "agent": "sdg", "level": "Open", "trace": [{"calls": trace}]}
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    (copy / "episodes.jsonl").write_text(json.dumps(episode) + "\n")
    skills, reasons = calls(read_run(copy))
    assert [tuple(row.values()) for row in skills] == [("goto", 2, 1, 0), ("pick", 1, 0, 1)]
    assert reasons == [("too far", 1)]
