"""Train the library that is shipped, from nothing, and put it with its card where `sdg solve --level` looks for it.

python -m experiments.train_library [--json] [--out runs/library] [--to skills/shipped]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from experiments import cli

CONFIG = "library"


def train(
    out: Annotated[Path, typer.Option("--out", "-o", help="run folder")] = Path("runs") / CONFIG,
    to: Annotated[Path, typer.Option(help="where the library goes")] = cli.ROOT / "skills" / "shipped",
    resume: Annotated[bool, typer.Option("--resume", help="go on with an earlier run instead")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object a row on stdout, nothing else")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="no progress on stderr")] = False,
) -> None:
    """Ground, learn, and ship."""
    from skills.library_io import load_library, save_library

    config, folder = cli.resolve(CONFIG, out, overlay=[], seed=None)
    cli.do("induce", config, folder, fresh=not resume, as_json=as_json, quiet=quiet)
    save_library(load_library(folder / "library"), to)


if __name__ == "__main__":
    sys.exit(cli.command(train))
