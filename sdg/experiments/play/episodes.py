"""Many episodes, in parallel processes, one journal row each; recorded episodes are never played again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from sdg.agents.agents import Agent, ReplayAgent, Task, lost_task, play_task
from sdg.deduction.episode import EpisodeResult
from sdg.envs.babyai.bot import bot_actions
from sdg.envs.domains import DEFAULT
from sdg.envs.instructions import seeds
from sdg.experiments.play.parent_model import answer
from sdg.experiments.workers.workers import Workers
from sdg.llm.provider import ModelSettings
from sdg.llm.registry import concurrency_of
from sdg.storage import Journal, Rows, json_values

BOT = "bot"
ALL = "all"
"""The level's name in rows that summarise all levels of an agent."""


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
class PlainRecipe:
    """An agent that is made of its name and these arguments."""

    agent: str
    make: Callable[..., Agent]
    arguments: tuple[Any, ...] = ()

    def build(self) -> Agent:
        """The agent."""
        return self.make(self.agent, *self.arguments)


BOT_RECIPE = PlainRecipe(BOT, ReplayAgent, (bot_actions,))
"""minigrid's bot, which sees the hidden state: the redundancy figure's reference."""


@dataclass(frozen=True, slots=True)
class EpisodeJob:
    """An episode and its agent."""

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
        """Answer its agent's question to the model, in the parent. Raises ModelError as the model does."""
        return answer(self.model, request)

    def receive(self, row: Any) -> Any:
        """Its worker's row. Raises ValueError for a row that no journal could keep or that is another episode's."""
        values, task = json_values(EpisodeResult.from_json(json_values(row))), self.task
        expected = {
            "unit": self.unit,
            "agent": self.recipe.agent,
            "level": task.domain.level_name(task.level),
            "seed": task.seed,
            "repeat": task.repeat,
            "bot_steps": self.bot_steps,
        }
        for name, value in expected.items():
            if values[name] != json_values(value):
                raise ValueError(f"its {name} is {values[name]!r:.80}, not {value!r:.80}")
        return row

    def on_lost(self, reason: str) -> Any:
        """The row of an episode whose worker hung or died: a failure that says so."""
        return lost_task(self.recipe.agent, self.task, reason=reason, bot_steps=self.bot_steps)


def evaluation_tasks(
    levels: Sequence[str], *, instructions: int, repeats: int, seed: int, world: str = DEFAULT
) -> list[Task]:
    """`instructions` evaluation tasks per level and repeat; each repeat has its own seeds, so no episode comes twice.

    Raises ValueError for an unknown level or more instructions than the split has.
    """
    return [
        Task(level, layout, number // instructions, domain_name=world)
        for level in dict.fromkeys(levels)  # one that is named twice would count twice
        for number, layout in enumerate(seeds("evaluation", count=instructions * repeats, seed=seed, level=level))
    ]


def run_jobs(
    jobs: Sequence[EpisodeJob],
    *,
    journal: Journal,
    processes: int = 1,
    done: Callable[[EpisodeResult], None] = lambda row: None,
) -> list[EpisodeResult]:
    """Play what the journal lacks, equal jobs once, and return the rows of all jobs in order; `done` is called with
    each new row.

    Raises what an agent raises (a spent budget, a model that is gone); rows that were finished stay recorded.
    """
    missing = list({job.unit: job for job in jobs if job.unit not in journal}.values())
    # An episode that waits for a slow model needs no core, so then there are more processes than cores.
    outstanding = max((concurrency_of(job.model) for job in missing), default=1)
    for _, row in Workers(max(processes, outstanding), folder=journal.path.parent)(_play, missing):
        done(EpisodeResult.from_json(journal.append(row)))
    return [Rows(journal, EpisodeResult)[job.unit] for job in jobs]


def _play(job: EpisodeJob) -> dict[str, Any]:
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
    done: Callable[[EpisodeResult], None] = lambda row: None,
) -> list[EpisodeJob]:
    """The tasks as jobs, each with the bot's steps on it; the bot first plays those that the journal lacks. Jobs
    in worlds where it can't play have no such steps."""
    if not all(task.domain.can.bot for task in tasks):
        return [EpisodeJob(recipe, task) for task in tasks]
    bots = run_jobs([EpisodeJob(BOT_RECIPE, task) for task in tasks], journal=journal, processes=processes, done=done)
    return [
        EpisodeJob(recipe, task, bot_steps=row.steps if row.success else None)
        for task, row in zip(tasks, bots, strict=True)
    ]
