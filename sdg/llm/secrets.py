"""Keys are kept out of whatever is written, also where a server repeats one in disguise."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Collection, Iterator
from urllib.parse import quote

SHORTEST = 4
"""Characters of a secret; hiding a shorter one would only spoil texts."""
SHORTEST_DISGUISED = 8


def hider(secrets: Collection[str], *, mark: str) -> Callable[[str], str]:
    """What puts `mark` in the place of each secret in a text.

    It is found in any case, but for its last letter, backwards, spaced, percent-encoded, and as hex or base64.
    """
    forms = {form for secret in secrets if len(secret) >= SHORTEST for form in _forms(secret)}
    if not forms:
        return lambda text: text
    # Literals alone: a text of any kind is searched in linear time.
    pattern = re.compile("|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True)), re.IGNORECASE)
    return lambda text: pattern.sub(mark, text)


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
