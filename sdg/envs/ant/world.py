"""The ant's worlds: AntMaze as gymnasium-robotics registers it, and its mazes with spots and instructions."""

import importlib
import math
import re
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import gymnasium
import numpy as np
from farama_notifications import notifications
from gymnasium.utils import seeding
from PIL import Image, ImageDraw

from sdg.envs.ant.language import COLOURS, SPOTS
from sdg.envs.ant.perception import SIZE, AntPerception, Maze, Pose, Spots
from sdg.envs.instructions import is_unseen
from sdg.envs.physics import PhysicsWorld, data_of, mujoco

notifications.pop("gymnasium_robotics", None)  # its import would warn every process of hands that no world here has
gymnasium.register_envs(importlib.import_module("gymnasium_robotics"))

MAZES = ("UMaze", "Medium", "Large")
LEVELS = {f"AntMaze_{maze}-v5": maze for maze in MAZES} | {f"Spots_{maze}": maze for maze in MAZES}
"""Level -> its maze."""
NEAR = 0.45
"""Distance of the torso at which a goal is reached, in metres: AntMaze's own."""
GOAL = SPOTS.index("goal")

_COLOUR = rf"({'|'.join(COLOURS)})"
_TASK = re.compile(
    rf"go to the {_COLOUR} spot|visit the {_COLOUR} spot, then the {_COLOUR} one|go to a (spot that isn't) {_COLOUR}"
)


@cache
def stages_of(text: str) -> tuple[frozenset[int], ...]:
    """The spots that an instruction asks for, in order; any of each set will do.

    Raises ValueError for words that this world can't judge.
    """
    match = _TASK.fullmatch(text.strip().lower())
    if match is None:
        raise ValueError(
            f"this world can't judge {text!r:.80}: say `go to the red spot`, `visit the red spot, then the blue one` "
            "or `go to a spot that isn't red`"
        )
    numbers = [COLOURS.index(colour) for colour in match.groups() if colour in COLOURS]
    everything = frozenset(range(len(COLOURS)))
    return (everything - {*numbers},) if match[4] else tuple(frozenset({number}) for number in numbers)


def draw_task(rng: np.random.Generator, *, unseen: bool) -> str:
    """A random instruction. Pairs of neighbours in COLOURS, and the last colour to avoid, are `unseen` in training."""
    kind, first = rng.choice(("one", "two", "two", "other")), int(rng.integers(len(COLOURS)))
    if kind == "one":
        return f"go to the {COLOURS[first]} spot"
    if kind == "other":
        return f"go to a spot that isn't {COLOURS[-1 if unseen else first % (len(COLOURS) - 1)]}"
    second = (first + (1 if unseen else int(rng.integers(2, len(COLOURS))))) % len(COLOURS)
    return f"visit the {COLOURS[first]} spot, then the {COLOURS[second]} one"


@cache
def model_of(maze: Maze) -> Any:
    """Gymnasium's ant among walls, as gymnasium-robotics builds them, which writes a file to do it."""
    spec = mujoco.MjSpec.from_string((files("gymnasium") / "envs/mujoco/assets/ant.xml").read_text("utf-8"))
    for row, line in enumerate(maze.walls):
        for column in (column for column, wall in enumerate(line) if wall):
            place = [*maze.centre(row, column), SIZE / 4]
            spec.worldbody.add_geom(
                type=mujoco.mjtGeom.mjGEOM_BOX, pos=place, size=[SIZE / 2, SIZE / 2, SIZE / 4], contype=1, conaffinity=1
            )  # fmt: skip
    return spec.compile()


@dataclass(frozen=True, slots=True)
class AntState:
    """A maze's state beside its physics: the spots, those that were visited, in order, and the 1-metre squares that the
    ant was in."""

    spots: Spots
    visits: tuple[int, ...] = ()
    squares: frozenset[tuple[int, int]] = frozenset()


