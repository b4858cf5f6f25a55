"""Keys are kept out of everything that is written, even if a server repeats one in disguise."""

import ipaddress
import json
import os
import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from html import escape
from itertools import chain
from typing import NamedTuple
from unicodedata import digit, normalize
from urllib.parse import quote, unquote, urlsplit

SHORTEST = 4
"""Fewest digits of a number that is found with blanks between them."""
SHORTEST_KEY = 8
"""Fewest characters of a key, because servers without keys are given words such as EMPTY, which hiding would take out
of programs; fewest of any secret that is found without its last letter."""
SHORTEST_DISGUISED = 4
"""Fewest characters of a secret that is found backwards, spaced, as hex or base64."""
DIGITS = 7
_NO_BLANKS = dict.fromkeys(map(ord, " ().-"))
"""Takes out what may stand between the digits of a number."""


def hider(secrets: Collection[str], *, mark: str) -> Callable[[str], str]:
    """A function that replaces each secret in a text by `mark`.

    It finds a secret in any case, without its last letter, backwards, spaced, as addresses write it, as hex or base64.
    Cut a text after this, not before: the rest of a secret isn't found.
    """
    return replacer({secret: mark for secret in secrets if len(secret) >= SHORTEST_KEY})


def replacer(marks: Mapping[str, str], *, whole_below: int = 0, numbers: bool = False) -> Callable[..., str]:
    """A function that replaces each secret by its own mark, in the same forms, or by what a second argument makes of
    the mark and the form that was found.

    Forms of fewer characters than `whole_below` are found only as whole words; with `numbers` a secret of at least
    `DIGITS` digits is found with any blanks and signs between them, a shorter one also beside letters and with single
    blanks. Letters and digits of other kinds (full width, Arabic) count as the plain ones.
    """
    forms: dict[str, _Form] = {}
    for secret, mark in marks.items():
        for written in filter(None, _forms(secret)):
            letters = written.translate(_alike())
            literal = re.escape(letters)
            pattern = literal if len(secret) >= whole_below else rf"(?<!\w){literal}(?!\w)"
            forms.setdefault(pattern, _Form(pattern, letters, mark))
        digits = [letter for letter in secret.translate(_alike()) if letter.isdecimal()]
        if numbers and (len(digits) >= DIGITS or (len(digits) == len(secret) > 2)):
            blank = " ?" if len(digits) >= SHORTEST else ""
            between = "[ ().-]{0,2}" if len(digits) >= DIGITS else blank
            pattern = r"(?<!\d)" + between.join(digits) + r"(?!\d)"
            forms.setdefault(pattern, _Form(pattern, "".join(digits), mark))
    if not forms:
        return lambda text, mark_of=None: text
    longest_first = sorted(forms.values(), key=lambda form: len(form.pattern), reverse=True)
    by_beginning = defaultdict[str, list[int]](list)
    for rank, form in enumerate(longest_first):
        by_beginning[form.letters[:2]].append(rank)

    def occurrences_in(text: str) -> Iterator[tuple[int, int]]:
        """Where the letters of forms stand in a text, and which form's: only of those whose first two letters do."""
        for rank in chain.from_iterable(ranks for beginning, ranks in by_beginning.items() if beginning in text):
            start = text.find(longest_first[rank].letters)
            while start >= 0:
                yield start, rank
                start = text.find(longest_first[rank].letters, start + 1)

    def replace(text: str, mark_of: Callable[[str, str], str] = lambda mark, found: mark) -> str:
        letters = text.translate(_alike())
        candidates = set(occurrences_in(letters))
        if spread := list(occurrences_in(letters.translate(_NO_BLANKS))):
            places = [place for place, letter in enumerate(letters) if ord(letter) not in _NO_BLANKS]
            candidates |= {(places[start], rank) for start, rank in spread}
        pieces: list[str] = []
        end = 0
        for start, rank in sorted(candidates):
            form = longest_first[rank]
            match = re.compile(form.pattern).match(letters, start) if start >= end else None
            if match:
                pieces += [text[end:start], mark_of(form.mark, text[start : match.end()])]
                end = match.end()
        return "".join([*pieces, text[end:]])

    return replace


