"""The report: whole, offline, unmoved by hostile text, and there for runs that aren't finished or are damaged."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sdg.envs.babyai.bot import bot_actions
from sdg.envs.babyai.world import BabyAIWorld
from sdg.experiments.report import plots
from sdg.experiments.report.data import read_run
from sdg.experiments.report.film import MAX_FRAMES, animate, episode_gif, replay, thin
from sdg.experiments.report.page import write
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


def test_the_report_has_everything(run: Path, tmp_path: Path) -> None:
    page = Page(write(run, tmp_path / "r.html"))
    gifs, drawings = pictures(page, "gif"), pictures(page, "svg+xml")
    assert len(gifs) == len(LEVELS)
    assert len(drawings) == 3 + 5
    assert all(drawing.startswith(b"<?xml") for drawing in drawings)
    for word in (
        "rule-based stand-in",
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


def test_the_film_shows_the_episode(run: Path) -> None:
    row = next(row for row in read_run(run).episodes if row["success"])
    film = Image.open(io.BytesIO(episode_gif(row)))
    frames = replay(row["level"], seed=row["seed"], actions=row["actions"])
    assert film.n_frames <= len(frames) == len(row["actions"]) + 1
    for index in (0, film.n_frames - 1):
        film.seek(index)
        shown = np.asarray(film.convert("RGB").resize(frames[0].shape[1::-1], Image.Resampling.NEAREST), np.int16)
        truth = frames[0 if index == 0 else -1].astype(np.int16)
        assert np.abs(shown - truth).mean() < 4


def test_a_replay_ends_as_the_episode_did() -> None:
    actions = bot_actions("PickupLoc", 2_000_003) or []
    world = BabyAIWorld("PickupLoc")
    world.reset(2_000_003)
    for action in actions:
        world.step(action)
    assert np.array_equal(replay("PickupLoc", seed=2_000_003, actions=actions)[-1], world.render())


def test_long_films_are_thinned() -> None:
    frames = [np.full((16, 16, 3), n % 256, np.uint8) for n in range(1000)]
    kept = thin(frames, most=MAX_FRAMES)
    assert len(kept) == MAX_FRAMES
    assert kept[0] is frames[0]
    assert kept[-1] is frames[-1]
    assert animate([frames[5]]).startswith(b"GIF89a")


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
    with pytest.raises(ValueError, match=r"\w"):
        episode_gif(row)


def test_plots_are_the_same_every_time() -> None:
    rows = [{"level": "a", "agent": "b", "success_rate": 0.5, "low": 0.4, "high": 0.6}]
    assert plots.success_plot(rows) == plots.success_plot(rows)
    assert plots.label("_hidden\n" + "x" * 99).startswith("hidden x")
