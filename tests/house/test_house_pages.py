"""Pages and docstrings name only what there is: files, folders, tests and dotted names that moved are found."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from sdg.envs.contract import DomainContract
from sdg.envs.domains import domain
from sdg.envs.fakes import CORRIDOR
from sdg.envs.perception import Observation
from sdg.experiments.bench import BENCHMARKS
from sdg.gate.registry import gate_of
from sdg.gate.verdict import Command
from sdg.llm.model import Message
from sdg.llm.provider import ModelSettings
from sdg.llm.registry import provider_of
from sdg.skills.learning import LEARNERS, policy_of
from sdg.skills.learning.train import TrainSettings
from sdg.skills.policy.network import random_policy
from sdg.skills.practice.starts import Starts
from sdg.skills.subgoal import CheckFunction

LIT = CheckFunction("check", "def check():\n    return any(lamp.is_on for lamp in get_lamps())\n")
ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("envs", "skills", "sdg", "experiments", "examples", "tests", "docs", "configs")
HISTORY = ("CHANGELOG.md", "docs/decisions.md")
"""What was true when it was written stays written."""

DATA = ("json", "jsonl", "md", "yaml", "safetensors")
USERS = re.compile(r"my_\w+\.py$")
"""Files of a user's own in examples."""

PATH = re.compile(r"(?<![\w./<-])((?:[\w.*-]+/)*[\w*-]+\.(?:py|md)|(?:[\w-]+/)+)(?![\w/])(?:::(\w+))?")
COMMAND = re.compile(r"python -m ((?:sdg|examples)(?:\.\w+)+)")
DOTTED = re.compile(r"(?<![\w./])((?:sdg|envs|skills|experiments|examples)(?:\.[A-Za-z_]\w*)+)(?::(\w+))?")


@cache
def paths() -> tuple[str, ...]:
    """Every file and folder (with a slash at its end) of the project; links aren't followed."""
    found = [path.name for path in ROOT.iterdir() if path.is_file()]
    for folder in FOLDERS:
        for place, folders, names in os.walk(ROOT / folder):
            below = Path(place).relative_to(ROOT).as_posix()
            found += [f"{below}/", *(f"{below}/{name}" for name in names), *(f"{below}/{name}/" for name in folders)]
    return tuple(found)


@cache
def is_there(path: str) -> bool:
    """Whether something in the project is called so; NAME and stars stand for anything."""
    pattern = re.sub(r"\\\*|\bNAME\b", "[^/]*", re.escape(path))
    top = path.split("/")[0] in FOLDERS
    return any(re.fullmatch(pattern if top else f"(.*/)?{pattern}", each) for each in paths())


def dead_paths(text: str) -> list[str]:
    """Paths in a text that lead nowhere, and tests that aren't in their file.

    Not looked at: a user's own files, folders outside ours, and pages without a folder, which runs write.
    """
    dead = []
    for path, test in PATH.findall(text):
        first, slash, _ = path.partition("/")
        if USERS.search(path) or (path.endswith("/") and first not in FOLDERS) or (path.endswith(".md") and not slash):
            continue
        if not is_there(path):
            dead.append(path)
        elif test and f"def {test}(" not in (ROOT / path).read_text("utf-8"):
            dead.append(f"{path}::{test}")
    return dead


def module_file(name: str) -> Path | None:
    """The file of a module of ours by its import name: `sdg.envs.world` is envs/world.py."""
    parts = name.split(".")
    parts = parts[1:] if parts[0] == "sdg" and parts[1:2] and parts[1] in FOLDERS else parts
    place = ROOT.joinpath(*parts)
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)


@cache
def defined(file: Path) -> frozenset[str]:
    """What a module defines or imports at its top, lazily or for types alone too."""
    names: set[str] = set()
    body = ast.parse(file.read_text("utf-8")).body
    for node in [*body, *(inner for each in body if isinstance(each, ast.If) for inner in each.body)]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    return frozenset(names)


def dead_names(text: str) -> list[str]:
    """Dotted names in a text that don't import; ours are below `sdg`."""
    return [
        f"{name}:{attribute}" if attribute else name
        for name, attribute in DOTTED.findall(text)
        if name.rpartition(".")[2] not in DATA and not _imports(name, attribute)
    ]


def dead_commands(text: str) -> list[str]:
    """Modules that a text runs by `python -m` and that do nothing then."""
    files = {name: module_file(f"{name}.__main__") or module_file(name) for name in COMMAND.findall(text)}
    return [f"python -m {name}" for name, file in files.items() if file and "__main__" not in _source(file)]


def _source(file: Path) -> str:
    return "__main__" if file.stem == "__main__" else file.read_text("utf-8")


