"""Benchmarks by name (`BENCHMARKS`): each is a module with a function `rows(*, seed)`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from sdg.experiments.bench import BENCHMARKS
from sdg.experiments.cli.errors import UserError
from sdg.experiments.cli.options import options_of, parse_options, shown


def listed() -> Iterator[Mapping[str, Any]]:
    """A row for each benchmark: its name and what it measures."""
    for name in BENCHMARKS:
        module = _module(name)
        own = [f"--{option.replace('_', '-')}" for option in options_of(module.rows, taken=("seed",))]
        yield {"bench": name, "about": (module.__doc__ or "").strip().split("\n")[0], "options": " ".join(own)}


def help_of(name: str) -> str:
    """What a benchmark measures, and its options with their defaults. Raises `UserError` for one that there isn't."""
    module = _module(name)
    own = options_of(module.rows, taken=("seed",)).values()
    lines = [f"  --{each.name.replace('_', '-'):<24} {shown(each.default) or 'chosen by itself'}" for each in own]
    head = f"Usage: sdg bench {name} [--seed N] [--json] [--OPTION VALUE ...]\n\n{(module.__doc__ or '').strip()}"
    return "\n".join([head, "", "Options and their defaults:", f"  --{'seed':<24} 0", *lines])


def measure(name: str, *, seed: int, options: Sequence[str] = ()) -> Iterable[Mapping[str, Any]]:
    """The rows of one benchmark; `options` are its own, as typed. Raises `UserError` for what there isn't."""
    rows: Callable[..., Iterable[Mapping[str, Any]]] = _module(name).rows
    return rows(seed=seed, **parse_options(rows, options, taken=("seed",)))


def _module(name: str) -> ModuleType:
    if name not in BENCHMARKS:
        raise UserError(f"there is no benchmark {name!r}; there are {', '.join(BENCHMARKS)}")
    return importlib.import_module(BENCHMARKS[name])
