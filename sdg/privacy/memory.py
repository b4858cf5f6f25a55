"""The local memory: which placeholder stands for which value, encrypted at rest; the only way from one to the other."""

import json
import os
import re
import stat
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NoReturn

from sdg.envs.files import atomic_write, lock_to_append, open_regular, read_file
from sdg.llm.secrets import replacer
from sdg.privacy.likeness import APART_RUN, OUTSIDE, RUN, SHORT, TYPED_RUN, Likeness
from sdg.privacy.recognisers import PrivacyError

PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]{0,40})\}")
SCHEMA = 1
MAX_VALUES = 2000
_SERVICE = "sdg"
_KEY_NAME = "memory-key"


class Placeholders:
    """Values by the names of their placeholders. A value never leaks by repr, pickle or error."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values: dict[str, str] = {}
        self._lock = threading.RLock()
        for name, value in (values or {}).items():
            self._keep(name, value)
        self._on_disk = dict(self._values)
        """The values that its file held when it was last read or written."""
        self.unshown = set(self._values)
        """The names that were read and stand in no admitted text yet."""
        self._remask()

    def __repr__(self) -> str:
        return f"Placeholders({', '.join(self._values) or 'empty'})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a memory of values doesn't travel")

    def __iter__(self) -> Iterator[str]:
        """The names of the placeholders."""
        return iter(tuple(self._values))

    @property
    def has_news(self) -> bool:
        """Whether it holds other values than its file did when it was last read or written."""
        return self._values != self._on_disk

    def name(self, name: str, value: str) -> None:
        """Keep a value under a name that its user chose; one that had the name gets a new one, because it may still be
        shown. Raises PrivacyError if it can't be a placeholder."""
        with self._lock:
            former_value = self._values.get(name, value)
            self._keep(name, value)
            self._remask()
            self.remember(former_value, name[:36])

    def give(self, name: str, value: str, *, taken: frozenset[str] = frozenset()) -> str:
        """The name that stands for a value that its user named in a text: one of its own, not in `taken`, if a text
        before has the chosen one for another value."""
        with self._lock:
            if name not in self.unshown and self._values.get(name, value) != value:
                name = self.remember(value, name[:36], taken=taken)
            else:
                self.name(name, value)
            self.unshown.discard(name)
            return name

    def _keep(self, name: str, value: str) -> None:
        if not PLACEHOLDER.fullmatch(f"{{{name}}}"):
            raise PrivacyError(f"{name!r:.60} is no name of a placeholder: small letters, digits and _, at most 41")
        if not value.strip() or PLACEHOLDER.search(value):
            raise PrivacyError(f"the value of {{{name}}} is empty or holds a placeholder itself")
        if len(self._values) >= MAX_VALUES and name not in self._values:
            raise PrivacyError(f"the memory holds {MAX_VALUES} values already: empty it")
        self._values[name] = value

    def remember(self, value: str, kind: str, *, taken: frozenset[str] = frozenset()) -> str:
        """The name of the value's placeholder; if it has none, a new one of this kind that isn't in `taken`."""
        with self._lock:
            for name, kept_value in self._values.items():
                if kept_value == value:
                    return name
            names = (kind if number == 1 else f"{kind}_{number}" for number in range(1, MAX_VALUES + 2))
            free = next(name for name in names if name not in self._values and name not in taken)
            self.name(free, value)
            return free

    def mask(self, text: str) -> str:
        """The text with each value replaced by its placeholder: in any case, backwards, spaced, as hex or base64.

        A number is also found with other blanks and dashes in it.
        """
        return self._mask_between(text)

    def mask_as_written(self, text: str) -> str:
        """The text with each value replaced that stands in it as it is kept, in any case: `fill` gives it back."""
        return self._mask_between(
            text, lambda mark, found: mark if self._values[mark[1:-1]].lower() == found.lower() else found
        )

    def remember_forms(self, text: str, *, taken: frozenset[str] = frozenset()) -> str:
        """The text with each other form of a value replaced by a placeholder of its own, because `fill` would put the
        value in its place."""
        return self._mask_between(
            text, lambda mark, found: f"{{{self.remember(found, mark[1:37].rstrip('}'), taken=taken)}}}"
        )

    def _mask_between(self, text: str, *mark_of: Callable[[str, str], str]) -> str:
        """The text masked, but for its placeholders, whose names may be values themselves."""
        pieces = self._known.split(text)
        return "".join(piece if n % 2 else self._mask(piece, *mark_of) for n, piece in enumerate(pieces))

    def mask_parts(self, text: str) -> str:
        """The text masked as by `mask`, with parts of values hidden, too: for words that may quote a page."""
        return self.mask_lines([text])[0]

    def mask_lines(self, texts: Sequence[str]) -> list[str]:
        """Mask texts that are read together as `mask_parts` does; a value may be spread over them."""
        masked = [self.mask(text) for text in texts]
        masked_parts = []
        outside = [_outside(text) for text in masked]
        for text, bare_text, spread in zip(masked, outside, self._spread_likeness.owners_of_all(outside), strict=True):
            owners = [own or joint for own, joint in zip(self._parts_likeness.owners(bare_text), spread, strict=True)]
            pieces = groupby(zip(owners, text, strict=True), key=lambda pair: pair[0])
            parts = [(name, "".join(letter for _, letter in piece)) for name, piece in pieces]
            masked_parts.append("".join(f"{{{name}}}" if name else letters for name, letters in parts))
        return masked_parts

    def mask_screen(
        self, texts: Sequence[str], *, fields: Collection[int] = (), typed: Collection[str] = ()
    ) -> list[str]:
        """The texts of a screen's elements, in order, masked: by likeness, because screens show parts of values and are
        misread. A text that shows a part becomes the value's placeholder as a whole.

        A value may also be spread over several texts. Those at `fields` can show values named in `typed`; there, a few
        letters are enough, if they are half of the text.
        """
        masked = [self.mask(text) for text in texts]
        outside = [_outside(text) for text in masked]
        names = [set(self._parts_likeness.owners(text, misread=True)) for text in outside]
        short = Likeness({name: value for name, value in self._values.items() if name in typed}, TYPED_RUN, shortest=2)
        for n in fields:
            owners = [name for name, at in zip(short.owners(outside[n]), outside[n], strict=True) if at.isalnum()]
            if 2 * sum(map(bool, owners)) >= len(owners):
                names[n].update(owners)
        for own_names, owners in zip(names, self._spread_likeness.owners_of_all(outside), strict=True):
            own_names.update(owners)
        wholes = ["".join(f"{{{name}}}" for name in self._values if name in own_names) for own_names in names]
        return [whole or text for whole, text in zip(wholes, masked, strict=True)]

    def fill(self, text: str, *, as_json: bool = False) -> str:
        """The text with its placeholders filled in; in JSON, values are written as its texts are. Raises PrivacyError
        for an unknown one."""
        unknown = [name for name in PLACEHOLDER.findall(text) if name not in self._values]
        if unknown:
            placeholders = ", ".join(f"{{{name}}}" for name in self._values) or "none"
            raise PrivacyError(f"no value is kept for the placeholder {{{unknown[0]}}}; there are: {placeholders}")
        written = (lambda value: json.dumps(value, ensure_ascii=False)[1:-1]) if as_json else str
        return PLACEHOLDER.sub(lambda match: written(self._values[match[1]]), text)

    def save(self, path: Path) -> None:
        """Write it encrypted, readable only by its owner, with what other processes kept there meanwhile. Raises
        PrivacyError without a place or a key, and where another process kept another value under a name."""
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with lock_to_append(path.with_name(f"{path.name}.lock")):
                for name, value in Placeholders.load(path)._values.items():
                    if value not in (self._values.setdefault(name, value), self._on_disk.get(name)):
                        raise PrivacyError(f"another process keeps another value for {{{name}}}: use another name")
                content = json.dumps({"schema": SCHEMA, "values": self._values}).encode()
                atomic_write_private(path, _cipher(path, create=True).encrypt(content))
                self._on_disk = dict(self._values)
                self._remask()
        except OSError as error:
            raise PrivacyError(f"the memory {path} can't be written: {error.strerror or error}") from None

    @classmethod
    def load(cls, path: Path) -> "Placeholders":
        """The memory in a file; an empty one where there is no file.

        Raises PrivacyError for a file that others may read, that is damaged, or whose key is gone.
        """
        if not path.exists() and not path.is_symlink():
            return cls()
        data = _read_private(path, what="memory")
        from cryptography.fernet import InvalidToken

        advice = f"move {path} aside to begin with an empty memory"
        try:
            content = json.loads(_cipher(path, create=False).decrypt(data))
            if content["schema"] != SCHEMA:
                raise PrivacyError(f"the memory {path} has schema {content['schema']!r:.20}, not {SCHEMA}: {advice}")
            return cls({str(name): str(value) for name, value in content["values"].items()})
        except PrivacyError:
            raise
        except (InvalidToken, ValueError, KeyError, TypeError, AttributeError):
            raise PrivacyError(f"the memory {path} is damaged or was written under another key: {advice}") from None

    def _remask(self) -> None:
        self._mask = replacer(
            {value: f"{{{name}}}" for name, value in self._values.items() if len(value) > 1},
            whole_below=SHORT,
            numbers=True,
        )
        self._known = re.compile(rf"(\{{(?:{'|'.join(self._values)})\}})")
        self._parts_likeness = Likeness(self._values, RUN)
        self._spread_likeness = Likeness(self._values, APART_RUN)


