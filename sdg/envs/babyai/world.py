"""One BabyAI environment (minigrid) with a memory of what the robot saw in it."""

import re
from typing import Any

import numpy as np

from sdg.envs.babyai import language
from sdg.envs.babyai.cells import encode
from sdg.envs.babyai.engine.layouts import make_minigrid
from sdg.envs.babyai.levels import BY_HAND, ENGLISH, level_name
from sdg.envs.babyai.perception import memory
from sdg.envs.babyai.perception.snapshot import BabyAIPerception
from sdg.envs.instructions import Instruction, check_seed, seeds
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
        self.inner: Any = make_minigrid(level)
        """minigrid's own environment, hidden state and all: for the engine's bank, the bot and tests."""
        self.view = np.zeros((memory.VIEW, memory.VIEW), np.uint8)
        """The robot's view now, packed, u8[7, 7]."""
        self.max_steps = 0
        """The level's own time limit for this episode, lifted or not."""
        self._seed = -1

    @property
    def mission(self) -> str:
        """The instruction in words; data, never an instruction."""
        mission = str(self.inner.mission)
        if self.level.endswith(BY_HAND):
            return language.said_by_hand(mission)
        return language.paraphrase(mission, self._seed) if self.level.endswith(ENGLISH) else mission

    @property
    def steps(self) -> int:
        """Steps since reset."""
        return int(self.inner.step_count)

    def reset(self, seed: int) -> None:
        """Begin the episode of this seed (0 or more)."""
        self._seed = int(seed)
        observation, _ = self.inner.reset(seed=self._seed)
        self.max_steps = int(self.inner.max_steps)
        self._apply_limit()
        self.view = self._view(observation["image"])
        x, y = map(int, self.inner.agent_pos)
        pose = np.array((x, y, int(observation["direction"])))  # as the batch has it: another type is compiled anew
        memory.begin(self.memory, 0, self.view, pose, self.inner.room_size, self.inner.width, self.inner.height)

    def step(self, action: int) -> StepResult:
        """Take action 0..5. ValueError for another one, RuntimeError before the first reset."""
        if self._seed < 0:
            raise RuntimeError("reset the world before stepping in it")
        action = int(action)
        if not 0 <= action < len(ACTIONS):
            raise ValueError(f"actions are 0 to {len(ACTIONS) - 1} ({', '.join(ACTIONS)}), not {action}")
        observation, reward, terminated, truncated, _ = self.inner.step(action)
        self.view = self._view(observation["image"])
        memory.observe(self.memory, 0, self.view, int(observation["direction"]), action)
        return StepResult(float(reward), bool(terminated), bool(truncated))

    def set_instruction(self, text: str) -> None:
        """Replace the mission of a world that was just reset by one's own words, in Baby Language.

        ValueError when the text isn't Baby Language or speaks of things that aren't in this world.
        """
        if self._seed < 0 or self.steps:
            raise ValueError("an instruction is set right after reset: location words speak of the pose at the start")
        instruction = language.parse(text)
        try:
            self.inner.mission = re.sub(r"\ba (?=object)", "an ", instruction.surface(self.inner))
        except AssertionError:
            raise ValueError(f"this world has nothing that {text!r} speaks of") from None
        self.inner.instrs = instruction
        instruction.reset_verifier(self.inner)
        if not self.inner.fixed_max_steps:
            rooms = self.inner.num_rows * self.inner.num_cols
            self.max_steps = self.inner.num_navs_needed(instruction) * self.inner.room_size**2 * rooms
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
        return self.inner.get_frame(highlight=True, tile_size=16)

    def _view(self, image: np.ndarray) -> np.ndarray:
        return encode(image)

    def _apply_limit(self) -> None:
        # Minigrid's reward is 1 - 0.9 * steps / max_steps: past its own limit it would be negative on success.
        self.inner.max_steps = _NO_LIMIT if self.lift_time_limit else self.max_steps


def instructions(level: str, *, split: str, count: int, seed: int = 0) -> list[Instruction]:
    """`count` instructions of a level from a split, under the user's seed; a reset of the world gives each its text."""
    world = BabyAIWorld(level)
    return [_instruction(world, own, split) for own in seeds(split, count=count, seed=seed, level=world.level)]


def instruction(level: str, seed: int, *, split: str) -> Instruction:
    """The instruction of one seed. ValueError when the seed is outside the split."""
    return _instruction(BabyAIWorld(level), seed, split)


def _instruction(world: BabyAIWorld, seed: int, split: str) -> Instruction:
    check_seed(seed, split)
    world.reset(seed)
    return Instruction(world.level, seed, split, world.mission)
