"""Episodes of phone tasks: the screen agent on a device, one row each; each process has a browser of its own.

A phone that goes away, or a process that dies with its episode, is a failure with that cause; the next episode begins
again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from sdg.envs.phone.adb import AdbPhone
from sdg.envs.phone.device import Device, DeviceLost
from sdg.envs.phone.embedded.phone import EmbeddedPhone, phone_browser
from sdg.envs.phone.embedded.state import initial_state
from sdg.envs.phone.metrics import TaskScore, same_screen, score_steps
from sdg.envs.phone.tasks import Judge, PhoneTask, is_right, side_effects
from sdg.envs.ui.browser import Browser
from sdg.experiments.bench.phone.androidlab import parsed_action, write_episode
from sdg.gate.registry import gate_of
from sdg.llm.model import Completion, LanguageModel, Message, ModelError, Sampling
from sdg.llm.provider import ModelSettings
from sdg.llm.registry import build
from sdg.phone_agent.desktop import PhoneDesktop, PhoneStep
from sdg.phone_agent.privacy import PrivateDevice
from sdg.privacy.memory import Memory
from sdg.privacy.protector import Protector
from sdg.privacy.recognisers import recognisers_of
from sdg.prompts.fill import conversation, fence
from sdg.sandbox.process.confine import die_with_parent
from sdg.screen_agent.agent import UIAgent, UIEpisode
from sdg.screen_agent.modes import MODES

EMBEDDED = "embedded"
MAX_JUDGEMENTS = 6
"""Times that a model is asked to judge an answer before it counts as wrong, as in AndroidLab."""


@dataclass(frozen=True, slots=True)
class PhoneSetting:
    """How episodes are played: model, guards, the device ("embedded", "adb" or "adb:SERIAL"), a model that judges
    answers (None: by comparison), whether values are masked, and where traces are written (None: nowhere)."""

    model: ModelSettings
    guards: tuple[str, ...] = ("phone", "confirm")
    device: str = EMBEDDED
    judge: ModelSettings | None = None
    masked: bool = False
    traces: Path | None = None


@dataclass(frozen=True, slots=True)
class PhoneJob:
    """One episode: a task in a mode."""

    task: PhoneTask
    mode: str

    @property
    def unit(self) -> str:
        """Its name in the journal."""
        return f"{self.mode}/{self.task.id}"


@dataclass(frozen=True, slots=True)
class PhonePlayed:
    """An episode as the journal keeps it: AndroidLab's flags and counts (`TaskScore`), how it ended, and beside that
    whether success was claimed falsely, what else was changed, and whether comparison and judge disagree."""

    unit: str
    task: str
    mode: str
    flags: dict[str, bool]
    steps: int
    unchanged: int
    shortest: int
    end: str
    detail: str = ""
    message: str | None = None
    false_complete: bool = False
    side_effects: tuple[str, ...] = ()
    disagreement: bool = False
    confirmed: int = 0
    tokens: int = 0
    seconds: float = 0.0
    past: tuple[str, ...] = ()

    @property
    def score(self) -> TaskScore:
        """What the metrics go over."""
        return TaskScore(self.flags, self.steps, self.unchanged, self.shortest)


def play_task(job: PhoneJob, setting: PhoneSetting, phone: Device, model: LanguageModel) -> PhonePlayed:
    """Play one episode on a phone. Raises BudgetExceeded alone."""
    episode = _Episode(job, setting, phone)
    return episode.play(model)


class _Episode:
    def __init__(self, job: PhoneJob, setting: PhoneSetting, phone: Device) -> None:
        self.task, self.job, self.setting, self.phone = job.task, job, setting, phone
        self.judge = Judge(job.task)
        self.looks: list[dict[str, bool]] = []
        self.confirmed, self.disagreement = 0, False

    def play(self, model: LanguageModel) -> PhonePlayed:
        """The whole episode and its row."""
        began = time.monotonic()
        gate = gate_of(self.setting.guards, usages={}, resolve=lambda *_: (), model=model, confirm=self._confirm)
        device, instruction = self.phone, self.task.instruction
        if self.setting.masked:
            protector = Protector(recognisers_of(""), Memory())
            device, instruction = PrivateDevice(device, protector), protector.admit(instruction)
        listened = _Listened(model)
        desktop = PhoneDesktop(
            device, instruction, finished=self._finished, looked=self._look, heard=lambda: listened.said
        )
        try:
            if isinstance(self.phone, EmbeddedPhone):
                self.phone.reset(self.task.seed)
            else:
                self.phone.press("Home")
            played = UIAgent(listened, gate, mode=MODES[self.job.mode]).play(desktop)
        except DeviceLost as error:
            played = UIEpisode(instruction, "page", (), 0, detail=str(error))
        if self.setting.traces is not None:
            write_episode(self.setting.traces / self.job.mode / self.task.id, self.task, desktop.steps, desktop.size)
        return self._row(desktop, played, time.monotonic() - began)

    def _confirm(self, question: str) -> bool:
        """Before a press that can't be undone: the benchmark says yes and counts."""
        self.confirmed += 1
        return True

    def _look(self, tree: Any) -> None:
        if isinstance(self.phone, EmbeddedPhone):
            self.judge.look(self.phone.state(), tree)
        self.looks.append(self.judge.flags)

    def _finished(self, message: str) -> bool:
        if self.task.is_question:
            right = is_right(message, self.task.answers)
            if self.setting.judge is not None:
                judged = judge_answer(build(self.setting.judge), self.task, message)
                self.disagreement, right = judged != right, judged
            self.judge.answer(right)
        self.looks[-1] = self.judge.flags
        return self.judge.flags["complete"]

    def _row(self, desktop: PhoneDesktop, played: UIEpisode, seconds: float) -> PhonePlayed:
        steps = desktop.steps
        actions = [str(parsed_action(step)) for step in steps]

        def same(one: int, other: int) -> bool:
            return _same(steps[one], steps[other])

        score = score_steps(self.looks[: len(steps)], actions, same, shortest=self.task.shortest)
        changed: tuple[str, ...] = ()
        if isinstance(self.phone, EmbeddedPhone) and played.end != "page":
            changed = side_effects(self.task, initial_state(self.task.seed), self.phone.state())
        return PhonePlayed(
            self.job.unit,
            self.task.id,
            self.job.mode,
            dict(score.flags),
            score.steps,
            score.unchanged,
            self.task.shortest,
            played.end,
            played.detail,
            desktop.message,
            desktop.message is not None and not score.complete,
            changed,
            self.disagreement,
            self.confirmed,
            played.prompt_tokens + played.completion_tokens,
            round(seconds, 2),
            tuple(f"{step.command}: {step.outcome}"[:200] for step in played.steps),
        )


