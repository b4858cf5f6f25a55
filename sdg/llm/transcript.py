"""A transcript of every exchange as JSON lines, and the model that replays it.

    {"schema": 3, "key": "...", "model": "...", "stage": "solve", "sampling": {...},
     "messages": [{"role": "user", "content": "## Task..."}], "reply": {"text": "def program():...", ...}}

A large transcript is compressed when its run ends: `transcript.jsonl.xz`. Both are read under the name without ".xz".
"""

import json
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sdg.envs.files import MAX_LINE_BYTES, MAX_LINE_VALUES, count_values, has_lines, lock_to_append, read_lines
from sdg.llm import exchange
from sdg.llm.model import Completion, LanguageModel, Message, ModelError, NotRecorded, Sampling
from sdg.llm.provider import ModelSettings, Provider
from sdg.llm.secrets import hider

SCHEMA = 3
_SECRET = re.compile(r"\b(?:sk|pk|key|token)-[A-Za-z0-9_-]{12,}|\bBearer\s+[A-Za-z0-9._~+/-]{8,}=*")
_WORD = re.compile("[A-Za-z0-9]{8,}")


class RecordingModel:
    """A model whose exchanges are appended to a file; each line is on disk before the reply is returned.

    Several threads and processes may append to one file. A torn last line, left by a kill, is removed before the next
    one is written. With `answers` no answered question is asked again: a question that the file held at first, or that
    came since, gets its recorded reply (marked `cached`), which is recorded once more. Failures aren't remembered.
    """

    def __init__(self, model: LanguageModel, path: Path, *, secrets: Sequence[str] = (), answers: bool = False) -> None:
        """Raises ModelError, with `answers`, for a transcript that can't be read."""
        self.name, self._model, self._path, self._answers = model.name, model, path, answers
        self._hide = hider(secrets, mark="[redacted]")
        recorded = entries(path) if answers and has_lines(path) else ()
        self._known = {
            entry["key"]: exchange.reply_of(entry["reply"], cached=True) for entry in recorded if "reply" in entry
        }

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """The model's reply; failures are recorded too. Raises ModelError where the model does or recording fails."""
        key = exchange.key(self.name, messages, sampling)
        entry = {
            "schema": SCHEMA,
            "key": key,
            "model": self.name,
            "stage": sampling.stage,
            "sampling": exchange.plain_sampling(sampling),
            "messages": exchange.plain_messages(messages),
        }
        try:
            completion = self._known.get(key) or self._model.complete(messages, sampling=sampling)
        except ModelError as error:
            self._append(entry | {"error": str(error)})
            raise
        completion = replace(completion, text=_redact(completion.text, self._hide))  # a replay gives no more
        self._append(entry | {"reply": asdict(completion)})
        if self._answers:
            self._known[key] = replace(completion, cached=True)
        return completion

    def _append(self, entry: Mapping[str, Any]) -> None:
        data = _line(_redact(entry, self._hide))
        if len(data) > MAX_LINE_BYTES:
            raise ModelError(f"An exchange of {len(data)} bytes isn't recorded: at most {MAX_LINE_BYTES} are.")
        try:
            with lock_to_append(self._path) as file:
                file.seek(0)
                _check_schema(file.read(40), self._path)
                while data:  # One write, unless the disk is full; the next append then removes the torn line.
                    data = data[file.write(data) :]
                os.fsync(file.fileno())
        except OSError as error:
            raise ModelError(f"The transcript {self._path} can't be written: {error.strerror or error}.") from error


class ReplayModel:
    """A model that repeats a transcript's replies; equal questions get theirs in the recorded order.

    With `in_turn` an episode's n-th question gets its n-th recorded reply, whatever is asked now: for a transcript
    whose prompts have changed since: today's code carries out the recorded answers. The stage and the seed of its
    questions identify an episode. Names of subgoals are answered line by line, because a run may reach other subgoals
    than the recorded one; those that weren't recorded get no line.
    """

    def __init__(self, path: Path, *, in_turn: bool = False) -> None:
        self._path, self._in_turn = path, in_turn
        self.name = ""
        self._turn = threading.Lock()
        self._replies: dict[Hashable, list[Completion | str]] = {}
        self._counts: Counter[Hashable] = Counter()
        self._names: dict[str, str] = {}
        for entry in entries(path):
            self.name = self.name or str(entry.get("model", ""))  # of who was recorded: it is part of a question's key
            key = (entry["stage"], entry["sampling"].get("seed")) if in_turn else entry["key"]
            reply = _reply(entry)
            self._replies.setdefault(key, []).append(reply)
            asked = _numbered_subgoals(entry["messages"][-1]["content"]) if in_turn else {}
            if asked and isinstance(reply, Completion):
                answers = _numbered(reply.text)
                self._names |= {text: answers[number] for number, text in asked.items() if number in answers}

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """The recorded reply; the last one is repeated where a question is asked more often, but not `in_turn`.

        Raises ModelError where there is none (NotRecorded `in_turn`), or where a failure was recorded.
        """
        if self._names and (asked := _numbered_subgoals(messages[-1].content)):
            lines = [f"{number}. {self._names[text]}" for number, text in asked.items() if text in self._names]
            return Completion("\n".join(lines), self.name)
        place = (sampling.stage, sampling.seed)
        key: Hashable = place if self._in_turn else exchange.key(self.name, messages, sampling)
        with self._turn:
            self._counts[key] += 1
            number = self._counts[key]
        replies = self._replies.get(key, [])
        if self._in_turn and number > len(replies):
            raise NotRecorded(
                f"The transcript {self._path} has {len(replies)} replies to {key}, one more is asked for."
            )
        if not replies:
            raise ModelError(
                f"The transcript {self._path} has no reply to this conversation: prompts, seed and config must be "
                "those of the run that it was recorded in."
            )
        reply = replies[min(number, len(replies)) - 1]
        if isinstance(reply, str):
            raise ModelError(reply)
        return reply


