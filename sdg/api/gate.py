"""The gate in front of any executor, from Python: `sdg.Gate`."""

import inspect
import threading
from array import array
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from sdg.envs.ui.presses import Press
from sdg.envs.world import Observation, PlainObservation
from sdg.gate.confirm import ConfirmGuard, words_of
from sdg.gate.executor import MAX_ERROR_CHARS, Command, GatedExecutor, IllegalCommand, Outcome, SkillResult, Verdict
from sdg.gate.llm import LlmGuard
from sdg.gate.registry import chain_of, make
from sdg.llm.registry import ModelAdapter
from sdg.privacy.memory import Placeholders
from sdg.privacy.protector import ProtectedBody, ProtectedModel, Protector
from sdg.privacy.recognisers import recognisers_of
from sdg.prompts.fill import one_line

MAX_DEPTH, MAX_MET = 30, 10_000
"""How deep, and in how many containers and objects, the elements of an observation are compared."""
PATIENCE_SECONDS = 3600.0
"""How long a call waits for another to end."""


class Gate:
    """Checks feasibility and completeness, asks for confirmation and protects private values before your executor acts.

        gate = sdg.Gate(mailbox, commands=("read", "send"), reads=("read",), confirm=ask, model=MyModel())
        task = gate.admit("send {iban=DE02...} to Ann")     # what a planner may be shown: placeholders, no values
        outcome = gate.execute("send", "{iban} to Ann")     # refused, or done and checked; outcome.reason says why

    `executor` has `observe()`, which returns text or an `Observation`, and `perform(command)` with `command.name` and
    `command.argument`, which raises `IllegalCommand` for what it can't do; `outcome.result` is what it returned. One
    command is let through at a time, whichever thread it comes from; one that waited for an hour isn't carried out.
    `commands` are the known commands ((): any); those in `reads` change nothing. `confirm` is asked in words before a
    command whose name says that it can't be undone (send, buy, delete, pay); without `confirm` the answer is no.
    `guards` are further guards, as objects or names, such as "screens" for observations with a screenshot. `model`
    judges too; `about` tells it what a command can do. Guards and `confirm` see private values; `model` and guards of
    kind "llm" see placeholders. A guard that fails refuses. Raises RegistryError for what is no guard and for a name
    that needs a world ("rules", "learned"), ModelError for an object that is no model.
    """

    def __init__(
        self,
        executor: Any,
        *,
        commands: Sequence[str] = (),
        reads: Sequence[str] = (),
        confirm: Callable[[str], bool] | None = None,
        guards: Sequence[Any] = (),
        model: object = None,
        about: str = "",
    ) -> None:
        # `admit` makes recognisers, which need an extra; what an executor shows may be cut.
        self._protector = Protector((), Placeholders(), parts=True)
        self._lock = threading.RLock()
        self._begin_call = partial(_Call, executor, _names(commands), _names(reads))
        models = {} if model is None else {"model": ProtectedModel(ModelAdapter(model), self._protector.memory.mask)}
        settings = {"confirm": confirm, "about": about} | models
        self._confirm = confirm
        self._guards = [
            *(make(guard, settings) if isinstance(guard, str) else guard for guard in guards),
            *(LlmGuard(language_model, about) for language_model in models.values()),
        ]
        chain_of([self._begin_call(), *self._guards])

    def admit(self, instruction: str) -> str:
        """The instruction with placeholders for sensitive values. Raises PrivacyError if it can't be searched."""
        return Protector(recognisers_of(""), self._protector.memory).admit(instruction)

    def execute(self, name: str, argument: str = "", *, final: bool = False) -> Outcome:
        """Carry out a command behind the gate; placeholders are filled in on the way to the executor.

        `final`: your planner says that it can't be undone, so `confirm` is asked whatever its name is.
        """
        command = Command(name, argument, final)
        # An executor that joins a thread which calls its own gate would wait forever.
        if not self._lock.acquire(timeout=PATIENCE_SECONDS):
            error = f"{name} wasn't carried out: another command is still under way; does your executor wait for it?"
            return Outcome(command, False, 0, error=error)
        try:
            return self._execute(command)
        finally:
            self._lock.release()

    def _execute(self, command: Command) -> Outcome:
        call = self._begin_call()
        try:
            chain = chain_of([call, ConfirmGuard(self._confirm, call.judge), *self._guards])
            outcome = GatedExecutor(ProtectedBody(call, self._protector), chain).execute(command)
        except Exception as error:  # masked: a planner that gets an exception in its place would try again
            did = "may have been carried out, look before you repeat it" if call.acted else "wasn't carried out"
            outcome = Outcome(command, False, int(call.acted), error=f"{command.name} {did}: {error}")
        return replace(
            outcome,
            error=one_line(outcome.error, MAX_ERROR_CHARS),
            reason=one_line(outcome.reason, MAX_ERROR_CHARS),
            result=self._protector.mask(call.result),
        )


