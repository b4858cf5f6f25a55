"""Memory of MuJoCo's worlds: they close with their last use, and a process that is full says so."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any
from weakref import ref

import numpy as np
import pytest

if find_spec("gymnasium_robotics") is None:  # importing it here would look for windows, which workers may not do
    pytest.skip("the extra `mujoco` isn't installed", allow_module_level=True)

from sdg.envs.ant.domain import ANT
from sdg.envs.domain import Domain
from sdg.envs.table.domain import TABLE
from sdg.sandbox.process.confine import MEGABYTE, Limits
from sdg.sandbox.process.pool import LostJob, Pool


@pytest.fixture
def without_collector() -> Iterator[None]:
    """The garbage collector looks at objects, not at their memory: it lets hundreds of big ones be."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize("domain", [ANT, TABLE], ids=lambda domain: domain.name)
def test_worlds_close_with_their_last_use(domain: Any) -> None:
    rows = domain.begin(domain.layouts(domain.levels()[0], [0, 1]), np.arange(2))
    rows.begin_subgoals()
    worlds = [ref(rows.world(row)) for row in range(2)]
    del rows
    assert [world() for world in worlds] == [None, None]


ROOM = Limits(memory_bytes=1536 * MEGABYTE, open_files=256)
"""For the libraries and 60 to 90 worlds of the ant."""


def read_missions(domain: Domain) -> int:
    """How many missions could be read in a process that doesn't collect garbage."""
    gc.disable()
    layouts = domain.layouts(domain.levels()[-1], range(200))
    return len([layouts.mission(number) for number in range(200)])


def hold_worlds(domain: Domain) -> int:
    """How many worlds could be held: there is room for fewer."""
    return len([domain.open(domain.levels()[-1]) for _ in range(200)])


def test_many_layouts_are_read_in_the_memory_of_few() -> None:
    with Pool(1, limits=ROOM) as pool:
        assert list(pool.run(read_missions, [ANT])) == [(0, 200)]


def test_a_worker_that_is_full_of_worlds_loses_its_job_alone() -> None:
    with Pool(1, limits=ROOM, tries=1) as pool:
        [(_, lost)] = pool.run(hold_worlds, [ANT])
    assert isinstance(lost, LostJob)
    assert "memory" in lost.reason
