"""One BabyAI environment (minigrid) with a memory of what the robot saw in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdg.envs.babyai import language
from sdg.envs.babyai.cells import encode
from sdg.envs.babyai.engine.layouts import make_minigrid
from sdg.envs.babyai.english import paraphrase
from sdg.envs.babyai.levels import ENGLISH, level_name
from sdg.envs.babyai.perception import memory
from sdg.envs.babyai.perception.snapshot import BabyAIPerception
from sdg.envs.world import StepResult

ACTIONS: tuple[str, ...] = ("left", "right", "forward", "pickup", "drop", "toggle")
"""Names of actions 0..5; minigrid's seventh, done, means nothing in BabyAI and isn't used."""
_NO_LIMIT = 2**31 - 1


class BabyAIWorld:
    """A level to act in, one step at a time, and what its robot perceives.

    `lift_time_limit` lets episodes go on past the level's own `max_steps` (for grounding, never for evaluation).
    """

    def __init__(self, level: str, *, lift_time_limit: bool = False) -> None:
        self.level = level_name(level)
        self.lift_time_limit = lift_time_limit
        self.memory = memory.create(1)
        self._inner: Any = make_minigrid(level)
        self._view = np.zeros((memory.VIEW, memory.VIEW), np.uint8)
        self._max_steps = 0
        self._started = False
        self._seed = 0

    @property
    def mission(self) -> str:
        """The instruction in words; data, whoever wrote it."""
        mission = str(self._inner.mission)
        return paraphrase(mission, self._seed) if self.level.endswith(ENGLISH) else mission

    @property
    def max_steps(self) -> int:
        """The level's own time limit for this episode, lifted or not."""
        return self._max_steps

    @property
    def steps(self) -> int:
        """Steps since reset."""
        return int(self._inner.step_count)

    @property
    def view(self) -> np.ndarray:
        """The robot's view now, packed, u8[7, 7]."""
        return self._view

    @property
    def inner(self) -> Any:
        """minigrid's own environment, hidden state and all: for the engine's bank, the bot and tests."""
        return self._inner

    def reset(self, seed: int) -> None:
        """Begin the episode of this seed (0 or more)."""
        self._seed = int(seed)
        observation, _ = self._inner.reset(seed=self._seed)
        self._max_steps = int(self._inner.max_steps)
        self._started = True
        self._apply_limit()
        self._view = encode(observation["image"])
        x, y = (int(each) for each in self._inner.agent_pos)
        pose = np.array((x, y, int(observation["direction"])))  # as the batch has it: another type is compiled anew
        memory.begin(self.memory, 0, self._view, pose, self._inner.room_size, self._inner.width, self._inner.height)

    def step(self, action: int) -> StepResult:
        """Take action 0..5. ValueError for another one, RuntimeError before the first reset."""
        if not self._started:
            raise RuntimeError("reset the world before stepping in it")
        action = int(action)
        if not 0 <= action < len(ACTIONS):
            raise ValueError(f"actions are 0 to {len(ACTIONS) - 1} ({', '.join(ACTIONS)}), not {action}")
        observation, reward, terminated, truncated, _ = self._inner.step(action)
        self._view = encode(observation["image"])
        memory.observe(self.memory, 0, self._view, int(observation["direction"]), action)
        return StepResult(float(reward), bool(terminated), bool(truncated))

    def set_instruction(self, text: str) -> None:
        """Replace the mission of a world that was just reset by one's own words, in Baby Language.

        ValueError when the text isn't Baby Language or speaks of things that aren't in this world.
        """
        if not self._started or self.steps:
            raise ValueError("an instruction is set right after reset: location words speak of the pose at the start")
        instruction = language.parse(text)
        try:
            self._inner.mission = instruction.surface(self._inner)
        except AssertionError:
            raise ValueError(f"this world has nothing that {text!r} speaks of") from None
        self._inner.instrs = instruction
        instruction.reset_verifier(self._inner)
        if not self._inner.fixed_max_steps:
            rooms = self._inner.num_rows * self._inner.num_cols
            self._max_steps = self._inner.num_navs_needed(instruction) * self._inner.room_size**2 * rooms
        self._apply_limit()

    def perception(self) -> BabyAIPerception:
        """A snapshot of what the robot knows now."""
        return BabyAIPerception(self.memory, 0)

    def begin_subgoal(self) -> None:
        """The current subgoal begins now: what perception says of "before this subgoal" is taken here."""
        memory.begin_subgoal(self.memory, 0)

    def forget(self) -> None:
        """Forget which rooms were visited, all but the current one, so that doors count as unexplored again. Call it
        between two parts of an instruction, before searching for something else."""
        memory.forget_visited_rooms(self.memory, 0)

    def render(self) -> np.ndarray:
        """The whole world from above with the robot's view highlighted, RGB u8[height, width, 3]."""
        frame: np.ndarray = self._inner.get_frame(highlight=True, tile_size=16)
        return frame

    def _apply_limit(self) -> None:
        # Minigrid's reward is 1 - 0.9 * steps / max_steps: past its own limit it would be negative on success.
        self._inner.max_steps = _NO_LIMIT if self.lift_time_limit else self._max_steps
