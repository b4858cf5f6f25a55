"""How fast screen tasks step without a parser, screenshots included, and whether their memory stays flat.

    sdg bench screen-speed --browsers 2 --episodes 500 [--json]

Each browser's process plays episodes of the looked-at tasks, a few random clicks each, and takes the screenshot after
each step. A row a browser and one over all: steps a second, and the memory of the process and its browser after a tenth
of the episodes and at the end.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sdg.envs.ui.browser import Browser, what_is_missing
from sdg.envs.ui.commands import SCREEN, Command
from sdg.envs.ui.tasks import SEEN
from sdg.envs.ui.world import UIWorld
from sdg.experiments.cli.errors import UserError

STEPS = 4
"""Clicks of an episode."""


def rows(
    *,
    browsers: Annotated[int, typer.Option(min=1, help="browsers side by side, a process each")] = 2,
    episodes: Annotated[int, typer.Option(min=10, help="episodes of each browser")] = 100,
) -> list[Mapping[str, Any]]:
    """A row a browser, then one over all. Raises UserError without a browser."""
    if missing := what_is_missing():
        raise UserError(f"this needs {missing}")
    with multiprocessing.get_context("spawn").Pool(browsers) as pool:
        found = pool.starmap(_stepped, [(number, episodes) for number in range(browsers)])
    total = {
        "browser": "all",
        "episodes": sum(row["episodes"] for row in found),
        "steps": sum(row["steps"] for row in found),
        "steps_per_second": round(sum(row["steps_per_second"] for row in found), 1),
        "reset_ms": round(float(np.mean([row["reset_ms"] for row in found])), 1),
        "memory_mb_early": sum(row["memory_mb_early"] for row in found),
        "memory_mb_end": sum(row["memory_mb_end"] for row in found),
    }
    return [*found, total]


def _stepped(number: int, episodes: int) -> dict[str, Any]:
    rng = np.random.default_rng(number)
    steps, stepping, resetting, early = 0, 0.0, 0.0, 0
    with Browser() as browser:
        for episode in range(episodes):
            # Tasks change now and then, as they do in a table: the page is loaded anew for each.
            world = UIWorld(SEEN[episode // 10 % len(SEEN)], browser=browser)
            began = time.perf_counter()
            world.reset(episode)
            resetting += time.perf_counter() - began
            began = time.perf_counter()
            for _ in range(STEPS):
                x, y = (int(value) for value in rng.integers(SCREEN, size=2))
                world.step(Command("CLICK_COORDS", (x, y)))
                world.render()
                steps += 1
                if world.done:
                    break
            stepping += time.perf_counter() - began
            if episode == episodes // 10:
                early = _memory_mb()
        return {
            "browser": str(number),
            "episodes": episodes,
            "steps": steps,
            "steps_per_second": round(steps / stepping, 1),
            "reset_ms": round(1000 * resetting / episodes, 1),
            "memory_mb_early": early,
            "memory_mb_end": _memory_mb(),
        }


def _memory_mb() -> int:
    """Proportional memory of this process and all below it."""
    parents: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            parent = int(Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        parents.setdefault(parent, []).append(int(name))
    family, total = [os.getpid()], 0
    for process in family:
        family += parents.get(process, [])
        try:
            lines = Path("/proc", str(process), "smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total // 1024
