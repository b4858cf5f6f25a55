"""How busy this machine is, for tests that hold code to seconds."""

from __future__ import annotations

import time


def slowness() -> float:
    """How many times slower than a quiet core this one is now (1 or more), by a loop that takes 60 ms there."""
    began = time.process_time()
    for _ in range(1_000_000):
        began + 1
    return max(1.0, (time.process_time() - began) / 0.06)
