"""The protector: an instruction is masked where it enters, the model's messages on their way out, and values are filled
in on the way to the body that acts.

    instruction -> Protector.admit -> everything else sees {password}
    conversation -> ProtectedModel -> retries, budget, cache, transcript, server
    Command("type_text", "{password}") -> ProtectedBody -> the body; what it shows or says comes back masked
"""

import json
import os
import re
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any

from sdg.envs.world import Observation, PlainObservation
from sdg.gate.executor import Body, Command, GateGuard, GuardChain, IllegalCommand, SkillResult, Verdict
from sdg.llm.model import Completion, LanguageModel, Message, ModelError, Sampling
from sdg.llm.provider import ModelSettings
from sdg.llm.registry import build_unprotected
from sdg.privacy.memory import PLACEHOLDER, Placeholders
from sdg.privacy.recognisers import PrivacyError, Recogniser, find, recognisers_of

OFF, ON = "off", "on"
MEMORY_VARIABLE = "SDG_MEMORY"
_NAMED_VALUE = re.compile(r"\{([^{}=\n\"“”:;,<>()]{0,100})=([^{}\n]*)\}")
"""A value with its name, `{name=value}`."""
_NAME_BEGINNING = re.compile(r"\{\s{0,9}[\w-]{1,41}\s{0,9}=")
"""The beginning of `{name=value}`: left in a text whose value can't be read."""


class Protector:
    """Masks texts and fills placeholders with the values of one memory, which is saved whenever it learns one. With
    `parts`, parts of values are masked, too, for texts that may be cut."""

    def __init__(
        self,
        recognisers: Sequence[Recogniser],
        memory: Placeholders,
        *,
        path: Path | None = None,
        parts: bool = False,
    ) -> None:
        self.memory = memory
        self.mask = memory.mask_parts if parts else memory.mask
        self._recognisers, self._path = tuple(recognisers), path

    def fill(self, text: str) -> str:
        """The text with its placeholders filled in, in a JSON object or list so that it says the values; unchanged
        while there are none. Raises PrivacyError for an unknown placeholder."""
        if not any(self.memory):
            return text
        try:
            is_json = isinstance(json.loads(text), dict | list)
        except (ValueError, RecursionError):
            is_json = False
        return self.memory.fill(text, as_json=is_json)

    def admit(self, instruction: str) -> str:
        """The user's instruction with placeholders in place of sensitive values.

        `{wifi_code=4711}` names a value, and so does `{Wi-Fi code = 4711}`; a placeholder that is already in the text
        must have one. A name that an earlier text has for another value isn't given again: this value's is
        `{wifi_code_2}`. Raises PrivacyError for a placeholder without a value, for a name or a value that can't be
        read, and for a text that can't be searched.
        """
        text = self.memory.mask_as_written(self._take_named_values(instruction))
        self.memory.fill(text)
        taken = frozenset(PLACEHOLDER.findall(text))
        pieces: list[str] = []
        end = 0
        for span in find(text, self._recognisers):
            pieces += [text[end : span.start], self._mask_span(text[span.start : span.end], span.kind, taken)]
            end = span.end
        admitted = self.memory.remember_forms("".join([*pieces, text[end:]]), taken=taken)
        self.memory.unshown.difference_update(PLACEHOLDER.findall(admitted))
        if self._path is not None and self.memory.has_news:
            self.memory.save(self._path)
        return admitted

    def _take_named_values(self, instruction: str) -> str:
        """Keep the values that the instruction names; the instruction with their placeholders in their place."""
        values: dict[str, str] = {}
        for label, value in _NAMED_VALUE.findall(instruction):
            name = _name_of(label)
            if not name:
                raise PrivacyError(f"{label.strip()!r:.60} is no name of a value: write letters, such as {{code=...}}")
            if values.setdefault(name, value.strip()) != value.strip():
                raise PrivacyError(f"two values are named {{{name}}}: give each a name of its own")
        text = _NAMED_VALUE.sub(lambda match: f"{{{_name_of(match[1])}}}", instruction)
        if _NAME_BEGINNING.search(text) or (values and re.search("[{}]", re.sub(r"\{[^{}]*\}", "", text))):
            raise PrivacyError("the value in {name=value} is one line without braces, and no others stand beside it")
        taken = frozenset(PLACEHOLDER.findall(text))
        given = {name: self.memory.give(name, value, taken=taken) for name, value in values.items()}

        def normalise(match: re.Match[str]) -> str:
            name = _name_of(match[0])
            return f"{{{given[name]}}}" if name in given else match[0]

        return re.sub(r"\{[^{}\n]+\}", normalise, text)

    def _mask_span(self, text: str, kind: str, taken: frozenset[str]) -> str:
        """The text of a span, masked; placeholders in it stay as they are."""
        pieces = re.split(r"(\{[a-z][a-z0-9_]{0,40}\})", text)
        return "".join(piece if n % 2 else self._mask_piece(piece, kind, taken) for n, piece in enumerate(pieces))

    def _mask_piece(self, piece: str, kind: str, taken: frozenset[str]) -> str:
        value = piece.strip()
        if len(value) < 2 or not any(letter.isalnum() for letter in value):
            return piece  # a single letter isn't masked, because on screens the agent must be able to choose it
        name = self.memory.remember(value, kind, taken=taken)
        return piece.replace(value, f"{{{name}}}", 1)


