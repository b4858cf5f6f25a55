"""The `sdg` command. Parsing imports little, so that --help is instant; each command imports what it needs."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sdg.console import output, progress, run_guarded
from sdg.errors import UserError
from sdg.experiments.cli.bench import Benchmarks, JsonOption, QuietOption
from sdg.experiments.cli.commands import merge, open_page, refuse_options, skills, sweep, workers_of

if TYPE_CHECKING:
    from sdg.experiments.config.config import RunConfig

Until = Literal["hypothesize", "verify", "induce", "solve", "run"]
"""How far to go: `solve` plays our own agent on unseen instructions, `run` also the agents it is compared with."""

BABYLANG = "model: babylang, a rule-based planner, written by hand (not a language model)"

app = typer.Typer(
    name="sdg",
    help="Self-driven grounding: hypothesize subgoals, verify them in the world, induce skills, solve instructions.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog="Stages resume in their run folder: finished units are never done again. Ctrl-C is safe.",
)
benchmarks = typer.Typer(name="bench", cls=Benchmarks, invoke_without_command=True, rich_markup_mode=None)
app.add_typer(benchmarks, name="bench")

ConfigOption = Annotated[
    str | None,
    typer.Option("--config", "-c", metavar="FILE", help="YAML file, or a name in configs/ (default: quickstart)"),
]
OutOption = Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR", help="run folder (default: runs/NAME)")]
SetOption = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="override a config value")]
SeedOption = Annotated[int | None, typer.Option("--seed", help="seed of the run")]
LlmOption = Annotated[
    str | None,
    typer.Option(
        "--llm",
        metavar="KIND[:NAME]",
        help="babylang (rule-based, the default), openai:NAME, replay:FILE or module:attribute",
    ),
]
FreshOption = Annotated[bool, typer.Option("--fresh", help="move an earlier run in the folder aside and start over")]


def _add_stage(until: Until, help_text: str) -> None:
    def command(
        config: ConfigOption = None,
        out: OutOption = None,
        assignments: SetOption = None,
        seed: SeedOption = None,
        llm: LlmOption = None,
        fresh: FreshOption = False,
        as_json: JsonOption = False,
        quiet: QuietOption = False,
        workers: Annotated[
            str, typer.Option(metavar="local|dask://HOST:PORT", help="where jobs run; results are the same")
        ] = "local",
        shard: Annotated[
            str | None, typer.Option(metavar="I/N", help="do one of N parts of what is missing; `sdg merge` follows")
        ] = None,
    ) -> None:
        run_config, folder = resolve(config, out, llm=llm, assignments=assignments, seed=seed)
        with workers_of(workers, shard=shard, folder=folder):
            run_stages(until, run_config, folder, fresh=fresh, as_json=as_json, quiet=quiet)

    app.command(until, help=help_text)(command)


_add_stage("hypothesize", "Stage 1: split instructions into subgoals with checks.")
_add_stage("verify", "Stages 1 and 2: search until the checks fire.")
_add_stage("induce", "Stages 1 to 3: cluster the subgoals, learn a skill from each.")


@app.command()
def solve(
    context: typer.Context,
    config: ConfigOption = None,
    out: OutOption = None,
    assignments: SetOption = None,
    seed: SeedOption = None,
    llm: LlmOption = None,
    fresh: FreshOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    level: Annotated[
        str | None, typer.Option("--level", help="play one instruction of this level, without a run")
    ] = None,
    layout: Annotated[int | None, typer.Option(help="with --level: seed of the layout")] = None,
    instruction: Annotated[str | None, typer.Option(help="with --level: your own words, in Baby Language")] = None,
    library: Annotated[
        Path | None, typer.Option(metavar="DIR", help="with --level: library with the skills (default: shipped)")
    ] = None,
    film: Annotated[Path, typer.Option(metavar="FILE", help="with --level: file for the film of the episode")] = Path(
        "solve.gif"
    ),
) -> None:
    """Stages 1 to 4: solve unseen instructions by programs.

    With --level, solve one instruction of a level (the first unseen one under --seed, the one of --layout, or your own
    words) with an existing library; no run folder is made.
    """
    from sdg.experiments.cli.show import solve_one
    from sdg.llm.registry import is_rule_based

    if level is None:
        refuse_options(context, "layout", "instruction", "library", "film", why="needs --level")
        run_config, folder = resolve(config, out, llm=llm, assignments=assignments, seed=seed)
        run_stages("solve", run_config, folder, fresh=fresh, as_json=as_json, quiet=quiet)
        return
    refuse_options(context, "out", "fresh", why="belongs to a run, and --level makes none")
    run_config, _ = resolve(config, None, llm=llm, assignments=assignments)
    if is_rule_based(run_config.model.kind) and not quiet:
        print(f"sdg: {BABYLANG}", file=sys.stderr)
    solve_one(
        level,
        instruction,
        layout=layout,
        seed=seed or 0,
        config=run_config,
        library=library,
        film=film,
        as_json=as_json,
    )


_add_stage("run", "Run all four stages, the baselines and the report.")


@app.command()
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="a run folder")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="file to write (default: RUN/report.html)")
    ] = None,
    beside: Annotated[Path | None, typer.Option(metavar="RUN", help="another run to compare with")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write one offline HTML file about a run, finished or not.

    It has plots, programs and an episode of each level.
    """
    from sdg.experiments.report.page import write

    with output(as_json=as_json) as lines:
        path = write(run, out, beside=beside)
        lines.text(str(path))
        if as_json:
            lines.rows([{"report": str(path), "bytes": path.stat().st_size}])


