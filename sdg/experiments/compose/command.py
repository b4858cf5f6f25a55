"""`sdg compose`, step by step: read programs that solved practice instructions, distil skills, verify and keep them."""

import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from sdg.agents.agents import Task
from sdg.composition.distil import Author, SolvedEpisode, pick_varied
from sdg.console import progress
from sdg.deduction.composed import SIGNATURES
from sdg.deduction.episode import EpisodeResult
from sdg.deduction.library_skills import options_of
from sdg.deduction.planner import Prompts
from sdg.deduction.program import ENTRY, program_guard
from sdg.deduction.protocols import Documented, primitive_skills
from sdg.envs.domain import Domain
from sdg.envs.domains import domain
from sdg.envs.files import has_lines
from sdg.envs.instructions import SPLITS
from sdg.errors import UserError, refuse
from sdg.experiments.bench.models.recording import PERCEPTIONS, SKILLS, TRANSCRIPT, FigureKey
from sdg.experiments.compose.verify import Judgement, judge, play
from sdg.experiments.config.assembly import LIBRARY, REHEARSAL, model_identity, model_settings
from sdg.experiments.config.config import RunConfig
from sdg.experiments.report.data import text, value_of
from sdg.experiments.results.comparison import find_library, open_folder
from sdg.llm.model import Sampling
from sdg.llm.registry import is_rule_based
from sdg.llm.transcript import entries
from sdg.privacy.protector import build_model
from sdg.skills.library.composed import ComposedLibrary, ComposedSkill, Figures, save_composed
from sdg.skills.library.store import library_checksum, load_library
from sdg.storage import read_description, read_rows

PRACTICE = SPLITS["training"]
JOURNALS = ("episodes", "rehearsals")
TASK_HEADING = "## Instruction to carry out"
"""All prompts are equal up to this heading."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Programs that solved practice instructions, who wrote them and under which rules.

    `kind` is a key of `sdg.llm.registry.PROVIDERS`; `library` the checksum of the skills they call; `rules` the
    prompts' text before the instruction.
    """

    solved: tuple[SolvedEpisode, ...]
    kind: str
    model: str
    library: str | None
    domain: str
    rules: frozenset[str]


def read_programs(folder: Path, *, cell: FigureKey) -> Programs:
    """The programs of a recording (those of `cell`'s interface and perception) or of a run's last rehearsals.

    Raises UserError without such programs, RunFolderError for a folder that is no recording and no run.
    """
    config = read_description(folder)["config"]
    agents = (cell.agent, f"{REHEARSAL}-{config.get('cycles', 1)}", "sdg")
    journals = filter(has_lines, (folder / f"{name}.jsonl" for name in JOURNALS))
    rows = [row for journal in journals for row in read_rows(journal, EpisodeResult)]
    solved_rows = [
        row for row in rows if row.seed in PRACTICE and row.success and row.interactions == 1 and row.agent in agents
    ]
    transcript = next((path for path in (folder / "kept" / TRANSCRIPT, folder / TRANSCRIPT) if has_lines(path)), None)
    if not solved_rows or transcript is None:
        raise UserError(
            f"there is nothing to compose of in {folder}: {len(rows)} episodes, none of them a practice instruction "
            f"that one program over {cell.interface} solved (record with --split training)"
        )
    exchanges = _exchanges(transcript, stages=(cell.agent, "induce"))
    solutions, rules = list[SolvedEpisode](), set[str]()
    for row in solved_rows:
        line, prompt = exchanges.get(
            (Task(row.level, row.seed, row.repeat).random_seed % 2**31, row.instruction), (0, "")
        )
        rules.add(prompt.partition(TASK_HEADING)[0].strip())
        solutions.append(
            SolvedEpisode(
                row.instruction,
                row.level,
                row.seed,
                row.program,
                tuple(call["name"] for interaction in row.trace for call in interaction["calls"]),
                origin=f"{folder.name} line {line}",
            )
        )
    model: Mapping[str, Any] = value_of(config, "model", dict)
    return Programs(
        tuple(solutions),
        text(model, "kind"),
        text(model, "name") or text(model, "kind"),
        library_checksum(folder / LIBRARY) if (folder / LIBRARY / "library.json").is_file() else config.get("library"),
        PERCEPTIONS[cell.perception],
        frozenset(rules),
    )


def _exchanges(path: Path, *, stages: Collection[str]) -> dict[tuple[int | None, str], tuple[int, str]]:
    """Of these stages, by sampling seed and instruction: the line of the last exchange, and its prompt. Every cycle of
    a run rehearses on the same layouts."""
    exchanges: dict[tuple[int | None, str], tuple[int, str]] = {}
    for entry in (entry for entry in entries(path) if entry["stage"].partition("/")[0] in stages):
        prompt = str(entry["messages"][-1]["content"])
        instruction = prompt.partition(TASK_HEADING)[2].partition("```text\n")[2].partition("\n```")[0]
        exchanges[entry["sampling"].get("seed"), instruction] = (int(entry["line"]), prompt)
    return exchanges


ROUNDS = 3
"""How often programs are rewritten over the remaining composed skills."""


