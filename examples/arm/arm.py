"""A robot arm as a domain: Pusher-v5 of gymnasium, seven joints moved by torques, an object and a goal on a table."""

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from PIL import Image, ImageDraw

from sdg.envs.defaults import NamedThings, PlainDomain, PlainInputs, PlainPerception
from sdg.envs.domain import Perceivable
from sdg.envs.physics import PhysicsWorld
from sdg.envs.world_rows import world_of

BODIES = {"fingertip": "tips_arm", "object": "object", "goal": "goal"}
INDEX = {name: index for index, name in enumerate(BODIES)}
LANGUAGE = NamedThings(tuple(BODIES))
TASKS = {
    "Touch": ("touch the object", "fingertip", "object", 0.09),
    "Reach": ("bring the fingertip to the goal", "fingertip", "goal", 0.10),
    "Push": ("push the object to the goal", "object", "goal", 0.10),
}
"""Level -> its mission, and the two things that have to be so near to one another, in metres."""


@dataclass(frozen=True)
class ArmPerception(PlainPerception):
    """Where the things are, f64 (3, 3) in metres: now, and when the subgoal began."""

    api = ("position", "distance", "nearer")
    now: np.ndarray
    began: np.ndarray

    def position(self, name: str) -> tuple[float, ...]:
        """Where "fingertip", "object" or "goal" is: (x, y, z) in metres, z is up."""
        return tuple(self.now[LANGUAGE.parse(name)].tolist())

    def distance(self, a: str, b: str) -> float:
        """How far two of "fingertip", "object" and "goal" are from one another, in metres."""
        return self._apart(self.now, a, b)

    def nearer(self, a: str, b: str) -> float:
        """By how many metres two things are nearer to one another than when the subgoal began; negative: farther."""
        return self._apart(self.began, a, b) - self.distance(a, b)

    def _apart(self, places: np.ndarray, a: str, b: str) -> float:
        return float(np.linalg.norm(places[LANGUAGE.parse(a)] - places[LANGUAGE.parse(b)]))

    def describe(self) -> str:
        """Where the things are, in centimetres."""
        return "\n".join(f"{name}: {np.round(100 * self.now[i], 1).tolist()}" for name, i in INDEX.items())


class Arm(PhysicsWorld):
    """One arm (`sdg.envs.world.SingleWorld`)."""

    def __init__(self, level: str, *, lift_time_limit: bool = False) -> None:
        mission, *self._things, self._near = TASKS[level]
        super().__init__(mission, max_steps=1000, lift_time_limit=lift_time_limit)
        env: Any = gymnasium.make("Pusher-v5")
        self._env: Any = env.unwrapped
        self.model, self.data, self.frame_skip = self._env.model, self._env.data, self._env.frame_skip
        self._bodies = [self.model.body(name).id for name in BODIES.values()]

    def reset(self, seed: int) -> None:
        """Begin the episode of this seed."""
        self._env.reset(seed=seed)
        self.steps = 0
        self.begin_subgoal()

    def is_done(self) -> bool:
        """Whether the mission is done."""
        return self.perception_since(self.began).distance(*self._things) <= self._near

    def perception_since(self, began: np.ndarray) -> ArmPerception:
        """A snapshot of now, where the things were at `began` when the subgoal began."""
        return ArmPerception(self.data.xpos[self._bodies], began)

    def begin_subgoal(self) -> None:
        """The current subgoal begins now."""
        self.began = self.data.xpos[self._bodies]

    def render(self) -> np.ndarray:
        """The table from above, u8 (240, 320, 3): the goal red, the object white, the arm grey with a green claw."""
        picture = Image.new("RGB", (320, 240), (40, 44, 52))
        draw, data = ImageDraw.Draw(picture), self.data
        links = (f"r_{name}_link" for name in ("shoulder_pan", "upper_arm", "forearm", "wrist_flex"))
        spots = [data.body(name).xpos for name in (*links, "goal", "object")]
        claw = [data.geom("tip_arml").xpos, data.body("tips_arm").xpos, data.geom("tip_armr").xpos]
        *arm, goal, thing, left, wrist, right = [(60 + 230 * x, 95 - 230 * y) for x, y, _ in (*spots, *claw)]
        for (x, y), radius, colour in ((goal, 23, "firebrick"), (thing, 11, "white")):
            draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)
        draw.line([*arm, wrist], fill="slategray", width=10, joint="curve")
        draw.line([left, wrist, right], fill="mediumseagreen", width=5)
        return np.asarray(picture)


class ArmInputs(PlainInputs):
    """Joint angles and speeds, the ways from the fingertip to object and goal and between them, how it moved."""

    size, actions, bounds = 24, 7, np.array([[-2.0] * 7, [2.0] * 7], np.float32)

    def write_row(self, memory: Any, row: int, target: np.ndarray, out: np.ndarray) -> int:
        """Inputs of one row, scaled to be around -1..1; there is one frame."""
        arm: Any = world_of(memory, row)
        (tip, thing, goal), joints = arm.perception().now, arm.data
        out[:7], out[7:14] = joints.qpos[:7], joints.qvel[:7] / 3
        out[14:17], out[17:20] = 5 * (thing - tip), 5 * (goal - tip)
        out[20:22], out[22:] = 10 * (goal - thing)[:2], 20 * (thing - arm.began[INDEX["object"]])[:2]
        return 0


class ArmDomain(PlainDomain):
    """The domain `examples.arm.arm:ARM` (`sdg.envs.domain.Domain`)."""

    name, role = "examples.arm.arm:ARM", "A robot arm moves over a table on which an object and a goal lie."
    language, inputs = LANGUAGE, ArmInputs()
    world, level_names = Arm, tuple(TASKS)
    perceivable = Perceivable(ArmPerception(*np.zeros((2, 3, 3))).functions(), (), "Lengths are in metres.")


ARM = ArmDomain()
