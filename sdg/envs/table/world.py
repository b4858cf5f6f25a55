"""The table: Pusher's arm with blocks and spots in place of its one object and goal, and its instructions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from sdg.envs.defaults import PlainPerception, name_of
from sdg.envs.instructions import is_unseen
from sdg.envs.physics import PhysicsWorld, data_of, mujoco
from sdg.envs.table.language import (
    BLOCKS,
    COLOURS,
    FROM,
    NOTHING,
    THINGS,
    TableGoal,
    actions_of,
    is_held_out,
    parse,
)

LEVELS = {
    "Touch": ("touch", 1), "PushToSpot": ("to", 1), "PushToSpot3": ("to", 3), "PushNextTo": ("next", 2),
    "PushNextTo3": ("next", 3), "PushAway": ("away", 2), "Sequence": ("", 2), "Sequence3": ("", 3),
}  # fmt: skip
"""Level -> the verb of its instructions ("" for two of any), and how many blocks there are."""
SPOTS = 2
"""Spots on each table."""
LIMIT = 500
"""Steps for each thing to do."""
TOUCH, ON, BESIDE, AWAY = 0.09, 0.08, 0.13, 0.30
"""Metres between centres: fingertip at a block, block on a spot, beside a block (0.1 is contact), far from one."""
X, Y = (0.30, 0.70), (-0.40, 0.0)
"""Where blocks and spots begin, metres."""
REACH = np.array([[0.05, -0.65], [0.95, 0.25]])
"""Beyond it the arm can't move a block back."""
HEIGHT = -0.275
"""Height of the middle of a block, metres."""


@cache
def model_of(blocks: int) -> Any:
    """Pusher-v5's model with `blocks` blocks, which stop at one another, in place of its object and goal."""
    spec = mujoco.MjSpec.from_string((files("gymnasium") / "envs/mujoco/assets/pusher_v5.xml").read_text("utf-8"))
    for body in [body for body in spec.bodies if body.name in ("object", "goal")]:
        spec.delete(body)
    for number in range(blocks):
        body = spec.worldbody.add_body(name=f"block{number}", pos=[0, 0, HEIGHT])
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[0.05, 0.05, 0.05], density=0.01, contype=1, conaffinity=1,
            condim=1, friction=[0.8, 0.1, 0.1], margin=0.002,
        )  # fmt: skip
        for axis in ([1, 0, 0], [0, 1, 0]):
            body.add_joint(type=mujoco.mjtJoint.mjJNT_SLIDE, axis=axis, damping=0.5, armature=0.04, limited=0)
    return spec.compile()


@dataclass(frozen=True, slots=True)
class Thing:
    """A block or a spot; a block's place is that of its middle, a spot's is above it at the same height."""

    id: int
    name: str
    color: str
    x: float
    y: float
    held: bool = False


class TablePerception(PlainPerception):
    """A snapshot: places f64 (9, 3) of THINGS and, last, of the fingertip, now and when the subgoal began; what isn't
    on the table is NaN. Places come from the simulator, not from a camera."""

    api = ("get_blocks", "get_spots", "get_fingertip", "distance", "progress")

    def __init__(self, now: np.ndarray, began: np.ndarray, steps: int) -> None:
        self.now, self.began, self._steps = now, began, steps

    def get_blocks(self) -> list[Thing]:
        """All blocks on the table, nearest to the fingertip first."""
        return self._things(BLOCKS)

    def get_spots(self) -> list[Thing]:
        """All spots on the table, nearest to the fingertip first."""
        return self._things(range(len(BLOCKS), len(THINGS)))

    def get_fingertip(self) -> tuple[float, float, float]:
        """Where the fingertip is: (x, y, z) in metres; z is up, and -0.275 is the height of the middle of a block."""
        x, y, z = self.now[-1].tolist()
        return x, y, z

    def distance(self, what: str) -> float:
        """How far apart two things are, between their middles, in metres. What is a pair, "red block to blue spot", or
        one thing, "red block", which is measured from the fingertip."""
        first, second = self.numbers(what)
        return float(np.linalg.norm(self.now[first] - self.now[second]))

    def progress(self, what: str) -> float:
        """By how many metres what a pair says has changed since the subgoal began: nearer to one another for "red
        block to blue spot", farther apart for "red block from green block"; negative: the other way. One thing, "red
        block", counts from the fingertip to it."""
        first, second = self.numbers(what)
        nearer = float(np.linalg.norm(self.began[first] - self.began[second])) - self.distance(what)
        return -nearer if parse(name_of(what))[0] == FROM else nearer

    def numbers(self, what: object) -> tuple[int, int]:
        """The rows of the two things. Raises ValueError for what isn't on the table."""
        _, first, second = parse(name_of(what))
        if np.isnan(self.now[[first, second]]).any():
            names = ", ".join(thing.name for thing in self.elements())
            raise ValueError(f"{what!r:.80} isn't on the table; there are {names}")
        return first, second

    def _things(self, which: Sequence[int]) -> list[Thing]:
        numbers = [number for number in which if not np.isnan(self.now[number, 0])]
        numbers.sort(key=lambda number: float(np.linalg.norm(self.now[number] - self.now[-1])))
        return [Thing(n, THINGS[n], COLOURS[n % 4], *self.now[n, :2].tolist()) for n in numbers]

    def elements(self) -> Sequence[Thing]:
        """Everything on the table."""
        return [*self.get_blocks(), *self.get_spots()]

    def describe(self) -> str:
        """The snapshot in a few lines."""
        things = [
            f"- {thing.name} at ({thing.x:.3f}, {thing.y:.3f}), {self.distance(thing.name):.3f} from the fingertip"
            for thing in self.elements()
        ]
        x, y, z = self.get_fingertip()
        return "\n".join([f"Step {self._steps}.", f"The fingertip is at ({x:.3f}, {y:.3f}, {z:.3f}).", *things])


