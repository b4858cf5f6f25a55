"""What the README, the tutorial and the notebook tell users to write is run as it stands; the site is built."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sdg

ROOT = Path(__file__).resolve().parents[2]
QUICK = {"layouts": 100, "timesteps": 20_480, "target": 0.1}


def blocks(page: str) -> list[str]:
    """The Python of a page, or the code cells of a notebook, in order."""
    text = (ROOT / page).read_text("utf-8")
    if page.endswith(".ipynb"):
        return ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md", "docs/walkthrough.ipynb"])
@pytest.mark.timeout(900)
def test_snippets_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is as it stands but the length of training, which is cut short here and measured elsewhere."""
    train = sdg.train

    def short(level: str, check: Any, **options: Any) -> sdg.LearnedSkill:
        return train(level, check, **options | QUICK)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sdg, "train", short, raising=False)
    names: dict[str, Any] = {"__name__": "snippet"}
    found = blocks(page)
    assert found
    for number, source in enumerate(found):
        path = tmp_path / f"block_{number}.py"
        path.write_text(source, "utf-8")  # so that a check's source can be read
        exec(compile(source, str(path), "exec"), names)
    assert (tmp_path / "episode.gif").read_bytes().startswith(b"GIF89a")


def test_the_first_page_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").split()) <= 900


def test_the_notebook_was_executed() -> None:
    cells = json.loads((ROOT / "docs/walkthrough.ipynb").read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert any(output.get("data", {}).get("image/png") for cell in code for output in cell["outputs"])
    assert not [output for cell in code for output in cell["outputs"] if output["output_type"] == "error"]


def test_the_site_builds(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path / "site"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "tutorial" / "index.html").is_file()
