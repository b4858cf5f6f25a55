"""`sdg solve --level LEVEL`: one instruction of one's own, in place of the pipeline's stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdg.experiments.cli.errors import UserError
from sdg.experiments.cli.output import output

if TYPE_CHECKING:
    from sdg.experiments.config.config import RunConfig
    from sdg.experiments.play.solve import Means

SHOWN = (
    *("level", "seed", "instruction", "library", "program", "calls", "outcome", "note", "cause", "error"),
    *("steps", "max_steps", "interactions", "skill_calls", "llm_calls", "tokens"),
)
"""What is printed for people, the verdict near the end where it is read; as JSON there is all."""


def refuse_other_options(given: Mapping[str, object], *, why: str) -> None:
    """Raises UserError when an option was given that means nothing here."""
    named = [name for name, value in given.items() if value not in (None, False)]
    if named:
        raise UserError(f"{' and '.join(named)} {why}")


def means_of(config: RunConfig, library: Path | None) -> Means:
    """Model and limits of a config, without the files that a run folder would hold."""
    from sdg.deduction.deduce import DeductionSettings
    from sdg.experiments.config.assembly import model_settings
    from sdg.experiments.play.solve import Means
    from sdg.llm.model import Sampling

    model = replace(model_settings(config, Path()), record=None, cache=None, ledger=None)
    return Means(
        str(library) if library is not None else "",
        model,
        Sampling(temperature=config.model.temperature, max_tokens=config.model.max_tokens),
        DeductionSettings(interactions=config.deduce.interactions, attempts=config.deduce.attempts),
    )


def solve_one(level: str, seed: int, *, instruction: str | None, means: Means, as_json: bool) -> None:
    """Play one instruction and print what came of it. Raises UserError when nothing could be tried."""
    from sdg.experiments.play.solve import no_program, solve

    if instruction is not None and not instruction.strip():
        raise UserError("an instruction has words: --instruction 'go to the red ball'")
    with output(as_json=as_json) as lines:
        row = solve(level, seed, instruction=instruction or "", means=means)
        lines.details([row if as_json else _for_people(row)])
    if no_program(row):
        raise UserError(f"no program came of {row['instruction']!r}. {row['note'] or row['error']}")


def _for_people(row: Mapping[str, Any]) -> dict[str, Any]:
    shown = {key: row[key] for key in SHOWN if row[key] not in ("", [])}
    if "calls" in shown:
        shown["calls"] = "\n".join(("", *row["calls"]))
    return shown
