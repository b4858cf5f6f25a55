"""`sdg solve --level LEVEL`: one instruction of one's own, in place of the pipeline's stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdg.experiments.cli.errors import UserError
from sdg.experiments.cli.output import output

if TYPE_CHECKING:
    from sdg.experiments.config.config import RunConfig

SHOWN = (
    *("level", "seed", "instruction", "library", "program", "calls", "outcome", "note", "cause", "error"),
    *("steps", "max_steps", "interactions", "skill_calls", "llm_calls", "tokens", "film"),
)
"""What is printed for people, the verdict near the end where it is read; as JSON there is all."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What to solve: a level's instruction, or words (None: the level's own) in the world of a layout.

    Without `layout` it is the first unseen one under the user's `seed`.
    """

    level: str
    instruction: str | None
    layout: int | None
    seed: int

    def place(self) -> int:
        """The layout's seed. Raises UserError for none."""
        from sdg.envs.babyai.levels import level_name, seeds

        if self.instruction is not None and not self.instruction.strip():
            raise UserError("an instruction has words: --instruction 'go to the red ball'")
        try:
            drawn = seeds("evaluation", count=1, seed=self.seed, level=level_name(self.level))
            return drawn[0] if self.layout is None else self.layout
        except ValueError as error:
            raise UserError(str(error)) from None


def refuse_other_options(given: Mapping[str, object], *, why: str) -> None:
    """Raises UserError when an option was given that means nothing here."""
    named = [name for name, value in given.items() if value not in (None, False)]
    if named:
        raise UserError(f"{' and '.join(named)} {why}")


def solve_one(asked: Asked, *, config: RunConfig, library: Path | None, film: Path, as_json: bool) -> None:
    """Play one instruction, print what came of it and keep its film. Raises UserError when nothing could be tried."""
    from sdg.experiments.config.assembly import planner_of
    from sdg.experiments.play.film import episode_gif
    from sdg.experiments.play.solve import no_program, solve
    from sdg.experiments.table.comparison import find_library
    from sdg.run import atomic_write

    place = find_library(str(library) if library is not None else "")
    planner = planner_of(config, None, place, agent="sdg")
    with output(as_json=as_json) as lines:
        row, episode = solve(asked.level, asked.place(), instruction=asked.instruction or "", recipe=planner)
        try:
            atomic_write(film, episode_gif(episode))
            row |= {"film": str(film)}
        except ValueError as error:
            row |= {"film": f"none: {error}"}
        lines.details([row if as_json else _for_people(row)])
    if no_program(row):
        raise UserError(f"no program came of {row['instruction']!r}. {row['note'] or row['error']}")


def _for_people(row: Mapping[str, Any]) -> dict[str, Any]:
    shown = {key: row[key] for key in SHOWN if row[key] not in ("", [])}
    if "calls" in shown:
        shown["calls"] = "\n".join(("", *row["calls"]))
    if "program" in shown:
        shown["program"] = "\n" + _entry(row["program"])
    return shown


def _entry(source: str) -> str:
    """The program itself with its lines' numbers; of the helpers above it only how many lines they have."""
    from sdg.deduction.program import ENTRY

    lines = source.split("\n")
    begins = next((number for number, line in enumerate(lines) if line.startswith(f"def {ENTRY}(")), 0)
    head = [f"     ({begins} lines of helpers; --json has all)"] if begins else []
    return "\n".join(head + [f"{number:4} {line}" for number, line in enumerate(lines[begins:], begins + 1)])
