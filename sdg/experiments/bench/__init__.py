"""Benchmarks, each a command: `sdg bench NAME`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sdg.envs.registry import Registry

Benchmark = Callable[..., Iterable[Mapping[str, Any]]]
"""A function that returns rows; its keyword arguments, annotated for typer, are the command's options."""

_HERE = __name__

BENCHMARKS = Registry[Benchmark](
    "benchmark",
    {
        "engine": f"{_HERE}.engine.command:rows",
        "evidence": f"{_HERE}.evidence:rows",
        "hostile": f"{_HERE}.hostile:rows",
        "gate": "sdg.experiments.gate_training.command:rows",
        "miniwob": f"{_HERE}.screens.command:rows",
        "models": f"{_HERE}.models.command:rows",
        "pages": f"{_HERE}.screens.own_pages:rows",
        "phone": f"{_HERE}.phone.command:rows",
        "scale": f"{_HERE}.scale.command:rows",
        "table1": f"{_HERE}.table1:rows",
        "worlds": f"{_HERE}.worlds.command:rows",
    },
)
