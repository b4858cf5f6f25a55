"""The gate in front of any executor, from Python: `sdg.Gate`."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np

from sdg.envs.ui.presses import Press
from sdg.envs.world import Observation
from sdg.gate.confirm import FINAL, ConfirmGuard, words_of
from sdg.gate.executor import Command, GatedExecutor, Outcome, SkillResult, Verdict
from sdg.gate.llm import LlmGuard
from sdg.gate.registry import chain_of, make
from sdg.llm.registry import as_model
from sdg.privacy.memory import Placeholders
from sdg.privacy.protector import ProtectedBody, Protector
from sdg.privacy.recognisers import recognisers_of


class Gate:
    """Checks feasibility and completeness, asks for confirmation and protects private values before your executor acts.

        gate = sdg.Gate(mailbox, commands=("read", "send"), reads=("read",), confirm=ask, model=MyModel())
        task = gate.admit("send {iban=DE02...} to Ann")     # what a planner may be shown: placeholders, no values
        outcome = gate.execute("send", "{iban} to Ann")     # refused, or done and checked; outcome.reason says why

    `executor` has `observe()`, which returns text or an `Observation`, and `perform(command)` with `command.name` and
    `command.argument`, which raises `IllegalCommand` for what it can't do; `outcome.result` is what it returned. One
    command is let through at a time, whichever thread it comes from.
    `commands` are the known commands ((): any); those in `reads` change nothing. `confirm` is asked in words before a
    command whose name says that it can't be undone (send, buy, delete, pay); without `confirm` the answer is no.
    `guards` are further guards, as objects or names, such as "screens" for observations with a screenshot. `model`
    judges too; `about` tells it what a command can do. A guard that fails refuses. Raises RegistryError for what is no
    guard and for a name that needs a world ("rules", "learned"), ModelError for an object that is no model.
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
        self._protector = Protector((), Placeholders())  # `admit` makes recognisers, which need an extra
        self._protector.mask = self._protector.memory.mask_parts  # what an executor shows may be cut
        self._lock, self._call = threading.RLock(), partial(_Call, executor, commands, reads)
        self._last = call = self._call()
        asked = {} if model is None else {"model": as_model(model)}
        known = {"confirm": confirm, "about": about} | asked
        self._guards = [
            ConfirmGuard(confirm, call.press_of),
            *(make(each, known) if isinstance(each, str) else each for each in guards),
            *(LlmGuard(each, about) for each in asked.values()),
        ]
        chain_of(self._guards)

    @property
    def result(self) -> str:
        """What the executor returned last, values masked."""
        return self._protector.mask(self._last.result)

    def admit(self, instruction: str) -> str:
        """The instruction with placeholders for sensitive values. Raises PrivacyError if it can't be searched."""
        return Protector(recognisers_of(""), self._protector.memory).admit(instruction)

    def execute(self, name: str, argument: str = "", *, final: bool = False) -> Outcome:
        """Carry out a command behind the gate; placeholders are filled in on the way to the executor.

        `final`: your planner says that it can't be undone, so `confirm` is asked whatever its name is.
        """
        command, call = Command(name, argument, final), self._call()
        with self._lock:
            try:
                gate = chain_of([call, *self._guards])
                outcome = GatedExecutor(ProtectedBody(call, self._protector), gate).execute(command)
            except Exception as error:  # masked: a planner that gets an exception in its place would try again
                did = "may have been carried out, look before you repeat it" if call.acted else "wasn't carried out"
                outcome = Outcome(command, False, int(call.acted), error=f"{name} {did}: {error}")
            self._last = call if call.acted else self._last
            return replace(outcome, result=self._protector.mask(call.result))


class _Call:
    """The executor behind the gate in one call, and the guard that knows what it showed and the known commands."""

    kind = "rules"

    def __init__(self, executor: Any, commands: Sequence[str], reads: Sequence[str]) -> None:
        self._executor, self._commands, self._reads, self.result = executor, commands, reads, ""
        self._seen, self.acted, self._held = (Observation(""), Observation("")), False, False

    def observe(self) -> Observation:
        """What the executor observes; text becomes an Observation."""
        observation = self._executor.observe()
        seen = observation if isinstance(observation, Observation) else Observation(str(observation))
        self._seen = (self._seen[1], seen)
        return seen

    def perform(self, command: Command) -> SkillResult:
        """Carry out a command, ungated. It counts as done unless a returned SkillResult says otherwise."""
        self.acted = True
        result = self._executor.perform(command)
        self.result = "" if result is None or isinstance(result, SkillResult) else str(result)
        done = result if isinstance(result, SkillResult) else SkillResult(True, 1, 1)
        self._held = done.steps == 0
        return done

    def press_of(self, command: Command) -> Press:
        """A command's name as a button: "makePayment" and "sendmail" say what they do as "pay" and "send" would."""
        words = words_of(command.name.replace("_", " "))
        begun = [each for each in FINAL if len(each) > 2 and any(word.startswith(each) for word in words)]
        words += sorted(begun)[:1] if FINAL.isdisjoint(words) else []
        return Press() if command.name in self._reads else Press("button", " ".join(words))

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """Refuses an unknown command."""
        known = not self._commands or command.name in self._commands
        return Verdict(known, "it is known" if known else f"{command} is none of {', '.join(self._commands)}")

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """Doubts a command that changed nothing, unless it only reads."""
        if command.name in self._reads or self._held:
            return Verdict(True, "it held already" if self._held else "it reads")
        was, now = self._seen  # what the executor showed: values and pictures are missing in what guards see
        changed = (was.text, was.elements) != (now.text, now.elements) or not np.array_equal(
            cast(Any, was.image), cast(Any, now.image)
        )
        return Verdict(changed, "something changed" if changed else f"{command} changed nothing that can be seen")
