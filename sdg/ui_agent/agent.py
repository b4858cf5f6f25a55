"""The loop of an agent that works from screenshots (ReAct; "computer tasks from screenshots alone", section 3.3).

It holds an executor, never the world: each command passes the gate before and after it is carried out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from sdg.gate.executor import Body, GatedExecutor, IllegalCommand
from sdg.gate.verdict import Command, Gate, Verdict
from sdg.llm.model import BudgetExceeded, Completion, LanguageModel, Message, ModelError, Sampling
from sdg.prompts.fill import fenced, one_line
from sdg.ui_agent.modes import TEXT, Mode, Shown
from sdg.ui_agent.reply import NoCommands, read_answer

MAX_COMPLETIONS = 10
"""The paper's limit of completions an episode."""
MOST_THOUGHT = 300
"""Characters of an answer's plan that the next questions remind the model of."""
MOST_DESCRIBED = 2000
"""Characters of a description that are kept."""
SAMPLING = Sampling(stage="screen")

End = Literal["solved", "failed", "no command", "out of completions", "page", "model"]


class Desktop(Body, Protocol):
    """A body with a screen: what it is asked to do, whether that is over, and how a model writes its commands."""

    @property
    def instruction(self) -> str:
        """The task in words: data, whoever wrote it."""
        ...

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the screenshot in pixels."""
        ...

    @property
    def ending(self) -> bool | None:
        """Whether the task was solved; None while it goes on."""
        ...

    def commands(self) -> str:
        """The commands that there are, a line each, for a prompt."""
        ...

    def picture(self, *, marks: bool) -> bytes:
        """The screenshot as PNG, values that are kept here painted over; with the elements' numbers drawn on it."""
        ...

    def command(self, written: object) -> Command:
        """A command as a model wrote it. Raises IllegalCommand with what there is instead."""
        ...


class BrokenDesktop(RuntimeError):
    """The screen went away in the middle of an episode; the episode is lost, the next is unharmed."""


@dataclass(frozen=True, slots=True)
class Step:
    """A command that was asked for, as it is told to the model afterwards, and the verdicts on it."""

    command: str
    outcome: str
    verdicts: tuple[Verdict, ...] = ()


@dataclass(frozen=True, slots=True)
class UIEpisode:
    """How a task ended: `end` says why, `completions` counts the model's answers, `steps` are commands in order."""

    instruction: str
    end: End
    steps: tuple[Step, ...]
    completions: int
    prompt_tokens: int = 0
    completion_tokens: int = 0
    detail: str = ""

    @property
    def success(self) -> bool:
        """Whether the task was solved."""
        return self.end == "solved"


class UIAgent:
    """Asks a model what to do on a screen and does it behind a gate; `exemplar` is one worked example, "" for none."""

    def __init__(self, model: LanguageModel, gate: Gate, *, sampling: Sampling = SAMPLING, mode: Mode = TEXT) -> None:
        self._model, self._gate, self._sampling, self._mode = model, gate, sampling, mode

    def play(self, desktop: Desktop, *, exemplar: str = "") -> UIEpisode:
        """Work on the desktop's task until it ends, at most `MAX_COMPLETIONS` answers. Never raises for what a
        model, a page or a guard did wrong: that is an `end`. Raises BudgetExceeded when a budget is spent."""
        work = Work(desktop, self._gate, exemplar=exemplar, mode=self._mode)
        while (messages := work.question()) is not None:
            try:
                work.answer(self._model.complete(messages, sampling=self._sampling))
            except BudgetExceeded:
                raise
            except ModelError as error:
                work.fail(error)
        return work.result()