def _name_of(label: str) -> str:
    """A placeholder's name from a label: "Wi-Fi code" gives wi_fi_code; "" where no letter is left."""
    ascii_label = unicodedata.normalize("NFKD", label.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "_", ascii_label).lstrip("_0123456789")[:41].strip("_")


class ProtectedModel:
    """A model behind a mask: neither it nor its cache or transcript sees values; its replies are masked too."""

    def __init__(self, model: LanguageModel, mask: Callable[[str], str]) -> None:
        self.name, self._model, self._mask = model.name, model, mask

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """The model's masked reply to the masked conversation. Raises the model's errors, masked."""
        masked = [replace(message, content=self._mask(message.content)) for message in messages]
        try:
            reply = self._model.complete(masked, sampling=sampling)
        except ModelError as error:
            error.args = (self._mask(str(error)), *error.args[1:])
            raise
        extra = {name: self._mask(text) for name, text in reply.extra.items()}
        return replace(reply, text=self._mask(reply.text), extra=extra)


class ProtectedBody:
    """A body whose commands are filled in on the way to it, and whose observations, notes and errors come back masked.

    A picture can't be masked: it is left out of the observation. A `GatedExecutor` asks its gate as `ProtectedGate`.
    """

    def __init__(self, body: Body, protector: Protector) -> None:
        self._body, self._protector = body, protector

    def observe(self) -> Observation:
        """The body's observation, masked; unchanged while there is no value. Raises RuntimeError if it fails."""
        observation: Observation = self._try(self._body.observe)
        if not any(self._protector.memory):
            return observation
        elements = tuple(_mask_element(element, self._protector.mask) for element in observation.elements)
        return PlainObservation(self._protector.mask(observation.text), None, elements, raw=observation)

    def protect(self, gate: GateGuard) -> GateGuard:
        """The gate as it is asked about this body."""
        return ProtectedGate(gate, self._protector)

    def perform(self, command: Command) -> SkillResult:
        """Carry out a command with its values. Raises IllegalCommand for an unknown placeholder."""
        result = self._try(
            lambda: self._body.perform(replace(command, argument=self._protector.fill(command.argument)))
        )
        return replace(result, note=self._protector.mask(result.note))

    def _try(self, act: Callable[[], Any]) -> Any:
        """The result; errors are rebuilt without frames and causes, because their locals hold values."""
        mask = self._protector.mask
        try:
            return act()
        except (PrivacyError, IllegalCommand) as error:
            rebuilt: BaseException = IllegalCommand(mask(str(error)))
        except Exception as error:
            rebuilt = RuntimeError(f"the body failed: {mask(f'{type(error).__name__}: {error}')}")
        except BaseException as error:  # an exit or an interrupt, which goes on as one
            rebuilt = type(error)(*masked_record(error.args, mask))
        raise rebuilt


