"""Prose uses the field's terms (docs/glossary.md), and there is little of it.

To hold more files to it add them to `PAGES`, or docstrings of a package to `PACKAGES`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from sdg.experiments.cli.main import app
from tests.house.test_house_pages import prose

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md", "examples/**/*.md")
PACKAGES = ("sdg",)
"""Folders whose docstrings are held to it too."""

COUNTED = ("README.md", "SECURITY.md", "docs/**/*.md")
MAX_WORDS = 13_000
MOST: dict[str, int] = {
    "README.md": 800,
    "SECURITY.md": 450,
    "docs/tutorial.md": 1_000,
    "docs/design.md": 900,
    "docs/concepts.md": 1_200,
    "docs/results.md": 1_800,
}
MOST_OF_A_DECISION = 130

PRIVATE = {
    r"\bc[ao]mes? about\b": "succeeded, or: the effect was observed",
    r"\bburnt\b": "development seeds",
    r"\b(?:a|the|kept|one|whole|this|of) draws?\b|\bdraws? of a\b": "a recorded run",
    r"\bwhoever\b": "name who: the caller, the planner",
    r"\bof before\b": "name the version or the commit",
    r"\b(?:is|are|was|were|be) told\b": "is given, is reported",
    r"\bstands? in for\b|\bstand-ins?\b": "rule-based planner",
    r"\b(?:seeds?|sets?|tasks?|never|faults) (?:\w+ ){0,3}looked at\b": "evaluated on, used in development",
    r"\byardsticks?\b": "oracle, reference",
    r"\banswerers?\b": "the model",
    r"\bhands? back\b": "returns control",
    r"\banew\b": "again",
    r"\bstrolls?\b": "random walk",
    r"\bdear(?:er|est)?\b": "expensive",
    r"\bfloors?\b|\brooms? of the house\b|\bthe house\b": "layer, package, repository",
    r"\bnobody ever\b|\bwas asked wrongly\b|\bof one's own\b": "say it plainly",
    r"\bin vain\b": "without effect",
    r"\bfor ever\b": "without end",
    r"(?<![\w.,/)\]-])\.\d": "a leading zero: 0.5",
}
CODE = re.compile(r"```.*?```|`[^`\n]*`|^(?: {4}|\t)[^\n]*$|<!--.*?-->|\]\([^)]*\)", re.DOTALL | re.MULTILINE)


def private_words(text: str) -> list[str]:
    """Private words of a text, each with what to write instead; code and links aren't prose."""
    prose = CODE.sub(" ", text)
    return [
        f"{match[0]!r}: {say}" for word, say in PRIVATE.items() for match in re.finditer(word, prose, re.IGNORECASE)
    ]


def pages(patterns: tuple[str, ...]) -> list[Path]:
    return sorted({path for pattern in patterns for path in ROOT.glob(pattern)})


def helps(command: Any, name: str) -> Iterator[tuple[str, str]]:
    """(command, what its help says)"""
    yield name, " ".join([command.help or "", *(getattr(parameter, "help", "") or "" for parameter in command.params)])
    if hasattr(command, "list_commands"):
        context = type(command).context_class(command)
        for inner in command.list_commands(context):
            yield from helps(command.get_command(context, inner), f"{name} {inner}")


@pytest.mark.parametrize("path", pages(PAGES), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_pages_use_the_terms_of_the_field(path: Path) -> None:
    private = private_words(path.read_text("utf-8"))
    assert not private, "\n".join(private)


def test_help_uses_the_terms_of_the_field() -> None:
    texts = helps(typer.main.get_command(app), "sdg")
    bad = [f"{name}: {term}" for name, text in texts for term in private_words(text)]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_use_the_terms_of_the_field(package: str) -> None:
    bad = []
    for path in sorted((ROOT / package).rglob("*.py")):
        for line, text in prose(ast.parse(path.read_text("utf-8"))):
            bad += [f"{path.name}:{line}: {term}" for term in private_words(text)]
    assert not bad, "\n".join(bad)


def test_there_is_little_to_read() -> None:
    words = {path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").split()) for path in pages(COUNTED)}
    assert sum(words.values()) <= MAX_WORDS, f"{sum(words.values())} words in {', '.join(COUNTED)}"
    limits = MOST | {name: MOST_OF_A_DECISION for name in words if name.startswith("docs/decisions/")}
    long = {name: words[name] for name, most in limits.items() if words[name] > most}
    assert not long, f"cut these: {long}"


def test_the_glossary_names_what_there_is() -> None:
    trees = [ast.parse(path.read_text("utf-8")) for path in (ROOT / "sdg").rglob("*.py")]
    classes = {node.name: node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    rows = (ROOT / "docs/glossary.md").read_text("utf-8").splitlines()
    last_cells = "\n".join(row.rpartition("|")[0].rpartition("|")[2] for row in rows)
    named = re.findall(r"`([A-Z]\w+)(?:\.(\w+))?`", last_cells)
    assert len(named) > 15
    missing = [name for name, member in named if member not in ast.unparse(classes.get(name, ast.Module([], [])))]
    assert not missing + [name for name, _ in named if name not in classes]
    terms = [row.split("|")[1].strip() for row in rows if row.startswith("| ")][1:]
    assert terms == sorted(terms, key=str.casefold)


@pytest.mark.parametrize(
    ("text", "private"),
    [
        ("what came about", True),
        ("refused below .1, whoever asks", True),
        ('`--burnt` is an option, "set_down" a skill of 0.5 s and v1.5, see [it](a/burnt.md)', False),
        ("    a draw of a model, in code", False),
        ("one draw of a model", True),
    ],
)
def test_private_words_are_found(text: str, private: bool) -> None:
    assert bool(private_words(text)) is private
