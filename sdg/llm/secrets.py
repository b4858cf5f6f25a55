"""Keys are kept out of whatever is written, also where a server repeats one in disguise."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Collection, Iterator, Mapping
from urllib.parse import quote

SHORTEST = 4
"""Characters of a secret; hiding a shorter one would only spoil texts."""
SHORTEST_DISGUISED = 8
DIGITS = 7


def hider(secrets: Collection[str], *, mark: str) -> Callable[[str], str]:
    """What puts `mark` in the place of each secret in a text.

    It is found in any case, but for its last letter, backwards, spaced, percent-encoded, and as hex or base64.
    """
    return replacer({secret: mark for secret in secrets if len(secret) >= SHORTEST})


def replacer(marks: Mapping[str, str], *, whole_below: int = 0, numbers: bool = False) -> Callable[[str], str]:
    """What puts a mark of its own in the place of each secret, in the same forms.

    Forms of fewer characters than `whole_below` are found as whole words alone; with `numbers` a secret of at least
    `DIGITS` digits is found whatever blanks and signs stand between them.
    """
    forms: dict[str, str] = {}
    for secret, mark in marks.items():
        for form in _forms(secret):
            literal = re.escape(form)
            forms.setdefault(literal if len(form) >= whole_below else rf"(?<!\w){literal}(?!\w)", mark)
        digits = re.findall(r"\d", secret)
        if numbers and len(digits) >= DIGITS:
            forms.setdefault(r"(?<!\d)" + r"[ ().-]{0,2}".join(digits) + r"(?!\d)", mark)
    if not forms:
        return lambda text: text
    ordered = sorted(forms, key=len, reverse=True)
    # Literals, but for a blank or two between digits: a text of any kind is searched in linear time.
    pattern = re.compile("|".join(f"({form})" for form in ordered), re.IGNORECASE)
    return lambda text: pattern.sub(lambda found: forms[ordered[(found.lastindex or 1) - 1]], text)


def _forms(secret: str) -> Iterator[str]:
    yield secret
    if len(secret) < SHORTEST_DISGUISED:
        return
    data = secret.encode("utf-8", "surrogatepass")
    yield from (secret[:-1], secret[::-1], " ".join(secret), quote(data, safe=""), data.hex())
    for before in range(3):  # In base64, a text looks different after 0, 1 or 2 other bytes.
        encoded = b64encode(bytes(before) + data).decode()
        core = encoded[(8 * before + 5) // 6 : 8 * (before + len(data)) // 6]
        yield from (core, core.replace("+", "-").replace("/", "_"))
