"""An agent whose process dies. Workers import it; hypothesis may not be importable behind their walls."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import Any

from sdg.agents.agents import Agent, RandomAgent, Task
from sdg.deduction.episode import Episode


@dataclass(frozen=True, slots=True)
class Mortal:
    """The random agent, whose process dies at one seed."""

    dies_at: int
    agent: str = "mortal"

    def build(self) -> Agent:
        return _Mortal(self.dies_at)


@dataclass(frozen=True)
class _Mortal:
    dies_at: int
    name: str = "mortal"

    def play(self, world: Any, task: Task) -> Episode:
        if task.seed == self.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return RandomAgent("mortal").play(world, task)
