"""The programs that skills are composed from: those of a recorded run that solved practice instructions at once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdg.agents.agents import Task
from sdg.composition.distil import Solved
from sdg.console import UserError
from sdg.deduction.episode import Played
from sdg.envs.files import has_lines
from sdg.envs.instructions import SPLITS
from sdg.experiments.bench.models.draw import PERCEPTIONS
from sdg.experiments.bench.models.recorded import TRANSCRIPT, Cell
from sdg.llm.transcript import entries
from sdg.storage import read_description, read_journal

PRACTICE = SPLITS["training"]
JOURNALS = ("episodes", "rehearsals")
ASKED = "## Instruction to carry out"
"""Where the part of a prompt that all instructions share ends."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Programs that solved practice instructions, who wrote them and under which rules.

    `kind` is a key of `sdg.llm.registry.PROVIDERS`; `library` the checksum of the skills they call; `rules` the
    prompts' text before the instruction.
    """

    solved: tuple[Solved, ...]
    kind: str
    model: str
    library: str | None
    domain: str
    rules: frozenset[str]


def read_programs(folder: Path, *, cell: Cell) -> Programs:
    """The programs of a recording (those of `cell`'s interface and perception) or of a run's rehearsals.

    Raises UserError where there is none, RunFolderError for what is no recording and no run.
    """
    config = read_description(folder)["config"]
    rows = [Played.from_json(each) for name in JOURNALS for each in _journal(folder / f"{name}.jsonl")]
    whole = [row for row in rows if row.seed in PRACTICE and row.success and row.interactions == 1]
    mine = [row for row in whole if row.agent in (cell.agent, "rehearsals", "sdg")]
    place = next((each for each in (folder / "kept" / TRANSCRIPT, folder / TRANSCRIPT) if has_lines(each)), None)
    if not mine or place is None:
        said = (
            f"{len(rows)} episodes, none of them a practice instruction that one program over {cell.interface} solved"
        )
        raise UserError(f"there is nothing to compose of in {folder}: {said} (draw with --split training)")
    asked = _exchanges(place)
    found, rules = list[Solved](), set[str]()
    for row in mine:
        line, told = asked.get((Task(row.level, row.seed, row.repeat).random_seed % 2**31, row.instruction), (0, ""))
        rules.add(told.partition(ASKED)[0].strip())
        calls = tuple(str(call["name"]) for call in row.trace[0]["calls"])
        origin = f"{folder.name} line {line}"
        found.append(Solved(row.instruction, row.level, row.seed, row.program, calls, row.steps, origin))
    model: Mapping[str, Any] = config["model"]
    name = str(model.get("name") or model["kind"])
    domain = PERCEPTIONS[cell.perception]
    return Programs(tuple(found), str(model["kind"]), name, config.get("library"), domain, frozenset(rules))


def _journal(path: Path) -> Iterator[dict[str, Any]]:
    return iter(read_journal(path)) if has_lines(path) else iter(())


def _exchanges(path: Path) -> dict[tuple[int, str], tuple[int, str]]:
    """By sampling seed and instruction: the line of the first exchange, and its prompt."""
    found: dict[tuple[int, str], tuple[int, str]] = {}
    for entry in entries(path):
        told = str(entry["messages"][-1]["content"])
        instruction = told.partition(ASKED)[2].partition("```text\n")[2].partition("\n```")[0]
        found.setdefault((int(entry["sampling"]["seed"]), instruction), (int(entry["line"]), told))
    return found
