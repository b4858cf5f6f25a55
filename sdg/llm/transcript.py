"""A transcript of every exchange as JSON lines, and the model that replays it.

Prompts are long and nearly alike, and so are programs. A text is cut before each of its headings and functions, those
of a numbered listing too; a long part is a line of its own, written once, and the exchanges name it by its digest:

    {"schema": 2, "part": "9f86d081884c7d65", "text": "## Skills\\n\\n..."}
    {"schema": 2, "key": "...", "messages": [{"role": "user", "content": [{"part": "9f86d081884c7d65"}, "## Task..."]}],
     "model": "...", "stage": "solve", "sampling": {...}, "reply": {"text": ["def program():..."], ...}}
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from io import FileIO
from pathlib import Path
from typing import Any

from sdg.envs.files import read_file
from sdg.llm import exchange
from sdg.llm.exchange import cut_torn_line, open_to_append
from sdg.llm.model import Completion, LanguageModel, Message, ModelError, Sampling
from sdg.llm.provider import ModelSettings, Provider
from sdg.llm.secrets import hider

SCHEMA = 2
PART_CHARS = 60
"""Shortest part that is kept on a line of its own."""
MAX_EXCHANGE_CHARS = 1 << 24
MAX_REPLIES_CHARS = 1 << 28
"""What one exchange and all replies of a transcript may come to: a part that is named often makes much of little."""
_PART_LINE = re.compile(rb'\{"schema":%d,"part":"([0-9a-f]{16})",' % SCHEMA)
_BORDER = re.compile(r"(?m)^(?=#|(?: *\d+ )?def )")
_SECRET = re.compile(r"\b(?:sk|pk|key|token)-[A-Za-z0-9_-]{12,}|\bBearer\s+[A-Za-z0-9._~+/-]{8,}=*")


class Recorded:
    """A model whose exchanges are appended to a file; each line is on disk before the reply is handed on.

    Several threads and processes may append to one file. A torn last line, left by a kill, is cut off before the next
    is written.
    """

    def __init__(self, model: LanguageModel, path: Path, *, secrets: Sequence[str] = ()) -> None:
        self._model, self._path = model, path
        self._hide = hider(secrets, mark="[redacted]")
        self._parts: set[str] = set()
        self._read = 0  # Parts are known up to this byte of the file; what follows, other processes have written.

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
            "sampling": exchange.plain_sampling(sampling),
        }
        try:
            completion = self._model.complete(messages, sampling=sampling)
        except ModelError as error:
            self._append(messages, head | {"error": str(error)})
            raise
        self._append(messages, head | {"reply": exchange.plain_reply(completion)})
        return completion

    def _append(self, messages: Sequence[Message], entry: Mapping[str, Any]) -> None:
        whole = {**entry, "messages": exchange.plain_messages(messages)}
        parts: dict[str, str] = {}
        line = _line(_change_texts(_redacted(whole, self._hide), lambda text: _cut(text, parts)))
        try:
            with open_to_append(self._path) as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                cut_torn_line(file)
                self._learn_parts(file)
                fresh = sorted(parts.keys() - self._parts)
                data = b"".join(_line({"schema": SCHEMA, "part": key, "text": parts[key]}) for key in fresh) + line
                while data:  # One write: only a full disk makes it more, and then the next cuts what is torn.
                    data = data[file.write(data) :]
                os.fsync(file.fileno())
        except OSError as error:
            raise ModelError(f"The transcript {self._path} can't be written: {error.strerror or error}.") from error

    def _learn_parts(self, file: FileIO) -> None:
        """Know the parts that the file has, by what was appended since the last look."""
        if file.seek(0, os.SEEK_END) < self._read:  # somebody put another file there
            self._parts, self._read = set(), 0
        file.seek(self._read)
        added = _rest(file)
        for number, line in enumerate(added.splitlines(), 1):
            if self._read == 0 and number == 1:
                _check_schema(line, self._path)
            part = _PART_LINE.match(line)
            if part:
                self._parts.add(part[1].decode())
        self._read += len(added)


class Replayed:
    """A model that says again what a transcript holds, in the order in which equal questions were asked."""

    def __init__(self, path: Path) -> None:
        self._path, self._turn, self._name = path, threading.Lock(), ""
        self._replies: dict[Hashable, list[Completion | str]] = {}
        self._asked: Counter[Hashable] = Counter()
        for entry in entries(path):
            self._name = self._name or str(entry.get("model", ""))
            self._replies.setdefault(self._kept_as(entry), []).append(_said(entry))

    @property
    def name(self) -> str:
        """The name of the model that was recorded: questions are known again by it."""
        return self._name

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """The recorded reply. Raises ModelError where there is none, or where a failure was recorded."""
        key = self._key(messages, sampling)
        with self._turn:
            self._asked[key] += 1
            number = self._asked[key]
        said = self._reply(self._replies.get(key, []), number, key)
        if isinstance(said, str):
            raise ModelError(said)
        return said

    def _kept_as(self, entry: Mapping[str, Any]) -> Hashable:
        return str(entry["key"])

    def _key(self, messages: Sequence[Message], sampling: Sampling) -> Hashable:
        return exchange.key(self._name, messages, sampling)

    def _reply(self, replies: Sequence[Completion | str], number: int, key: Hashable) -> Completion | str:
        """The last one stays where a question is asked oftener than it was."""
        if not replies:
            raise ModelError(
                f"The transcript {self._path} has no reply to this conversation: prompts, seed and config must be "
                "those of the run that it was recorded in."
            )
        return replies[min(number, len(replies)) - 1]


class RepliedInTurn(Replayed):
    """A model that gives the n-th question of an episode the n-th reply that it had, whatever is asked now.

    An episode is known by the stage and the seed of its questions. For a transcript whose prompts have changed since:
    what was answered then is carried out by today's code.
    """

    def _kept_as(self, entry: Mapping[str, Any]) -> Hashable:
        return str(entry["stage"]), entry["sampling"].get("seed")

    def _key(self, messages: Sequence[Message], sampling: Sampling) -> Hashable:
        return sampling.stage, sampling.seed

    def _reply(self, replies: Sequence[Completion | str], number: int, key: Hashable) -> Completion | str:
        """Raises ModelError where none is left."""
        if number > len(replies):
            raise ModelError(f"The transcript {self._path} has {len(replies)} replies to {key}, one more is asked for.")
        return replies[number - 1]


def entries(path: Path) -> Iterator[dict[str, Any]]:
    """The exchanges of a transcript, each message whole and with its `line`; a torn last line is passed over.

    Raises ModelError for any other line, and for a transcript of another schema.
    """
    try:
        lines = read_file(path.resolve()).split(b"\n")
    except OSError as error:
        raise ModelError(f"The transcript {path} can't be read: {error.strerror or error}.") from error
    parts: dict[str, str] = {}
    told = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if number == 1:
            _check_schema(line, path)
        entry = _entry(line, parts)
        if entry:
            entry["line"] = number
        if entry is None and number < len(lines):
            raise ModelError(f"Line {number} of the transcript {path} is no exchange of schema {SCHEMA}.")
        told += len(entry["reply"]["text"]) if entry and "reply" in entry else 0
        if told > MAX_REPLIES_CHARS:
            raise ModelError(f"The replies of the transcript {path} have more than {MAX_REPLIES_CHARS} characters.")
        if entry:
            yield entry


def answers_once(path: Path) -> bytes:
    """A transcript without failures and without what was said before to the same question, as it is to be kept.

    Raises OSError where it can't be read.
    """
    kept: dict[str, bytes] = {}
    for line in read_file(path.resolve()).split(b"\n"):
        try:
            entry = json.loads(line)
            kept.setdefault(entry.get("part") or json.dumps([entry["key"], entry["reply"]["text"]]), line)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue  # a failure, or torn
    return b"".join(line + b"\n" for line in kept.values())


def _entry(line: bytes, parts: dict[str, str]) -> dict[str, Any] | None:
    """An exchange with its messages whole, {} for a part (which is remembered), None for anything else."""
    try:
        entry = json.loads(line)
        if entry["schema"] != SCHEMA:
            return None
        if "part" in entry:
            parts[str(entry["part"])] = str(entry["text"])
            return {}
        if isinstance(entry["key"], str) and ("reply" in entry or "error" in entry):
            left = [MAX_EXCHANGE_CHARS]
            whole = _change_texts(entry, lambda pieces: _joined(pieces, parts, left))
            _said(whole)
            return whole
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    return None


def _check_schema(line: bytes, path: Path) -> None:
    """Raise ModelError for a transcript that an older version wrote, which would otherwise be half understood."""
    try:
        schema = json.loads(line)["schema"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    if schema != SCHEMA:
        raise ModelError(
            f"The transcript {path} has schema {schema!r:.20}, this version's is {SCHEMA}: "
            "replay it with the version that wrote it, or start a new run folder."
        )


def _change_texts(entry: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """An exchange with the contents of its messages and the text of its reply changed."""
    messages = [{"role": str(each["role"]), "content": change(each["content"])} for each in entry["messages"]]
    reply = {"reply": {**entry["reply"], "text": change(entry["reply"]["text"])}} if "reply" in entry else {}
    return {**entry, "messages": messages, **reply}


def _cut(text: str, parts: dict[str, str]) -> list[str | dict[str, str]]:
    """A text in pieces, the long ones by their digest; `parts` gets what stands behind those."""
    return [_named(piece, parts) if len(piece) >= PART_CHARS else piece for piece in _BORDER.split(text)]


def _named(piece: str, parts: dict[str, str]) -> dict[str, str]:
    digest = hashlib.sha256(piece.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    parts[digest] = piece
    return {"part": digest}


def _joined(pieces: Sequence[str | Mapping[str, str]], parts: Mapping[str, str], left: list[int]) -> str:
    """A text of its pieces. Raises ValueError for more characters than are `left` to its exchange."""
    texts = [piece if isinstance(piece, str) else parts[piece["part"]] for piece in pieces]
    left[0] -= sum(map(len, texts))
    if left[0] < 0:
        raise ValueError("an exchange of too many characters")
    return "".join(texts)


def _line(entry: Mapping[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def _said(entry: Mapping[str, Any]) -> Completion | str:
    return exchange.reply_of(entry["reply"]) if "reply" in entry else str(entry["error"])


def _rest(file: FileIO) -> bytes:
    return b"".join(iter(lambda: file.read(2**20), b""))


def _redacted(value: Any, hide: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return _SECRET.sub("[redacted]", hide(value))
    if isinstance(value, Mapping):
        return {name: _redacted(each, hide) for name, each in value.items()}
    return [_redacted(each, hide) for each in value] if isinstance(value, list | tuple) else value


def _file(settings: ModelSettings) -> Path:
    path = settings.transcript
    assert path is not None, "the registry asks for it"
    return path / "transcript.jsonl" if path.is_dir() else path


PROVIDER = Provider(lambda settings: Replayed(_file(settings)), needs=("transcript",))
IN_TURN = Provider(lambda settings: RepliedInTurn(_file(settings)), needs=("transcript",))
