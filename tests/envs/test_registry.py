"""Names become objects, the user's own too; whatever isn't right is one line that says so."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from sdg.envs.registry import Registry, RegistryError

NUMBERS = Registry[type]("number", {"fraction": "fractions:Fraction", "decimal": "decimal:Decimal"})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty current folder that is not on the path, as for a console script."""
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder not in ("", str(tmp_path))])
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def message(name: str, *needs: str) -> str:
    with pytest.raises(RegistryError) as caught:
        NUMBERS.get(name, needs=needs)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_keys_are_imported_when_asked_for() -> None:
    assert list(NUMBERS) == ["fraction", "decimal"]
    assert NUMBERS.get("fraction", needs=["limit_denominator"]) is Fraction
    assert Registry[type]("number", {"broken": "no_such_module:x"}).what == "number"


def test_a_file_in_the_current_folder_is_found(folder: Path) -> None:
    (folder / "my_numbers.py").write_text("class Seven(int): pass\n")
    assert NUMBERS.get("my_numbers:Seven").__name__ == "Seven"


def test_an_installed_module_wins_over_a_file_of_its_name(folder: Path) -> None:
    (folder / "colorsys.py").write_text("raise RuntimeError('shadowed')\n")
    assert callable(NUMBERS.get("colorsys:rgb_to_hsv"))


@pytest.mark.parametrize("name", ["septenary", "", ":", "a:", ":b", "a:b:c", "a b:c", "../x:y", "os.:path"])
def test_a_name_that_is_none_lists_those_there_are(name: str) -> None:
    assert message(name) == (
        f"there is no number {name!r}; there are fraction, decimal, or one of your own as module:attribute"
    )


def test_what_cant_be_imported_says_why(folder: Path) -> None:
    assert "there is no module 'my_number'" in message("my_number:Seven")
    assert "there is no module 'my_number'" in message("my_number.deep:Seven")
    (folder / "raises.py").write_text("1 / 0\n")
    assert message("raises:x") == "the number 'raises:x': importing raises raises ZeroDivisionError: division by zero"
    (folder / "exits.py").write_text("import sys\nsys.exit('a\\nb')\n")
    assert "importing exits raises SystemExit: a b" in message("exits:x")
    (folder / "wants.py").write_text("import no_such_dependency\n")
    assert message("wants:x") == (
        "the number 'wants:x': it needs the package 'no_such_dependency', which isn't installed: pip install it"
    )
    (folder / "deeper.py").write_text("import colorsys.no_such_part\n")
    assert "importing deeper raises ModuleNotFoundError: No module named 'colorsys.no_such_part'" in message("deeper:x")
    (folder / "typo.py").write_text("def (\n")
    assert "raises SyntaxError" in message("typo:x")


def test_what_lacks_something_says_what(folder: Path) -> None:
    (folder / "shelf.py").write_text("_hidden = 1\nnine = 9\n")
    assert message("shelf:ten") == "the number 'shelf:ten': shelf has no 'ten'; it has nine"
    assert message("shelf:nine", "real", "root", "log") == "the number 'shelf:nine' (int) lacks root and log"