def _imports(name: str, attribute: str) -> bool:
    parts = name.split(".")
    if parts[0] not in ("sdg", "examples"):
        return parts[-1] == "py"
    for length in range(len(parts), 0, -1):
        if file := module_file(".".join(parts[:length])):
            rest = [*parts[length:], *([attribute] if attribute else [])]
            return not rest or rest[0] in defined(file)
    return (ROOT / Path(*parts)).is_dir()


def prose(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Docstrings of a module: of itself, its classes and functions, and what stands below a constant or a field."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def texts() -> Iterator[tuple[str, int, str]]:
    """(file, line, text): pages line by line, docstrings whole."""
    for path in paths():
        if path.endswith(".md") and path not in HISTORY:
            for number, line in enumerate((ROOT / path).read_text("utf-8").splitlines(), 1):
                yield path, number, line
        elif path.endswith(".py"):
            for number, text in prose(ast.parse((ROOT / path).read_text("utf-8"))):
                yield path, number, text


def test_pages_and_docstrings_name_only_what_there_is() -> None:
    found = list(texts())
    assert len({path for path, _, _ in found}) > 300
    finders = (dead_paths, dead_names, dead_commands)
    dead = [f"{path}:{line}: {each}" for path, line, text in found for find in finders for each in find(text)]
    assert not dead, "these moved or never were:\n" + "\n".join(dead)


def snippets() -> list[str]:
    """The Python that docs/extending.md tells users to write; each is a module of theirs."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs/extending.md").read_text("utf-8"), re.DOTALL)


def test_what_users_are_told_to_write_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("my_world", "my_models", "my_guards", "my_learners", "my_benchmarks")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, source in zip(names, snippets(), strict=True):
        (tmp_path / f"{name}.py").write_text(source, "utf-8")
    contract = DomainContract()
    contract.domain = domain("my_world:LINE")
    for test in (each for each in dir(contract) if each.startswith("test_")):
        getattr(contract, test)()
    model = provider_of("my_models:PROVIDER").make(ModelSettings("my_models:PROVIDER", name="x"))
    assert model.complete([Message("user", "hello")]).text == "x has read 1 messages"
    gate = gate_of(["my_guards:Careful"], usages={}, resolve=lambda argument, elements: [])
    assert not gate.feasible(Command("open_door"), Observation("")).passed
    assert policy_of(random_policy(CORRIDOR.inputs, np.random.default_rng(0)).weights, CORRIDOR, "my_learners:SLOW")
    rows = CORRIDOR.begin(CORRIDOR.layouts("Light", [1]), np.zeros(1, np.int64))
    starts = Starts(rows, np.zeros((1, 1), np.int16), (LIT,), np.zeros(1, np.int64))
    slow = LEARNERS.get("my_learners:SLOW").practise(starts, TrainSettings(n_envs=1), seed=0, init_policy=None)
    assert slow.settings.learning_rate == 1e-4
    assert len(list(BENCHMARKS.get("my_benchmarks:missions")(count=2))) == 2


@pytest.mark.parametrize(
    ("text", "dead"),
    [
        ("`envs/world.py` and skills/nowhere.py, in `skills/sandbox/guard/`", ["skills/nowhere.py"]),
        ("`world.py`, guard/weave.py, roles.py", ["roles.py"]),
        ("sdg/gate/ and sdg/runlog/ or runs/quickstart/ and gym's sdg/Open-v0", ["sdg/runlog/"]),
        ("a file my_guards.py; sdg/prompts/NAME.md; envs/babyai/nothing/NAME.md", ["envs/babyai/nothing/NAME.md"]),
        ("tests/house/test_house_pages.py::test_nothing", ["tests/house/test_house_pages.py::test_nothing"]),
    ],
)
def test_dead_paths_are_found(text: str, dead: list[str]) -> None:
    assert dead_paths(text) == dead


@pytest.mark.parametrize(
    ("text", "dead"),
    [
        ("`sdg.envs.domain.TEXTS`, sdg.envs.world.TEXTS", ["sdg.envs.world.TEXTS"]),
        ("python -m experiments.train_library; skills.jsonl, skills.py", ["experiments.train_library"]),
        ("sdg.gate.rules:RulesGuard sdg.gate.rules:Nothing", ["sdg.gate.rules:Nothing"]),
        ("sdg.nowhere.at_all", ["sdg.nowhere.at_all"]),
    ],
)
def test_dead_names_are_found(text: str, dead: list[str]) -> None:
    assert dead_names(text) == dead


def test_dead_commands_are_found() -> None:
    text = "`python -m sdg.experiments.cli.main`, python -m sdg, python -m sdg.envs.world"
    assert dead_commands(text) == ["python -m sdg.envs.world"]