class Work:
    """One episode, turn by turn, for whoever asks the model: `question`, then `answer` or `fail`, until there is no
    question left; then `result`. Many may be under way while their models think."""

    def __init__(self, desktop: Desktop, gate: Gate, *, exemplar: str = "", mode: Mode = TEXT) -> None:
        self._desktop, self._exemplar, self._mode = desktop, exemplar, mode
        self._described: str | None = None
        self._executor = GatedExecutor(desktop, gate)
        self._steps: list[Step] = []
        self._told: list[str] = []
        self._completions = self._prompt_tokens = self._completion_tokens = 0
        self._end: End | None = None
        self._detail = ""

    def question(self) -> tuple[Message, ...] | None:
        """What the model is asked next; None when the episode is over."""
        if self._end is None and self._desktop.ending is not None:
            self._stop("solved" if self._desktop.ending else "failed")
        if self._end is None and self._completions >= MAX_COMPLETIONS:
            self._stop("out of completions")
        if self._end is not None:
            return None
        try:
            return self._messages()
        except BrokenDesktop as error:
            self._stop("page", str(error))
            return None

    def answer(self, reply: Completion) -> None:
        """Carry out what the model said; a description is kept for the question that grounds it."""
        self._prompt_tokens += reply.prompt_tokens
        self._completion_tokens += reply.completion_tokens
        if self._mode.describes and self._described is None:
            self._described = one_line(reply.text, MOST_DESCRIBED)
            return
        self._described = None
        self._completions += 1
        try:
            said = read_answer(reply.text)
            thoughts = said.thoughts.get("plan") or said.thoughts.get("reasoning") or ""
            if thoughts:
                self._told.append(f"Thought {self._completions}: {one_line(thoughts, MOST_THOUGHT)}")
            for written in said.commands:
                if not self._do(written) or self._desktop.ending is not None:
                    break
        except NoCommands as error:
            self._stop("no command", str(error))
        except BrokenDesktop as error:
            self._stop("page", str(error))

    def fail(self, error: ModelError) -> None:
        """The model gave no answer."""
        self._stop("model", str(error))

    def result(self) -> UIEpisode:
        """How it ended. RuntimeError while it goes on."""
        if self._end is None:
            raise RuntimeError("the episode goes on: ask for its next question")
        return UIEpisode(
            self._desktop.instruction,
            self._end,
            tuple(self._steps),
            self._completions,
            self._prompt_tokens,
            self._completion_tokens,
            self._detail,
        )

    def _messages(self) -> tuple[Message, ...]:
        width, height = self._desktop.size
        seen = self._desktop.observe()
        values = {
            "width": str(width),
            "height": str(height),
            "most": str(MAX_COMPLETIONS),
            "commands": self._desktop.commands(),
            "exemplar": self._exemplar,
            "task": fenced(one_line(self._desktop.instruction, 1000)),
            "past": "\n".join(self._told) or "(none)",
            "number": str(self._completions + 1),
        }
        numbered = "\n".join(f"[{each.id}] {each}" for each in seen.elements) if self._mode.marks else ""
        picture = self._desktop.picture(marks=False) if self._mode.sees and not self._mode.marks else b""
        marked = self._desktop.picture(marks=True) if self._mode.marks else b""
        shown = Shown(values, seen.text, numbered, picture, marked)
        return self._mode.first(shown) if self._described is None else self._mode.second(shown, self._described)

    def _do(self, written: object) -> bool:
        """Carry out one command; False: the rest of the answer was meant for another screen."""
        try:
            command = self._desktop.command(written)
        except IllegalCommand as error:
            self._note(Step(one_line(str(written), 100), f"refused: {one_line(str(error))}"))
            return False
        outcome = self._executor.execute(command)
        told = "done" if outcome.success else f"refused: {outcome.error}" if outcome.error else f"no: {outcome.reason}"
        self._note(Step(str(command), one_line(told), outcome.verdicts))
        return not outcome.error

    def _note(self, step: Step) -> None:
        self._steps.append(step)
        self._told.append(f"{len(self._steps)}. {step.command}: {step.outcome}")

    def _stop(self, end: End, detail: str = "") -> None:
        self._end, self._detail = end, one_line(detail, 500)