class _Call:
    """The executor behind the gate in one call, and a guard with the known commands and the last observations."""

    kind = "rules"

    def __init__(self, executor: Any, commands: Sequence[str], reads: Sequence[str]) -> None:
        self._executor, self._commands, self._reads = executor, commands, reads
        self.result = ""
        self.acted = False
        self._held_already = False
        self._judged = Command("", ""), Press()
        self._last_two: tuple[Observation, Observation] = (PlainObservation(""), PlainObservation(""))
        self._contents: tuple[Any, Any] = ((), ())
        """What the elements of these held when they were observed."""

    def observe(self) -> Observation:
        """What the executor observes; text becomes an observation."""
        observed = _finished(self._executor.observe())
        shown: Observation = observed if hasattr(observed, "perception") else PlainObservation(str(observed))
        if isinstance(shown, PlainObservation):  # an executor may draw into the same picture again
            shown = replace(shown, image=None if shown.image is None else np.array(shown.image))
        self._last_two = (self._last_two[1], shown)
        self._contents = (self._contents[1], _snapshot(list(shown.elements), {}))
        return shown

    def perform(self, command: Command) -> SkillResult:
        """Carry out a command, ungated. It counts as done unless a returned SkillResult says otherwise. Raises
        IllegalCommand where it doesn't press any more what was judged, because guards may think for long."""
        judged, press = self._judged
        if not press.is_still(self.press_of(judged)):
            raise IllegalCommand(f"what {command.name} presses changed since it was judged: look again")
        self.acted = True
        result = _finished(self._executor.perform(command))
        self.result = "" if result is None or isinstance(result, SkillResult) else str(result)
        done = result if isinstance(result, SkillResult) else SkillResult(True, 1, 1)
        if not isinstance(done.reached, bool | np.bool_) or not all(
            isinstance(count, int | np.integer) and count >= 0 for count in (done.steps, done.attempts)
        ):
            raise ValueError(f"its result can't be read: {done!r:.100}")
        self._held_already = done.steps == 0
        return done

    def judge(self, command: Command) -> Press:
        """`press_of`, for a guard; nothing else will be pressed."""
        self._judged = command, self.press_of(command)
        return self._judged[1]

    def press_of(self, command: Command) -> Press:
        """A command's name: "makePayment" and "sendmail" say what they do as "pay" and "send" would; and what the
        observation's own `press_of`, if it has one, says that is pressed."""
        if command.name in self._reads:
            return Press()
        named = Press("command", " ".join(words_of(command.name.replace("_", " "))))
        press_of = getattr(self._last_two[1], "press_of", None)
        press = press_of(command) if press_of else None
        return replace(press, others=(*press.others, named)) if press else named

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """Refuses an unknown command."""
        is_known = not self._commands or command.name in self._commands
        return Verdict(is_known, "it is known" if is_known else f"{command} is none of {', '.join(self._commands)}")

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """Doubts a command that changed nothing, unless it only reads."""
        if command.name in self._reads or self._held_already:
            return Verdict(True, "it held already" if self._held_already else "it reads")
        first, last = self._last_two
        changed = (
            first.text != last.text
            or self._contents[0] != self._contents[1]
            or _snapshot(np.asarray(first.image), {}) != _snapshot(np.asarray(last.image), {})
        )
        return Verdict(changed, "something changed" if changed else f"{command} changed nothing that can be seen")


def _names(names: Sequence[str]) -> tuple[str, ...]:
    """The names; a text is one name."""
    return (names,) if isinstance(names, str) else tuple(names)


def _snapshot(value: Any, met: dict[int, tuple[int, Any]], depth: int = MAX_DEPTH) -> Any:
    """What a value holds now, as plain containers, because an executor may change its elements in place. What was `met`
    before becomes the number under which it was; `met` keeps it, so that its id stays its own. What lies deeper than
    `depth`, or comes after `MAX_MET`, only counts as the same or another: elements may keep a driver or a module.
    """
    is_plain = callable(value) or isinstance(value, dict | list | tuple | set | np.ndarray)
    state = None if is_plain else object.__getstate__(value)
    is_leaf = not isinstance(value, Collection) or isinstance(value, str | bytes | frozenset | range)
    if state is None and (callable(value) or is_leaf):
        return str(value) if isinstance(value, float | np.inexact) and value != value else value  # NaN isn't itself
    if id(value) in met:
        return met[id(value)][0]
    if not depth or len(met) >= MAX_MET:
        return type(value), id(value)
    if not isinstance(value, tuple):  # equal ones may be one or two
        met[id(value)] = len(met), value
    if state is not None:
        return type(value), _snapshot(state, met, depth - 1)
    if isinstance(value, dict | MappingProxyType):
        return {key: _snapshot(item, met, depth - 1) for key, item in value.items()}
    if isinstance(value, set | bytearray | memoryview | array):
        return value.copy() if isinstance(value, set) else bytes(value)
    if isinstance(value, np.ndarray):
        is_data = not value.dtype.hasobject
        return (value.shape, value.tobytes()) if is_data else _snapshot(value.tolist(), met, depth - 1)
    return [_snapshot(item, met, depth - 1) for item in value]


def _finished(answer: Any) -> Any:
    """What a method of the executor gave. Raises TypeError for what will only run later: coroutines, generators."""
    if inspect.isawaitable(answer) or inspect.isgenerator(answer) or inspect.isasyncgen(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise TypeError(f"it has only begun: its method gave a {type(answer).__name__}, not what comes of it")
    return answer
