"""Benchmarks by name: every `experiments/bench_NAME.py` with a function `rows(*, seed)` is one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import experiments
from experiments.cli_errors import UserError

PREFIX = "bench_"


def names() -> list[str]:
    """Names of the benchmarks there are."""
    found = (module.name for module in pkgutil.iter_modules(experiments.__path__))
    return sorted(name.removeprefix(PREFIX) for name in found if name.startswith(PREFIX))


def listed() -> Iterator[Mapping[str, Any]]:
    """A row for each benchmark: its name and what it measures."""
    for name in names():
        about = (importlib.import_module(f"experiments.{PREFIX}{name}").__doc__ or "").strip().split("\n")[0]
        yield {"bench": name, "about": about}


def measure(name: str, *, seed: int) -> Iterable[Mapping[str, Any]]:
    """The rows of one benchmark. Raises `UserError` when there is none of that name."""
    if name not in names():
        raise UserError(f"there is no benchmark {name!r}; there are {', '.join(names()) or 'none yet'}")
    rows: Iterable[Mapping[str, Any]] = importlib.import_module(f"experiments.{PREFIX}{name}").rows(seed=seed)
    return rows
