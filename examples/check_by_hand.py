"""A check by hand becomes a skill: how long it takes, and how often it reaches its goal where it never was.

python -m examples.check_by_hand [SEED]      some seconds of one core after the kernels are compiled
"""

from __future__ import annotations

import sys
import time

import sdg


def facing(thing):  # type: ignore[no-untyped-def]
    """Whether the robot stands before it."""
    return get_facing() in find_objects(thing)  # type: ignore[name-defined]  # noqa: F821


def main(seed: int = 888) -> None:
    """Train it twice: the first training compiles the kernels, the second is timed."""
    sdg.train("GoToLocal", facing, name="go_to", layouts=50, timesteps=1, seed=seed)
    began, worked = time.perf_counter(), time.process_time()
    skill = sdg.train("GoToLocal", facing, name="go_to", seed=seed)
    seconds, work = time.perf_counter() - began, time.process_time() - worked
    print(f"{skill}\n{seconds:.1f} s, {work:.1f} s of one core")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
