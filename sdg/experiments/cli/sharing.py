"""`sdg skills`: the skills of a library, and the library and episodes of a run in formats that others read."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sdg.console import UserError, output
from sdg.experiments.cli.bench import JsonOption

EXPORT = "export"


def skills(
    run: Annotated[
        Path | None, typer.Argument(metavar="[RUN|export]", help="a run folder or a library folder; or export [RUN]")
    ] = None,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="a skill to show in full")] = None,
    hub: Annotated[
        Path | None, typer.Option(metavar="DIR", help="with export: write a Hugging Face model folder")
    ] = None,
    minari: Annotated[
        str | None, typer.Option(metavar="NAME-v0", help="with export: write the run's episodes as a Minari dataset")
    ] = None,
    agent: Annotated[str, typer.Option(help="with --minari: whose episodes")] = "sdg",
    licence: Annotated[str, typer.Option(help="with --hub: licence, as the Hub names it")] = "apache-2.0",
    as_json: JsonOption = False,
) -> None:
    """List the skills of a run or library folder, by default of the shipped library. With export, write the library as
    a Hugging Face model folder or the run's episodes as a Minari dataset."""
    from sdg.experiments.cli import show as cli_show
    from sdg.skills.library.card import skill_rows

    with output(as_json=as_json) as lines:
        if run == Path(EXPORT):
            lines.rows([_export(name, hub=hub, minari=minari, agent=agent, licence=licence)])
            return
        cli_show.refuse_other_options({"--hub": hub, "--minari": minari}, why="belongs to `sdg skills export`")
        library, name = cli_show.library_and_skill(run, name)
        lines.details([cli_show.skill(library, name)]) if name else lines.rows(skill_rows(library))


def _export(run: str | None, *, hub: Path | None, minari: str | None, agent: str, licence: str) -> dict[str, Any]:
    from sdg.deduction.episode import Played
    from sdg.experiments.results.comparison import SHIPPED, find_library
    from sdg.experiments.share import datasets
    from sdg.experiments.share.hub import export_library
    from sdg.storage import read_journal

    if hub is not None:
        return export_library(find_library(run) if run else SHIPPED, hub, licence=licence)
    if not minari or not run:
        raise UserError("export what? `sdg skills export [RUN] --hub DIR` or `sdg skills export RUN --minari NAME-v0`")
    rows = [row for row in read_journal(Path(run, "episodes.jsonl")) if "task" in row or row["agent"] == agent]
    if not rows:
        raise UserError(f"{run} has no episodes of {agent}: `sdg solve --out {run}` plays some")
    if "task" in rows[0]:  # of screens
        return {"dataset": minari, "episodes": datasets.write_screens(minari, rows)}
    return {"dataset": minari, "episodes": datasets.write_dataset(minari, map(Played.from_json, rows))}
