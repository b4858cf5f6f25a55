"""The `sdg` command. Parsing imports little, so that --help is instant; each command imports what it needs."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, Protocol, cast

import typer

import sdg
from sdg.experiments.cli.errors import UserError, guarded

if TYPE_CHECKING:
    from sdg.experiments.cli.progress import Progress
    from sdg.experiments.config.config import RunConfig
    from sdg.run import RunFolder

Until = Literal["hypothesize", "verify", "induce", "solve", "run"]
"""How far to go: `solve` plays our own agent on unseen instructions, `run` the agents it is compared with, too."""

CONFIGS = Path(sdg.__file__).parent / "configs"
DEFAULT_CONFIG = "quickstart"
BABYLANG = "model: babylang, a rule-based stand-in that reads only the prompt (not a language model)"

app = typer.Typer(
    name="sdg",
    help="Self-driven grounding: hypothesize subgoals, verify them in the world, induce skills, solve instructions.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog="A stage goes on in its run folder: finished units are never done again. Ctrl-C is safe.",
)

ConfigOption = Annotated[
    str | None, typer.Option("--config", "-c", metavar="FILE", help="a YAML file, or a name in configs/")
]
OutOption = Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR", help="run folder; runs/NAME by default")]
SetOption = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="lay a value over the config")]
SeedOption = Annotated[int | None, typer.Option("--seed", help="seed of the run")]
LlmOption = Annotated[
    str | None, typer.Option("--llm", metavar="KIND[:NAME]", help="babylang, openai, replay, or module:attribute")
]
FreshOption = Annotated[bool, typer.Option("--fresh", help="set an earlier run in the folder aside and begin anew")]
JsonOption = Annotated[bool, typer.Option("--json", help="one JSON object a row on stdout, nothing else")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="no progress on stderr")]
ReportOption = Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="RUN/report.html by default")]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="a run folder")]


class Runs(Protocol):
    """What `sdg.experiments.run.runs` offers to this command."""

    def run(
        self, config: RunConfig, folder: RunFolder, *, until: Until, progress: Progress
    ) -> Iterable[Mapping[str, Any]]:
        """Do what is missing in the folder up to and including a stage; the stage's table as rows."""
        ...

    def skills(self, path: Path) -> Iterable[Mapping[str, Any]]:
        """The skills of a run folder or of a library folder, a row each."""
        ...


def _runs() -> Runs:
    return cast(Runs, importlib.import_module("sdg.experiments.run.runs"))


def _stage(until: Until, about: str) -> None:
    def command(
        config: ConfigOption = None,
        out: OutOption = None,
        assignments: SetOption = None,
        seed: SeedOption = None,
        llm: LlmOption = None,
        fresh: FreshOption = False,
        as_json: JsonOption = False,
        quiet: QuietOption = False,
    ) -> None:
        overlay = [*_llm_overlay(llm), *(assignments or [])]
        resolved, folder = resolve(config, out, overlay=overlay, seed=seed)
        do(until, resolved, folder, fresh=fresh, as_json=as_json, quiet=quiet)

    app.command(until, help=about)(command)


_stage("hypothesize", "Stage 1: split grounding instructions into subgoals with check functions.")
_stage("verify", "Stages 1 and 2: search every subgoal until its check fires and the task is done.")
_stage("induce", "Stages 1 to 3: cluster what was grounded and learn a skill from each cluster.")


