"""Composed skills verified in practice: on layouts that they weren't written on, by their checks and by their effect on
whole instructions. Programs rewritten over them are played beside the original programs, on the same layouts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path

from sdg.agents.agents import Task, is_judged, open_world
from sdg.composition.distil import SolvedEpisode
from sdg.console import progress
from sdg.deduction.episode import EpisodeResult
from sdg.envs.instructions import seeds
from sdg.experiments.play.episodes import EpisodeJob, run_jobs
from sdg.experiments.play.players import ProgramRecipe
from sdg.experiments.results.comparison import cores
from sdg.prompts.sources import code_lines
from sdg.skills.library.composed import ComposedSkill, Figures, linked_source
from sdg.storage import Journal

MIN_CALLS = 5
MIN_DONE = 0.7
EPISODES_PER_LOSS = 20
"""A skill that at least halves programs may lose one episode in this many, because one loss proves nothing."""
MAX_LAYOUTS = 150
"""Layouts that are searched for those in which an instruction makes sense."""


Pair = tuple[EpisodeResult, EpisodeResult]
"""A layout on which both forms of a program were played: the original, and the one over composed skills."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A composed skill with its figures, and why it isn't kept ("" if it is).

    `is_own_fault`: because of its own calls, not because programs that it shares with other skills failed.
    """

    skill: ComposedSkill
    reason: str
    is_own_fault: bool = False


def play(
    rewritten: Sequence[tuple[SolvedEpisode, str]],
    composed: Sequence[ComposedSkill],
    *,
    library: Path,
    domain: str,
    journal: Journal,
    layouts: int,
    seed: int,
    processes: int = 0,
) -> list[tuple[SolvedEpisode, str, list[Pair]]]:
    """Each program with its rewritten form and the pairs of episodes that they played, on `layouts` layouts for each
    program, under a separate seed."""
    jobs: list[list[tuple[EpisodeJob, EpisodeJob]]] = []
    for program, source in rewritten:
        old = ProgramRecipe(_unit("program", program.source), library, (program.source,), domain=domain)
        name = _unit("rewritten", source, *(skill.source for skill in composed))
        new = ProgramRecipe(name, library, (source,), domain=domain, composed=tuple(composed))
        tasks = _tasks(program, domain, layouts, seed)
        jobs.append([(EpisodeJob(old, task), EpisodeJob(new, task)) for task in tasks])
    flat = [job for pairs_of_program in jobs for pair in pairs_of_program for job in pair]
    with progress().stage(
        "verification", total=len(flat), unit="episode", done=sum(job.unit in journal for job in flat)
    ) as stage:
        rows = run_jobs(flat, journal=journal, processes=processes or cores(), done=lambda row: stage.advance())
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return [
        (program, source, [next(pairs) for _ in pairs_of_program])
        for (program, source), pairs_of_program in zip(rewritten, jobs, strict=True)
    ]


def _tasks(program: SolvedEpisode, domain: str, layouts: int, seed: int) -> list[Task]:
    """Other practice layouts in which the program's instruction makes sense."""
    layout_seeds = (layout for layout in seeds("training", count=MAX_LAYOUTS, seed=seed) if layout != program.seed)
    tasks = (
        Task(program.level, layout, instruction=program.instruction, domain_name=domain) for layout in layout_seeds
    )
    return list(islice((task for task in tasks if is_judged(open_world(task)[1])), layouts))


def _unit(kind: str, *sources: str) -> str:
    """A name in the journal that changes with the sources of the program."""
    return f"{kind}-{sha256(''.join(sources).encode()).hexdigest()[:12]}"


def judge(skills: Sequence[ComposedSkill], played: Sequence[tuple[SolvedEpisode, str, list[Pair]]]) -> list[Judgement]:
    """Every skill with its figures; it is kept if it keeps its promises and doesn't make instructions worse."""
    by_name = {skill.name: skill for skill in skills}
    verdicts = [_verdict_on(skill, by_name, played) for skill in skills]
    while failures := {verdict.skill.name for verdict in verdicts if verdict.reason}:
        dependents = [verdict for verdict in verdicts if not verdict.reason and failures & set(verdict.skill.uses)]
        if not dependents:
            break
        verdicts = [
            replace(verdict, reason="it uses a skill that isn't kept") if verdict in dependents else verdict
            for verdict in verdicts
        ]
    return verdicts


def _verdict_on(
    skill: ComposedSkill, by_name: Mapping[str, ComposedSkill], trials: Sequence[tuple[SolvedEpisode, str, list[Pair]]]
) -> Judgement:
    using = [trial for trial in trials if f"def {skill.name}(" in linked_source(trial[1], by_name)]
    pairs = [pair for _, _, pairs_of_program in using for pair in pairs_of_program]
    interactions = [interaction for _, after in pairs for interaction in after.trace]
    calls = [call for interaction in interactions for call in interaction["composed"] if call[0] == skill.name]
    direct_calls = [call for call in calls if not call[1]]
    figures = Figures(
        calls=len(direct_calls),
        done=sum(bool(call[3]) for call in direct_calls),
        played=len(pairs),
        with_it=sum(bool(after.success) for _, after in pairs),
        without_it=sum(bool(before.success) for before, _ in pairs),
        lines_with=sum(code_lines(source) for _, source, _ in using),
        lines_without=sum(code_lines(program.source) for program, _, _ in using),
    )
    own_fault = _own_fault(figures, calls)
    return Judgement(replace(skill, figures=figures), own_fault or _no_help(figures), bool(own_fault))


def _own_fault(figures: Figures, calls: Sequence[Sequence[object]]) -> str:
    """Why a skill isn't kept, "" for no reason; a check that lies is reported before a skill that fails."""
    if len(calls) < MIN_CALLS:
        return ""
    if not figures.calls:
        return "its check never says no: it was true before every call"
    lies = sum(says is True and not after for _, _, says, after in calls)
    if 2 * lies > len(calls):
        return "its check disagrees with its own code: nothing is learned from a lie"
    fails = figures.calls >= MIN_CALLS and figures.done < MIN_DONE * figures.calls
    return f"its check held after {figures.done} of {figures.calls} calls" if fails else ""


def _no_help(figures: Figures) -> str:
    """Why a skill isn't known to help, "" if it is."""
    if figures.calls < MIN_CALLS:
        return f"it was called {figures.calls} times, {MIN_CALLS} are needed to know it"
    loss = figures.without_it - figures.with_it
    halves_programs = 2 * figures.lines_with <= figures.lines_without
    if loss > (figures.played // EPISODES_PER_LOSS if halves_programs else 0):
        return f"programs with it solved {figures.with_it} of {figures.played}, without it {figures.without_it}"
    adds_nothing = loss == 0 and figures.lines_with >= figures.lines_without
    return "programs with it are no better and no shorter" if adds_nothing else ""
