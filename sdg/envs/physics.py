"""Worlds that MuJoCo moves: one step of the physics, moments that can be restored, the end by a broken simulation."""

import gc
import os
from contextlib import suppress
from typing import Any

import numpy as np

from sdg.envs.defaults import PlainWorld
from sdg.envs.world import StepResult

# Without a choice of its own MuJoCo looks for a window system by starting a program, which workers may not do.
_RENDERER = os.environ.get("MUJOCO_GL")
os.environ["MUJOCO_GL"] = _RENDERER or "disable"
import mujoco  # noqa: E402

if _RENDERER is None:
    del os.environ["MUJOCO_GL"]

STATE = mujoco.mjtState.mjSTATE_INTEGRATION
"""All that the next step depends on: qpos, qvel, act, the clock and the solver's warm start."""

UNSTABLE = [int(getattr(mujoco.mjtWarning, f"mjWARN_BAD{quantity}")) for quantity in ("QPOS", "QVEL", "QACC")]
"""Warnings after which MuJoCo has begun the simulation again by itself."""


def data_of(model: Any) -> Any:
    """A state of its own for a world of this model: 15 MB of addresses for an ant in a maze, of which few are used.

    Raises MemoryError where there is no room, after what nobody uses any more was let go.
    """
    with suppress(mujoco.FatalError):
        return mujoco.MjData(model)
    gc.collect()
    try:
        return mujoco.MjData(model)
    except mujoco.FatalError as error:
        raise MemoryError(f"no room for another MuJoCo world: {error}") from error


class PhysicsWorld(PlainWorld):
    """A world of torques (`sdg.envs.world.SingleWorld`); a subclass sets `model` and `data` and says the rest.

    An episode in which the simulation breaks down (values that aren't finite, MuJoCo's warnings of unstable states)
    ends as failed, because nothing that is perceived afterwards is true.
    """

    model: Any
    data: Any
    frame_skip: int
    own: Any = ()
    """The world's state beside the physics: an immutable value."""

    def advance(self, action: Any) -> None:
        """Apply torques f32 (n,), clipped to the motors' ranges, for `frame_skip` steps of the physics."""
        torques = np.asarray(action, np.float64)
        if torques.shape != (self.model.nu,) or not np.isfinite(torques).all():
            raise ValueError(f"an action is {self.model.nu} finite torques, not {action!r:.80}")
        self.data.ctrl[:] = torques.clip(*self.model.actuator_ctrlrange.T)
        mujoco.mj_step(self.model, self.data, self.frame_skip)

    def is_broken(self) -> bool:
        """Whether the simulation can't be believed any more."""
        return bool(self.data.warning.number[UNSTABLE].any()) or not np.isfinite(self.data.qpos).all()

    def step(self, action: Any) -> StepResult:
        """Take one action. RuntimeError before the first reset."""
        result = super().step(action)
        return StepResult(0.0, terminated=True, truncated=False) if self.is_broken() else result

    def keep(self) -> Any:
        """This moment: the physics, the clock, when the subgoal began, the instruction, the world's own state."""
        physics = np.empty(mujoco.mj_stateSize(self.model, STATE))
        mujoco.mj_getState(self.model, self.data, physics, STATE)
        return physics, self.steps, self.began, self.mission, self.max_steps, self.own

    def restore(self, moment: Any) -> None:
        """Go on from a moment."""
        physics, self.steps, self.began, self.mission, self.max_steps, self.own = moment
        self.data.warning.number[:] = 0
        mujoco.mj_setState(self.model, self.data, physics, STATE)
        mujoco.mj_forward(self.model, self.data)