def _outside(text: str) -> str:
    """A masked text without its placeholders, as long as before."""
    return PLACEHOLDER.sub(lambda match: OUTSIDE * len(match[0]), text)


def atomic_write_private(path: Path, data: bytes) -> None:
    """Replace a file that only its owner may read. Raises OSError."""
    mask = os.umask(0o077)
    try:
        atomic_write(path, data)
    finally:
        os.umask(mask)


def _read_private(path: Path, *, what: str) -> bytes:
    """The content of a file that belongs to the user and that no others may read. Raises PrivacyError for any other."""
    try:
        descriptor = open_regular(path, os.O_RDONLY)
        about = os.fstat(descriptor)
        os.close(descriptor)
        if about.st_uid != os.getuid():
            raise PrivacyError(f"the {what} {path} belongs to another user: it isn't used")
        if stat.S_IMODE(about.st_mode) & 0o077:
            raise PrivacyError(f"the {what} {path} can be read by others: chmod 600 {path}, and change what was in it")
        return read_file(path, most=1 << 22)
    except OSError as error:
        raise PrivacyError(f"the {what} {path} can't be read: {error.strerror or error}") from None


def _cipher(path: Path, *, create: bool) -> Any:
    """Fernet with a memory's key, from a file beside the memory or else from the system's keyring."""
    from cryptography.fernet import Fernet

    beside = path.with_name(f"{path.name}.key")
    if beside.exists() or beside.is_symlink():
        key = _read_private(beside, what="key").decode("ascii", "replace")
    else:
        key = _keyring(path) or ""
        if not key and create:
            key = Fernet.generate_key().decode()
            if _keyring(path, key) != key:
                atomic_write_private(beside, key.encode())
    try:
        return Fernet(key)
    except ValueError:
        raise PrivacyError(f"the key of the memory {path} is gone: move the memory aside to begin anew") from None


def _keyring(path: Path, key: str = "") -> str | None:
    """The key in the system's keyring; a given `key` is stored first. None without a keyring."""
    import keyring

    try:
        if keyring.get_keyring().priority < 1:  # none, or one that keeps its passwords in plain text
            return None
        if key:
            keyring.set_password(_SERVICE, f"{_KEY_NAME}:{path.resolve()}", key)
        return keyring.get_password(_SERVICE, f"{_KEY_NAME}:{path.resolve()}")
    except Exception:  # Keyrings fail in many ways (locked, refused, gone); then the file is used.
        return None
