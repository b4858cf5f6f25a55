"""Keys are kept out of everything that is written, even if a server repeats one in disguise."""

import ipaddress
import json
import os
import re
from base64 import b64encode
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from html import escape
from unicodedata import digit, normalize
from urllib.parse import quote, unquote, urlsplit

SHORTEST = 4
"""Fewest digits of a number that is found with blanks between them."""
SHORTEST_DISGUISED = 8
"""Fewest characters of a key, because servers without keys are given words such as EMPTY, which hiding would take out
of programs; fewest of any secret that is found in other forms."""
DIGITS = 7


def hider(secrets: Collection[str], *, mark: str) -> Callable[[str], str]:
    """A function that replaces each secret in a text by `mark`.

    It finds a secret in any case, without its last letter, backwards, spaced, as addresses write it, as hex or base64.
    Cut a text after this, not before: the rest of a secret isn't found.
    """
    return replacer({secret: mark for secret in secrets if len(secret) >= SHORTEST_DISGUISED})


def replacer(marks: Mapping[str, str], *, whole_below: int = 0, numbers: bool = False) -> Callable[..., str]:
    """A function that replaces each secret by its own mark, in the same forms, or by what a second argument makes of
    the mark and the form that was found.

    Forms of fewer characters than `whole_below` are found only as whole words; with `numbers` a secret of at least
    `DIGITS` digits is found with any blanks and signs between them, a shorter one also beside letters and with single
    blanks. Letters and digits of other kinds (full width, Arabic) count as the plain ones.
    """
    forms: dict[str, str] = {}
    for secret, mark in marks.items():
        for form in _forms(secret):
            literal = re.escape(form.translate(_plain_letters()))
            forms.setdefault(literal if len(secret) >= whole_below else rf"(?<!\w){literal}(?!\w)", mark)
        digits = [letter for letter in secret.translate(_plain_letters()) if letter.isdecimal()]
        if numbers and (len(digits) >= DIGITS or (len(digits) == len(secret) > 2)):
            blank = " ?" if len(digits) >= SHORTEST else ""
            between = "[ ().-]{0,2}" if len(digits) >= DIGITS else blank
            forms.setdefault(r"(?<!\d)" + between.join(digits) + r"(?!\d)", mark)
    if not forms:
        return lambda text, mark_of=None: text
    literals = sorted(forms, key=len, reverse=True)
    # Only literals, except for a blank or two between digits, so that any text is searched in linear time.
    pattern = re.compile("|".join(f"({form})" for form in literals), re.IGNORECASE)

    def replace(text: str, mark_of: Callable[[str, str], str] = lambda mark, found: mark) -> str:
        pieces: list[str] = []
        end = 0
        for match in pattern.finditer(text.translate(_plain_letters())):
            mark = forms[literals[(match.lastindex or 1) - 1]]
            pieces += [text[end : match.start()], mark_of(mark, text[match.start() : match.end()])]
            end = match.end()
        return "".join([*pieces, text[end:]])

    return replace


@lru_cache(maxsize=1)
def _plain_letters() -> dict[int, str]:
    """Plain letters, digits and blanks for single ones of other kinds (NFKC), so that texts keep their length; up to
    the last digits of Unicode."""
    letters = {code: normalize("NFKC", chr(code)) for code in range(128, 0x1FBFA)}
    single = {code: letter for code, letter in letters.items() if len(letter) == 1}
    single |= {code: str(digit(letter)) for code, letter in single.items() if letter.isdecimal()}
    return {code: letter for code, letter in single.items() if letter != chr(code)}


def _forms(secret: str) -> Iterator[str]:
    data = secret.encode("utf-8", "surrogatepass")
    yield from _notations(secret, data)
    if len(secret) < SHORTEST_DISGUISED:
        return
    yield from (secret[:-1], secret[::-1], " ".join(secret), data.hex())
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
    name = urlsplit(url).hostname or ""
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
