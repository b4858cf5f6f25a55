"""`sdg bench NAME`: a command for each benchmark, whose options typer reads from the benchmark's function."""

import inspect
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup

from sdg.experiments.bench import BENCHMARKS, Benchmark

JsonOption = Annotated[bool, typer.Option("--json", help="one JSON object a row on stdout, nothing else")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="no progress on stderr")]


class Benchmarks(TyperGroup):
    """The shipped benchmarks, and a user's own as `module:attribute`; each is imported when it is called for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of the shipped ones."""
        return list(BENCHMARKS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a benchmark. Raises RegistryError for an unknown one."""
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        benchmark = BENCHMARKS.get(cmd_name, needs=("__call__",))
        alone.command(cmd_name, help=about(benchmark))(printing(benchmark))
        return typer.main.get_command(alone)


def printing(benchmark: Benchmark) -> Any:
    """A function with the benchmark's parameters and `as_json`, which prints its rows as soon as they are there."""

    def command(*, as_json: bool, **options: Any) -> None:
        from sdg.console import output

        with output(as_json=as_json) as lines:
            lines.rows(benchmark(**options))

    # A partial has the hints of what it calls.
    hints = get_type_hints(getattr(benchmark, "func", benchmark), include_extras=True)
    options = [
        parameter.replace(annotation=hints[parameter.name])
        for parameter in inspect.signature(benchmark).parameters.values()
    ]
    extra = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=JsonOption)
    vars(command)["__signature__"] = inspect.Signature([*options, extra])
    command.__annotations__ = {option.name: option.annotation for option in (*options, extra)}
    return command


def about(benchmark: Benchmark) -> str:
    """The docstring of its module, or else its own, as written."""
    function = getattr(benchmark, "func", benchmark)
    text = inspect.getdoc(inspect.getmodule(function)) or inspect.getdoc(function) or ""
    return "\n\n".join(f"\b\n{paragraph}" for paragraph in text.split("\n\n"))
