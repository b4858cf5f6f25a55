"""One thread for every test: more spin-wait on shared cores and make timings and results depend on the machine.

What takes longest begins first.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator

import pytest

for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing is looked through for garbage while all is imported, because hardly anything of it becomes any."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that are `long` first, everything else in its order, so that the last tests to be handed out are short."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
