"""Checks and programs that hung or crashed a worker: identified, banned, reported; the run goes on without them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sdg.skills.sandbox.guard.errors import Refused
from sdg.skills.sandbox.process.supervisor import Worker, WorkerLost

SCHEMA = 1
_MAX_FILE_BYTES = 4 << 20


class Bans:
    """Sources by digest and why each is banned. With a path they are kept there, one JSON file, written atomically."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._reasons: dict[str, str] = _read(path) if path is not None and path.exists() else {}

    def __len__(self) -> int:
        return len(self._reasons)

    def __contains__(self, source: object) -> bool:
        return isinstance(source, str) and digest(source) in self._reasons

    def reason(self, sources: Iterable[str]) -> str:
        """Why the first banned one of these sources is banned; "" when none is."""
        found = (self._reasons.get(digest(source)) for source in sources if self._reasons)
        return next((reason for reason in found if reason), "")

    def check(self, source: str) -> None:
        """Raises `Refused` for a banned source."""
        reason = self._reasons.get(digest(source))
        if reason is not None:
            raise Refused(f"this code is banned: {reason}")

    def add(self, source: str, *, reason: str) -> None:
        """Ban a source from now on."""
        self._reasons[digest(source)] = reason[:500]
        if self.path is not None:
            text = json.dumps({"schema": SCHEMA, "banned": self._reasons}, indent=1)
            beside = self.path.with_name(self.path.name + ".part")
            with beside.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path)

    def report(self) -> Mapping[str, str]:
        """Digest -> reason, in the order in which they were banned."""
        return dict(self._reasons)


def digest(source: str) -> str:
    """What identifies a source, sha256 in hex."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()


def ask_supervised(worker: Worker, value: Any, *, source: str, bans: Bans, timeout_seconds: float) -> Any:
    """`worker.ask` about one source. A source that loses the worker is banned, and so is one that was before.

    Raises `Refused` for a banned source, `WorkerLost` when this one has just been banned, and what `ask` raises.
    """
    bans.check(source)
    try:
        return worker.ask(value, timeout_seconds=timeout_seconds)
    except WorkerLost as lost:
        bans.add(source, reason=str(lost))
        raise


def _read(path: Path) -> dict[str, str]:
    if path.stat().st_size > _MAX_FILE_BYTES:
        raise ValueError(f"{path.name} is too large for a list of bans")
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict) or found.get("schema") != SCHEMA or not isinstance(found.get("banned"), dict):
        raise ValueError(f"{path.name} is not a list of bans of schema {SCHEMA}")
    return {str(key): str(reason) for key, reason in found["banned"].items()}
