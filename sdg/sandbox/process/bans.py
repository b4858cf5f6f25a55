"""Checks and programs that hung or crashed a worker: identified, banned, reported; the run goes on without them."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from sdg.envs.files import atomic_write, read_file
from sdg.errors import SDGError
from sdg.sandbox.process.board import digest

SCHEMA = 1
_MAX_FILE_BYTES = 4 << 20


class BansError(SDGError, RuntimeError):
    """A list of bans can't be read; the message says what to do."""


class Bans:
    """Sources by digest and why each is banned. With a path they are kept there, in one JSON file written atomically.

    Raises BansError for a file that is no such list.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._reasons: dict[str, str] = {} if path is None else _read_reasons(path)

    def reason(self, sources: Iterable[str]) -> str:
        """Why the first banned one of these sources is banned; "" when none is."""
        reasons = (self._reasons.get(digest(source)) for source in sources if self._reasons)
        return next((reason for reason in reasons if reason), "")

    def add(self, digest: str, *, reason: str) -> None:
        """Ban the source with this digest from now on. Raises OSError when it can't be kept."""
        self._reasons[digest] = reason[:500]
        if self.path is not None:
            atomic_write(self.path, json.dumps({"schema": SCHEMA, "banned": self._reasons}, indent=1))

    def report(self) -> Mapping[str, str]:
        """Digest -> reason, in the order in which they were banned."""
        return dict(self._reasons)


def _read_reasons(path: Path) -> dict[str, str]:
    try:
        content = json.loads(read_file(path, most=_MAX_FILE_BYTES))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise BansError(f"can't read {path}: {error}. Delete it, and what it banned is tried again.") from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA or not isinstance(content.get("banned"), dict):
        raise BansError(f"{path} is no list of bans of schema {SCHEMA}. Delete it, and what it banned is tried again.")
    return {str(key): str(reason) for key, reason in content["banned"].items()}
