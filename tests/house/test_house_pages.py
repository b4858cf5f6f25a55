"""Pages and docstrings name only what there is: files, folders, tests and dotted names that moved are found."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer

from sdg.experiments.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("sdg", "examples", "tests", "training", "recordings", "docs")
LINKS = ("envs", "skills", "experiments", "configs")
"""Of the top level: each leads to the folder of its name in `sdg`, and pages may name files by either."""

HISTORY = ("CHANGELOG.md", "docs/decisions.md", "docs/decisions/")
"""What was true when it was written stays written."""

DATA = ("json", "jsonl", "md", "yaml", "safetensors")
USERS = re.compile(r"my_\w+\.py$")
"""Files of a user's own in examples."""

PATH = re.compile(r"(?<![\w./<-])((?:[\w.*-]+/)*[\w*-]+\.(?:py|md)|(?:[\w-]+/)+)(?![\w/])(?:::(\w+))?")
COMMAND = re.compile(r"python -m ((?:sdg|examples|training)(?:\.\w+)+)")
SDG = re.compile(r"(?:`|^ {4}(?:\$ )?|^\$ )sdg ([a-z][^`\n]*)", re.MULTILINE)
DOTTED = re.compile(r"(?<![\w./])((?:sdg|envs|skills|experiments|examples)(?:\.[A-Za-z_]\w*)+)(?::(\w+))?")


@cache
def paths() -> tuple[str, ...]:
    """Every file and folder (with a slash at its end) of the project, each once."""
    names = [path.name for path in ROOT.iterdir() if path.is_file()]
    for top in FOLDERS:
        for place, folders, files in os.walk(ROOT / top):
            below = Path(place).relative_to(ROOT).as_posix()
            names.append(f"{below}/")
            names += [f"{below}/{file}" for file in files]
            names += [f"{below}/{folder}/" for folder in folders]
    return tuple(names)


@cache
def is_there(path: str) -> bool:
    """Whether something in the project is called so; NAME and stars stand for anything."""
    path = f"sdg/{path}" if path.split("/")[0] in LINKS else path
    pattern = re.sub(r"\\\*|\bNAME\b", "[^/]*", re.escape(path))
    top = path.split("/")[0] in FOLDERS
    return any(re.fullmatch(pattern if top else f"(.*/)?{pattern}", candidate) for candidate in paths())


def dead_paths(text: str) -> list[str]:
    """Paths in a text that lead nowhere, and tests that aren't in their file.

    Not looked at: a user's own files, folders outside ours, and pages without a folder, which runs write.
    """
    dead = []
    for path, test in PATH.findall(text):
        first, slash, _ = path.partition("/")
        if (
            USERS.search(path)
            or first == ".."  # a link, looked at by test_house_packaging
            or (path.endswith("/") and first not in (*FOLDERS, *LINKS))
            or (path.endswith(".md") and not slash)
        ):
            continue
        if not is_there(path):
            dead.append(path)
        elif test and f"def {test}(" not in (ROOT / path).read_text("utf-8"):
            dead.append(f"{path}::{test}")
    return dead


def module_file(name: str) -> Path | None:
    """The file of a module of ours by its import name."""
    place = ROOT.joinpath(*name.split("."))
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)


@cache
def names_defined(file: Path) -> frozenset[str]:
    """What a module defines or imports at its top, lazily or for types alone too."""
    names: set[str] = set()
    body = ast.parse(file.read_text("utf-8")).body
    conditional = [node for block in body if isinstance(block, ast.If) for node in block.body]
    for node in [*body, *conditional]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
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


def dead_options(text: str) -> list[str]:
    """Commands and options of `sdg` in code of a text that there aren't; names of one's own and in capitals aside."""
    dead = []
    for line in SDG.findall(text):
        command, words = typer.main.get_command(app), re.split(r"\s{2,}#?|[;|]", line)[0].split()
        while words and hasattr(command, "list_commands"):
            context = type(command).context_class(command)
            if words[0] not in command.list_commands(context):
                if re.fullmatch("[a-z0-9-]+", words[0]):
                    dead.append(f"sdg {line}")
                break
            command, words = command.get_command(context, words[0]), words[1:]
        else:
            options = {"--help"}.union(*(parameter.opts + parameter.secondary_opts for parameter in command.params))
            named = re.findall(r"(?<!\S)--[\w-]+", " ".join(words))
            dead += [f"sdg {line}: {option}" for option in named if option not in options]
    return dead


def _source(file: Path) -> str:
    return "__main__" if file.stem == "__main__" else file.read_text("utf-8")


def _imports(name: str, attribute: str) -> bool:
    parts = name.split(".")
    if parts[0] not in ("sdg", "examples"):
        return parts[-1] == "py"
    for length in range(len(parts), 0, -1):
        if file := module_file(".".join(parts[:length])):
            rest = [*parts[length:], *([attribute] if attribute else [])]
            return not rest or rest[0] in names_defined(file)
    return (ROOT / Path(*parts)).is_dir()


def prose(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Docstrings of a module: of itself, its classes and functions, and what stands below a constant or a field."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def texts() -> Iterator[tuple[str, int, str]]:
    """(file, line, text): pages line by line, docstrings whole."""
    for path in paths():
        if path.endswith(".md") and not path.startswith(HISTORY):
            for number, line in enumerate((ROOT / path).read_text("utf-8").splitlines(), 1):
                yield path, number, line
        elif path.endswith(".py"):
            for number, text in prose(ast.parse((ROOT / path).read_text("utf-8"))):
                yield path, number, text


def test_pages_and_docstrings_name_only_what_there_is() -> None:
    lines = list(texts())
    assert len({path for path, _, _ in lines}) > 300
    dead = []
    for path, number, text in lines:
        mentions = [*dead_paths(text), *dead_names(text), *dead_commands(text), *dead_options(text)]
        dead += [f"{path}:{number}: {mention}" for mention in mentions]
    assert not dead, "these moved or never were:\n" + "\n".join(dead)


@pytest.mark.parametrize(
    ("text", "dead"),
    [
        ("`envs/world.py` and skills/nowhere.py, in `sdg/sandbox/guard/`", ["skills/nowhere.py"]),
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


@pytest.mark.parametrize(
    ("text", "dead"),
    [
        ("`sdg bench gate --draws 8 --json` and `sdg bench NAME --help`; `sdg run` | `sdg mine`", ["sdg mine"]),
        ("(`sdg bench fig4`, five seeds)", ["sdg bench fig4"]),
        ("    $ sdg bench my_benchmarks:missions --count 2\n    sdg show --nothing  # shows", ["sdg show --nothing"]),
    ],
)
def test_dead_commands_and_options_of_sdg_are_found(text: str, dead: list[str]) -> None:
    assert [complaint.partition("  ")[0].partition(":")[0] for complaint in dead_options(text)] == dead
