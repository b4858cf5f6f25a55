"""BabyAI's `Inputs`: the remembered map around the robot, shown in the mirror where that helps, and no-op actions."""

from __future__ import annotations

import numpy as np

from sdg.envs.babyai.perception.memory import LEFT, RIGHT, Memory
from sdg.envs.babyai.practice.action_mask import mask_noop_actions, mask_noop_actions_of_rows
from sdg.envs.babyai.practice.features import FAR, MOSTLY_ON, SIZE, write_batch, write_features
from sdg.envs.babyai.practice.mirror import MIRRORED, side_of, swap_logits, swap_turns

N_ACTIONS = 6
"""left, right, forward, pickup, drop, toggle; minigrid's `done` is never used."""


class MapInputs:
    """Bits of the remembered map (`sdg.envs.batch.Inputs`); a frame is the side that a row is seen from, 1 or -1."""

    size = SIZE
    actions = N_ACTIONS
    dtype = np.uint8
    bounds = None
    mostly_on = MOSTLY_ON

    def write(self, memory: Memory, targets: np.ndarray, frames: np.ndarray, out: np.ndarray) -> None:
        """Inputs of all rows for `targets` i16 (n, 4) into `out` u8 (n, size), their frames into `frames` i64 (n,)."""
        write_batch(memory, targets, frames, out)

    def write_row(self, memory: Memory, row: int, target: np.ndarray, out: np.ndarray) -> int:
        """The same for one row and `out` u8 (size,); the frame is returned."""
        side = int(side_of(memory, row, target, FAR))
        write_features(memory, row, target, side, out)
        return side

    def to_world(self, logits: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """Logits f32 (n, 6) with the turns as the world has them, as a new array."""
        return swap_logits(logits, frames)

    def to_world_row(self, logits: np.ndarray, frame: int) -> None:
        """The same for one row, in place: logits f32 (6,)."""
        if frame == MIRRORED:
            logits[LEFT], logits[RIGHT] = logits[RIGHT], logits[LEFT]

    def actions_to_world(self, actions: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """The actions (n,) that are meant by actions chosen for rows as their frames show them."""
        return swap_turns(actions, frames)

    def mask_noops(self, memory: Memory, logits: np.ndarray) -> None:
        """Set logits f32 (n, 6) of actions that would change nothing, as far as is known, to very little."""
        mask_noop_actions_of_rows(memory, logits)

    def mask_noops_row(self, memory: Memory, row: int, logits: np.ndarray) -> None:
        """The same for one row: logits f32 (6,)."""
        mask_noop_actions(memory, row, logits)

    def __reduce__(self) -> str:
        return "MAP_INPUTS"


MAP_INPUTS = MapInputs()
