"""Addresses of models' servers: they are recorded, so they hold no key, and a key goes only where its owner says."""

from __future__ import annotations

import ipaddress
import os
import re
from urllib.parse import unquote, urlsplit

TRUST_VARIABLE = "SDG_TRUST_URL"
"""Addresses, separated by blanks, that a config file may name and that are sent OPENAI_API_KEY."""
_BORDERS = re.compile(r"[/;,=:.]")
_LIKE_A_KEY = re.compile(r"(?i)(sk|pk|key|token)-[a-z0-9_-]{8,}|[a-z0-9_]{24,}")


def check_address(url: str | None) -> None:
    """Raises ValueError, which doesn't show the address, for one that isn't http or that may hold a key."""
    if url is None:
        return
    try:
        parts = urlsplit(url)
        hostname = parts.hostname if parts.port is None or parts.port else None  # one above 65535 raises
    except ValueError:
        parts, hostname = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not hostname or not url.isprintable():
        raise ValueError("base_url is an address such as http://127.0.0.1:8000/v1")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError(
            "base_url must hold no password, no query and no fragment, because it is recorded: set OPENAI_API_KEY"
        )
    if any(map(_LIKE_A_KEY.fullmatch, _BORDERS.split(unquote(parts.path)))) and url not in _said_by_the_user():
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


def untrusted(url: str) -> str:
    """What to say where a config file names an address that the user did not."""
    return (
        f"A config file says that the model is at {url}, and your OPENAI_API_KEY would be sent there. If you trust it: "
        f"--set model.base_url={url}, or {TRUST_VARIABLE}={url} in the environment. If not: unset OPENAI_API_KEY."
    )


def _said_by_the_user() -> list[str]:
    return os.environ.get(TRUST_VARIABLE, "").split()
