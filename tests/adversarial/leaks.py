"""Canary values are sent through every path: one that is found outside the local body is a leak."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import socket
import traceback
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import quote

from sdg.gate.executor import Command, Outcome, SkillResult
from sdg.llm.budget import BudgetSettings
from sdg.llm.model import Message, ModelError
from sdg.llm.provider import ModelSettings
from sdg.privacy.protector import MEMORY_VARIABLE, ProtectedBody, Protector, build_model, protector_of
from sdg.storage import Journal
from tests.adversarial.forms import Coordinator, Form, instruction_for, play

CANARIES = {
    "full name": "Zebulon Quackenbush",
    "e-mail": "zeb.quackenbush@canary-mail.example",
    "password": "cAn4ry!Tweet_88",
    "phone number": "+49 1512 7654321",
    "delivery address": "77 Canary Wharf Lane, Flat 9, Leeds LS9 7CN",
    "card number": "4012 8888 8888 1881",
    "passport number": "C77CANARY7",
    "PIN": "90417",
}
"""A field's name, and what a user would have written into it."""


@dataclass
class Listener:
    """Around the coordinator: it hears what a server would. `faults` are raised with all of it in them."""

    heard: list[str] = field(default_factory=list)
    inner: Coordinator = field(default_factory=Coordinator)
    faults: int = 0
    name: str = "listener"
    network: bool = False

    def complete(self, messages: Sequence[Message]) -> str:
        """The coordinator's answer. Raises ModelError with the conversation while there are faults left."""
        self.heard += [message.content for message in messages]
        if self.faults:
            self.faults -= 1
            raise ModelError(f"HTTP 400: {messages[-1].content}")
        return self.inner.complete(messages)


LISTENER = Listener()


class _Fails(Form):
    """A form that fails with what it was told, in a chain of errors."""

    def perform(self, command: Command) -> SkillResult:
        """Raises RuntimeError with the command in it."""
        try:
            raise ValueError(f"can't write {command.argument!r}")
        except ValueError as error:
            raise RuntimeError(f"the driver died at {command}") from error


def forms_of(value: str) -> tuple[str, ...]:
    """The value as it stands, and as an encoder, a log or a hasty reader would write it; lower case."""
    data = value.encode()
    cores = [b64encode(bytes(n) + data).decode()[(8 * n + 5) // 6 : 8 * (n + len(data)) // 6] for n in range(3)]
    forms = [value, value[::-1], quote(value, safe=""), json.dumps(value)[1:-1], data.hex(), *cores]
    digits = "".join(filter(str.isdigit, value))
    if len(digits) > 6:
        forms.append(digits)
    return tuple(form.lower() for form in forms)


def found_in(text: str, canaries: Mapping[str, str] = CANARIES) -> list[str]:
    """Names of the canaries that a text holds in any form."""
    lowered = text.lower()
    return [name for name, value in canaries.items() if any(form in lowered for form in forms_of(value))]


def rows(folder: Path, *, protect: bool = True) -> Iterator[dict[str, Any]]:
    """A row a path: how many canaries were found in it. `protect=False` shows that the paths would have shown them."""
    privacy = "on" if protect else "off"
    with mock.patch.dict(os.environ, {MEMORY_VARIABLE: str(folder / "memory")}), _watched() as connections:
        protector_of.cache_clear()
        LISTENER.heard.clear()
        protector = protector_of(privacy)
        channels = _played(folder, privacy, protector)
    protector_of.cache_clear()
    files = {path.name: path.read_bytes().decode("utf-8", "replace") for path in sorted(folder.iterdir())}
    texts = {"prompts": "\n".join(LISTENER.heard), **channels, **{f"file {name}": text for name, text in files.items()}}
    for path, text in {**texts, **connections}.items():
        leaked = found_in(text)
        yield {"path": path, "canaries": len(CANARIES), "leaks": len(leaked), "leaked": ", ".join(leaked)}


def _played(folder: Path, privacy: str, protector: Protector | None) -> dict[str, str]:
    """A task with every canary in it, then what fails; what was said of it by path."""
    asked = instruction_for(CANARIES)
    instruction = protector.admit(asked) if protector else asked
    kind = f"{__name__}:LISTENER"
    settings = ModelSettings(
        kind,
        record=folder / "transcript.jsonl",
        cache=True,
        ledger=folder / "spent.json",
        budget=BudgetSettings(tokens=10**9),
        retries=1,
        privacy=privacy,
    )
    model, form, outcomes = build_model(settings), Form(CANARIES), list[Outcome]()
    wrap: Callable[[Form], Any] = lambda form: ProtectedBody(form, protector) if protector else form  # noqa: E731
    done = play(instruction, form, model, body=wrap(form), heard=outcomes.append)
    assert done, "the canaries have reached the form"
    journal = Journal(folder / "episodes.jsonl")
    journal.append({"unit": "1", "instruction": instruction, "outcomes": [asdict(outcome) for outcome in outcomes]})
    traces = []
    LISTENER.faults = 1
    with contextlib.suppress(ModelError):
        model.complete([Message("user", f"{asked}\nasked once more")])
    LISTENER.faults = 0
    argument = outcomes[1].command.argument
    attempts = [
        (_Fails(CANARIES), Command("write", argument)),
        (Form(CANARIES), Command("choose", argument)),
        (Form(CANARIES), Command("write", argument)),
    ]
    if protector:
        attempts.append((form, Command("write", "{no_such_value}")))
    for attempted, command in attempts:
        try:
            wrap(attempted).perform(command)
        except Exception as error:
            logging.getLogger("sdg").exception("failed")
            # With locals, as error services send them; not those of this function, which holds the canaries.
            trace = traceback.TracebackException.from_exception(error, capture_locals=True)
            trace.stack[0].locals = None
            traces.append("".join(trace.format()))
    return {
        "commands and outcomes": str(outcomes),
        "tracebacks with locals": "\n".join(traces),
        "repr": repr(protector),
    }


@contextlib.contextmanager
def _watched() -> Iterator[dict[str, str]]:
    """What any library logs, prints or sends meanwhile, by where it went."""
    logged, out, err, seen = io.StringIO(), io.StringIO(), io.StringIO(), dict[str, str]()
    handler, root = logging.StreamHandler(logged), logging.getLogger()
    level, sent = root.level, list[str]()
    root.addHandler(handler)
    root.setLevel(1)

    def refuse(self: socket.socket, address: object) -> None:
        sent.append(str(address))
        raise OSError("no connections here")

    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            mock.patch.object(socket.socket, "connect", refuse),
            mock.patch.object(socket.socket, "connect_ex", refuse),
        ):
            yield seen
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    seen |= {"logs": logged.getvalue(), "stdout": out.getvalue(), "stderr": err.getvalue()}
    # Nobody has to be reached here: a connection that is tried at all counts as all canaries.
    seen["connections of dependencies"] = " ".join(sent) and " ".join([*CANARIES.values(), *sent])