class _Listened:
    """A model whose last reply is remembered, for the trace."""

    def __init__(self, model: LanguageModel) -> None:
        self._model, self.name, self.said = model, model.name, ""

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """What the model says."""
        reply = self._model.complete(messages, sampling=sampling)
        self.said = reply.text
        return reply


def _same(one: PhoneStep, other: PhoneStep) -> bool:
    return one.screen.png == other.screen.png or same_screen(one.screen.image, other.screen.image)


def judge_answer(model: LanguageModel, task: PhoneTask, answer: str) -> bool:
    """Whether a model finds an answer right; one that says neither True nor False in six tries doesn't."""
    asked = conversation(
        "phone_judge",
        question=fence(task.instruction),
        reference=fence(" or ".join(task.answers)),
        answer=fence(answer),
    )
    for _ in range(MAX_JUDGEMENTS):
        try:
            said = model.complete(asked).text
        except ModelError:
            continue
        if ("True" in said) != ("False" in said):
            return "True" in said
    return False


def play_all(jobs: Sequence[PhoneJob], setting: PhoneSetting, *, processes: int) -> Iterator[PhonePlayed]:
    """Rows as they finish. Raises what isn't an episode's fault: NoBrowser, BudgetExceeded, ModelError of settings.

    When a process dies every unfinished episode is played once more, by itself; who dies again is lost.
    """
    left = {job.unit: job for job in jobs}
    try:
        with _pool(min(processes, len(jobs))) as pool:
            for future in as_completed([pool.submit(_play, job, setting) for job in jobs]):
                left.pop(future.result().unit)
                yield future.result()
    except BrokenProcessPool:
        for job in left.values():
            yield _play_alone(job, setting)


def _play_alone(job: PhoneJob, setting: PhoneSetting) -> PhonePlayed:
    try:
        with _pool(1) as pool:
            future: Future[PhonePlayed] = pool.submit(_play, job, setting)
            return future.result()
    except BrokenProcessPool:
        flags = Judge(job.task).flags
        return PhonePlayed(job.unit, job.task.id, job.mode, flags, 0, 0, job.task.shortest, "page", "the process died")


def _pool(processes: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=die_with_parent)


def _play(job: PhoneJob, setting: PhoneSetting) -> PhonePlayed:
    return play_task(job, setting, *_tools(setting.device, setting.model))


@cache
def _tools(device: str, model: ModelSettings) -> tuple[Device, LanguageModel]:
    """This process's phone and model; a Chromium ends with the process."""
    kind, _, serial = device.partition(":")
    phone: Device = EmbeddedPhone(_browser()) if kind == EMBEDDED else AdbPhone(serial)
    return phone, build(model)


@cache
def _browser() -> Browser:
    return phone_browser()
