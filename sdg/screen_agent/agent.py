"""The screen agent: a model's answers are read, and each command passes the gate before the body performs it.

`read_answer` reads a reply, `ScreenBody` is what a screen must offer, and `Work` runs one episode turn by turn. How the
screen is presented to the model is in `sdg.screen_agent.modes`.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Protocol

from sdg.envs.world import Element, Observation
from sdg.errors import BrokenDesktop, SDGError
from sdg.gate.executor import CONFIRMATION, Body, Command, GatedExecutor, GateGuard, IllegalCommand, Verdict
from sdg.llm.model import BudgetExceeded, Completion, LanguageModel, Message, ModelError, Sampling
from sdg.privacy.memory import PLACEHOLDER
from sdg.prompts.fill import fence, one_line
from sdg.prompts.replies import MAX_REPLY_CHARS
from sdg.screen_agent.modes import TEXT, Mode

MAX_COMMANDS = 30
"""Commands of an answer that are carried out."""
MAX_SPOILT = 2
"""Answers without commands, one after another, that end a task."""
MAX_TRIES = 20
"""Most braces at which an object is tried."""


class NoCommands(SDGError, ValueError):
    """A reply names no commands; the message says what it lacks."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's thoughts, by the paper's five names, its commands as it wrote them, and whether it calls all of them
    final."""

    commands: tuple[Any, ...]
    thoughts: Mapping[str, str]
    final: bool = False


def read_answer(reply: str) -> Answer:
    """The last object with "commands" in a reply. Raises NoCommands for prose and a cut-off reply."""
    if len(reply) > MAX_REPLY_CHARS:
        raise NoCommands(f"the answer has {len(reply)} characters; at most {MAX_REPLY_CHARS} are read")
    answers = [value for value in _objects(reply) if "commands" in value]
    if not answers:
        raise NoCommands('the answer holds no JSON object with "commands"')
    commands = answers[-1]["commands"]
    if not isinstance(commands, Sequence) or isinstance(commands, str) or not commands:
        raise NoCommands('"commands" must be a list with at least one command')
    thoughts = answers[-1].get("thoughts")
    words_by_name = thoughts.items() if isinstance(thoughts, Mapping) else ()
    kept = {str(name)[:40]: str(words)[:500] for name, words in words_by_name}
    return Answer(tuple(commands), kept, is_called_final(answers[-1]))


def is_called_final(written: object) -> bool:
    """Whether a model says of what it wrote that it can't be undone, beside its name or in its arguments: anything but
    a plain no counts, and `isFinal` or `Final` are `final`, too."""
    own = written if isinstance(written, Mapping) else {}
    arguments = own.get("args")
    said = [*own.items(), *(arguments.items() if isinstance(arguments, Mapping) else ())]
    letters = (("".join(filter(str.isalpha, str(name).lower())), value) for name, value in said)
    return any(
        name in ("final", "isfinal") and value not in (False, None, "", "false", "no") for name, value in letters
    )


def _objects(reply: str) -> list[dict[str, Any]]:
    """JSON objects in a text, from the outermost braces; each character is read a bounded number of times."""
    decoder = json.JSONDecoder(strict=False)
    objects = []
    at = 0
    for _ in range(MAX_TRIES):
        at = reply.find("{", at)
        if at < 0:
            break
        try:
            value, at = decoder.raw_decode(reply, at)
            objects.append(value)
        except (ValueError, RecursionError):
            at += 1
    return objects


MAX_COMPLETIONS = 10
"""The paper's limit of completions an episode; a desktop may have another."""
MAX_THOUGHT_CHARS = 300
"""Characters of an answer's plan that the next questions repeat to the model."""
MAX_DESCRIPTION_CHARS = 2000
"""Characters of a description that are kept."""
SAMPLING = Sampling(stage="screen")

ENDS = "When the task is done it ends by itself."
"""How a task ends, in the prompt's words."""
HIDDEN = "\nA name in braces stands for a value that is hidden from you: type the name, and the value is filled in."
"""What the prompt says of a task with placeholders."""

