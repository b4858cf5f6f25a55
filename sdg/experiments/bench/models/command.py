"""A language model behind four interfaces: success and tokens.

    sdg bench models                                  the table of the recorded runs in recordings/models
    sdg bench models --replay                         the same, played again without a model; it must be the same
    sdg bench models --llm openai:NAME --set model.base_url=URL --levels BossLevel --instructions 12 --seed 777

Interfaces: skills+composed, skills, primitive (programs over them), turn (one action a turn). Perception: map, paper,
pixels.
--llm records episodes: all interfaces on the same layouts, up to model.concurrency questions at once, within
budget.tokens, budget.money and budget.minutes; an interrupted run is resumed. The recorded run is kept in OUT/kept
(--keep: elsewhere, such as recordings/models/NAME). An episode that was begun but not finished counts as not solved.
Where a recorded run names who answered each request, intervals come from a bootstrap over these names and are never
narrower than Wilson's. Steps are divided by those of minigrid's bot; a failure counts with the step limit.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import sdg
from sdg.envs.domains import domain
from sdg.experiments.bench import options
from sdg.experiments.bench.models.recording import (
    COMPOSED,
    COMPOSED_SKILLS,
    EVALUATION,
    INTERFACES,
    PRIMITIVE,
    RecordedEpisode,
    RecordedRun,
    RecordingRequest,
    record,
    recordings_below,
)
from sdg.experiments.bench.models.replay import replay_rows
from sdg.experiments.config.config import load, shipped_config
from sdg.experiments.results.comparison import SHIPPED
from sdg.llm.registry import parse_llm
from sdg.skills.statistics import Interval, bootstrap_clustered, wilson_interval

RECORDINGS = Path(sdg.__file__).resolve().parent.parent / "recordings/models"
"""The folder of the table's recorded runs."""

Row = Mapping[str, Any]
"""A model behind an interface under a perception on a level; rates in [0, 1], tokens and calls an episode.

`low` and `high` are the ends of the success rate's 95 % interval. `ahead_of_primitive` is the mean lead in success on
the same layouts, compared with programs over primitive actions; None where unknown."""


def rows(
    *,
    llm: Annotated[str, typer.Option(metavar="KIND[:NAME]", help="record episodes of this model")] = "",
    assignments: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="as in sdg run")] = None,
    interfaces: Annotated[Sequence[str], options.list_option("what programs are made of")] = INTERFACES[1:3],
    perceptions: Annotated[Sequence[str], options.list_option("what is perceived: map, paper, pixels")] = ("map",),
    levels: options.Levels = ("BossLevel",),
    instructions: Annotated[int, typer.Option(min=1, help="episodes a level, the same for each interface")] = 10,
    seed: options.Seed = 0,
    split: Annotated[str, typer.Option(help="evaluation, or training: practice to compose of")] = EVALUATION,
    library: options.Library = "",
    composed: Annotated[Path, typer.Option(metavar="FILE", help="the composed skills")] = SHIPPED / COMPOSED,
    out: options.Out = None,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="where a recorded run is kept; OUT/kept by default")
    ] = None,
    recordings: Annotated[Path, typer.Option(metavar="DIR", help="the recorded runs to read")] = RECORDINGS,
    replay: Annotated[bool, typer.Option("--replay", help="play the recorded runs again without a model")] = False,
    processes: options.Processes = 0,
) -> Iterator[Row]:
    """The rows of the table. Raises UserError for what isn't there, and if a replay differs from its recording."""
    if llm:
        model = (f"model.{key}={value}" for key, value in parse_llm(llm).items())
        request = RecordingRequest(
            load(shipped_config("models"), overlay=[*model, *(assignments or ())]),
            tuple(interfaces),
            tuple(perceptions),
            tuple(map(domain().level_name, levels)),
            instructions,
            seed,
            library,
            split,
            composed if COMPOSED_SKILLS in interfaces else None,
        )
        folder = out or Path(f"runs/models-{seed}")
        runs = [record(request, folder=folder, recording_folder=keep or folder / "kept", processes=processes)]
    else:
        runs = recordings_below(recordings)
    for run in runs:
        yield from replay_rows(run, rows_of, processes=processes) if replay else rows_of(run)


def rows_of(run: RecordedRun) -> list[Row]:
    """A recorded run's rows, in the order of its episodes."""
    cells = dict.fromkeys(episode.cell for episode in run.episodes)
    return [_row(run, [episode for episode in run.episodes if episode.cell == cell]) for cell in cells]


def _row(run: RecordedRun, episodes: Sequence[RecordedEpisode]) -> Row:
    def mean(value_of: Callable[[RecordedEpisode], float]) -> float:
        return round(statistics.fmean(map(value_of, episodes)), 4)

    first, rate = episodes[0], _rate(episodes)
    programs = [program for episode in episodes for program in episode.programs if program.lines]
    # A failed episode counts as one that used all its steps.
    ratios = [
        max(1, episode.steps if episode.success else episode.max_steps) / max(1, episode.bot_steps)
        for episode in episodes
        if episode.finished and episode.bot_steps
    ]
    leads = [
        episode.success - reference.success
        for episode in episodes
        for reference in run.episodes
        if _is_pair(episode, reference)
    ]
    return {
        "model": run.about.model,
        "interface": first.interface,
        "perception": first.perception,
        "level": first.level,
        "success_rate": round(rate.value, 4),
        "low": round(rate.low, 4),
        "high": round(rate.high, 4),
        "success_at_one": mean(lambda episode: episode.success and len(episode.programs) == 1) if programs else None,
        "episodes": len(episodes),
        "unfinished": sum(not episode.finished for episode in episodes),
        "answerers": len({episode.answerers[0] for episode in episodes if episode.answerers}),
        "tokens_per_episode": mean(
            lambda episode: sum(program.prompt_tokens + program.completion_tokens for program in episode.programs)
        ),
        "completion_tokens_per_episode": mean(
            lambda episode: sum(program.completion_tokens for program in episode.programs)
        ),
        "questions_per_episode": mean(lambda episode: episode.questions),
        "calls_per_episode": mean(lambda episode: episode.calls),
        "steps_to_bot": round(statistics.median(ratios), 3) if ratios else None,
        "program_lines": statistics.median(program.lines for program in programs) if programs else None,
        "ahead_of_primitive": round(statistics.fmean(leads), 4) if leads else None,
        "draw": run.about.name,
        "commit": run.about.commit,
    }


def _is_pair(episode: RecordedEpisode, reference: RecordedEpisode) -> bool:
    """Whether `reference` is the episode of the same layout with programs over primitive actions."""
    same = (episode.seed, episode.level, episode.perception) == (reference.seed, reference.level, reference.perception)
    return same and reference.interface == PRIMITIVE and episode.interface != PRIMITIVE


def _rate(episodes: Sequence[RecordedEpisode]) -> Interval:
    """The success rate; its interval is Wilson's, or wider where a bootstrap over `answerers` is."""
    outcomes = [float(episode.success) for episode in episodes]
    rate = wilson_interval(int(sum(outcomes)), len(outcomes))
    if not all(episode.answerers for episode in episodes):
        return rate
    return rate.widen(bootstrap_clustered(outcomes, [episode.answerers[0] for episode in episodes], seed=0))