class Ant(PhysicsWorld):
    """One ant in one maze."""

    frame_skip = 5
    own: AntState

    def __init__(self, level: str, *, lift_time_limit: bool = False) -> None:
        spec = gymnasium.spec(f"AntMaze_{LEVELS[level]}-v5")
        super().__init__("go to the goal", max_steps=spec.max_episode_steps or 0, lift_time_limit=lift_time_limit)
        self._limit = self.max_steps
        self.has_goal = level.startswith("AntMaze")
        self.maze = Maze(tuple(tuple(cell == 1 for cell in line) for line in spec.kwargs["maze_map"]))
        self.model = model_of(self.maze)
        self.data = data_of(self.model)
        self.torso = self.model.body("torso").id

    def reset(self, seed: int) -> None:
        """Begin the episode of this seed: AntMaze's own, or one of an instruction drawn for the seed's split."""
        mujoco.mj_resetData(self.model, self.data)
        goal, self.data.qpos[:2] = self._draw_places(seed)
        mujoco.mj_forward(self.model, self.data)
        spots: Spots = ((GOAL, *goal.tolist()),)
        self.steps = 0
        self.begin_subgoal()
        if not self.has_goal:
            rng = np.random.default_rng([seed, len(self.maze.walls)])
            self.set_instruction(draw_task(rng, unseen=is_unseen(seed)))
            spots = self._draw_spots(rng)
        self.own = AntState(spots)
        self._notice()

    def _draw_places(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """The goal and where the ant begins, (x, y) each, as AntMaze draws them: in free cells, off their centres."""
        rng, _ = seeding.np_random(seed)
        free = np.array([self.maze.centre(*cell) for cell in self.maze.free])

        def near(cell: np.ndarray) -> np.ndarray:
            return cell + [rng.uniform(-0.25, 0.25) * SIZE for _ in range(2)]

        goal = near(free[rng.integers(0, len(free))])
        start = goal
        while np.linalg.norm(start - goal) <= SIZE / 2:
            start = free[rng.integers(0, len(free))]
        return goal, near(start)

    def _draw_spots(self, rng: np.random.Generator) -> Spots:
        """A spot of each colour in a free cell of its own, up to a metre from its centre, never where the ant is."""
        cells = [cell for cell in self.maze.free if cell != self.maze.cell(self.began.x, self.began.y)]
        own_cells = [cells[n] for n in rng.permutation(len(cells))[: len(COLOURS)]]
        places = np.array([self.maze.centre(*cell) for cell in own_cells]) + rng.uniform(-1, 1, (len(COLOURS), 2))
        return tuple((number, float(x), float(y)) for number, (x, y) in enumerate(places))

    @property
    def spots(self) -> Spots:
        """The spots, or the goal."""
        return self.own.spots

    def set_instruction(self, text: str) -> None:
        """Replace the mission of a world that was just reset. Raises ValueError for words that it can't judge."""
        if self.has_goal or self.steps:
            super().set_instruction(text)
        else:
            self.mission, self.max_steps = text.strip().lower(), self._limit * len(stages_of(text))

    def advance(self, action: Any) -> None:
        """Apply eight torques f32 (8,) in -1..1 for a twentieth of a second."""
        super().advance(action)
        self._notice()

    def _notice(self) -> None:
        """Remember which spots were visited, in their order, and where the ant was."""
        visits, squares = self.own.visits, self.own.squares
        x, y = self.data.qpos[:2].tolist()
        near = [n for n, *at in self.spots if math.dist(at, (x, y)) <= NEAR and visits[-1:] != (n,)]
        square = (int(x), int(y)) if math.isfinite(x + y) else (0, 0)
        if near or square not in squares:
            self.own = replace(self.own, visits=(*visits, *near), squares=squares | {square})

    def is_broken(self) -> bool:
        """Whether the simulation broke down or the body left the maze."""
        x, y = self.data.qpos[:2].tolist()
        return super().is_broken() or max(abs(x), abs(y)) > SIZE * len(self.maze.walls[0])

    def is_done(self) -> bool:
        """Whether the spots of all stages were visited, in order."""
        visits = iter(self.own.visits)
        stages = ({GOAL},) if self.has_goal else stages_of(self.mission)
        return all(any(spot in stage for spot in visits) for stage in stages)

    def pose(self) -> Pose:
        """Where the body is."""
        (x, y), turn = self.data.qpos[:2].tolist(), self.data.xmat[self.torso].tolist()
        return Pose(x, y, math.degrees(math.atan2(turn[3], turn[0])), turn[8], self.steps)

    def perception_since(self, began: Pose) -> AntPerception:
        """A snapshot of now, for a subgoal that began in that pose."""
        return AntPerception(self.maze, self.pose(), began, self.own.spots, self.own.visits)

    def begin_subgoal(self) -> None:
        """The current subgoal begins now."""
        self.began = self.pose()

    def render(self) -> np.ndarray:
        """The maze from above, u8 (30 * rows, 30 * columns, 3): walls dark, spots coloured, the ant with its legs."""
        rows, columns, scale = len(self.maze.walls), len(self.maze.walls[0]), 30 / SIZE
        picture = Image.new("RGB", (30 * columns, 30 * rows), (232, 226, 210))
        draw = ImageDraw.Draw(picture)

        def at(x: float, y: float) -> tuple[float, float]:
            return (x + SIZE * columns / 2) * scale, (SIZE * rows / 2 - y) * scale

        for r, line in enumerate(self.maze.walls):
            for c in (c for c, wall in enumerate(line) if wall):
                draw.rectangle((30 * c, 30 * r, 30 * c + 29, 30 * r + 29), fill=(90, 84, 76))
        for number, *place in self.spots:
            x, y = at(*place)
            colour = (*("firebrick", "seagreen", "royalblue", "goldenrod"), "firebrick")[number]
            draw.ellipse((x - 4, y - 4, x + 4, y + 4), fill=colour)
        torso = at(*self.data.xpos[self.torso][:2])
        for foot in range(self.torso + 3, self.model.nbody, 3):
            draw.line([torso, at(*self.data.xpos[foot - 1][:2]), at(*self.data.xpos[foot][:2])], fill="black", width=2)
        draw.ellipse((torso[0] - 3, torso[1] - 3, torso[0] + 3, torso[1] + 3), fill="saddlebrown")
        return np.asarray(picture)
