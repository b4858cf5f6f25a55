"""Benchmarks, each a command: `sdg bench NAME`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sdg.envs.registry import Registry

Benchmark = Callable[..., Iterable[Mapping[str, Any]]]
"""A function that returns rows; its keyword arguments, annotated for typer, are the command's options."""

BENCHMARKS = Registry[Benchmark](
    "benchmark",
    {
        "engine": "sdg.experiments.bench.engine.command:rows",
        "evidence": "sdg.experiments.bench.evidence:rows",
        "hostile": "sdg.experiments.bench.hostile:rows",
        "gate": "sdg.experiments.bench.gate.command:rows",
        "miniwob": "sdg.experiments.bench.screens.command:rows",
        "models": "sdg.experiments.bench.models.command:rows",
        "pages": "sdg.experiments.bench.screens.own_pages:rows",
        "phone": "sdg.experiments.bench.phone.command:rows",
        "scale": "sdg.experiments.bench.scale.command:rows",
        "table1": "sdg.experiments.bench.table1:rows",
        "worlds": "sdg.experiments.bench.worlds.command:rows",
    },
)
