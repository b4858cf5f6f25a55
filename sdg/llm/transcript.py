"""A transcript of every exchange, one JSON line each, and the model that replays it."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from io import FileIO
from pathlib import Path
from typing import Any

from sdg.envs.files import open_regular, read_file
from sdg.llm import exchange
from sdg.llm.model import Completion, LanguageModel, Message, ModelError, Sampling

SCHEMA = 1
_SECRET = re.compile(r"\b(?:sk|pk|key|token)-[A-Za-z0-9_-]{12,}|\bBearer\s+[A-Za-z0-9._~+/-]{8,}=*")


class Recorded:
    """A model whose exchanges are appended to a file; each line is on disk before the reply is handed on.

    Several processes may append to one file. A torn last line, left by a kill, is cut off before the next is written.
    """

    def __init__(self, model: LanguageModel, path: Path, *, secrets: Sequence[str] = ()) -> None:
        self._model, self._path = model, path
        self._secrets = tuple(secret for secret in secrets if len(secret) > 3)

    @property
    def name(self) -> str:
        """The name of the model that is recorded."""
        return self._model.name

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """What the model says; failures are recorded too. Raises ModelError as it does, or if this fails."""
        head = {
            "schema": SCHEMA,
            "key": exchange.key(self.name, messages, sampling),
            "model": self.name,
            "stage": sampling.stage,
            "messages": exchange.plain_messages(messages),
            "sampling": exchange.plain_sampling(sampling),
        }
        try:
            completion = self._model.complete(messages, sampling=sampling)
        except ModelError as error:
            self._append(head | {"error": str(error)})
            raise
        self._append(head | {"reply": exchange.plain_reply(completion)})
        return completion

    def _append(self, entry: Mapping[str, Any]) -> None:
        line = json.dumps(_redacted(entry, self._secrets), ensure_ascii=True).encode() + b"\n"
        try:
            descriptor = open_regular(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            with FileIO(descriptor, "r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                _cut_torn_line(file)
                while line:  # One write a line: only a full disk makes it more, and then the next cuts what is torn.
                    line = line[file.write(line) :]
                os.fsync(file.fileno())
        except OSError as error:
            raise ModelError(f"The transcript {self._path} can't be written: {error.strerror or error}.") from error


class Replayed:
    """A model that says again what a transcript holds, in the order in which equal questions were asked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._replies: dict[str, list[Completion | str]] = {}
        self._asked: dict[str, int] = {}
        self._name = ""
        for entry in entries(path):
            self._name = self._name or str(entry.get("model", ""))
            self._replies.setdefault(str(entry["key"]), []).append(_said(entry))

    @property
    def name(self) -> str:
        """The name of the model that was recorded: questions are known again by it."""
        return self._name

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """The recorded reply; the last one stays where a question is asked oftener than it was. Raises ModelError."""
        key = exchange.key(self._name, messages, sampling)
        replies = self._replies.get(key)
        if not replies:
            raise ModelError(
                f"The transcript {self._path} has no reply to this conversation: prompts, seed and config must be "
                "those of the run that it was recorded in."
            )
        number = min(self._asked.get(key, 0), len(replies) - 1)
        self._asked[key] = number + 1
        said = replies[number]
        if isinstance(said, str):
            raise ModelError(said)
        return said


def entries(path: Path) -> Iterator[dict[str, Any]]:
    """The exchanges of a transcript; a torn last line is passed over. Raises ModelError for any other line."""
    try:
        lines = read_file(path.resolve()).split(b"\n")
    except OSError as error:
        raise ModelError(f"The transcript {path} can't be read: {error.strerror or error}.") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        entry = _entry(line)
        if entry is not None:
            yield entry
        elif number < len(lines):
            raise ModelError(f"Line {number} of the transcript {path} is no exchange of schema {SCHEMA}.")


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
        if entry["schema"] == SCHEMA and isinstance(entry["key"], str) and ("reply" in entry or "error" in entry):
            _said(entry)
            return dict(entry)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    return None


def _said(entry: Mapping[str, Any]) -> Completion | str:
    return exchange.reply_of(entry["reply"]) if "reply" in entry else str(entry["error"])


def _cut_torn_line(file: FileIO) -> None:
    size = file.seek(0, os.SEEK_END)
    if not size:
        return
    file.seek(size - 1)
    if file.read(1) == b"\n":
        return
    start = max(0, size - 2**22)
    file.seek(start)
    end = _rest(file).rfind(b"\n")
    file.truncate(start + end + 1 if end >= 0 else start)


def _rest(file: FileIO) -> bytes:
    return b"".join(iter(lambda: file.read(2**20), b""))


def _redacted(value: Any, secrets: Sequence[str]) -> Any:
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, "[redacted]")
        return _SECRET.sub("[redacted]", value)
    if isinstance(value, Mapping):
        return {name: _redacted(each, secrets) for name, each in value.items()}
    return [_redacted(each, secrets) for each in value] if isinstance(value, list | tuple) else value
