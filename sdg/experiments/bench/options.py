"""The options that benchmarks share, each with its sentence of help: `levels: Levels = PAPER_LEVELS` is `--levels`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sdg.errors import UserError
from sdg.experiments.config.yaml_file import scalar
from sdg.llm.budget import BudgetSettings
from sdg.skills.strict_json import decode


def names(value: Any) -> tuple[str, ...]:
    """`a,b,c` as a tuple; a tuple is returned unchanged, but for names that come twice."""
    parts = (name.strip() for name in value.split(",") if name.strip()) if isinstance(value, str) else value
    return tuple(dict.fromkeys(parts))


def list_option(about: str) -> Any:
    """An option that takes several values with commas between them."""
    return typer.Option(parser=names, metavar="A,B,C", help=about)


def budget(value: Any) -> BudgetSettings:
    """`tokens=200000,minutes=30` as a budget, by the keys of a config's. Raises UserError for another one."""
    if isinstance(value, BudgetSettings):
        return value
    pairs = [pair.partition("=") for pair in names(value)]
    settings = {key: scalar(text) if equals else "" for key, equals, text in pairs}
    try:
        return decode(BudgetSettings, settings, place="budget")
    except ValueError as error:
        raise UserError(f"{error}: write --budget tokens=200000,money=5,prompt_price=2") from None


NO_BUDGET = BudgetSettings()
Seed = Annotated[int, typer.Option(min=0, help="chooses the instructions or layouts to measure on")]
Levels = Annotated[Sequence[str], list_option("levels by name or id")]
Instructions = Annotated[int, typer.Option(min=1, help="unseen instructions a level")]
Repeats = Annotated[int, typer.Option(min=1, help="runs over them, each on instructions of its own")]
Agents = Annotated[Sequence[str], list_option("who plays")]
Library = Annotated[str, typer.Option(metavar="DIR", help="a library or run folder; the shipped library by default")]
Llm = Annotated[str, typer.Option(metavar="KIND[:NAME]", help="babylang, openai:NAME or replay:FILE")]
BaseUrl = Annotated[str, typer.Option(metavar="URL", help="address of a server of OpenAI's protocol")]
Budget = Annotated[
    BudgetSettings,
    typer.Option(
        parser=budget,
        metavar="KEY=VALUE,...",
        help="when to stop: tokens, money, minutes; and prices",
        show_default=False,
    ),
]
Processes = Annotated[int, typer.Option(min=0, help="jobs side by side; 0: one for each core")]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="the folder that keeps everything; runs/... by default")]