def compose(
    config: RunConfig,
    source: Path,
    *,
    folder: Path,
    to: Path,
    perception: str = "map",
    library: str = "",
    count: int = 16,
    layouts: int = 4,
    seed: int = 1,
    processes: int = 0,
) -> Iterator[dict[str, Any]]:
    """Compose skills from up to `count` programs of a recording or a run, and keep those that help; a row for each
    composed skill, and one for each refusal. Each program is verified on `layouts` layouts, under `seed`.

    Replies and episodes in the folder are used again. Raises UserError for programs that don't match the current
    library, prompts or model, ModelError as the model does.
    """
    library_folder = find_library(library)
    programs = read_programs(source, cell=FigureKey(SKILLS, perception, ""))
    world = domain(programs.domain)
    options: dict[str, Documented] = {
        **primitive_skills(world, beside_skills=True),
        **options_of(load_library(library_folder)),
    }
    rules = Prompts(world).rules(tuple(options.values()), budget=config.deduce.budget, attempts=config.deduce.attempts)
    _require_same(config, source, programs, library=library_folder, rules=rules.strip())
    question: dict[str, Any] = {
        "programs": str(source),
        "layouts": layouts,
        "count": count,
        "library": library_checksum(library_folder),
        "perception": perception,
        "model": model_identity(config),
    }
    with open_folder(folder, question, seed=seed) as run:
        author = _author(config, folder, world, options, seed=seed)
        admission = author.distil(programs.solved)
        yield from ({"skill": name, "kept": False, "why": reason} for name, reason in admission.refusals.items())
        verify = partial(
            play,
            library=library_folder,
            domain=programs.domain,
            journal=run.journal("episodes"),
            layouts=layouts,
            seed=seed,
            processes=processes,
        )
        verdicts: list[Judgement] = []
        for rejects, accepted in _rounds(author, pick_varied(programs.solved, count), admission.skills, verify):
            yield from map(_row, rejects)
            verdicts = accepted
    if skills := tuple(verdict.skill for verdict in verdicts if not verdict.reason):
        _save(skills, programs, library_folder, to)
        progress().note(f"{len(skills)} composed skills: {to}")
    yield from map(_row, verdicts)


def _author(config: RunConfig, folder: Path, world: Domain, options: Mapping[str, Documented], *, seed: int) -> Author:
    """The config's model as an author whose replies pass the guard of programs."""
    guard = program_guard(options, world, {**world.perceivable.functions, **SIGNATURES}, budget=1, source_bytes=2**18)
    return Author(
        build_model(model_settings(config, folder)),
        world,
        tuple(options.values()),
        lambda source: guard.load(source, entry=ENTRY),
        Sampling(config.model.temperature, seed, config.model.max_tokens, stage="compose"),
    )


def _save(skills: tuple[ComposedSkill, ...], programs: Programs, library: Path, to: Path) -> None:
    save_composed(
        ComposedLibrary(
            programs.model,
            is_rule_based(programs.kind),
            programs.domain,
            library_checksum(library),
            hashlib.sha256("".join(sorted(programs.rules)).encode()).hexdigest(),
            skills,
        ),
        to,
    )


def _rounds(
    author: Author, programs: Sequence[SolvedEpisode], skills: Sequence[ComposedSkill], verify: Callable[..., Any]
) -> Iterator[tuple[list[Judgement], list[Judgement]]]:
    """Per round, the dropped and the kept skills. A skill isn't blamed for another's effect on a shared program: the
    programs are rewritten and played again without the skills that failed by themselves."""
    for _ in range(ROUNDS if skills else 0):
        rewritten = list(author.rewrite(programs, skills))
        progress().note(
            f"{len(skills)} composed skills, {len(rewritten)} of {len(programs)} programs rewritten over them"
        )
        verdicts = judge(skills, verify(rewritten, skills))
        rejects = [verdict for verdict in verdicts if verdict.is_own_fault]
        accepted = [verdict for verdict in verdicts if not verdict.is_own_fault]
        skills = [replace(verdict.skill, figures=Figures()) for verdict in accepted]
        yield rejects, accepted
        if not rejects or not skills:
            return


def _require_same(config: RunConfig, source: Path, programs: Programs, *, library: Path, rules: str) -> None:
    """Raises UserError unless the programs were written by this kind of model, over these skills, under these rules."""
    faults = (
        (
            is_rule_based(programs.kind) != is_rule_based(config.model.kind),
            f"the programs of {source} were written by {programs.model}, and {config.model.kind} is to "
            "compose them: a stand-in's programs are never a language model's, nor the other way round",
        ),
        (
            programs.library not in (None, library_checksum(library)),
            f"the programs of {source} call other skills than those of {library}: "
            "name theirs with --library, or record them again",
        ),
        (
            set(map(_without_figures, programs.rules)) != {_without_figures(rules)},
            f"the prompts have changed since the programs of {source} were written: nothing is learned from "
            "them, record again",
        ),
    )
    refuse(UserError, faults)


def _without_figures(rules: str) -> str:
    """Rules without their numbers, because a run measures its skills again after its rehearsals."""
    return re.sub(r"\d+", "", rules)


def _row(verdict: Judgement) -> dict[str, Any]:
    skill, figures = verdict.skill, verdict.skill.figures
    return {
        "skill": f"{skill.name}({', '.join(skill.parameters)})",
        "kept": not verdict.reason,
        "why": verdict.reason,
        "calls": figures.calls,
        "success_rate": round(figures.done / figures.calls, 4) if figures.calls else None,
        "played": figures.played,
        "solved_with": figures.with_it,
        "solved_without": figures.without_it,
        "lines_with": figures.lines_with,
        "lines_without": figures.lines_without,
    }
