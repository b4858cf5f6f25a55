"""Benchmarks, each a command: `sdg bench NAME`."""

from __future__ import annotations

_HERE = __name__

BENCHMARKS = {
    "ablation": f"{_HERE}.ablation",
    "all19": f"{_HERE}.all19",
    "bank": f"{_HERE}.engine.bank",
    "clusterings": f"{_HERE}.clusterings.rows",
    "cycles": f"{_HERE}.cycles",
    "engine": f"{_HERE}.engine.table",
    "house": f"{_HERE}.house",
    "fig4": f"{_HERE}.fig4",
    "fig7": f"{_HERE}.fig7",
    "flat": f"{_HERE}.flat",
    "policies": f"{_HERE}.policies",
    "ppo": f"{_HERE}.engine.ppo",
    "seeds": f"{_HERE}.seeds",
    "skills": f"{_HERE}.skills",
    "table1": f"{_HERE}.table1",
}
"""Name -> module with a function `rows(*, seed, ...)`, whose keyword arguments are the command's options."""