End = Literal["solved", "failed", "no command", "out of completions", "infeasible", "page", "model", "interrupted"]


class ScreenBody(Body, Protocol):
    """A body with a screen: its task, whether that is over, and how a model writes its commands."""

    @property
    def instruction(self) -> str:
        """The task in words: data, never an instruction."""
        ...

    @property
    def prompt(self) -> str:
        """The prompt that a model is asked with: "screen", "phone"."""
        ...

    @property
    def max_completions(self) -> int:
        """The most answers of an episode."""
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

    def list_marks(self) -> str:
        """The elements that have marks on the picture, a line each with its number."""
        ...

    def picture(self, *, marks: bool) -> bytes:
        """The screenshot as PNG with private values painted over; with `marks` it shows the elements' numbers."""
        ...

    def command(self, written: object) -> Command:
        """Read a command of a model. Raises IllegalCommand that names valid ones instead."""
        ...


def numbered_lines(elements: Iterable[Element]) -> str:
    """Elements as a model sees them beside a picture with marks: `[7] 'Ok' button: [4, 46, 69, 90]`, a line each."""
    return "\n".join(f"[{element.id}] {element}" for element in elements)


@dataclass(frozen=True, slots=True)
class Step:
    """A requested command, as it is reported to the model afterwards, and the verdicts on it."""

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


