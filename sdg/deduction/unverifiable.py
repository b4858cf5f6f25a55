"""A world with an instruction that nothing can judge: it is played to the time limit, and no success is claimed."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdg.envs.perception import Perception
from sdg.envs.world import StepResult, World

MAX_INSTRUCTION_CHARS = 500


class UnjudgedWorld:
    """A world under other words than its own; its own mission neither ends the episode nor pays.

    `inner` was just reset. Raises ValueError for an empty or overlong instruction.
    """

    def __init__(self, inner: World, instruction: str) -> None:
        text = " ".join(instruction.split())
        if not 0 < len(text) <= MAX_INSTRUCTION_CHARS:
            raise ValueError(f"an instruction has 1 to {MAX_INSTRUCTION_CHARS} characters, not {len(text)}")
        self.mission = text
        self._inner = inner

    @property
    def memory(self) -> Any:
        """What was perceived so far, one row."""
        return self._inner.memory

    @property
    def max_steps(self) -> int:
        """The level's own time limit for this episode."""
        return self._inner.max_steps

    @property
    def steps(self) -> int:
        """Steps since reset."""
        return self._inner.steps

    def reset(self, seed: int) -> None:
        """Begin the episode of this seed again."""
        self._inner.reset(seed)

    def step(self, action: Any) -> StepResult:
        """One primitive action; the episode is over at the time limit alone."""
        self._inner.step(action)
        return StepResult(0.0, terminated=False, truncated=self._inner.steps >= self.max_steps)

    def perception(self) -> Perception:
        """A snapshot of what is known now."""
        return self._inner.perception()

    def begin_subgoal(self) -> None:
        """The current subgoal begins now."""
        self._inner.begin_subgoal()

    def forget(self) -> None:
        """Forget where the agent has been."""
        self._inner.forget()

    def set_instruction(self, text: str) -> None:
        """ValueError: it has an instruction that it can't judge, and keeps it."""
        raise ValueError(f"this world plays {self.mission!r} and can't be given {text!r:.80}")

    def render(self) -> np.ndarray:
        """A picture of the world, RGB u8 (height, width, 3)."""
        return self._inner.render()


def is_judged(world: object) -> bool:
    """Whether a world can tell that its instruction is done."""
    return not isinstance(world, UnjudgedWorld)
