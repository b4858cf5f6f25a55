"""Which kinds of worlds there are, by name; a user's own is named by `module:attribute`."""

from __future__ import annotations

from functools import cache

from sdg.envs.domain import Domain
from sdg.envs.registry import Registry, RegistryError

DEFAULT = "babyai"

DOMAINS = Registry[Domain](
    "domain",
    {
        "babyai": "sdg.envs.babyai.domain:BABYAI",
        "babyai-paper": "sdg.envs.babyai.domain:BABYAI_PAPER",
        "corridor": "sdg.envs.fakes:CORRIDOR",
        "ui": "sdg.envs.ui.domain:UI",
    },
)

NEEDS = ("name", "can", "actions", "perceivable", "language", "texts", "levels", "level_name", "open", "snapshot")
"""What every domain has."""


_named: set[str] = set()
"""Names that this process was asked for: by a config, a command or a program, which the user answers for."""


@cache
def domain(name: str = DEFAULT) -> Domain:
    """The domain of that name. Raises RegistryError for one that there isn't, or that lacks what a domain needs."""
    found = DOMAINS.get(name, needs=NEEDS)
    _named.add(name)
    return found


def domain_of_data(name: str) -> Domain:
    """The domain that a file names, such as a library: nothing is imported because a stranger's file says so.

    Raises RegistryError, which says what to do, for one that isn't shipped and wasn't named in this process before.
    """
    if name not in DOMAINS.entries and name not in _named:
        raise RegistryError(
            f"this is for worlds of {name!r:.80}, which isn't one of {', '.join(DOMAINS)}: if you trust that module, "
            "name it yourself first (`domain:` in the config)"
        )
    return domain(name)
