"""Episodes of screen tasks in a browser: many pages side by side while their models think, one row each.

    play(jobs, setting)                                             # in this process, one browser
    play_in_processes(play, lose, jobs, setting, processes=2)       # in two processes, a browser each

A model that answers over a network is asked about as many episodes at a time as its settings allow.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdg.envs.ui.browser import Browser, PageError
from sdg.envs.ui.changes import what_changed
from sdg.envs.ui.domain import UIWorld
from sdg.envs.ui.parser.screen import parse
from sdg.experiments.bench.screens.exemplars import exemplar_for
from sdg.experiments.bench.screens.truth import true_parser
from sdg.experiments.play.desktop import ProtectedDesktop, ScreenDesktop
from sdg.experiments.play.together import play_together
from sdg.gate.executor import GateGuard
from sdg.gate.registry import gate_of
from sdg.llm.model import Completion, Message
from sdg.llm.provider import ModelSettings
from sdg.llm.registry import concurrency_of
from sdg.privacy.memory import Placeholders
from sdg.privacy.protector import Protector, build_model
from sdg.privacy.recognisers import recognisers_of
from sdg.screen_agent.agent import UIEpisode, Work
from sdg.screen_agent.modes import MODES, TEXT
from sdg.storage import atomic_write

SCREENSHOT, TRUE = "screenshot", "true"
MAX_KEPT = 1200
"""Characters kept of a command and its outcome; the longest typed text fits."""
VISION, REASONING, MODEL, OTHER = "vision", "reasoning", "model", "other"


@dataclass(frozen=True, slots=True)
class Setting:
    """How episodes are played: the model, the guards, whether the screen is read from pixels or from the page,
    whether a worked example is shown, and where the last screenshots of failures are written (None: nowhere)."""

    model: ModelSettings
    guards: tuple[str, ...] = ("open",)
    eyes: str = SCREENSHOT
    exemplars: bool = False
    mode: str = TEXT.name
    failures: Path | None = None


@dataclass(frozen=True, slots=True)
class ScreenJob:
    """One episode: a task and its seed."""

    task: str
    seed: int

    @property
    def unit(self) -> str:
        """Its name in the journal."""
        return f"{self.task}/{self.seed}"


@dataclass(frozen=True, slots=True)
class ScreenEpisode:
    """An episode's row in the journal; `cause` is "" for one that was solved."""

    unit: str
    task: str
    seed: int
    success: bool
    end: str
    cause: str = ""
    detail: str = ""
    instruction: str = ""
    completions: int = 0
    commands: int = 0
    tokens: int = 0
    seconds: float = 0.0
    past: tuple[str, ...] = ()
    confirmed: int = 0


def play(
    jobs: Sequence[ScreenJob],
    setting: Setting,
    *,
    begun: Callable[[ScreenJob], None] = lambda job: None,
    waiting: Callable[[], None] = lambda: None,
) -> Iterator[ScreenEpisode]:
    """Play the jobs in one browser; rows as they finish. `waiting` is called while only models work.

    Raises NoBrowser, BudgetExceeded, ModelError for settings."""
    with Browser() as browser:
        pages = [browser, *(browser.another() for _ in range(min(concurrency_of(setting.model), len(jobs)) - 1))]
        yield from play_together(
            jobs,
            pages,
            lambda job, page: _Episode(job, setting, page),
            build_model(setting.model),
            begun=begun,
            waiting=waiting,
        )


class _Episode:
    """A job under way: played with the setting's eyes and, if it failed, once more with the true ones."""

    def __init__(self, job: ScreenJob, setting: Setting, browser: Browser) -> None:
        self.job, self.setting, self.browser = job, setting, browser
        self.confirmed = 0
        self.gate: GateGuard = gate_of(setting.guards, usages={}, resolve=lambda *_: (), confirm=self._confirm)
        self.began = time.monotonic()
        self.first: UIEpisode | None = None
        self.cause = ""
        self.work: Work | None = None
        self.desktop: ScreenDesktop | None = None
        self._begin(setting.eyes)

    def _confirm(self, question: str) -> bool:
        """Before a press that can't be undone: the benchmark says yes and counts."""
        if self.first is None:
            self.confirmed += 1
        return True

    def question(self) -> tuple[Message, ...] | None:
        """The next question to the model; None when all is played."""
        while self.work is not None:
            question = self.work.question()
            if question is not None:
                return question
            self._end(self.work.result())
        return None

    def hear(self, reply: Callable[[], Completion]) -> None:
        """Carry out the model's answer."""
        assert self.work is not None
        self.work.hear(reply)

    def _begin(self, eyes: str) -> None:
        world = UIWorld(self.job.task, browser=self.browser)
        try:
            world.reset(self.job.seed)
        except PageError as error:
            self._end(UIEpisode("", "page", (), 0, detail=str(error)))
            return
        look = true_parser(self.browser) if eyes == TRUE else parse
        self.desktop = ScreenDesktop(world, parser=look, lazy=eyes != TRUE)
        desktop: Any = self.desktop
        if "password" in world.mission.lower():
            desktop = ProtectedDesktop(self.desktop, Protector(recognisers_of(""), Placeholders()))
        exemplar = exemplar_for(self.job.task, world.mission) if self.setting.exemplars else ""
        self.work = Work(desktop, self.gate, exemplar=exemplar, mode=MODES[self.setting.mode], changes=what_changed)

    def _end(self, episode: UIEpisode) -> None:
        self.work = None
        if self.first is not None:
            self.cause = VISION if episode.success else REASONING
            return
        self.first = episode
        if episode.success:
            return
        picture = self.desktop.screenshot if self.desktop else b""
        if picture and self.setting.failures is not None:
            atomic_write(self.setting.failures / f"{self.job.task}-{self.job.seed}.png", picture)
        self.cause = {"page": OTHER, "model": MODEL}.get(episode.end, REASONING)
        if self.cause == REASONING and self.setting.eyes != TRUE:
            self._begin(TRUE)

    def row(self) -> ScreenEpisode:
        """How it ended."""
        episode = self.first
        assert episode is not None
        return ScreenEpisode(
            unit=self.job.unit,
            task=self.job.task,
            seed=self.job.seed,
            success=episode.success,
            end=episode.end,
            cause=self.cause,
            detail=episode.detail,
            instruction=episode.instruction,
            completions=episode.completions,
            commands=len(episode.steps),
            tokens=episode.prompt_tokens + episode.completion_tokens,
            seconds=round(time.monotonic() - self.began, 2),
            past=tuple(f"{step.command}: {step.outcome}"[:MAX_KEPT] for step in episode.steps),
            confirmed=self.confirmed,
        )


def lose(job: ScreenJob, how: str) -> ScreenEpisode:
    """The row of an episode whose process died or fell silent."""
    return ScreenEpisode(job.unit, job.task, job.seed, False, "page", OTHER, f"the browser's process {how}")
