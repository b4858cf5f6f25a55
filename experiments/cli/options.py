"""Options of a benchmark from its function's keyword arguments: `--instructions 10` for `instructions: int = 100`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sdg.experiments.cli.errors import UserError


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


_KINDS: dict[str, tuple[Callable[[str], Any], str]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "str": (str, "a text"),
    "tuple[str, ...]": (_names, "a,b,c"),
    "Sequence[str]": (_names, "a,b,c"),
}


def options_of(function: Callable[..., object], *, taken: Iterable[str] = ()) -> dict[str, inspect.Parameter]:
    """The keyword arguments of a function that a command line can give, but for those `taken`."""
    found = inspect.signature(function).parameters.values()
    return {each.name: each for each in found if str(each.annotation) in _KINDS and each.name not in set(taken)}


def parse_options(
    function: Callable[..., object], given: Sequence[str], *, taken: Iterable[str] = ()
) -> dict[str, Any]:
    """Values by name from `--name value` and `--name=value`.

    Raises UserError for an option that the function doesn't have, for a missing value and one of the wrong kind.
    """
    known = options_of(function, taken=taken)
    values: dict[str, Any] = {}
    waiting = list(given)
    while waiting:
        word = waiting.pop(0)
        name, equals, text = word.removeprefix("--").partition("=")
        key = name.replace("-", "_")
        if not word.startswith("--") or key not in known:
            there = ", ".join(f"--{each.replace('_', '-')}" for each in known) or "none"
            raise UserError(f"there is no option {word.split('=')[0]!r} here; there are {there}")
        if not equals and not waiting:
            raise UserError(f"--{name} needs a value")
        values[key] = _value(known[key], text if equals else waiting.pop(0), option=name)
    return values


def shown(value: object) -> str:
    """A value as it would be typed."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _value(parameter: inspect.Parameter, text: str, *, option: str) -> Any:
    convert, kind = _KINDS[str(parameter.annotation)]
    try:
        return convert(text)
    except ValueError:
        raise UserError(f"--{option} is {kind}, not {text!r}") from None


__all__ = ["options_of", "parse_options", "shown"]
