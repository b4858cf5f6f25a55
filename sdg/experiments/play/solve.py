"""One instruction with a stored library: what `sdg solve --level LEVEL` does, as a function."""

from typing import Any

from sdg.agents.agents import Task, begin, lost_episode, open_world
from sdg.deduction.episode import UNFINISHED, Episode, EpisodeResult
from sdg.envs.babyai.language import nearest
from sdg.envs.domains import domain
from sdg.envs.instructions import check_layout
from sdg.errors import UserError
from sdg.experiments.play.episodes import EpisodeJob
from sdg.experiments.play.players import PlannerRecipe
from sdg.experiments.workers.workers import Workers
from sdg.privacy.protector import protector_of
from sdg.privacy.recognisers import PrivacyError

SOLVED, FAILED, UNJUDGED = "solved", "failed", "unjudged"


def solve(
    level: str, seed: int, *, instruction: str = "", recipe: PlannerRecipe
) -> tuple[dict[str, Any], EpisodeResult]:
    """Play one instruction: the level's own under `seed`, or the user's words in the world of that seed.

    Returns a row, and the episode for a film. The row's `outcome` is SOLVED or FAILED by the level's verifier; UNJUDGED
    claims no success, because the level can't verify the words (`note` says why). `program` is the last one, `calls`
    has all calls of all programs in order. Raises UserError for an unusable level, seed or instruction, LibraryError
    for a broken library and ModelError when the model gives no reply.
    """
    instruction = _admit(instruction, recipe)
    task = Task(level, check_layout(seed), instruction=instruction, domain_name=recipe.domain)
    try:
        name, _ = open_world(task)
    except ValueError as error:
        raise UserError(str(error)) from None
    if instruction and task.domain.language == domain().language:
        # A misspelt instruction isn't sent to a model; the error suggests the right words.
        suggestion = nearest(instruction)
        if suggestion is not None:
            raise UserError(f"{instruction!r} is no instruction; did you mean {suggestion!r}?")
    ((_, episode),) = Workers(1)(_play, [_Play(recipe, task)])
    verdict = SOLVED if episode.success else FAILED
    row = {
        "level": name,
        "seed": seed,
        "instruction": episode.instruction,
        "outcome": verdict if episode.judged else UNJUDGED,
        "note": "" if episode.judged else _why_unjudged(task),
        **_summary(episode),
        "library": str(recipe.library),
        "agent": recipe.agent,
    }
    return row, EpisodeResult.from_json(
        {"unit": task.unit(recipe.agent), "agent": recipe.agent, "level": name, "seed": seed} | episode.row()
    )


def _admit(instruction: str, recipe: PlannerRecipe) -> str:
    """The user's words as they may leave this machine; nothing after this function sees the originals."""
    if any("\ud800" <= character <= "\udfff" for character in instruction):
        raise UserError("an instruction can't hold half of a letter (a lone surrogate)")
    try:
        protector = protector_of(recipe.model.privacy) if instruction else None
        return protector.admit(instruction) if protector else instruction
    except PrivacyError as error:
        raise UserError(str(error)) from None


class _Play(EpisodeJob):
    """The episode as a job that gives all of it, with its calls."""

    def receive(self, episode: Any) -> Episode:
        """Its worker's episode. Raises ValueError for anything else."""
        level = self.task.domain.level_name(self.task.level)
        super().receive(
            {"unit": self.unit, "agent": self.recipe.agent, "level": level, "seed": self.task.seed} | episode.row()
        )
        return episode

    def on_lost(self, reason: str) -> Episode:
        """The outcome if the process hung or died."""
        return lost_episode(open_world(self.task)[1], self.task)


def _play(job: EpisodeJob) -> Episode:
    return job.recipe.build().play(open_world(job.task)[1], job.task)


def _summary(episode: Episode) -> dict[str, Any]:
    """The episode for a reader. If it is unjudged, a program that ran to its end did nothing wrong."""
    row = episode.row()
    nothing_failed = not episode.judged and episode.cause == UNFINISHED
    columns = ("steps", "max_steps", "interactions", "skill_calls", "llm_calls", "tokens", "program")
    has_several_programs = len(row["trace"]) > 1
    calls = [
        f"program {number}, {call}" if has_several_programs else str(call)
        for number, interaction in enumerate(episode.interactions, 1)
        for call in interaction.calls
    ]
    ending = {"cause": "" if nothing_failed else row["cause"], "error": "" if nothing_failed else row["error"]}
    return ending | {key: row[key] for key in columns} | {"calls": calls, "actions": row["actions"]}


def _why_unjudged(task: Task) -> str:
    """What the level's verifier says of the words."""
    try:
        begin(task.domain.open(task.domain.level_name(task.level)), task)
    except ValueError as error:
        return str(error)
    return ""
