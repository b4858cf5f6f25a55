"""The ant's perception: its own place and pose, the maze's free cells, and spots. The map and the place are given by
the simulator, which is a privilege that a robot with cameras alone would not have."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from sdg.envs.ant.language import CELL, DIRECTION, SPOTS, parse
from sdg.envs.defaults import PlainPerception, name_of

SIZE = 4.0
"""Width of a cell, metres."""
BREADTH = 1.2
"""Metres between walls that the ant needs to pass."""
PASSING_DISTANCE = 0.6
"""Metres from a place on the way at which the ant turns to the next one."""
UPRIGHT = 0.3
"""Smallest upward part of the body's own z axis (1: level, -1: on its back) with which it can walk."""


@dataclass(frozen=True)
class Maze:
    """Which cells are free, and where they lie: row 0 is the northern edge, column 0 the western one."""

    walls: tuple[tuple[bool, ...], ...]

    @cached_property
    def _grid(self) -> np.ndarray:
        return np.array(self.walls)

    @property
    def free(self) -> list[tuple[int, int]]:
        """(row, column) of every free cell."""
        return [(r, c) for r, line in enumerate(self.walls) for c, wall in enumerate(line) if not wall]

    def centre(self, row: int, column: int) -> tuple[float, float]:
        """(x, y) of a cell's centre, in metres."""
        return (column + 0.5 - len(self.walls[0]) / 2) * SIZE, (len(self.walls) / 2 - row - 0.5) * SIZE

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """(row, column) of the cell around a place; it may lie outside."""
        return math.floor(len(self.walls) / 2 - y / SIZE), math.floor(x / SIZE + len(self.walls[0]) / 2)

    @cached_property
    def _steps(self) -> dict[tuple[tuple[int, int], tuple[int, int]], tuple[int, int]]:
        """(cell, goal) -> the next cell on a shortest way between free cells that share sides."""
        next_cells: dict[tuple[tuple[int, int], tuple[int, int]], tuple[int, int]] = {}
        for goal in self.free:
            border = [goal]
            for cell in border:  # grows as it is walked: breadth first
                for neighbour in ((cell[0] + r, cell[1] + c) for r, c in ((-1, 0), (1, 0), (0, -1), (0, 1))):
                    if neighbour in self.free and neighbour not in border:
                        border.append(neighbour)
                        next_cells[neighbour, goal] = cell
        return next_cells

    def way(self, start: tuple[float, float], goal: tuple[float, float]) -> list[tuple[float, float]]:
        """Places to walk through from a start to a goal, the goal last: the middles of the sides between cells of a
        shortest way, or the goal alone where nothing stands between or no way is known."""
        cell, goal_cell = self.cell(*start), self.cell(*goal)
        if cell == goal_cell or self._is_open(np.array(start), np.array(goal)):
            return [goal]
        places = []
        while cell != goal_cell and (cell, goal_cell) in self._steps:
            next_cell = self._steps[cell, goal_cell]
            (x, y), (next_x, next_y) = self.centre(*cell), self.centre(*next_cell)
            places.append(((x + next_x) / 2, (y + next_y) / 2))
            cell = next_cell
        return [*places, goal]

    def _is_open(self, start: np.ndarray, goal: np.ndarray) -> bool:
        """Whether a body of BREADTH passes straight between two places."""
        along = goal - start
        length = float(np.hypot(*along))
        across = np.array([-along[1], along[0]]) / length * BREADTH / 2
        places = start + np.linspace(0, 1, int(length / 0.4) + 2)[:, None] * along
        return not self.are_walls(np.concatenate([places + across, places - across])).any()

    def are_walls(self, places: np.ndarray) -> np.ndarray:
        """bool (n,): whether places f64 (n, 2) are in a wall, or outside of the maze, which walls enclose."""
        size = np.array(self._grid.shape)
        rows = size[0] / 2 - places[:, 1] / SIZE
        columns = places[:, 0] / SIZE + size[1] / 2
        cells = np.clip(np.floor(np.stack([rows, columns])), 0, size[:, None] - 1).astype(int)
        return self._grid[cells[0], cells[1]]


Spots = tuple[tuple[int, float, float], ...]
"""The index of each spot in `sdg.envs.ant.language.SPOTS`, and where it is."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A free cell of the maze; x and y are those of its centre."""

    id: int
    name: str
    x: float
    y: float
    row: int
    column: int
    held: bool = False


@dataclass(frozen=True, slots=True)
class Spot(Cell):
    """A flat mark on the ground, in this row and column of cells."""

    visited: bool = False


@dataclass(frozen=True, slots=True)
class Direction:
    """A direction on the ground: 0 degrees is east (along x), 90 north (along y)."""

    name: str
    degrees: int


@dataclass(frozen=True, slots=True)
class Pose:
    """Where the body is: metres, heading in degrees, how upright it is (1: level, -1: on its back), its clock."""

    x: float
    y: float
    yaw: float
    up: float
    steps: int


