"""A world with an instruction that nothing can judge: it is played to the time limit, and no success is claimed."""

from __future__ import annotations

from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.babyai.world import BabyAIWorld
from sdg.envs.perception import Perception
from sdg.envs.world import StepResult

MAX_INSTRUCTION_CHARS = 500


class UnjudgedWorld:
    """A BabyAI world under other words than its own; its own mission neither ends the episode nor pays.

    `inner` was just reset. Raises ValueError for an empty or overlong instruction.
    """

    def __init__(self, inner: BabyAIWorld, instruction: str) -> None:
        text = " ".join(instruction.split())
        if not 0 < len(text) <= MAX_INSTRUCTION_CHARS:
            raise ValueError(f"an instruction has 1 to {MAX_INSTRUCTION_CHARS} characters, not {len(text)}")
        self.mission = text
        self._inner = inner

    @property
    def memory(self) -> Memory:
        """What was seen so far, one row."""
        return self._inner.memory

    @property
    def max_steps(self) -> int:
        """The level's own time limit for this episode."""
        return self._inner.max_steps

    def reset(self, seed: int) -> None:
        """Begin the episode of this seed again."""
        self._inner.reset(seed)

    def step(self, action: int) -> StepResult:
        """One primitive action; the episode is over at the time limit alone."""
        self._inner.step(action)
        return StepResult(0.0, terminated=False, truncated=self._inner.steps >= self.max_steps)

    def perception(self) -> Perception:
        """A snapshot of what is known now."""
        return self._inner.perception()

    def begin_subgoal(self) -> None:
        """The current subgoal begins now."""
        self._inner.begin_subgoal()

    def forget_visited_rooms(self) -> None:
        """Forget which rooms were visited, but for the one the robot is in."""
        self._inner.forget_visited_rooms()


def is_judged(world: object) -> bool:
    """Whether a world can tell that its instruction is done."""
    return not isinstance(world, UnjudgedWorld)