@app.command()
def solve(
    config: ConfigOption = None,
    out: OutOption = None,
    assignments: SetOption = None,
    seed: SeedOption = None,
    llm: LlmOption = None,
    fresh: FreshOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    level: Annotated[str | None, typer.Option("--level", help="play one instruction of this level instead")] = None,
    instruction: Annotated[str | None, typer.Option(help="with --level: your own words, in Baby Language")] = None,
    library: Annotated[Path | None, typer.Option(metavar="DIR", help="with --level: whose skills")] = None,
) -> None:
    """Stages 1 to 4: solve unseen instructions by programs over the skills. With --level, one instruction of a level
    (the one of --seed, or your own) with a library that is there already; no run folder is made."""
    from sdg.experiments.cli.solve import means_of, refuse_other_options, solve_one
    from sdg.llm.registry import is_rule_based

    overlay = [*_llm_overlay(llm), *(assignments or [])]
    if level is None:
        refuse_other_options({"--instruction": instruction, "--library": library}, why="needs --level")
        resolved, folder = resolve(config, out, overlay=overlay, seed=seed)
        do("solve", resolved, folder, fresh=fresh, as_json=as_json, quiet=quiet)
        return
    refuse_other_options({"--out": out, "--fresh": fresh}, why="belongs to a run, and --level makes none")
    resolved, _ = resolve(config, None, overlay=overlay, seed=None)
    if is_rule_based(resolved.model.kind) and not quiet:
        print(f"sdg: {BABYLANG}", file=sys.stderr)
    solve_one(level, seed or 0, instruction=instruction, means=means_of(resolved, library), as_json=as_json)


_stage("run", "The whole of a run: all four stages, and the agents they are compared with.")


@app.command()
def report(run: RunArgument, out: ReportOption = None, as_json: JsonOption = False) -> None:
    """Write one offline HTML file about a run, finished or not: plots, programs, an episode a level."""
    from sdg.experiments.cli.output import output
    from sdg.experiments.report.page import write

    with output(as_json=as_json) as lines:
        path = write(run, out)
        lines.text(str(path))
        if as_json:
            lines.rows([{"report": str(path), "bytes": path.stat().st_size}])


@app.command()
def doctor(as_json: JsonOption = False) -> int:
    """Look whether this machine is ready, and say what to do where it isn't."""
    from sdg.experiments.cli.doctor import BAD, checks
    from sdg.experiments.cli.output import output

    with output(as_json=as_json) as lines:
        rows = list(checks(runs=Path("runs")))
        lines.rows(rows)
    return int(any(row["status"] == BAD for row in rows))


@app.command()
def skills(
    run: Annotated[Path | None, typer.Argument(metavar="[RUN]", help="a run folder or a library folder")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the skills of a run or of a library folder; of the library that is shipped where none is named."""
    from sdg.experiments.cli.output import output

    place = run if run is not None else _shipped()
    if not place.is_dir():
        raise UserError(f"{place} is no folder. Name a run folder, or a library folder.")
    with output(as_json=as_json) as lines:
        if not lines.rows(_runs().skills(place)):
            raise UserError(f"{place} has no skills yet: `sdg induce --out {place}` learns them")


def _shipped() -> Path:
    from sdg.experiments.table.comparison import SHIPPED

    if not (SHIPPED / "library.json").is_file():
        raise UserError("no library is shipped here. `sdg run` trains one; then `sdg skills runs/NAME` lists it")
    return SHIPPED


@app.command()
def show(
    what: Annotated[str, typer.Argument(metavar="LEVEL|RUN", help="a level's name, or a run folder")],
    unit: Annotated[str | None, typer.Argument(metavar="[UNIT]", help="one unit of the run")] = None,
    split: Annotated[str, typer.Option(help="grounding, validation, evaluation or training")] = "evaluation",
    layout: Annotated[int | None, typer.Option(help="one layout by its seed, with what is perceived")] = None,
    count: Annotated[int, typer.Option(min=1, help="how many instructions")] = 10,
    seed: Annotated[int, typer.Option(help="the user's seed")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Show a level's instructions, or the finished units of a run; of an episode, write its trace as a GIF."""
    from sdg.experiments.cli import show as cli_show
    from sdg.experiments.cli.output import output

    with output(as_json=as_json) as lines:
        if Path(what).is_dir() and unit:
            found = cli_show.unit(Path(what), unit)
            lines.details(found)
            for told in cli_show.traces(Path(what), found):
                lines.text(told)
        elif Path(what).is_dir():
            lines.rows(cli_show.units(Path(what)))
        elif layout is not None:
            lines.details([cli_show.instruction_of(what, split=split, layout=layout)])
        else:
            lines.rows(cli_show.instructions_of(what, split=split, count=count, seed=seed))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []})
