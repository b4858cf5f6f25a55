"""Records a model's episodes: every interface on the same layouts, with many questions at once; reads them again.

draw.json         what was recorded: model, commit, seed, counts
config.yaml       the config, whole
episodes.jsonl    `RecordedEpisode`, every episode that was begun
transcript.jsonl.xz  `sdg.llm.transcript`; an exchange's stage is `INTERFACE@PERCEPTION/LEVEL`
"""

import hashlib
import json
import lzma
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

import sdg
from sdg.agents.agents import Task
from sdg.console import progress
from sdg.deduction.episode import EpisodeResult
from sdg.envs.files import COMPRESSED_SUFFIX, has_lines, read_file
from sdg.envs.instructions import seeds
from sdg.errors import UserError
from sdg.experiments.config.assembly import model_identity, model_settings, planner_of
from sdg.experiments.config.config import RunConfig, dump
from sdg.experiments.play.episodes import EpisodeJob, Recipe, run_jobs, with_bot_steps
from sdg.experiments.play.players import PRIMITIVES, ChatRecipe
from sdg.experiments.results.comparison import cores, find_library, open_folder
from sdg.llm.budget import CHAT_EPISODE, EPISODE, describe_cost
from sdg.llm.model import BudgetExceeded
from sdg.llm.registry import concurrency_of
from sdg.llm.transcript import entries, first_answers
from sdg.prompts.sources import code_lines
from sdg.skills.library.store import library_checksum
from sdg.skills.strict_json import decode, loads
from sdg.storage import (
    Rows,
    RunFolder,
    atomic_write,
    hold,
    json_values,
    line,
    refuse_strangers,
    revision,
    to_json,
)

TRANSCRIPT, EPISODES = "transcript.jsonl", "episodes.jsonl"
CONFIG, ABOUT = "config.yaml", "draw.json"
COMPOSED = "composed.json"
"""The composed skills of the programs, if an interface has any."""
UNKNOWN = "unknown"
"""The commit of source that isn't in a repository."""


@dataclass(frozen=True, slots=True)
class FigureKey:
    """The subject of a figure: an interface, a perception and a level."""

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
class RecordedProgram:
    """One program: its tokens, lines of code and steps; `cause` is "" if it solved the task."""

    prompt_tokens: int
    completion_tokens: int
    lines: int
    steps: int
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedEpisode:
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
    programs: tuple[RecordedProgram, ...] = ()
    answerers: tuple[str, ...] = ()

    @property
    def cell(self) -> FigureKey:
        """Its cell in the table."""
        return FigureKey(self.interface, self.perception, self.level)


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
class RecordedRun:
    """A recorded run in memory."""

    folder: Path
    about: About
    episodes: tuple[RecordedEpisode, ...]


def read_recording(folder: Path) -> RecordedRun:
    """A recorded run. Raises UserError for a folder that is none."""
    try:
        about = decode(About, loads(read_file(folder / ABOUT)), place=ABOUT)
        lines = read_file(folder / EPISODES).splitlines()
        return RecordedRun(folder, about, tuple(decode(RecordedEpisode, loads(row), extra="ignore") for row in lines))
    except OSError as error:
        raise UserError(f"{folder} is no recorded run: can't read {error.filename} ({error.strerror})") from None
    except ValueError as error:
        raise UserError(f"{folder} is no recorded run of this version: {error}") from None


def recordings_below(folder: Path) -> list[RecordedRun]:
    """The recorded runs in a folder, or the one that it is. Raises UserError where there is none."""
    folders = sorted(path.parent for path in (*folder.glob(ABOUT), *folder.glob(f"*/{ABOUT}")))
    if not folders:
        raise UserError(f"there are no recorded runs in {folder}: make one with --llm KIND:NAME")
    return [read_recording(path) for path in folders]