class ProtectedGate(GuardChain):
    """A gate whose guards judge what is really there: each `raw` observation, and commands with their values. Those of
    kind `llm` are shown what a planner is. Values are hidden in all reasons, because a model reads them."""

    def __init__(self, gate: GateGuard, protector: Protector) -> None:
        super().__init__(rules=_guards_of(gate))
        self._protector = protector

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """May this command be executed on what is observed now?"""
        return self._judge("feasible", command, observation)

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """Did the command have its effect between the two observations?"""
        return self._judge("complete", command, before, after)

    def _judge(self, verb: str, command: Command, *moments: Observation) -> Verdict:
        shown, real = (command, *moments), (command, *moments)
        if any(self._protector.memory):
            with suppress(PrivacyError):  # an unknown placeholder stays as it is, and the body refuses it
                command = replace(command, argument=self._protector.fill(command.argument), shown=command.argument)
            real = (command, *(getattr(moment, "raw", None) or moment for moment in moments))
        verdict = self._first_refusal(
            lambda guard: getattr(guard, verb)(*(shown if getattr(guard, "kind", "") == "llm" else real))
        )
        return replace(verdict, reason=self._protector.memory.mask_parts(verdict.reason))


def _guards_of(gate: GateGuard) -> list[GateGuard]:
    return [guard for inner in gate.guards for guard in _guards_of(inner)] if isinstance(gate, GuardChain) else [gate]


def masked_record(record: Any, mask: Callable[[str], str]) -> Any:
    """A copy of a text, a frozen record, a named tuple, or plain containers of them with the texts masked. Numbers stay
    as they are; any other object becomes its masked text."""
    if isinstance(record, str):
        return mask(record)
    if isinstance(record, dict):
        return {masked_record(key, mask): masked_record(value, mask) for key, value in record.items()}
    if isinstance(record, tuple) and hasattr(record, "_make"):
        return record._make(masked_record(item, mask) for item in record)
    if type(record) in (list, tuple, set, frozenset):
        return type(record)(masked_record(item, mask) for item in record)
    if not is_dataclass(record) or isinstance(record, type):
        numbers = getattr(getattr(record, "dtype", None), "kind", "O") in "biufc"
        return record if numbers or isinstance(record, int | float | complex | Enum | None) else mask(str(record))
    names = [field.name for field in fields(record) if field.init]
    return replace(record, **{name: masked_record(getattr(record, name), mask) for name in names})


def _mask_element(element: Any, mask: Callable[[str], str]) -> Any:
    """A copy of an element as by `masked_record`; an object of another class is copied with its attributes masked."""
    if is_dataclass(element) or not hasattr(element, "__dict__") or isinstance(element, str | dict | tuple):
        return masked_record(element, mask)
    copied = copy(element)
    vars(copied).update({name: masked_record(value, mask) for name, value in vars(element).items()})
    return copied


def build_model(settings: ModelSettings) -> LanguageModel:
    """The model of these settings behind the protector that they name.

    Raises ModelError as `build_unprotected` does, and for a protector that can't be had.
    """
    model = build_unprotected(settings)
    try:
        protector = protector_of(settings.privacy)
    except ValueError as error:
        raise ModelError(f"The model isn't asked: {error}.") from None
    return ProtectedModel(model, protector.mask) if protector else model


@lru_cache(maxsize=4)
def protector_of(privacy: str) -> Protector | None:
    """The protector that a config names, one per process; None for "off". Its memory lies at `$SDG_MEMORY`, or in the
    user's data folder. Raises PrivacyError."""
    if privacy == OFF:
        return None
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    path = Path(os.environ.get(MEMORY_VARIABLE) or data / "sdg" / "memory")
    return Protector(recognisers_of("" if privacy == ON else privacy), Placeholders.load(path), path=path)
