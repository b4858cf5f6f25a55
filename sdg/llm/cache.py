"""Replies kept in sqlite, so that no answered question is paid for twice."""

import contextlib
import json
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from sdg.envs.files import open_regular
from sdg.llm import exchange
from sdg.llm.model import Completion, LanguageModel, Message, ModelError, Sampling

_TABLE = "CREATE TABLE replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)"
_QUERY = "SELECT reply FROM replies WHERE key = ? AND length(reply) <= ?"
_OUR_ENTRIES = (("table", "replies", _TABLE), ("index", "sqlite_autoindex_replies_1", None))
_END_OF_JOINT_JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""Ends a journal of sqlite that names another file (https://www.sqlite.org/fileformat.html#the_rollback_journal)."""
_MAX_STEPS = 10_000_000
"""Instructions of sqlite that one connection may take: a look-up takes some dozens."""
_MAX_CHARACTERS = 1 << 22


class CachedModel:
    """A model that remembers its replies by model, conversation and sampling; failures are not remembered.

    The file may be shared by processes. A file that can't be opened raises ModelError; one that can't be written any
    more (a full disk) only stops remembering.
    """

    def __init__(self, model: LanguageModel, path: Path) -> None:
        self.name, self._model, self._path = model.name, model, path
        try:
            os.close(open_regular(path, os.O_RDWR | os.O_CREAT))
            _refuse_foreign_journals(path)
            with contextlib.closing(self._connect()) as connection, connection:
                connection.execute(_TABLE.replace("TABLE", "TABLE IF NOT EXISTS"))
                _refuse_foreign_entries(connection)
        except (OSError, sqlite3.Error) as error:
            raise ModelError(
                f"The cache {path} can't be used ({error}): delete it, or set model.cache to false."
            ) from error

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """A remembered reply (marked `cached`), or a new one. Raises whatever the model raises."""
        key = exchange.key(self.name, messages, sampling)
        with (
            contextlib.suppress(sqlite3.Error, ValueError, RecursionError),
            contextlib.closing(self._connect()) as connection,
        ):
            for (text,) in connection.execute(_QUERY, (key, _MAX_CHARACTERS)):
                return exchange.reply_of(json.loads(text), cached=True)
        completion = self._model.complete(messages, sampling=sampling)
        text = json.dumps(asdict(completion))
        with contextlib.suppress(sqlite3.Error), contextlib.closing(self._connect()) as connection, connection:
            connection.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (key, text))
        return completion

    def _connect(self) -> sqlite3.Connection:
        """A connection on which no query runs for long, because a file from elsewhere may hold anything."""
        connection = sqlite3.connect(self._path, timeout=30.0)
        connection.execute("PRAGMA trusted_schema = OFF")
        steps = iter(range(_MAX_STEPS // 1000))
        connection.set_progress_handler(lambda: next(steps, None) is None, 1000)
        return connection


def _refuse_foreign_journals(path: Path) -> None:
    """Raises OSError for files beside the cache that aren't plain, and sqlite3.DatabaseError for a journal that names
    another one, because sqlite deletes that one once it has rolled its own back. Our own transactions name none."""
    for side in (path.with_name(f"{path.name}-{end}") for end in ("journal", "wal", "shm")):
        with contextlib.suppress(FileNotFoundError), open(open_regular(side, os.O_RDONLY), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - len(_END_OF_JOINT_JOURNAL)))
            if file.read() == _END_OF_JOINT_JOURNAL:
                raise sqlite3.DatabaseError(f"{side.name} names another file")


def _refuse_foreign_entries(connection: sqlite3.Connection) -> None:
    """Raises sqlite3.DatabaseError for a file that holds anything but exactly our table, because views, triggers,
    checks and computed columns can act."""
    entries = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    foreign = [f"{kind} {name}" for kind, name, sql in entries if (kind, name, sql) not in _OUR_ENTRIES]
    if foreign:
        raise sqlite3.DatabaseError(f"it holds what no cache holds: {foreign[0]!r:.80}")
