"""Commands beside a run's own (skills, sweep, merge, app), and where a command's jobs run: `--workers`, `--shard`."""

import contextlib
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from sdg.console import output, progress
from sdg.errors import UserError
from sdg.experiments.cli.bench import JsonOption

LOCAL = "local"


def refuse_options(context: typer.Context, *names: str, why: str) -> None:
    """Raises UserError for those of the command's parameters that were given and mean nothing here."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in names and source is not None and source.name == "COMMANDLINE":
            raise UserError(f"{parameter.opts[0]} {why}")


@contextlib.contextmanager
def workers_of(address: str, *, shard: str | None = None, folder: Path) -> Iterator[None]:
    """In this context, the workers at an address (`local` or `dask://HOST:PORT`) run all jobs, or only a shard's.

    Raises UserError if no workers answer and for a folder of another shard.
    """
    from sdg.experiments.workers.cluster import connect
    from sdg.experiments.workers.shards import SHARD, parse_shard
    from sdg.experiments.workers.workers import ShardFinished, use_workers
    from sdg.storage import SCHEMA, atomic_write, line, read_artefact

    own_shard = parse_shard(shard) if shard else None
    if own_shard is not None:
        label = {"schema": SCHEMA, "number": own_shard[0], "of": own_shard[1]}
        shard_file = folder / SHARD
        if shard_file.exists() and read_artefact(shard_file) != label:
            raise UserError(f"{folder} is another shard than {shard}: name another --out")
    engine = None if address == LOCAL else connect(address)
    try:
        with use_workers(engine=engine, shard=own_shard):
            yield
    except ShardFinished as error:
        print(f"sdg: shard {shard} of this stage is done ({error}): `sdg merge` it with the others", file=sys.stderr)
    finally:
        if own_shard is not None and (folder / "run.json").exists():
            atomic_write(shard_file, line(label) + "\n")
        if engine is not None:
            engine.client.close()


def merge(
    shards: Annotated[list[Path], typer.Argument(metavar="SHARD...", help="run folders of all shards")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="folder for the run that they make")],
    as_json: JsonOption = False,
) -> None:
    """Put the shards of a run (`sdg run --shard I/N`) together.

    The same command without --shard goes on from there.
    """
    from sdg.experiments.workers.shards import merge as merge_shards

    with output(as_json=as_json) as lines:
        lines.rows(merge_shards(shards, out))


def sweep(
    config: Annotated[str, typer.Argument(metavar="CONFIG", help="a YAML file, or a name in configs/")],
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=A,B", help="values to try; several --set: all pairs")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="training seeds of each setting")] = 5,
    first_seed: Annotated[int, typer.Option(min=0, help="the first of them; a set of unseen tasks goes with each")] = 0,
    trials: Annotated[
        int, typer.Option("--search", min=0, help="let Optuna pick this many combinations; 0: all are run")
    ] = 0,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR", help="folder for the runs")] = None,
    workers: Annotated[str, typer.Option(metavar="local|dask://HOST:PORT", help="where jobs run")] = LOCAL,
    at_once: Annotated[int, typer.Option(min=1, help="runs side by side; on a cluster, as many as keep it busy")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Run a config with several settings and training seeds.

    The table has intervals across seeds. It resumes.
    """
    from sdg.experiments.run import sweep as sweep_runs

    folder = out or Path("runs") / f"sweep-{Path(config).stem}"
    with output(as_json=as_json) as lines, workers_of(workers, folder=folder):
        run_all = partial(sweep_runs.search, trials=trials) if trials else sweep_runs.sweep
        lines.rows(
            run_all(
                config,
                assignments or (),
                seeds=range(first_seed, first_seed + seeds),
                folder=folder,
                at_once=at_once,
                progress=progress(),
            )
        )


def open_page(
    run: Annotated[Path | None, typer.Argument(metavar="[RUN]", help="a run or library folder to browse")] = None,
    host: Annotated[str, typer.Option(help="address to listen on; others than loopback let others in")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free")] = 8765,
) -> None:
    """Open the playground, a page on this machine.

    Instruct the robot, make a skill from a check, browse a library and a run.
    """
    from sdg.experiments.app.server import Playground, serve
    from sdg.experiments.results.comparison import find_library

    playground = Playground(find_library(str(run or "")), run)
    try:
        server = serve(playground, host=host, port=port)
    except OSError as error:
        raise UserError(f"can't listen on {host}:{port}: {error.strerror}; name another --port") from None
    print(f"http://{host}:{server.server_address[1]}/ (Ctrl-C ends it)", flush=True)
    with server:
        server.serve_forever()


def skills(
    context: typer.Context,
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
    """List the skills of a run or library, or export them.

    By default they are those of the shipped library. With export, write the library as a Hugging Face model folder or
    the run's episodes as a Minari dataset.
    """
    from sdg.experiments.cli import show as cli_show
    from sdg.skills.library.card import skill_rows

    with output(as_json=as_json) as lines:
        if run == Path("export"):
            if hub is not None:
                refuse_options(context, "minari", "agent", why="is no part of an export to a --hub folder")
            else:
                refuse_options(context, "licence", why="belongs to --hub")
            lines.rows([_export(name, hub=hub, minari=minari, agent=agent, licence=licence)])
            return
        refuse_options(context, "hub", "minari", "agent", "licence", why="belongs to `sdg skills export`")
        library, name = cli_show.library_and_skill(run, name)
        if name:
            lines.details([cli_show.skill(library, name)])
        else:
            lines.rows(skill_rows(library))


def _export(run: str | None, *, hub: Path | None, minari: str | None, agent: str, licence: str) -> dict[str, Any]:
    from sdg.deduction.episode import EpisodeResult
    from sdg.experiments.results.comparison import SHIPPED, find_library
    from sdg.experiments.share.datasets import write_dataset
    from sdg.experiments.share.hub import export_library
    from sdg.storage import of_file, read_journal

    if hub is not None:
        return export_library(find_library(run) if run else SHIPPED, hub, licence=licence)
    if not minari or not run:
        raise UserError("export what? `sdg skills export [RUN] --hub DIR` or `sdg skills export RUN --minari NAME-v0`")
    journal = Path(run, "episodes.jsonl")
    rows = [row for row in read_journal(journal) if row.get("agent") == agent]
    if not rows:
        raise UserError(f"{run} has no episodes of {agent}: `sdg solve --out {run}` plays some")
    episodes = write_dataset(minari, [of_file(EpisodeResult, row, path=journal) for row in rows])
    return {"dataset": minari, "episodes": episodes}
