"""The main job in one command: ground an agent from nothing, then solve unseen instructions and print the table.

    python -m sdg.experiments.quickstart [--time] [--json] [--set KEY=VALUE] [--out DIR] [--resume]

It always trains from nothing: an earlier run in the folder is set aside, unless `--resume` goes on with it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sdg.experiments.cli import main as cli

CONFIG = "quickstart"


def quickstart(
    times: Annotated[bool, typer.Option("--time", help="print what each stage took as well")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object a row on stdout, nothing else")] = False,
    assignments: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="lay over")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="run folder")] = Path("runs") / CONFIG,
    resume: Annotated[bool, typer.Option("--resume", help="go on with an earlier run instead")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="no progress on stderr")] = False,
) -> None:
    """Ground, learn and solve; the table is printed, the run folder kept, the report written."""
    from sdg.experiments.cli.output import output
    from sdg.experiments.report.page import write
    from sdg.run.folder import read_artefact

    began = time.monotonic()
    config, folder = cli.resolve(CONFIG, out, overlay=assignments or [], seed=None)
    cli.do("run", config, folder, fresh=not resume, as_json=as_json, quiet=quiet)
    report = write(folder)
    with output(as_json=as_json) as lines:
        if not as_json:
            lines.text("\nhypotheses verified, share of the grounding instructions:")
            lines.rows(read_artefact(folder / "results.json")["verification"])
        if times:
            lines.text("")
            stages = read_artefact(folder / "results.json")["stages"]
            lines.rows(stage_rows(stages, total=time.monotonic() - began))
        lines.text(f"report: {report}")


def stage_rows(stages: Mapping[str, Mapping[str, float]], *, total: float) -> list[dict[str, Any]]:
    """Seconds of each stage, and of everything from start to report."""
    rows = [{"stage": name, "seconds": round(stage["seconds"], 1)} for name, stage in stages.items()]
    return [*rows, {"stage": "all", "seconds": round(total, 1)}]


if __name__ == "__main__":
    sys.exit(cli.command(quickstart))