@dataclass(frozen=True, slots=True)
class TableState:
    """A table's state beside its physics: the actions asked for, the numbers of the blocks, each spot's number with its
    (x, y), and how many of the actions are done."""

    goals: tuple[TableGoal, ...]
    blocks: tuple[int, ...]
    spots: tuple[tuple[int, float, float], ...]
    done: int = 0


class Table(PhysicsWorld):
    """One table."""

    frame_skip = 5
    own: TableState

    def __init__(self, level: str, *, lift_time_limit: bool = False) -> None:
        self.verb, self.blocks = LEVELS[level]
        super().__init__("", max_steps=LIMIT, lift_time_limit=lift_time_limit)
        self.model = model_of(self.blocks)
        self.data = data_of(self.model)
        self._tip = self.model.body("tips_arm").id

    def reset(self, seed: int) -> None:
        """Begin the episode of this seed: an instruction of its split, then places for blocks and spots."""
        rng = np.random.default_rng([seed, self.blocks])
        mujoco.mj_resetData(self.model, self.data)
        self.data.qvel[:7] = rng.uniform(-0.005, 0.005, 7)
        actions, colours = self._draw(rng, unseen=is_unseen(seed))
        is_ready = False
        while not is_ready:  # things lie apart, and nothing asked for is done already
            places = rng.uniform((X[0], Y[0]), (X[1], Y[1]), (self.blocks + SPOTS, 2))
            self.data.qpos[7:] = places[: self.blocks].ravel()
            mujoco.mj_forward(self.model, self.data)
            spots = tuple((int(n), *places[self.blocks + i].tolist()) for i, n in enumerate(colours[self.blocks :]))
            self._ask(TableState(actions, colours[: self.blocks], spots))
            distances = np.linalg.norm(places[:, None] - places[None], axis=2) + np.eye(len(places))
            is_ready = distances.min() > 0.17 and not any(map(self._holds, actions))
        self.steps = 0
        self.begin_subgoal()

    def _draw(self, rng: np.random.Generator, *, unseen: bool) -> tuple[tuple[TableGoal, ...], tuple[int, ...]]:
        """Actions and the numbers of the blocks and spots on the table; pairs are held out where `unseen`."""
        while True:
            blocks = rng.permutation(len(COLOURS))[: self.blocks]
            numbers = (*blocks.tolist(), *(rng.permutation(len(COLOURS))[:SPOTS] + len(COLOURS)).tolist())
            verbs = [self.verb] if self.verb else list(rng.choice(("touch", "to", "next"), 2))
            actions = tuple(self._action(rng, str(verb), numbers) for verb in verbs)
            is_right = all(is_held_out(action) == unseen for action in actions if action.other != NOTHING)
            if is_right and len(set(actions)) == len(actions):
                return actions, numbers

    def _action(self, rng: np.random.Generator, verb: str, things: tuple[int, ...]) -> TableGoal:
        blocks, spots = things[: self.blocks], things[self.blocks :]
        block = int(rng.choice(blocks))
        if verb == "touch":
            return TableGoal(verb, block)
        others = spots if verb == "to" else [number for number in blocks if number != block]
        return TableGoal(verb, block, int(rng.choice(others)))

    def _ask(self, state: TableState) -> None:
        """Make the state's actions the mission."""
        texts = [action.text for action in state.goals]
        is_turned = len(texts) > 1 and (state.goals[0].block + state.goals[1].block) % 2
        self.mission = " after you ".join(reversed(texts)) if is_turned else ", then ".join(texts)
        self.max_steps, self.own = LIMIT * len(texts), state

    def set_instruction(self, text: str) -> None:
        """Replace the mission of a world that was just reset. Raises ValueError for words that it can't judge."""
        actions, numbers = actions_of(text), (*self.own.blocks, *(number for number, *_ in self.own.spots))
        if self.steps or not actions or {n for a in actions for n in (a.block, a.other)} - {NOTHING, *numbers}:
            raise ValueError(
                f"this world can't judge {text!r:.80}: say `touch the red block`, `push the red block to the blue spot`"
                ", `next to the green block` or `away from` it, two of them with `, then ` or ` after you `, of "
                + ", ".join(THINGS[number] for number in numbers)
            )
        self._ask(replace(self.own, goals=actions, done=0))

    def advance(self, action: Any) -> None:
        """Apply seven torques f32 (7,) in -2..2 for a twentieth of a second."""
        super().advance(action)
        if not self.is_done() and self._holds(self.own.goals[self.own.done]):
            self.own = replace(self.own, done=self.own.done + 1)

    def _holds(self, action: TableGoal) -> bool:
        places = self.places()  # the last one, which NOTHING stands for, is the fingertip's
        apart = float(np.linalg.norm(places[action.block] - places[action.other]))
        near = {"touch": TOUCH, "to": ON, "next": BESIDE}
        return apart >= AWAY if action.verb == "away" else apart <= near[action.verb]

    def is_done(self) -> bool:
        """Whether everything asked for was done, in its order."""
        return self.own.done == len(self.own.goals)

    def places(self) -> np.ndarray:
        """f64 (9, 3): where THINGS and the fingertip are; NaN for what isn't on the table."""
        positions = np.full((len(THINGS) + 1, 3), np.nan)
        blocks = list(self.own.blocks)
        positions[blocks, :2], positions[blocks, 2] = self.data.qpos[7:].reshape(-1, 2), HEIGHT
        for number, x, y in self.own.spots:
            positions[number] = x, y, HEIGHT
        positions[-1] = self.data.xpos[self._tip]
        return positions

    def perception_since(self, began: tuple[np.ndarray, int]) -> TablePerception:
        """A snapshot of now and of where things were when the subgoal began; its time is an input of policies."""
        return TablePerception(self.places(), began[0], self.steps)

    def begin_subgoal(self) -> None:
        """The current subgoal begins now."""
        self.began = self.places(), self.steps

    def render(self) -> np.ndarray:
        """The table from above, u8 (240, 320, 3): spots are discs, blocks squares, the arm grey with a green claw."""
        picture = Image.new("RGB", (320, 240), (40, 44, 52))
        draw, data, places = ImageDraw.Draw(picture), self.data, self.places()

        def at(place: np.ndarray) -> tuple[float, float]:
            return float(60 + 230 * place[0]), float(95 - 230 * place[1])

        for number in reversed(range(len(THINGS))):
            if not np.isnan(places[number, 0]):
                (x, y), radius = at(places[number]), 11 if number in BLOCKS else 18
                colour = ("firebrick", "seagreen", "royalblue", "goldenrod")[number % 4]
                shape = draw.rectangle if number in BLOCKS else draw.ellipse
                shape((x - radius, y - radius, x + radius, y + radius), fill=colour)
        links = (f"r_{name}_link" for name in ("shoulder_pan", "upper_arm", "forearm", "wrist_flex"))
        arm = [at(data.body(name).xpos) for name in (*links, "tips_arm")]
        claw = [at(data.geom("tip_arml").xpos), arm[-1], at(data.geom("tip_armr").xpos)]
        draw.line(arm, fill="slategray", width=8, joint="curve")
        draw.line(claw, fill="mediumseagreen", width=5)
        return np.asarray(picture)