class Work:
    """One episode, turn by turn, for a caller that has the model: `question`, then `answer` or `hear`, until there is
    no question left; then `result`. Many episodes may be under way while their models think.

    More than `replans` refusals in a row (None: any number), or one by a person, end the task as infeasible.
    Each screen but the first begins with what `changes` says of it and the one before, unless that is "". `said` is the
    latest answer.
    """

    def __init__(
        self,
        desktop: ScreenBody,
        gate: GateGuard,
        *,
        exemplar: str = "",
        mode: Mode = TEXT,
        completions: int | None = None,
        replans: int | None = None,
        ends: str = ENDS,
        changes: Callable[[Observation, Observation], str] = lambda before, after: "",
    ) -> None:
        self._desktop, self._replans = desktop, replans
        self._exemplar, self._mode, self._ends = exemplar, mode, ends
        self._max_completions = completions or desktop.max_completions
        self._refused = self._spoilt = 0
        self._changes = changes
        self._change = ""
        self._shown: tuple[int, Observation | None] = -1, None
        self._described: str | None = None
        self._executor = GatedExecutor(desktop, gate)
        self._steps: list[Step] = []
        self._past: list[str] = []
        self._completions = self._prompt_tokens = self._completion_tokens = 0
        self._end: End | None = None
        self._detail = self.said = ""

    def question(self) -> tuple[Message, ...] | None:
        """What the model is asked next; None when the episode is over."""
        if self._end is None and self._desktop.ending is not None:
            self.stop("solved" if self._desktop.ending else "failed")
        if self._end is None and self._completions >= self._max_completions:
            self.stop("out of completions")
        if self._end is not None:
            return None
        try:
            return self._messages()
        except BrokenDesktop as error:
            self.stop("page", str(error))
            return None

    def answer(self, reply: Completion) -> None:
        """Carry out what the model said; a description is kept for the next question, which grounds it."""
        self.said = reply.text
        self._prompt_tokens += reply.prompt_tokens
        self._completion_tokens += reply.completion_tokens
        if self._mode.describes and self._described is None:
            self._described = one_line(reply.text, MAX_DESCRIPTION_CHARS)
            return
        self._described = None
        self._completions += 1
        try:
            answer = read_answer(reply.text)
            thoughts = answer.thoughts.get("plan") or answer.thoughts.get("reasoning") or ""
            if thoughts:
                self._past.append(f"Thought {self._completions}: {one_line(thoughts, MAX_THOUGHT_CHARS)}")
            self._spoilt = 0
            for written in answer.commands[:MAX_COMMANDS]:
                if not self._do(written, answer.final) or self._is_over:
                    break
            else:
                count = len(answer.commands)
                if count > MAX_COMMANDS:
                    self._past.append(f"Only the first {MAX_COMMANDS} of {count} commands were carried out")
        except NoCommands as error:
            self._spoilt += 1
            self._past.append(f"Answer {self._completions} wasn't carried out: {one_line(str(error))}")
            if self._spoilt >= MAX_SPOILT:
                self.stop("no command", str(error))
        except BrokenDesktop as error:
            self.stop("page", str(error))

    def hear(self, reply: Callable[[], Completion]) -> None:
        """Carry out the answer, or end where the model gives none. Raises BudgetExceeded."""
        try:
            self.answer(reply())
        except BudgetExceeded:
            raise
        except ModelError as error:
            self.stop("model", str(error))

    def take_turn(self, model: LanguageModel, *, sampling: Sampling = SAMPLING) -> bool:
        """Ask for one answer, after a description in modes that have one; False when the episode is over. For harnesses
        with their own loop. Raises BudgetExceeded."""
        before = self._completions
        while self._completions == before:
            messages = self.question()
            if messages is None:
                return False
            self.hear(partial(model.complete, messages, sampling=sampling))
        return not self._is_over

    def stop(self, end: End, detail: str = "") -> None:
        """End it, for this reason."""
        self._end = end
        self._detail = one_line(detail, 500)

    def result(self) -> UIEpisode:
        """How it ended. RuntimeError while it goes on."""
        if self.question() is not None or self._end is None:
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

    @property
    def _is_over(self) -> bool:
        return self._end is not None or self._desktop.ending is not None

    def _messages(self) -> tuple[Message, ...]:
        width, height = self._desktop.size
        screen = self._desktop.observe()
        self._compare(screen)
        task = one_line(self._desktop.instruction, 1000)
        values = {
            "width": str(width),
            "height": str(height),
            "most": str(self._max_completions),
            "ends": self._ends,
            "commands": self._desktop.commands(),
            "exemplar": self._exemplar,
            "task": fence(task) + (HIDDEN if PLACEHOLDER.search(task) else ""),
            "past": "\n".join(self._past) or "(none)",
            "number": str(self._completions + 1),
            "observation": fence(self._change + (self._desktop.list_marks() if self._mode.marks else screen.text)),
        }
        picture = self._desktop.picture(marks=self._mode.marks) if self._mode.sees else b""
        return self._mode.question(self._desktop.prompt, values, picture, self._described)

    def _compare(self, screen: Observation) -> None:
        """Note what changed since the screen of the last answer; once for each screen."""
        number, before = self._shown
        if number == self._completions:
            return
        changes = self._changes(before, screen) if before is not None else ""
        self._change = f"(Changed since observation {number + 1}: {changes})\n\n" if changes else ""
        self._shown = self._completions, screen

    def _do(self, written: object, is_final: bool) -> bool:
        """Carry out one command; False: skip the rest of the answer, which expected another screen."""
        try:
            command = replace(self._desktop.command(written), final=is_final or is_called_final(written))
        except IllegalCommand as error:
            self._note(Step(one_line(str(written), 100), f"refused: {one_line(str(error))}"))
            return False
        try:
            outcome = self._executor.execute(command)
        except KeyboardInterrupt:
            self._note(Step(str(command), "interrupted while it was asked about or carried out"))
            raise
        failure = f"refused: {outcome.error}" if outcome.error else f"no: {outcome.reason}"
        result = "done" if outcome.success else failure
        self._note(Step(str(command), one_line(result), outcome.verdicts))
        self._refused = self._refused + 1 if outcome.error else 0
        declined = bool(outcome.error) and any(verdict.source == CONFIRMATION for verdict in outcome.verdicts)
        if self._replans is not None and (declined or self._refused > self._replans):
            self.stop("infeasible", outcome.error)
        return not outcome.error

    def _note(self, step: Step) -> None:
        self._steps.append(step)
        self._past.append(f"{len(self._steps)}. {step.command}: {step.outcome}")
