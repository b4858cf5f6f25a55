"""The library that is shipped: trained by `sdg train-library`, measured, and put with its card where it is looked for.

Planners play with it on layouts that no stage has seen, and the success of each skill from the states in which it was
asked for becomes the library's own figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sdg.experiments.bench import skills as bench_skills
from sdg.experiments.bench.skills import with_figures
from sdg.experiments.table.comparison import SHIPPED
from sdg.skills.library.store import load_library, save_library

CONFIG = "library"
FIGURES_SEED = 91
"""Which unseen layouts the figures come from; Table 1 is measured on others."""
LEAST = 100
"""Episodes that a skill's figure needs; one that planners ask for less keeps the figure of its training."""


def ship(run: Path, to: Path | None, *, instructions: int) -> list[Mapping[str, Any]]:
    """Measure the library of a run folder and put it in `to` (where it is shipped); a row for each skill."""
    learned, played = run / "library", run / "figures"
    rows = bench_skills.rows(seed=FIGURES_SEED, instructions=instructions, library=str(learned), out=played)
    save_library(with_figures(load_library(learned), rows, least=LEAST), to or SHIPPED)
    return rows