@app.command()
def doctor(as_json: JsonOption = False) -> int:
    """Check this machine; say what to do if it isn't ready."""
    from sdg.experiments.cli.doctor import BAD, checks

    with output(as_json=as_json) as lines:
        rows = list(checks(runs=Path("runs")))
        lines.rows(rows)
    return int(any(row["status"] == BAD for row in rows))


@app.command()
def show(
    context: typer.Context,
    what: Annotated[str, typer.Argument(metavar="LEVEL|RUN", help="a level's name, or a run folder")],
    unit: Annotated[str | None, typer.Argument(metavar="[UNIT]", help="a unit of the run to show in full")] = None,
    split: Annotated[str, typer.Option(help="grounding, validation, evaluation or training")] = "evaluation",
    layout: Annotated[int | None, typer.Option(help="seed of one layout to show, with what is perceived there")] = None,
    count: Annotated[int, typer.Option(min=1, help="number of instructions, or of units of each kind")] = 10,
    seed: Annotated[int, typer.Option(help="random seed")] = 0,
    kind: Annotated[str, typer.Option(help="with a run: only hypotheses, verifications, skills or episodes")] = "",
    failed: Annotated[bool, typer.Option("--failed", help="with a run: only what failed")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a level's instructions, a run, or a unit of it.

    A run is summed up and its units are listed; of an episode, the trace is written as a GIF.
    """
    from sdg.experiments.cli import show as cli_show

    with output(as_json=as_json) as lines:
        if Path(what).is_dir():
            refuse_options(context, "split", "layout", "seed", why="belongs to a level")
        if Path(what).is_dir() and unit:
            refuse_options(context, "count", "kind", "failed", why="chooses among units, and one is named")
            unit_rows = cli_show.unit(Path(what), unit)
            lines.details(unit_rows)
            for trace in cli_show.traces(Path(what), unit_rows):
                lines.text(trace)
        elif Path(what).is_dir():
            listing = cli_show.units(Path(what), kind=kind, failed=failed)
            if as_json:
                lines.rows(listing)
            else:
                cli_show.print_run(lines, Path(what), list(listing), most=count)
        elif os.sep in what:
            raise UserError(f"there is no folder {what}: name a run folder, or a level such as GoToLocal")
        else:
            refuse_options(context, "unit", "kind", "failed", why="belongs to a run folder")
            show = lines.rows if layout is None else lines.details
            show(cli_show.instructions_of(what, split=split, count=count, seed=seed, layout=layout))


@app.command("config")
def config_keys() -> None:
    """Print every key of a config with its default and meaning."""
    from sdg.experiments.config.docs import markdown

    print(markdown(), end="")


@app.command()
def compose(
    programs: Annotated[
        Path, typer.Argument(metavar="RUN", help="a recorded run of practice instructions, or a run folder")
    ],
    llm: LlmOption = None,
    assignments: SetOption = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="working folder")] = Path("runs/compose"),
    to: Annotated[
        Path | None, typer.Option(metavar="FILE", help="file for the skills that are kept (default: OUT/composed.json)")
    ] = None,
    library: Annotated[str, typer.Option(metavar="DIR", help="library of learned skills (default: shipped)")] = "",
    perception: Annotated[str, typer.Option(help="what programs perceive: map or paper")] = "map",
    count: Annotated[int, typer.Option("--programs", min=1, help="number of programs to rewrite and play")] = 16,
    layouts: Annotated[int, typer.Option(min=1, help="number of other layouts to verify each skill on")] = 4,
    seed: Annotated[int, typer.Option(min=0, help="random seed of these layouts")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Compose skills from programs that worked.

    The programs solved practice instructions; skills are verified on other layouts, and those that help are kept.
    """
    from sdg.experiments.compose.command import compose as composed

    config, _ = resolve(None, None, llm=llm, assignments=assignments, default="models")
    with output(as_json=as_json) as lines:
        lines.rows(
            composed(
                config,
                programs,
                folder=out,
                to=to or out / "composed.json",
                perception=perception,
                library=library,
                count=count,
                layouts=layouts,
                seed=seed,
            )
        )


@app.command("do")
def do_on_page(
    task: Annotated[str, typer.Argument(metavar="TASK", help="what to do, in words")],
    url: Annotated[str, typer.Option(metavar="URL|FILE", help="page to begin on; its origin is open")] = "",
    running: Annotated[str, typer.Option("--browser", metavar="ADDRESS", help="a running browser to work in")] = "",
    allow: Annotated[list[str] | None, typer.Option(metavar="HOST|PATH", help="what else may be opened; * all")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="say yes to what can't be undone, without asking")] = False,
    mode: Annotated[
        str, typer.Option(help="xml-react, som-react, picture or another (docs/howto/phone.md)")
    ] = "xml-react",
    guards: Annotated[str, typer.Option(metavar="A,B", help="the gate's guards")] = "confirm,screens",
    answers: Annotated[int, typer.Option(min=1, help="most answers of the model")] = 30,
    llm: LlmOption = None,
    assignments: SetOption = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="for film and trace")] = Path("runs/do"),
    as_json: JsonOption = False,
) -> int:
    """Do a task on a page from its screenshots.

    You are asked before what can't be undone. Exit code 1: not done.
    """
    from sdg.experiments.cli.do import do_on_page as do_it
    from sdg.experiments.play.pages import PageTaskSettings

    config, _ = resolve(None, None, llm=llm, assignments=assignments, default="models")
    return do_it(
        config,
        task,
        url=url,
        running=running,
        allow=tuple(allow or ()),
        yes=yes,
        settings=PageTaskSettings(guards=tuple(guards.split(",")), mode=mode, answers=answers, folder=out),
        as_json=as_json,
    )