def keep(
    folder: Path,
    about: About,
    *,
    config: str,
    played: Mapping[str, EpisodeResult],
    requested: Sequence[tuple[FigureKey, Task]],
    transcript: Path,
    composed: Path | None = None,
) -> RecordedRun:
    """Write a recorded run: the `played` episodes of the `requested` ones, and each answer of the transcript once."""
    exchanges = entries(transcript) if has_lines(transcript) else ()
    starts = {(str(entry["stage"]), entry["sampling"].get("seed")) for entry in exchanges}
    rows = []
    for cell, task in requested:
        unit = task.unit(cell.agent)
        if unit in played:
            rows.append(to_recorded_episode(played[unit]))
        elif (cell.stage, task.random_seed % 2**31) in starts:
            rows.append(unfinished_episode(cell, task))
    answers = first_answers(transcript) if has_lines(transcript) else b""
    atomic_write(folder / (TRANSCRIPT + COMPRESSED_SUFFIX), lzma.compress(answers))
    (folder / TRANSCRIPT).unlink(missing_ok=True)
    atomic_write(folder / CONFIG, config)
    if composed is not None:
        atomic_write(folder / COMPOSED, read_file(composed))
    atomic_write(folder / EPISODES, "".join(line(to_json(row)) + "\n" for row in rows))
    atomic_write(folder / ABOUT, json.dumps(asdict(about), indent=1) + "\n")
    return read_recording(folder)


def unfinished_episode(cell: FigureKey, task: Task) -> RecordedEpisode:
    """The row of an episode that has no outcome."""
    return RecordedEpisode(
        unit=task.unit(cell.agent),
        interface=cell.interface,
        perception=cell.perception,
        level=cell.level,
        seed=task.seed,
        finished=False,
    )


def to_recorded_episode(row: EpisodeResult, answerers: tuple[str, ...] = ()) -> RecordedEpisode:
    """An episode's row in its small form."""
    interface, _, perception = row.agent.partition("@")
    programs = tuple(
        RecordedProgram(
            prompt_tokens=int(program["prompt_tokens"]),
            completion_tokens=int(program["completion_tokens"]),
            lines=code_lines(str(program["program"])),
            steps=int(program["ended"]) - int(program["began"]),
            cause=str(program["cause"]),
        )
        for program in row.trace
    )
    return RecordedEpisode(
        unit=row.unit,
        interface=interface,
        perception=perception,
        level=row.level,
        seed=row.seed,
        success=bool(row.success),
        steps=row.steps,
        max_steps=row.max_steps,
        bot_steps=row.bot_steps,
        questions=row.llm_calls,
        calls=row.skill_calls,
        cause=row.cause,
        programs=programs,
        answerers=answerers,
    )


COMPOSED_SKILLS, SKILLS, PRIMITIVE, TURN = "skills+composed", "skills", "primitive", "turn"
INTERFACES = (COMPOSED_SKILLS, SKILLS, PRIMITIVE, TURN)
"""Programs over skills and composed skills, over skills, over primitive actions; one action a turn."""

EVALUATION = "evaluation"
"""The split that figures are measured on."""

PERCEPTIONS: Mapping[str, str] = {name: f"babyai-{name}" for name in ("paper", "pixels")} | {"map": "babyai"}
"""Kind of perception -> the domain that has it."""

MAY_CHANGE = ("interfaces", "perceptions", "levels", "instructions")
"""May differ when a folder is resumed, because no episode depends on how many others there are."""


@dataclass(frozen=True, slots=True)
class RecordingRequest:
    """Episodes to record: each interface under each perception on each level, on the same `instructions` seeds."""

    config: RunConfig
    interfaces: tuple[str, ...]
    perceptions: tuple[str, ...]
    levels: tuple[str, ...]
    instructions: int
    seed: int
    library: str = ""
    split: str = EVALUATION
    composed: Path | None = None

    def __post_init__(self) -> None:
        for names, choices in ((self.interfaces, INTERFACES), (self.perceptions, PERCEPTIONS)):
            if unknown := [name for name in names if name not in choices]:
                raise UserError(f"there is no {unknown[0]!r}; there are {', '.join(choices)}")
        if COMPOSED_SKILLS in self.interfaces and not (self.composed and self.composed.is_file()):
            raise UserError(f"there are no composed skills at {self.composed}: make some with `sdg compose`")

    def tasks(self) -> Iterator[tuple[FigureKey, list[Task]]]:
        """Every cell with its episodes. Raises UserError for an unknown split or too large a count."""
        for level in self.levels:
            layouts = seeds(self.split, count=self.instructions, seed=self.seed, level=level)
            for perception in self.perceptions:
                tasks = [Task(level, layout, domain_name=PERCEPTIONS[perception]) for layout in layouts]
                for interface in self.interfaces:
                    yield FigureKey(interface, perception, level), tasks


