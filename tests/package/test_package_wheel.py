"""The wheel, in a fresh environment and an empty folder beside another project's `envs/` and `experiments/`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from functools import cache, partial
from pathlib import Path

import pytest

pytestmark = pytest.mark.long
ROOT = Path(__file__).resolve().parents[2]
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


def tracked_files() -> list[Path]:
    """The files that git knows and that are there, relative to the root."""
    names = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True).stdout
    return [Path(name) for name in names.splitlines() if (ROOT / name).exists()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wheels")


@cache
def wheel(links: str, *, folder: Path) -> Path:
    """The wheel, built without a network from what git, a zip or a file system without links leaves of the tree."""
    source, out = folder / f"source, {links}", folder / links
    for name in tracked_files():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        if not (ROOT / name).is_symlink() or links == "kept":
            shutil.copy(ROOT / name, source / name, follow_symlinks=False)
        elif links == "as text":  # as in a zip, or in a clone with core.symlinks=false
            (source / name).write_text(str((ROOT / name).readlink()))
    built = [*PIP, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", out, source]
    done = subprocess.run(built, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel_path,) = out.glob("sdg-*.whl")
    return wheel_path


@pytest.fixture(scope="module")
def python(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel; what it needs is found where this test runs."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    installed = [*PIP, "--python", python, "install", "--no-deps", "--no-index", wheel("as text", folder=folder)]
    own = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(installed, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (site,) = place.glob("lib/python*/site-packages")
    # A path in a .pth file is looked into after the environment's own; .pth files in it (an editable sdg) aren't read.
    (site / "requirements.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return python


@pytest.mark.parametrize("links", ["kept", "as text", "left out"])
def test_all_of_sdg_and_nothing_else_is_in_the_wheel(links: str, folder: Path) -> None:
    names = zipfile.ZipFile(wheel(links, folder=folder)).namelist()
    modules = {path.as_posix() for path in tracked_files() if path.parts[0] == "sdg" and path.suffix == ".py"}
    assert {name for name in names if name.endswith(".py")} == modules
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"sdg"}
    for name in ("configs/tiny.yaml", "skills/shipped/library.json", "envs/babyai/prompts/role.md", "prompts/debug.md"):
        assert f"sdg/{name}" in names


@pytest.mark.timeout(900)
def test_it_solves_and_runs_beside_a_project_with_our_folders_names(python: Path, tmp_path: Path) -> None:
    for name in ("envs", "experiments", "skills", "configs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('somebody else is here')\n")

    environment = {name: text for name, text in os.environ.items() if name not in ("PYTHONPATH", "SDG_COMPILING")}

    def run(*command: str | Path) -> str:
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=800
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    sdg = partial(run, python.with_name("sdg"))
    solved = json.loads(sdg("solve", "--level", "GoToLocal", "--seed", "7", "--json"))
    assert (solved["outcome"], Path(tmp_path, solved["film"]).read_bytes()[:6]) == ("solved", b"GIF89a")
    sdg("run", "--config", "tiny", "--out", "run", "--quiet")
    assert (tmp_path / "run" / "report.html").is_file()
    code = "import sdg, gymnasium; print(sdg.__file__, sdg.load(), gymnasium.make('sdg/GoToLocal-v0').spec.id)"
    installed_at = run(python, "-c", code)
    assert installed_at.startswith(str(python.parents[1]))
    assert installed_at.strip().endswith("sdg/GoToLocal-v0")
