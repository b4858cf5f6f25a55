"""Replies kept in sqlite, so that a question that was answered isn't paid for twice."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from sdg.llm import exchange
from sdg.llm.model import Completion, LanguageModel, Message, ModelError, Sampling

_TABLE = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)"
_BUSY_SECONDS = 30.0


class Cached:
    """A model that remembers its replies by model, conversation and sampling; failures are not remembered.

    The file may be shared by processes. One that can't be opened is a ModelError; one that can't be written to any more
    (a full disk) only stops remembering.
    """

    def __init__(self, model: LanguageModel, path: Path) -> None:
        self._model, self._path = model, path
        try:
            with contextlib.closing(self._connect()) as connection, connection:
                connection.execute(_TABLE)
        except sqlite3.Error as error:
            raise ModelError(
                f"The cache {path} can't be used ({error}): delete it, or set model.cache to false."
            ) from error

    @property
    def name(self) -> str:
        """The name of the model that is asked."""
        return self._model.name

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """A remembered reply (marked `cached`), or a new one. Raises whatever the model raises."""
        key = exchange.key(self.name, messages, sampling)
        with contextlib.suppress(sqlite3.Error, ValueError, RecursionError):
            known = self._look_up(key)
            if known is not None:
                return exchange.reply_of(json.loads(known), cached=True)
        completion = self._model.complete(messages, sampling=sampling)
        with contextlib.suppress(sqlite3.Error):
            self._remember(key, json.dumps(exchange.plain_reply(completion)))
        return completion

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=_BUSY_SECONDS)

    def _look_up(self, key: str) -> str | None:
        with contextlib.closing(self._connect()) as connection:
            row = connection.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else None

    def _remember(self, key: str, reply: str) -> None:
        with contextlib.closing(self._connect()) as connection, connection:
            connection.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (key, reply))
