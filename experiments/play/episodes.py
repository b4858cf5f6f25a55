"""Many episodes, in parallel processes, one journal row each: what is recorded is never played again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from sdg.agents.agents import Agent, ReplayAgent, Task, lost_task, play_task
from sdg.envs.babyai.bot import bot_actions
from sdg.envs.instructions import seeds
from sdg.experiments.play.parent_model import answer
from sdg.experiments.run.workers import Workers
from sdg.llm.provider import ModelSettings
from sdg.llm.registry import concurrency_of
from sdg.run import Journal

Row = dict[str, Any]
Done = Callable[[Row], None]
BOT = "bot"


def unheard(row: Row) -> None:
    """Nobody is told of a row."""


class Recipe(Protocol):
    """How to make an agent, as a small hashable value that travels to worker processes."""

    @property
    def agent(self) -> str:
        """The agent's name."""
        ...

    def build(self) -> Agent:
        """Make it; called once in each process."""
        ...

    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class BotRecipe:
    """minigrid's bot, which sees the hidden state: the redundancy figure's yardstick."""

    agent: str = BOT

    def build(self) -> Agent:
        """The bot under the common harness."""
        return ReplayAgent(self.agent, bot_actions)


@dataclass(frozen=True, slots=True)
class Job:
    """One episode to play by whom."""

    recipe: Recipe
    task: Task
    bot_steps: int | None = None

    @property
    def unit(self) -> str:
        """Its name in the journal."""
        return self.task.unit(self.recipe.agent)

    @property
    def model(self) -> ModelSettings:
        """The model that its agent asks; for an agent that asks none, one that costs nothing."""
        return getattr(self.recipe, "model", ModelSettings())

    def answer(self, request: Any) -> Any:
        """What its agent asks the model, answered in the parent. Raises ModelError as the model does."""
        return answer(self.model, request)

    def lost(self, reason: str) -> Row:
        """The row of an episode whose worker hung or died: a failure that says so."""
        return lost_task(self.recipe.agent, self.task, reason=reason, bot_steps=self.bot_steps)


def evaluation_tasks(levels: Sequence[str], *, instructions: int, repeats: int, seed: int) -> list[Task]:
    """`instructions` evaluation tasks a level and repeat; repeats have seeds of their own, so no episode comes twice.

    Raises ValueError for an unknown level or more instructions than the split has.
    """
    drawn = seeds("evaluation", count=instructions * repeats, seed=seed)
    parts = [drawn[start : start + instructions] for start in range(0, len(drawn), instructions)]
    return [Task(level, layout, repeat) for level in levels for repeat, part in enumerate(parts) for layout in part]


def run_jobs(jobs: Sequence[Job], *, journal: Journal, processes: int = 1, done: Done = unheard) -> list[Row]:
    """Play what the journal lacks and give the rows of all jobs in their order; `done` hears of each new row.

    Raises what an agent raises (a spent budget, a model that is gone); rows that were finished stay recorded.
    """
    missing = [job for job in jobs if job.unit not in journal]
    # An episode that waits for a slow model takes no core: then there are more processes than cores.
    outstanding = max((concurrency_of(job.model) for job in missing), default=1)
    for _, row in Workers(max(processes, outstanding), folder=journal.path.parent)(_play, missing):
        done(journal.append(row))
    return [journal[job.unit] for job in jobs]


def _play(job: Job) -> Row:
    return play_task(_agent(job.recipe), job.task, bot_steps=job.bot_steps)


@lru_cache(maxsize=8)
def _agent(recipe: Recipe) -> Agent:
    return recipe.build()


def with_bot_steps(
    recipe: Recipe,
    tasks: Sequence[Task],
    *,
    journal: Journal,
    processes: int = 1,
    done: Done = unheard,
) -> list[Job]:
    """The tasks as jobs, each with the bot's steps on it; the bot plays those that the journal lacks first."""
    bots = [Job(BotRecipe(), task) for task in tasks]
    rows = run_jobs(bots, journal=journal, processes=processes, done=done)
    return [
        Job(recipe, task, bot_steps=row["steps"] if row["success"] else None)
        for task, row in zip(tasks, rows, strict=True)
    ]
