"""Which kinds of worlds there are, by name; a user's own is named by `module:attribute`."""

from functools import cache

from sdg.envs.domain import Domain
from sdg.envs.registry import Registry, RegistryError

DEFAULT = "babyai"
MINIGRID = "minigrid:"
"""Prefix of domains that wrap one MiniGrid environment: minigrid:ID."""

DOMAINS = Registry[Domain](
    "domain",
    {
        "ant": "sdg.envs.ant.domain:ANT",
        "babyai": "sdg.envs.babyai.domain:BABYAI",
        "babyai-paper": "sdg.envs.babyai.domain:BABYAI_PAPER",
        "babyai-pixels": "sdg.envs.babyai.domain:BABYAI_PIXELS",
        "table": "sdg.envs.table.domain:TABLE",
        "ui": "sdg.envs.ui.domain:UI",
    },
    extras={"mujoco": "mujoco", "gymnasium_robotics": "mujoco"},
)

NEEDS = ("name", "can", "actions", "perceivable", "language", "texts", "levels", "level_name", "open", "snapshot")
"""The attributes that every domain has."""


_names_in_use: set[str] = set()
"""Names that this process was asked for: by a config, a command or a program, which the user answers for."""


@cache
def domain(name: str = DEFAULT) -> Domain:
    """The domain of that name, `minigrid:ID` for any registered MiniGrid id. Raises RegistryError for one that there
    isn't, or that lacks what a domain needs."""
    if name.startswith(MINIGRID):
        from sdg.envs.minigrid import minigrid_domain

        entry: Domain = minigrid_domain(name.removeprefix(MINIGRID))
    else:
        entry = DOMAINS.get(name, needs=NEEDS)
    _names_in_use.add(name)
    return entry


def domain_of_data(name: str) -> Domain:
    """The domain that a file names, such as a library: nothing is imported because a stranger's file says so.

    Raises RegistryError, which says what to do, for one that isn't shipped and wasn't named in this process before.
    """
    if name not in DOMAINS.entries and name not in _names_in_use and not name.startswith(MINIGRID):
        raise RegistryError(
            f"this file is for the domain {name!r:.80}, which isn't one of {', '.join(DOMAINS)}: if you trust "
            "that module, name it yourself first (`domain:` in the config)"
        )
    return domain(name)