_SUBGOALS = "## Subgoals to translate"
"""Heading of a numbered list of subgoals in a question (`sdg.induction.translate`)."""


def _numbered_subgoals(question: str) -> dict[str, str]:
    """The subgoals of a question that asks for their names, by number; {} for another question."""
    return _numbered(question.partition(_SUBGOALS)[2])


def _numbered(text: str) -> dict[str, str]:
    """The lines "N. words" of a text, by number."""
    return dict(re.findall(r"^(\d+)\. (.*\S)", text, re.MULTILINE))


def entries(path: Path) -> Iterator[dict[str, Any]]:
    """The exchanges of a transcript, each with its `line`; a torn last line is skipped.

    Raises ModelError for any other line, and for a transcript of another schema.
    """
    try:
        lines = read_lines(path.resolve())
    except OSError as error:
        raise ModelError(f"The transcript {path} can't be read: {error.strerror or error}.") from error
    _check_schema(lines[0], path)
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE_BYTES:
            raise ModelError(f"Line {number} of {path} has {len(line)} bytes, at most {MAX_LINE_BYTES} are read.")
        if count_values(line) > MAX_LINE_VALUES:
            raise ModelError(f"Line {number} of {path} holds too much, at most {MAX_LINE_VALUES} values are read.")
        entry = _parse(line)
        if entry is not None:
            yield entry | {"line": number}
        elif line.strip() and number < len(lines):
            raise ModelError(f"Line {number} of the transcript {path} is no exchange of schema {SCHEMA}.")


def first_answers(path: Path) -> bytes:
    """A transcript's lines to keep: without failures, and without answers already given to the same question.

    Raises ModelError where it can't be read.
    """
    answers: dict[tuple[str, str], bytes] = {}
    for entry in entries(path):
        del entry["line"]
        if "reply" in entry:
            answers.setdefault((entry["key"], entry["reply"]["text"]), _line(entry))
    return b"".join(answers.values())


def _line(entry: Mapping[str, Any]) -> bytes:
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def _parse(line: bytes) -> dict[str, Any] | None:
    """The exchange in a line, None for anything else."""
    try:
        entry = json.loads(line)
        _reply(entry)
        texts = [text for message in entry["messages"] for text in (message["role"], message["content"])]
        has_texts = bool(texts) and all(isinstance(text, str) for text in (*texts, entry["key"], entry["stage"]))
        has_seed = isinstance(entry["sampling"].get("seed"), int | None)
        is_exchange = has_texts and has_seed and entry["schema"] == SCHEMA
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return entry if is_exchange else None


def _check_schema(beginning: bytes, path: Path) -> None:
    """Raise ModelError for a transcript of another version, which would otherwise be misread in part."""
    match = re.match(rb'\{"schema": ?(\d{1,9})', beginning)
    if match and int(match[1]) != SCHEMA:
        raise ModelError(
            f"The transcript {path} has schema {int(match[1])}, this version's is {SCHEMA}: "
            "replay it with the version that wrote it, or start a new run folder."
        )


def _reply(entry: Mapping[str, Any]) -> Completion | str:
    return exchange.reply_of(entry["reply"]) if "reply" in entry else str(entry["error"])


def _redact(value: Any, hide: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return _SECRET.sub(_mark_unless_words, hide(value))
    if isinstance(value, Mapping):
        return {name: _redact(item, hide) for name, item in value.items()}
    return [_redact(item, hide) for item in value] if isinstance(value, list | tuple) else value


def _mark_unless_words(match: re.Match[str]) -> str:
    """The mark, or the text itself where it is words in one case with at most two digits, such as key-steps_2."""
    are_words = all(re.fullmatch("[a-z]+|[A-Z]+|[A-Z][a-z]+", word) for word in _WORD.findall(match[0]))
    return match[0] if are_words and sum(map(str.isdigit, match[0])) < 3 else "[redacted]"


def _file(settings: ModelSettings) -> Path:
    path = settings.transcript
    assert path is not None, "the registry asks for it"
    return path / "transcript.jsonl" if path.is_dir() else path


PROVIDER = Provider(lambda settings: ReplayModel(_file(settings)), needs=("transcript",))
IN_TURN = Provider(lambda settings: ReplayModel(_file(settings), in_turn=True), needs=("transcript",))
