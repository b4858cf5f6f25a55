"""What is installed is what was measured: pins, package data, metadata, and pages whose links and commands exist."""

from __future__ import annotations

import configparser
import fnmatch
import os
import re
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from sdg.experiments.cli.main import app

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def setup() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", "utf-8")
    return parser


def pins() -> dict[str, str]:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    pairs = [line.split("==") for line in lines]
    return {plain_name(name): version for name, version in pairs}


def plain_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def required_names(requirement: Requirement, *, names: set[str]) -> set[str]:
    """Names of everything that a requirement installs here."""
    name = plain_name(requirement.name)
    extras = [*requirement.extras, ""]
    for text in metadata.requires(name) or []:
        inner = Requirement(text)
        wanted = inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in extras)
        if wanted and (plain_name(inner.name) not in names or inner.extras):
            names.add(plain_name(inner.name))
            required_names(inner, names=names)
    return names


def test_every_dependency_is_pinned_at_what_is_installed(setup: configparser.ConfigParser) -> None:
    pinned = pins()
    names = required_names(Requirement("sdg[dev,mujoco,privacy]"), names=set())
    extras = setup["options.extras_require"]
    declared = [
        *setup["options"]["install_requires"].split(),
        *extras["dev"].split(),
        *extras["mujoco"].split(),
        *extras["privacy"].split(),
    ]
    assert {plain_name(Requirement(text).name) for text in declared} <= names
    unpinned = sorted(names - pinned.keys())
    assert not unpinned, f"add to constraints.txt, from pip freeze: {unpinned}"
    installed = {name: metadata.version(name) for name in names}
    differ = {name: version for name, version in installed.items() if version.split("+")[0] != pinned[name]}
    assert not differ, f"installed versions differ from constraints.txt: {differ}; run make clean and make test"
    assert pinned["torch"] == "2.13.0"


def test_nothing_names_a_registry_or_a_machine() -> None:
    for name in ("setup.cfg", "pyproject.toml", "constraints.txt", "Makefile", ".ci/run", "ruff.toml"):
        assert not re.search(r"https?://|--index|file://|/home/|/root/", (ROOT / name).read_text()), name


def test_metadata_lives_in_setup_cfg_alone(setup: configparser.ConfigParser) -> None:
    assert list(tomllib.loads((ROOT / "pyproject.toml").read_text())) == ["build-system"]
    comments = [line for line in (ROOT / "setup.cfg").read_text().splitlines() if re.search(r"\S\s+[#;]", line)]
    assert not comments, "setup.cfg reads inline comments as values"
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == setup["metadata"]["version"] == metadata.version("sdg"), "make clean, then make test"
    assert citation["references"][0]["identifiers"][0]["value"] == "arXiv:2309.01352"


def test_the_version_is_the_installed_one() -> None:
    import sdg

    assert sdg.__version__ == metadata.version("sdg")
    with pytest.raises(AttributeError, match="no attribute 'versoin'"):
        _ = sdg.versoin


def test_every_data_file_is_packaged(setup: configparser.ConfigParser) -> None:
    patterns = {package: value.split() for package, value in setup["options.package_data"].items()}
    of_any_package = patterns.pop("*")
    tracked = subprocess.run(["git", "-C", ROOT, "ls-files", "sdg"], capture_output=True, text=True, check=False).stdout
    for path in (Path(line) for line in tracked.splitlines() if not line.endswith(".py")):
        is_packaged = any(fnmatch.fnmatch(path.name, pattern) for pattern in of_any_package)
        for package, of_package in patterns.items():
            folder = package.replace(".", "/")
            if path.is_relative_to(folder):
                file = path.relative_to(folder).as_posix()
                is_packaged |= any(fnmatch.fnmatch(file, pattern) for pattern in of_package)
        assert is_packaged, f"{path} would be missing from an installed copy: add it to [options.package_data]"


def test_continuous_integration_runs_make_test() -> None:
    assert "make test" in (ROOT / ".ci" / "run").read_text()
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


@pytest.mark.parametrize("target", ["run", "test", "lint", "clean"])
def test_make_knows_its_targets(target: str) -> None:
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


WRITTEN = ("configuration.md", "cli.md")
"""Pages that only the site has: they are written from the code when it is built."""


@pytest.mark.parametrize(
    "page", ["README.md", *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md")))]
)
def test_pages_link_to_what_exists(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", (ROOT / page).read_text()):
        if "://" not in target and not target.endswith(WRITTEN):
            assert (ROOT / page).parent.joinpath(target).exists(), f"{page} links to {target}"


def test_commands_in_the_readme_exist() -> None:
    commands = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    commands |= {group.name for group in app.registered_groups}
    named = set(re.findall(r"^    sdg ([\w-]+)", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert named
    assert named <= commands
