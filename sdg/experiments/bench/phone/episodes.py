"""Episodes of phone tasks: the screen agent on a device, one row each; each process has a browser of its own.

A phone that goes away or a process that dies makes its episode a failure with that cause; the next episode starts
afresh.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdg.console import ask_in_terminal
from sdg.envs.phone.actions import Device, DeviceLost
from sdg.envs.phone.adb import AdbPhone
from sdg.envs.phone.embedded.phone import EmbeddedPhone, initial_state, phone_browser
from sdg.envs.phone.metrics import TaskScore, same_screen, score_steps
from sdg.envs.phone.tasks import PhoneTask, TaskProgress, is_right, side_effects
from sdg.experiments.bench.phone.androidlab import parsed_action, write_episode
from sdg.experiments.play.browsers import play_in_processes
from sdg.experiments.play.together import play_together
from sdg.gate.registry import gate_of
from sdg.llm.model import Completion, LanguageModel, Message, ModelError
from sdg.llm.provider import ModelSettings
from sdg.llm.registry import concurrency_of
from sdg.phone_agent.desktop import PhoneDesktop
from sdg.phone_agent.privacy import PrivateDevice
from sdg.privacy.memory import Placeholders
from sdg.privacy.protector import ProtectedModel, Protector, build_model
from sdg.privacy.recognisers import recognisers_of
from sdg.prompts.fill import conversation, fence
from sdg.screen_agent.agent import UIEpisode, Work
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PhonePlayed(TaskScore):
    """An episode's row in the journal: AndroidLab's flags and counts (`TaskScore`), how it ended, whether success was
    claimed falsely, its side effects, and whether comparison and judge disagree."""

    unit: str
    task: str
    mode: str
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


class PhoneEpisode:
    """A job on a phone, turn by turn (`sdg.experiments.play.together.Turns`); only BudgetExceeded is raised."""

    def __init__(self, job: PhoneJob, setting: PhoneSetting, phone: Device, model: LanguageModel) -> None:
        self.task, self.job = job.task, job
        self.setting, self.phone = setting, phone
        self.mask: Callable[[str], str] = str
        self.judge = TaskProgress(job.task)
        self.began = time.monotonic()
        self.looks: list[dict[str, bool]] = []
        self.confirmed, self.disagreement = 0, False
        device, instruction = phone, self.task.instruction
        if setting.masked:
            protector = Protector(recognisers_of(""), Placeholders())
            device, instruction = PrivateDevice(device, protector), protector.admit(instruction)
            self.mask, model = protector.memory.mask_parts, ProtectedModel(model, protector.mask)
        gate = gate_of(setting.guards, usages={}, resolve=lambda *_: (), model=model, confirm=self._confirm)
        self.desktop = PhoneDesktop(
            device, instruction, finished=self._finish, looked=self._look, heard=lambda: self.work.said
        )
        self.work = Work(self.desktop, gate, mode=MODES[job.mode])
        self.lost = ""
        try:
            if isinstance(phone, EmbeddedPhone):
                phone.reset(self.task.seed)
            else:
                phone.press("Home")
        except DeviceLost as error:
            self.lost = str(error)

    def question(self) -> tuple[Message, ...] | None:
        """The next question to the model; None when the episode is over."""
        return None if self.lost else self.work.question()

    def hear(self, reply: Callable[[], Completion]) -> None:
        """Carry out the model's answer."""
        self.work.hear(reply)

    def row(self) -> PhonePlayed:
        """Write the traces and return the row."""
        episode = UIEpisode(self.task.instruction, "page", (), 0, detail=self.lost) if self.lost else self.work.result()
        if self.setting.traces is not None:
            folder = self.setting.traces / self.job.mode / self.task.id
            write_episode(folder, self.task, self.desktop.steps, self.desktop.size, mask=self.mask)
        steps, message = self.desktop.steps, self.desktop.message

        def is_same(first: int, second: int) -> bool:
            before, after = steps[first].screen, steps[second].screen
            return before.png == after.png or same_screen(before.image, after.image)

        score = score_steps(
            self.looks[: len(steps)], [str(parsed_action(step)) for step in steps], is_same, shortest=self.task.shortest
        )
        effects: tuple[str, ...] = ()
        if isinstance(self.phone, EmbeddedPhone) and episode.end != "page":
            effects = side_effects(self.task, initial_state(self.task.seed), self.phone.state())
        return PhonePlayed(
            unit=self.job.unit,
            task=self.task.id,
            mode=self.job.mode,
            flags=dict(score.flags),
            steps=score.steps,
            unchanged=score.unchanged,
            shortest=self.task.shortest,
            end=episode.end,
            detail=episode.detail,
            message=message,
            false_complete=message is not None and not score.complete,
            side_effects=effects,
            disagreement=self.disagreement,
            confirmed=self.confirmed,
            tokens=episode.prompt_tokens + episode.completion_tokens,
            seconds=round(time.monotonic() - self.began, 2),
            past=tuple(f"{step.command}: {step.outcome}"[:200] for step in episode.steps),
        )

    def _confirm(self, question: str) -> bool:
        """Before a press that can't be undone: yes on the embedded phone; on a real one its user is asked."""
        agreed = isinstance(self.phone, EmbeddedPhone) or ask_in_terminal(question)
        self.confirmed += agreed
        return agreed

    def _look(self, tree: Any) -> None:
        if isinstance(self.phone, EmbeddedPhone):
            self.judge.look(self.phone.state(), tree)
        self.looks.append(self.judge.flags)

    def _finish(self, message: str) -> bool:
        if self.task.is_question:
            right = is_right(message, self.task.answers)
            if self.setting.judge is not None:
                judgement = judge_answer(build_model(self.setting.judge), self.task, message)
                self.disagreement = judgement != right
                right = judgement
            self.judge.answer(right)
        self.looks[-1] = self.judge.flags
        return self.judge.flags["complete"]


