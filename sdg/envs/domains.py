"""Which kinds of worlds there are, by name; a user's own is named by `module:attribute`."""

from functools import cache

from sdg.envs.domain import Domain
from sdg.envs.registry import Registry, names_of_data

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


@cache
def domain(name: str = DEFAULT) -> Domain:
    """The domain of that name, `minigrid:ID` for any registered MiniGrid id. Raises RegistryError for one that there
    isn't, or that lacks what a domain needs."""
    if name.startswith(MINIGRID):
        from sdg.envs.minigrid import minigrid_domain

        return minigrid_domain(name.removeprefix(MINIGRID))
    return DOMAINS.get(name, needs=NEEDS)


def domain_of_data(name: str) -> Domain:
    """The domain that a file names, such as a library: nothing is imported because a stranger's file says so.

    Raises RegistryError, which says what to do, for one that isn't shipped and wasn't named in this process before.
    """
    with names_of_data():
        return domain(name)
