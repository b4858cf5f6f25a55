"""What README, the tutorial and the how-to guides tell users to write is run as it stands, and prints what stands below
it; the site is built from them."""

from __future__ import annotations

import importlib
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import sdg
from sdg.experiments.bench import BENCHMARKS

ROOT = Path(__file__).resolve().parents[2]
HOWTO = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs" / "howto").glob("*.md"))]
QUICK = {"layouts": 100, "timesteps": 20_480, "target": 0.1}

BLOCK = re.compile(r'```python\n(.*?)```(?:\n\n```text( title="for example")?\n(.*?)```)?', re.DOTALL)
FILE = re.compile(r"# (\w+\.py)\n")
VARYING = re.compile(r"line [\d >]+:|\d+ tokens")
"""Where in a program a call stands, and what prompts cost, differs with every change of a prompt."""


class Snippet(NamedTuple):
    """A block of Python: the `file` that it belongs in, if any, and the text that it must print, if any."""

    source: str
    file: str
    output: str | None


def snippets(page: str) -> Iterator[Snippet]:
    for source, example, output in BLOCK.findall((ROOT / page).read_text("utf-8")):
        named = FILE.match(source)
        yield Snippet(source, named[1] if named else "", None if example or not output else output)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder, from which their modules are imported; training is cut short there."""
    train = sdg.train

    def short(level: str, check: Any, **options: Any) -> sdg.LearnedSkill:
        return train(level, check, **options | QUICK)

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sdg, "train", short, raising=False)
    return tmp_path


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md", *HOWTO])
@pytest.mark.timeout(900)
def test_snippets_run(page: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "snippet"}
    page_snippets = list(snippets(page))
    assert page_snippets
    for number, snippet in enumerate(page_snippets):
        path = folder / (snippet.file or f"block_{number}.py")
        path.write_text(snippet.source, "utf-8")  # so that a check's source can be read
        if snippet.file:
            continue
        exec(compile(snippet.source, str(path), "exec"), names)
        printed = capsys.readouterr().out
        if snippet.output is not None:
            assert VARYING.sub("", printed).strip() == VARYING.sub("", snippet.output).strip()
    if page in ("README.md", "docs/tutorial.md"):
        assert (folder / "episode.gif").read_bytes().startswith(b"GIF89a")


def test_the_world_of_the_guide_passes_the_contract(folder: Path) -> None:
    for snippet in snippets("docs/howto/world.md"):
        if snippet.file:
            (folder / snippet.file).write_text(snippet.source, "utf-8")
    contract = importlib.import_module("test_my_world").TestLine()
    tests = [name for name in dir(contract) if name.startswith("test_")]
    for name in tests:
        getattr(contract, name)()
    assert f"reports {len(tests)} passed" in (ROOT / "docs/howto/world.md").read_text("utf-8")


def test_the_benchmark_of_the_guide_gives_its_rows(folder: Path) -> None:
    page = (ROOT / "docs/howto/benchmark.md").read_text("utf-8")
    (snippet,) = snippets("docs/howto/benchmark.md")
    (folder / snippet.file).write_text(snippet.source, "utf-8")
    rows = list(BENCHMARKS.get("my_benchmarks:missions")(count=2, seed=5))
    assert [f"{row['seed']}       {row['words']}" in page for row in rows] == [True, True]


def test_the_site_builds_and_fetches_nothing(tmp_path: Path) -> None:
    pytest.importorskip("material")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path / "site"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {path.name: path.read_text("utf-8") for path in (tmp_path / "site").rglob("*.html")}
    assert {"index.html", "tutorial.html", "configuration.html", "cli.html", "world.html"} <= set(pages)
    assert "about 99" in pages["index.html"], "README's first screen is the start page"
    fetched = [link for text in pages.values() for link in re.findall(r'<(?:script|link|img)[^>]*="https?://', text)]
    assert not fetched


def test_the_picture_of_the_layers_is_today_s() -> None:
    drawn = runpy.run_path(str(ROOT / "docs/figures/layers.py"))["svg"]()
    assert drawn == (ROOT / "docs/figures/layers.svg").read_text("utf-8"), "python docs/figures/layers.py"