def record(request: RecordingRequest, *, folder: Path, recording_folder: Path, processes: int = 0) -> RecordedRun:
    """Play the episodes that the folder lacks and store the recorded run compactly, even if a budget ends it.

    Raises ModelError as the model does, RunFolderError when the folder was begun with another model, library or commit,
    and where `recording_folder` is in use or holds other things.
    """
    if recording_folder.resolve() == folder.resolve():
        raise UserError(
            f"{recording_folder} can't be both the run's folder and the recorded run's: name another folder to --keep."
        )
    library = find_library(request.library)
    commit = revision(Path(sdg.__file__).resolve().parent) or UNKNOWN
    checksum = library_checksum(library)
    model = model_identity(request.config)
    identity = {
        "split": request.split,
        "composed": hashlib.sha256(read_file(request.composed)).hexdigest() if request.composed else None,
        "library": checksum,
        "commit": commit,
        "model": model,
        "deduce": json_values(request.config.deduce),
    }
    settings = {name: list(getattr(request, name)) for name in MAY_CHANGE[:3]} | {"instructions": request.instructions}
    name = folder.name if recording_folder.parent == folder else recording_folder.name
    about = About(
        name, model["name"] or model["kind"], commit, request.seed, request.instructions, request.split, checksum
    )
    with (
        open_folder(folder, settings | identity, seed=request.seed, may_change=MAY_CHANGE) as run,
        hold(recording_folder / "run.lock"),
    ):
        refuse_strangers(recording_folder, mark=ABOUT)
        earlier = read_recording(recording_folder).about if (recording_folder / ABOUT).exists() else about
        if replace(earlier, name=about.name, instructions=about.instructions) != about:
            raise UserError(f"{recording_folder} holds another recorded run: name another folder to --keep.")
        progress().note(expected_cost(request))
        try:
            play(request, library=library, folder=folder, run=run, processes=processes)
        except BudgetExceeded as error:
            progress().note(f"{error} What was recorded is kept; the same command goes on.")
        finally:
            result = keep(
                recording_folder,
                about,
                config=dump(replace(request.config, model=replace(request.config.model, base_url=None))),
                played={row.unit: row for row in Rows(run.journal("episodes"), EpisodeResult)},
                requested=[(cell, task) for cell, tasks in request.tasks() for task in tasks],
                transcript=folder / "transcript.jsonl",
                composed=request.composed if COMPOSED_SKILLS in request.interfaces else None,
            )
    return result


def _recipe(cell: FigureKey, request: RecordingRequest, library: Path, folder: Path | None) -> Recipe:
    """The agent of a cell. An exchange's stage says which cell it belongs to."""
    planner = planner_of(request.config, folder, library, agent=cell.agent, stage=cell.stage)
    planner = replace(planner, domain=PERCEPTIONS[cell.perception])
    if cell.interface == TURN:
        return ChatRecipe(planner.model, planner.sampling, cell.agent)
    if cell.interface == COMPOSED_SKILLS:
        return replace(planner, composed=request.composed)
    return replace(planner, skills=PRIMITIVES) if cell.interface == PRIMITIVE else planner


def play(
    request: RecordingRequest,
    *,
    library: Path,
    folder: Path | None,
    run: RunFolder,
    processes: int,
    only: Collection[str] | None = None,
) -> list[EpisodeResult]:
    """Play every episode of every cell, or `only` those units, all at once; recorded episodes aren't played again.
    Without a `folder` the model's answers aren't stored."""
    journal = run.journal("episodes")
    jobs: list[EpisodeJob] = []
    for cell, cell_tasks in request.tasks():
        tasks = [task for task in cell_tasks if only is None or task.unit(cell.agent) in only]
        recipe = _recipe(cell, request, library, folder)
        jobs += with_bot_steps(recipe, tasks, journal=journal, processes=processes or cores())
    with progress().stage(
        "episodes", total=len(jobs), unit="episode", done=sum(job.unit in journal for job in jobs)
    ) as stage:
        return run_jobs(jobs, journal=journal, processes=processes or cores(), done=lambda row: stage.advance())


def expected_cost(request: RecordingRequest) -> str:
    """The run's expected use of its model, in a line."""
    settings = model_settings(request.config, None)
    work = [(CHAT_EPISODE if cell.interface == TURN else EPISODE, len(tasks)) for cell, tasks in request.tasks()]
    return describe_cost(work, settings.budget, concurrency=concurrency_of(settings))
