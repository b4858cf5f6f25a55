"""The commands that train what is shipped: the skill library and the gate's guards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sdg.experiments.cli.bench import JsonOption, QuietOption


def train_library(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="run folder")] = Path("runs/library"),
    to: Annotated[
        Path | None, typer.Option(metavar="DIR", help="folder for the library (default: skills/shipped)")
    ] = None,
    instructions: Annotated[
        int, typer.Option(help="number of unseen instructions per level to measure skills on")
    ] = 200,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train the library that is shipped from nothing, measure its skills, and put it where `sdg solve` looks for it."""
    from sdg.console import output
    from sdg.experiments.cli.main import do, resolve
    from sdg.experiments.train_library import CONFIG, ship

    config, folder = resolve(CONFIG, out, overlay=[], seed=None)
    do("induce", config, folder, fresh=True, as_json=as_json, quiet=quiet)
    with output(as_json=as_json) as lines:
        lines.rows(ship(folder, to, instructions=instructions))


def train_guards(
    rollouts: Annotated[int, typer.Option(min=10, help="number of programs to play, with mistakes in between")] = 240,
    library: Annotated[
        str, typer.Option(metavar="DIR", help="library whose skills are judged (default: shipped)")
    ] = "",
    to: Annotated[
        Path | None, typer.Option(metavar="FILE", help="file for the guards (default: in sdg/gate/shipped)")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="random seed of layouts and mistakes")] = 0,
    processes: Annotated[int, typer.Option(min=0, help="number of rollouts at a time; 0: one per core")] = 0,
) -> None:
    """Train the learned guards of the gate from rollouts of a library's skills (five minutes on two cores)."""
    from sdg.experiments.gate_training.training import train

    print(train(library=library, rollouts=rollouts, seed=seed, to=to, processes=processes))