class _Form(NamedTuple):
    """A form of a secret: the expression that finds it, its letters without blanks between digits, and its mark."""

    pattern: str
    letters: str
    mark: str


@lru_cache(maxsize=1)
def _alike() -> dict[int, str]:
    """One letter for all that count as the same, so that texts keep their length: those of other kinds (NFKC), digits
    of any alphabet, those that differ in case, where İ counts as i; up to the last digits of Unicode."""
    alike: dict[int, str] = {}
    caseless: dict[str, str] = {}
    for code in range(0x1FBFA):
        compatible = normalize("NFKC", chr(code))
        letter = compatible if len(compatible) == 1 else chr(code)
        letter = str(digit(letter)) if letter.isdecimal() else letter
        folded = letter.lower().upper().replace("\u0307", "")
        alike[code] = caseless.setdefault(folded, folded if len(folded) == 1 else letter.lower())
    return alike


def _forms(secret: str) -> Iterator[str]:
    data = secret.encode("utf-8", "surrogatepass")
    yield from _notations(secret, data)
    if len(secret) < SHORTEST_DISGUISED:
        return
    yield from (secret[::-1], " ".join(secret), data.hex())
    base64 = b64encode(data).decode().rstrip("=")
    if len(secret) >= SHORTEST_KEY:
        yield secret[:-1]
    else:  # The shortest are found as whole words only.
        yield from (base64, base64.replace("+", "-").replace("/", "_"))
    for before in range(3):  # In base64, a text looks different after 0, 1 or 2 other bytes.
        core = b64encode(bytes(before) + data).decode()[(8 * before + 5) // 6 : 8 * (before + len(data)) // 6]
        yield from (core, core.replace("+", "-").replace("/", "_"))


def _notations(secret: str, data: bytes) -> Iterator[str]:
    """The secret as texts, addresses, HTML, JSON and Python's literals write it."""
    yield from (secret, secret.upper(), normalize("NFC", secret), normalize("NFD", secret))
    for form in (secret, quote(data, safe=""), quote(data, safe="!*'()")):  # addresses write blanks in two ways
        yield from (form.replace(" ", "%20"), form.replace(" ", "+").replace("%20", "+"))
    yield from (escape(secret), escape(secret, quote=False), json.dumps(secret)[1:-1])
    for marks in ("", "'", '"'):
        literal = re.sub(rf"[\\{marks}]", r"\\\g<0>", secret)
        yield from (literal, literal.encode("ascii", "backslashreplace").decode())


TRUST_VARIABLE = "SDG_TRUST_URL"
"""Addresses, separated by blanks, that a config file may name and that OPENAI_API_KEY may be sent to."""
_LIKE_A_KEY = re.compile(r"(?i)(sk|pk|key|token)-[a-z0-9_-]{8,}|[a-z0-9_]{24,}")


def check_address(url: str | None) -> None:
    """Raises ValueError, without the address in it, for an address that isn't http or that may hold a key."""
    if url is None:
        return
    try:
        parts = urlsplit(url)
        hostname = parts.hostname if parts.port != 0 else None  # a port above 65535 raises
    except ValueError:
        parts = urlsplit("")
        hostname = None
    if parts.scheme not in ("http", "https") or not hostname or not url.isprintable():
        raise ValueError("base_url is an address such as http://127.0.0.1:8000/v1")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError(
            "base_url must hold no password, no query and no fragment, because it is recorded: set OPENAI_API_KEY"
        )
    addresses = os.environ.get(TRUST_VARIABLE, "").split()
    if any(map(_LIKE_A_KEY.fullmatch, re.split(r"[/;,=:.]", unquote(parts.path)))) and url not in addresses:
        raise ValueError(
            "base_url has a part that looks like a key, and it is recorded: set OPENAI_API_KEY, "
            f"or name the address in {TRUST_VARIABLE} if it is none"
        )


def is_loopback(url: str) -> bool:
    """Whether an address is on this machine."""
    try:
        name = urlsplit(url).hostname or ""
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
