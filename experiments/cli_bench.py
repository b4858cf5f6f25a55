"""Benchmarks by name: every `experiments/bench_NAME.py` with a function `rows(*, seed)` is one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import experiments
from experiments.cli_errors import UserError
from experiments.cli_options import options_of, parse_options

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


def measure(name: str, *, seed: int, options: Sequence[str] = ()) -> Iterable[Mapping[str, Any]]:
    """The rows of one benchmark; `options` are its own, as typed. Raises `UserError` for what there isn't."""
    if name not in names():
        raise UserError(f"there is no benchmark {name!r}; there are {', '.join(names()) or 'none yet'}")
    rows: Callable[..., Iterable[Mapping[str, Any]]] = importlib.import_module(f"experiments.{PREFIX}{name}").rows
    return rows(seed=seed, **parse_options(rows, options, taken=("seed",)))
