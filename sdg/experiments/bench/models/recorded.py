"""A recorded run: its config, its episodes in a line each, and every exchange with the model, once.

draw.json         what was drawn: model, commit, seed, counts
config.yaml       the config, whole
episodes.jsonl    `DrawnEpisode`, every episode that was begun
transcript.jsonl.xz  `sdg.llm.transcript`; an exchange's stage is `INTERFACE@PERCEPTION/LEVEL`
"""

import json
import lzma
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from sdg.agents.agents import Task
from sdg.console import UserError
from sdg.deduction.episode import Played
from sdg.envs.files import COMPRESSED_SUFFIX, has_lines, read_file
from sdg.llm.transcript import entries, first_answers
from sdg.skills.strict_json import decode, loads
from sdg.storage.files import atomic_write, line
from sdg.storage.journal import to_json

TRANSCRIPT, EPISODES, CONFIG, ABOUT = "transcript.jsonl", "episodes.jsonl", "config.yaml", "draw.json"
COMPOSED = "composed.json"
"""The composed skills that programs had, where an interface has them."""
UNKNOWN = "unknown"
"""The commit of source that isn't in a repository."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What a figure describes: an interface, a perception and a level."""

    interface: str
    perception: str
    level: str

    @property
    def agent(self) -> str:
        """Its name in journals."""
        return f"{self.interface}@{self.perception}"

    @property
    def stage(self) -> str:
        """The stage of its questions in a transcript."""
        return f"{self.agent}/{self.level}"


@dataclass(frozen=True, slots=True)
class Written:
    """One program: its tokens, lines of code and steps; `cause` is "" if it solved the task."""

    prompt_tokens: int
    completion_tokens: int
    lines: int
    steps: int
    cause: str


@dataclass(frozen=True, slots=True)
class DrawnEpisode:
    """An episode that was begun; `finished` is False if the run ended first, which counts as not solved.

    `answerers` lists who answered its questions, where that is known.
    """

    unit: str
    interface: str
    perception: str
    level: str
    seed: int
    finished: bool = True
    success: bool = False
    steps: int = 0
    max_steps: int = 0
    bot_steps: int | None = None
    questions: int = 0
    calls: int = 0
    cause: str = ""
    programs: tuple[Written, ...] = ()
    answerers: tuple[str, ...] = ()

    @property
    def cell(self) -> Cell:
        """Its cell in the table."""
        return Cell(self.interface, self.perception, self.level)


@dataclass(frozen=True, slots=True)
class About:
    """Facts of a recorded run; `commit` ends with "-dirty" if the source differed from that commit."""

    name: str
    model: str
    commit: str
    seed: int
    instructions: int
    split: str
    library: str | None = None
    schema: Literal[1] = 1


@dataclass(frozen=True, slots=True)
class Draw:
    """A recorded run in memory."""

    folder: Path
    about: About
    episodes: tuple[DrawnEpisode, ...]


def read_draw(folder: Path) -> Draw:
    """A recorded run. Raises UserError for a folder that is none."""
    try:
        about = decode(About, loads(read_file(folder / ABOUT)), place=ABOUT)
        lines = read_file(folder / EPISODES).splitlines()
        return Draw(folder, about, tuple(decode(DrawnEpisode, loads(each), extra="ignore") for each in lines))
    except OSError as error:
        raise UserError(f"{folder} is no draw: can't read {error.filename} ({error.strerror})") from None
    except ValueError as error:
        raise UserError(f"{folder} is no draw of this version: {error}") from None


def draws_below(folder: Path) -> list[Draw]:
    """The recorded runs in a folder, or the one that it is. Raises UserError where there is none."""
    found = sorted(path.parent for path in (*folder.glob(ABOUT), *folder.glob(f"*/{ABOUT}")))
    if not found:
        raise UserError(f"no draws are kept in {folder}: make one with --llm KIND:NAME")
    return [read_draw(each) for each in found]


def keep(
    folder: Path,
    about: About,
    *,
    config: str,
    played: Mapping[str, Played],
    asked: Sequence[tuple[Cell, Task]],
    transcript: Path,
    composed: Path | None = None,
) -> Draw:
    """Write a recorded run: what was `played` of what was `asked`, and each answer of the transcript once."""
    begun = _begun(transcript)
    rows = []
    for cell, task in asked:
        unit = task.unit(cell.agent)
        if unit in played:
            rows.append(to_drawn_episode(played[unit]))
        elif (cell.stage, task.random_seed % 2**31) in begun:
            rows.append(DrawnEpisode(unit, cell.interface, cell.perception, cell.level, task.seed, finished=False))
    folder.mkdir(parents=True, exist_ok=True)
    answers = first_answers(transcript) if has_lines(transcript) else b""
    (folder / TRANSCRIPT).unlink(missing_ok=True)
    atomic_write(folder / (TRANSCRIPT + COMPRESSED_SUFFIX), lzma.compress(answers))
    atomic_write(folder / CONFIG, config)
    if composed is not None:
        atomic_write(folder / COMPOSED, read_file(composed))
    atomic_write(folder / EPISODES, "".join(line(to_json(row)) + "\n" for row in rows))
    atomic_write(folder / ABOUT, json.dumps(asdict(about), indent=1) + "\n")
    return read_draw(folder)


def to_drawn_episode(row: Played, answerers: tuple[str, ...] = ()) -> DrawnEpisode:
    """An episode's row in its small form."""
    interface, _, perception = row.agent.partition("@")
    programs = tuple(_written(each) for each in row.trace)
    return DrawnEpisode(
        row.unit, interface, perception, row.level, row.seed, True, bool(row.success), row.steps, row.max_steps,
        row.bot_steps, row.llm_calls, row.skill_calls, row.cause, programs, answerers,
    )  # fmt: skip


def _begun(transcript: Path) -> set[tuple[str, int]]:
    """The episodes that asked something, by stage and sampling seed."""
    if not has_lines(transcript):
        return set()
    return {(str(entry["stage"]), int(entry["sampling"]["seed"])) for entry in entries(transcript)}


def _written(trace: Mapping[str, Any]) -> Written:
    return Written(
        prompt_tokens=int(trace["prompt_tokens"]),
        completion_tokens=int(trace["completion_tokens"]),
        lines=code_lines(str(trace["program"])),
        steps=int(trace["ended"]) - int(trace["began"]),
        cause=str(trace["cause"]),
    )


def code_lines(source: str) -> int:
    """Lines of a program that aren't empty or a comment alone."""
    return sum(bool(text.strip()) and not text.strip().startswith("#") for text in source.split("\n"))
