"""Benchmarks by name: every `experiments/bench_NAME.py` with a function `rows(*, seed)` is one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import experiments
from experiments.cli_errors import UserError
from experiments.cli_options import options_of, parse_options, shown

PREFIX = "bench_"


def names() -> list[str]:
    """Names of the benchmarks there are."""
    found = (module.name for module in pkgutil.iter_modules(experiments.__path__))
    return sorted(name.removeprefix(PREFIX) for name in found if name.startswith(PREFIX))


def listed() -> Iterator[Mapping[str, Any]]:
    """A row for each benchmark: its name and what it measures."""
    for name in names():
        module = importlib.import_module(f"experiments.{PREFIX}{name}")
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
    if name not in names():
        raise UserError(f"there is no benchmark {name!r}; there are {', '.join(names()) or 'none yet'}")
    return importlib.import_module(f"experiments.{PREFIX}{name}")