for _command in (skills, sweep, merge):
    app.command()(_command)
app.command("app")(open_page)


@benchmarks.callback()
def bench(context: typer.Context) -> None:
    """Measure something on this machine.

    `sdg bench NAME --help` has a benchmark's options. Your own benchmark is named module:attribute.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="print the version", is_eager=True)] = False,
) -> None:
    if version:
        from importlib import metadata

        print(f"sdg {metadata.version('sdg')}")
        raise typer.Exit


def main(arguments: list[str] | None = None) -> int:
    """Run the command with one thread, a clean end on SIGTERM and one message per failure; returns the exit code."""
    for variable in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # Two threads on shared cores spin-wait: 4 to 15 times slower.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # unwinds, so that locks are released
    return run_guarded(lambda: app(args=arguments, prog_name="sdg", standalone_mode=False))


def resolve(
    config: str | None,
    out: Path | None,
    *,
    llm: str | None,
    assignments: list[str] | None,
    seed: int | None = None,
    default: str = "quickstart",
) -> tuple[RunConfig, Path]:
    """The config and its run folder: the named config, the one that the folder was begun with, or a shipped one."""
    from sdg.experiments.config.config import find_config, load, shipped_config
    from sdg.llm.registry import parse_llm

    begun_with = (out or Path()) / "config.yaml"
    unnamed = begun_with if out and begun_with.exists() else shipped_config(default)
    path = unnamed if config is None else find_config(config)
    model = parse_llm(llm) if llm is not None else {}
    if "transcript" in model and Path(model["transcript"]).is_dir():
        model["transcript"] = str(Path(model["transcript"]) / "transcript.jsonl")
    quoted = (f"model.{key}={json.dumps(value, ensure_ascii=False)}" for key, value in model.items())
    overlay = [*quoted, *(assignments or [])]
    run_config = load(path, overlay=overlay, seed=seed)
    return run_config, out if out is not None else Path("runs") / run_config.name


def run_stages(until: Until, config: RunConfig, path: Path, *, fresh: bool, as_json: bool, quiet: bool) -> None:
    """Run the stages in the folder and print the last one's table; a whole run is also summed up and reported."""
    from sdg.experiments.config.assembly import expected_cost, run_settings
    from sdg.experiments.run import runs
    from sdg.llm.registry import is_rule_based
    from sdg.storage import RunFolder, set_aside

    reporter = progress(quiet=quiet)
    if fresh and (old := set_aside(path)):
        reporter.note(f"the earlier run is in {old} now")
    with output(as_json=as_json) as lines, RunFolder.start(path, run_settings(config)) as folder:
        if is_rule_based(config.model.kind):
            reporter.note(BABYLANG)
        if cost := expected_cost(config, until=until):
            reporter.note(cost)
        try:
            lines.rows(runs.run(config, folder, until=until, progress=reporter))
        finally:
            for notice in folder.notices:
                reporter.note(f"note: {notice}")
        results = folder.read_json("results.json") or {}
        if until == "run":
            from sdg.experiments.report.page import write

            if not as_json:
                lines.text("\nhypotheses verified, share of the grounding instructions:")
                lines.rows(results.get("verification", ()))
            reporter.note(f"report: {write(path)}")
        seconds = {stage: times.get("seconds", 0.0) for stage, times in results.get("stages", {}).items()}
        reporter.note(f"seconds: {', '.join(f'{name} {value:.1f}' for name, value in seconds.items()) or 'none'}")
        reporter.note(f"run folder: {path} (sdg show {path}, sdg report {path})")


if __name__ == "__main__":
    sys.exit(main())
