"""Train the library that is shipped, from nothing, and put it with its card where `sdg solve --level` looks for it.

    python -m sdg.experiments.train_library [--json] [--out runs/library] [--to skills/shipped]

Then planners play with it on layouts that no stage has seen, and the success of each skill from the states in which it
was asked for becomes the library's own figure.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import sdg
from sdg.experiments.cli import main as cli

CONFIG = "library"
FIGURES_SEED = 90
"""Which unseen layouts the figures come from; Table 1 is measured on others."""
SHIPPED = Path(sdg.__file__).parent / "skills" / "shipped"
LEAST = 100
"""Episodes that a skill's figure needs; one that planners ask for less keeps the figure of its training."""


def train(
    out: Annotated[Path, typer.Option("--out", "-o", help="run folder")] = Path("runs") / CONFIG,
    to: Annotated[Path, typer.Option(help="where the library goes")] = SHIPPED,
    resume: Annotated[bool, typer.Option("--resume", help="go on with an earlier run instead")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object a row on stdout, nothing else")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="no progress on stderr")] = False,
    instructions: Annotated[int, typer.Option(help="unseen instructions a level that the figures come from")] = 200,
) -> None:
    """Ground, learn, measure, and ship."""
    from sdg.experiments.bench import skills as bench_skills
    from sdg.experiments.bench.skill_figures import with_figures
    from sdg.experiments.cli.output import output
    from sdg.skills.library.store import load_library, save_library

    config, folder = cli.resolve(CONFIG, out, overlay=[], seed=None)
    cli.do("induce", config, folder, fresh=not resume, as_json=as_json, quiet=quiet)
    learned = folder / "library"
    played = folder / "figures"
    rows = bench_skills.rows(seed=FIGURES_SEED, instructions=instructions, library=str(learned), out=str(played))
    with output(as_json=as_json) as lines:
        lines.rows(rows)
    save_library(with_figures(load_library(learned), rows, least=LEAST), to)


if __name__ == "__main__":
    sys.exit(cli.command(train))