def bench(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="which one; without it they are listed")] = None,
    seed: Annotated[int, typer.Option(help="seed")] = 0,
    as_json: JsonOption = False,
    asks: Annotated[bool, typer.Option("--help", help="show this message, or a benchmark's own, and exit")] = False,
) -> None:
    """Measure something on this machine; each benchmark has options of its own: sdg bench NAME --help."""
    from sdg.experiments.cli import bench as cli_bench
    from sdg.experiments.cli.output import output

    if asks:
        print(cli_bench.help_of(name) if name else context.get_help())
        return
    with output(as_json=as_json) as lines:
        lines.rows(cli_bench.measure(name, seed=seed, options=context.args) if name else cli_bench.listed())


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="print the version", is_eager=True)] = False,
) -> None:
    if version:
        from importlib import metadata

        print(f"sdg {metadata.version('sdg')}")
        raise typer.Exit


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    return prepared(lambda: app(args=arguments, prog_name="sdg", standalone_mode=False))


def prepared(work: Callable[[], int | None]) -> int:
    """Run some work with one thread, a clean end on SIGTERM and one message for each failure; the exit code."""
    for variable in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # Two threads on shared cores spin-wait: 4 to 15 times slower.
    signal.signal(signal.SIGTERM, _terminated)
    return guarded(work)


def _terminated(number: int, frame: object) -> NoReturn:
    """Asked to stop: unwind, so that locks are given back."""
    sys.exit(128 + number)


def _llm_overlay(llm: str | None) -> list[str]:
    if llm is None:
        return []
    from sdg.llm.registry import named

    try:
        return [f"model.{key}={value}" for key, value in named(llm).items()]
    except ValueError as error:
        raise UserError(str(error)) from None


def command(function: Callable[..., int | None]) -> int:
    """Run one function as a command of its own, under the same rules as `sdg`."""
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    alone.command()(function)
    return prepared(lambda: alone(standalone_mode=False))


def resolve(config: str | None, out: Path | None, *, overlay: list[str], seed: int | None) -> tuple[RunConfig, Path]:
    from sdg.experiments.config.config import load

    kept = out / "config.yaml" if out is not None else None
    path = kept if config is None and kept is not None and kept.exists() else find_config(config or DEFAULT_CONFIG)
    resolved = load(path, overlay=overlay, seed=seed)
    return resolved, out if out is not None else Path("runs") / resolved.name


def find_config(name: str) -> Path:
    """A config by path, or by its name in configs/ here or in the repository."""
    places = [Path(name), Path("configs") / f"{name}.yaml", CONFIGS / f"{name}.yaml"]
    return next((place for place in places if place.is_file()), places[0])


def do(until: Until, config: RunConfig, path: Path, *, fresh: bool, as_json: bool, quiet: bool) -> None:
    from sdg.experiments.cli.output import output
    from sdg.experiments.cli.progress import progress
    from sdg.experiments.config.assembly import expected_cost
    from sdg.experiments.config.config import dump
    from sdg.llm.registry import is_rule_based
    from sdg.run import RunFolder, RunSettings, set_aside

    told = progress(quiet=quiet)
    if fresh:
        set_aside(path)
    command = ("sdg", *sys.argv[1:])
    settings = RunSettings(config.model_dump(mode="json"), dump(config), config.seed, command)
    with output(as_json=as_json) as lines, RunFolder.start(path, settings) as folder:
        if is_rule_based(config.model.kind):
            told.note(BABYLANG)
        if cost := expected_cost(config, until=until):
            told.note(cost)
        try:
            lines.rows(_runs().run(config, folder, until=until, progress=told))
        finally:
            for notice in folder.notices:
                told.note(f"note: {notice}")
        told.note(f"run folder: {path} (sdg report {path})")


if __name__ == "__main__":
    sys.exit(main())