class AntPerception(PlainPerception):
    """A snapshot: pose now and when the subgoal began, spots (index of SPOTS -> place), and which were visited."""

    api = (
        "get_position", "get_heading", "is_upright", "get_cells", "get_cell", "get_spots", "distance",
        "nearer", "moved", "direction_to",
    )  # fmt: skip

    def __init__(self, maze: Maze, pose: Pose, began: Pose, spots: Spots, visited: tuple[int, ...]) -> None:
        self.maze, self._spots, self._visits = maze, spots, visited
        self.pose, self._began = pose, began

    def get_position(self) -> tuple[float, float]:
        """Where the middle of the ant's body is: (x, y) in metres."""
        return self.pose.x, self.pose.y

    def get_heading(self) -> float:
        """Which way the ant faces, in degrees: 0 is east (along x), 90 north (along y). It can walk any way."""
        return self.pose.yaw

    def is_upright(self) -> bool:
        """Whether the ant stands on its legs. On its back or side it can't walk."""
        return self.pose.up > UPRIGHT

    def get_cells(self) -> list[Cell]:
        """All free cells of the maze. One can walk between two of them that share a side; all others are walls."""
        return [Cell(100 * r + c, f"cell {r} {c}", *self.maze.centre(r, c), r, c) for r, c in self.maze.free]

    def get_cell(self) -> Cell:
        """The free cell that the ant is in, or the one that is nearest to it."""
        return min(self.get_cells(), key=lambda cell: math.dist((cell.x, cell.y), self.get_position()))

    def get_spots(self) -> list[Spot]:
        """All spots, nearest first. `visited`: the ant has stood on it in this episode, within 0.45 metres."""
        return sorted(
            [
                Spot(number, SPOTS[number], x, y, *self.maze.cell(x, y), visited=number in self._visits)
                for number, x, y in self._spots
            ],
            key=lambda spot: math.dist((spot.x, spot.y), self.get_position()),
        )

    def distance(self, thing: str) -> float:
        """How far the ant is from a spot such as "red spot" or from the centre of a cell such as "cell 1 3", metres, as
        if there were no walls. An error, which a check counts as False, for what isn't there."""
        return math.dist(self.get_position(), self._centre(*parse(name_of(thing))))

    def nearer(self, thing: str) -> float:
        """By how many metres the way to a spot or a cell, around walls, is shorter than when the subgoal began, or how
        far the ant has moved in a direction; negative: farther."""
        target = parse(name_of(thing))
        if target[0] == DIRECTION:
            return self.moved(thing)
        place = self._centre(*target)
        return self._length((self._began.x, self._began.y), place) - self._length(self.get_position(), place)

    def moved(self, direction: str) -> float:
        """How many metres the ant has moved in a direction ("east", "northwest", "direction 30") since the subgoal
        began; negative: the other way."""
        kind, which = parse(name_of(direction))
        if kind != DIRECTION:
            raise ValueError(f"{direction!r:.80} is no direction: say east, northwest or direction 30")
        turn = math.radians(which)
        return (self.pose.x - self._began.x) * math.cos(turn) + (self.pose.y - self._began.y) * math.sin(turn)

    def direction_to(self, x: float, y: float) -> Direction:
        """The direction from the ant to a place."""
        degrees = round(math.degrees(math.atan2(y - self.pose.y, x - self.pose.x))) % 360
        return Direction(f"direction {degrees}", degrees)

    def bearing(self, kind: int, which: int) -> float | None:
        """Radians from the x axis in which the way to a `sdg.envs.ant.language.Target` begins; None where there is
        none."""
        if kind == DIRECTION:
            return math.radians(which)
        try:
            way = self.maze.way(self.get_position(), self._centre(kind, which))
        except ValueError:
            return None
        position = self.get_position()
        x, y = next((place for place in way if math.dist(place, position) > PASSING_DISTANCE), way[-1])
        return math.atan2(y - position[1], x - position[0])

    def elements(self) -> Sequence[Spot | Cell]:
        """Spots and cells."""
        return [*self.get_spots(), *self.get_cells()]

    def describe(self) -> str:
        """The snapshot in a few lines, with a map."""
        x, y = self.get_position()
        pose = f"The ant is at ({x:.2f}, {y:.2f}) in {self.get_cell().name}, heading {self.pose.yaw:.0f} degrees"
        spots = [
            f"- {spot.name} at ({spot.x:.2f}, {spot.y:.2f}), in row {spot.row}, column {spot.column}"
            f"{', visited' if spot.visited else ''}"
            for spot in self.get_spots()
        ]
        rows = ["".join("#" if wall else "." for wall in line) for line in self.maze.walls]
        stands = "upright" if self.is_upright() else "fallen over"
        return "\n".join([f"Step {self.pose.steps}.", f"{pose}, {stands}.", *spots, "Map (# wall, . free):", *rows])

    def _length(self, start: tuple[float, float], goal: tuple[float, float]) -> float:
        return sum(math.dist(place, next_place) for place, next_place in pairwise([start, *self.maze.way(start, goal)]))

    def _centre(self, kind: int, which: int) -> tuple[float, float]:
        row, column = divmod(which, 100)
        if kind == CELL and row < len(self.maze.walls) and column < len(self.maze.walls[row]):
            return self.maze.centre(row, column)
        places = {number: (x, y) for number, x, y in self._spots}
        if kind in (CELL, DIRECTION) or which not in places:
            raise ValueError(f"there is no such place here; the spots are {', '.join(SPOTS[n] for n in places)}")
        return places[which]
