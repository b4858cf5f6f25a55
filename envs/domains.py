"""Which kinds of worlds there are, by name; a user's own is named by `module:attribute`."""

from __future__ import annotations

from functools import cache

from sdg.envs.registry import Registry
from sdg.envs.world import Domain

DEFAULT = "babyai"

DOMAINS = Registry[Domain](
    "domain",
    {
        "babyai": "sdg.envs.babyai.domain:BABYAI",
        "corridor": "sdg.envs.fakes:CORRIDOR",
    },
)

NEEDS = ("name", "can", "actions", "perceivable", "language", "texts", "levels", "level_name", "open", "snapshot")
"""What every domain has."""


@cache
def domain(name: str = DEFAULT) -> Domain:
    """The domain of that name. Raises RegistryError for one that there isn't, or that lacks what a domain needs."""
    return DOMAINS.get(name, needs=NEEDS)