def judge_answer(model: LanguageModel, task: PhoneTask, answer: str) -> bool:
    """Whether a model judges an answer right; a model that says neither True nor False in six tries doesn't."""
    question = conversation(
        "phone_judge",
        question=fence(task.instruction),
        reference=fence(" or ".join(task.answers)),
        answer=fence(answer),
    )
    for _ in range(MAX_JUDGEMENTS):
        try:
            verdict = model.complete(question).text
        except ModelError:
            continue
        if ("True" in verdict) != ("False" in verdict):
            return "True" in verdict
    return False


def play_all(jobs: Sequence[PhoneJob], setting: PhoneSetting, *, processes: int) -> Iterator[PhonePlayed]:
    """Rows as they finish. Raises errors that no episode causes: NoBrowser, BudgetExceeded, ModelError of settings.

    A model that answers over a network is asked about many episodes at once, on pages of one Chromium. A phone is
    played on in this process, because only this one has a terminal.
    """
    if setting.device != EMBEDDED:
        yield from play(jobs, setting)
        return
    at_once = 1 if concurrency_of(setting.model) > 1 else processes
    yield from play_in_processes(play, lose, jobs, setting, processes=at_once)


def play(
    jobs: Sequence[PhoneJob],
    setting: PhoneSetting,
    *,
    begun: Callable[[PhoneJob], None] = lambda job: None,
    waiting: Callable[[], None] = lambda: None,
) -> Iterator[PhonePlayed]:
    """Play the jobs in this process, on a phone or on pages of one Chromium; rows as they finish."""
    kind, _, serial = setting.device.partition(":")
    model = build_model(setting.model)

    def begin(job: PhoneJob, phone: Device) -> PhoneEpisode:
        return PhoneEpisode(job, setting, phone, model)

    if kind != EMBEDDED:
        yield from play_together(jobs, [AdbPhone(serial)], begin, model, begun=begun, waiting=waiting)
        return
    with phone_browser() as browser:
        at_once = min(concurrency_of(setting.model), len(jobs))
        phones = [EmbeddedPhone(page) for page in (browser, *(browser.another() for _ in range(at_once - 1)))]
        yield from play_together(jobs, phones, begin, model, begun=begun, waiting=waiting)


def lose(job: PhoneJob, how: str) -> PhonePlayed:
    """The row of an episode whose process died or fell silent."""
    return PhonePlayed(
        unit=job.unit,
        task=job.task.id,
        mode=job.mode,
        flags=TaskProgress(job.task).flags,
        shortest=job.task.shortest,
        end="page",
        detail=f"the process {how}",
    )
