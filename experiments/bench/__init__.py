"""Benchmarks, each a command: `sdg bench NAME`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sdg.envs.registry import Registry

Benchmark = Callable[..., Iterable[Mapping[str, Any]]]
"""Gives rows; its keyword arguments, annotated as typer reads them, are the command's options."""

_HERE = __name__

BENCHMARKS = Registry[Benchmark](
    "benchmark",
    {
        "ablation": f"{_HERE}.ablation:rows",
        "all19": f"{_HERE}.table1:all19",
        "bank": f"{_HERE}.engine.bank:rows",
        "clustering": f"{_HERE}.clusterings.measure:rows",
        "cycles": f"{_HERE}.cycles:rows",
        "engine": f"{_HERE}.engine.table:rows",
        "evidence": f"{_HERE}.evidence:rows",
        "exactness": f"{_HERE}.engine.exactness:rows",
        "fig4": f"{_HERE}.fig4:rows",
        "fig7": f"{_HERE}.fig7:rows",
        "first-call": f"{_HERE}.engine.first_call:rows",
        "fuzz": f"{_HERE}.attacks:fuzz",
        "hostile": f"{_HERE}.attacks:hostile",
        "gate": "sdg.experiments.gate.table:rows",
        "house": f"{_HERE}.house:rows",
        "kills": "sdg.experiments.adversarial.kill_test:rows",
        "miniwob": f"{_HERE}.screens.table:rows",
        "models": f"{_HERE}.models.table:rows",
        "overhead": f"{_HERE}.attacks:overhead",
        "parser": f"{_HERE}.screens.parser:rows",
        "policies": f"{_HERE}.policies:rows",
        "privacy": f"{_HERE}.privacy.measure:rows",
        "ppo": f"{_HERE}.engine.ppo:rows",
        "recorded": f"{_HERE}.models.corpus:rows",
        "screen-speed": f"{_HERE}.screens.speed:rows",
        "seeds": f"{_HERE}.seeds:rows",
        "skills": f"{_HERE}.skills:rows",
        "table1": f"{_HERE}.table1:rows",
    },
)
