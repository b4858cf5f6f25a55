"""Any registered MiniGrid environment as a domain, `minigrid:ID`: what is in view, what is carried, the mission's text.

Nothing here knows a family of environments: a thing is a colour and a type, seen in the 7 x 7 cells in front.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import gymnasium
import numpy as np

from sdg.envs.defaults import NamedThings, PlainDomain, PlainInputs, PlainPerception, PlainWorld
from sdg.envs.domain import TEXTS, Capabilities, Perceivable, Persistence, SearchHints
from sdg.envs.registry import RegistryError
from sdg.envs.world import Action, StepResult
from sdg.envs.world_rows import world_of

COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
TYPES = ("door", "key", "ball", "box", "goal", "lava")
FREE = (1, 3)
"""The numbers of free cells, plain or coloured, in MiniGrid's views."""
WALL = 2
"""The number of walls there."""
STATES = ("open", "closed", "locked")
VIEW = 7
HERE = VIEW * VIEW
"""The number of what lies where the agent stands, behind those of the cells in view."""
HEADINGS = ("east", "south", "west", "north")
NO_LIMIT = 2**31 - 1
"""Steps. MiniGrid's reward is 1 - 0.9 * steps / max_steps: past its own limit it would be negative on success."""
Cell = tuple[int, int]
"""Two counts of cells: forward and right of the agent, or east and south of where the episode began."""


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing in view or in the hand: `forward` and `right` count cells from the agent (negative: to its left)."""

    id: int
    name: str
    type: str
    color: str
    state: str
    forward: int
    right: int
    held: bool = False


class GridPerception(PlainPerception):
    """A snapshot of the view: `things` in it, nearest first, what is ahead, where the agent is from where it began."""

    api = (
        *("get_things", "get_carried", "get_front", "get_walls", "get_free_cells", "is_blocked"),
        *("get_position", "get_heading", "get_start_position"),
    )

    def __init__(
        self,
        things: Sequence[Thing],
        walls: Sequence[Cell],
        free: Sequence[Cell],
        *,
        blocked: bool,
        at: Cell,
        heading: int,
        began: Any,
        steps: int,
    ) -> None:
        self.things, self.walls, self._free = tuple(things), tuple(walls), tuple(free)
        self._is_blocked, self._heading = blocked, HEADINGS[heading]
        self._at, self._began, self._steps = at, began, steps

    def get_things(self) -> list[Thing]:
        """The things in view, nearest first; what is carried isn't among them."""
        return [thing for thing in self.things if not thing.held]

    def get_carried(self) -> Thing | None:
        """What the agent carries, or None."""
        return next((thing for thing in self.things if thing.held), None)

    def get_front(self) -> Thing | None:
        """The thing in the cell right in front of the agent, or None."""
        return next((thing for thing in self.get_things() if (thing.forward, thing.right) == (1, 0)), None)

    def get_walls(self) -> list[Cell]:
        """The cells in view that are wall, each as (forward, right)."""
        return list(self.walls)

    def get_free_cells(self) -> list[Cell]:
        """The cells in view with nothing in them, the agent's own among them, each as (forward, right)."""
        return list(self._free)

    def is_blocked(self) -> bool:
        """Whether the agent can't go forward: a wall, a closed door or a thing is in front. Lava doesn't block."""
        return self._is_blocked

    def get_position(self) -> Cell:
        """Where the agent is, in cells to the east and to the south of where the episode began."""
        return self._at

    def get_heading(self) -> str:
        """Where the agent looks: "east", "south", "west" or "north"."""
        return self._heading

    def get_start_position(self) -> Cell:
        """What get_position() gave when the current subgoal began."""
        return self._began

    def elements(self) -> Sequence[Thing]:
        """All of them."""
        return self.things

    def describe(self) -> str:
        """The snapshot in a few lines, with the view as a map."""
        front = self.get_front()
        free_way = f"about to enter {front.name}" if front else "free to go forward"
        way = "blocked" if self._is_blocked else free_way
        where = f"The agent is at {self._at}, looks {self._heading} and is {way}."
        lines = [
            f"- {thing.name}, {thing.state + ', ' if thing.state else ''}"
            + ("carried" if thing.held else f"{thing.forward} forward, {thing.right} right")
            for thing in self.things
        ]
        signs = dict.fromkeys(self.walls, "#") | dict.fromkeys(self._free, ".")
        signs |= {(thing.forward, thing.right): "t" for thing in self.get_things()} | {(0, 0): "A"}
        columns = range(-(VIEW // 2), VIEW // 2 + 1)
        rows = ["".join(signs.get((ahead, right), "?") for right in columns) for ahead in reversed(range(VIEW))]
        return "\n".join(
            [
                f"Step {self._steps}.",
                where,
                *lines,
                "In view (A the agent, looking up; # wall, . free, t a thing of the list, ? not seen):",
                *rows,
            ]
        )


class Grid(PlainWorld):
    """One environment (`sdg.envs.world.SingleWorld`)."""

    def __init__(self, level: str, *, lift_time_limit: bool = False) -> None:
        import minigrid

        gymnasium.register_envs(minigrid)
        env: Any = gymnasium.make(level)
        self._env = env.unwrapped
        super().__init__("", max_steps=int(self._env.max_steps), lift_time_limit=lift_time_limit)

    def reset(self, seed: int) -> None:
        """Begin the episode of this seed."""
        self._env.max_steps = self.max_steps
        self._show(self._env.reset(seed=seed)[0]["image"])
        self.steps = 0
        self.mission = str(self._env.mission)
        self.max_steps = int(self._env.max_steps)
        if self.lift_time_limit:
            self._env.max_steps = NO_LIMIT
        self._start = self._place()
        self.begin_subgoal()

    def step(self, action: Any) -> StepResult:
        """Take action 0..6. ValueError for another one, RuntimeError before the first reset."""
        if self.steps < 0:
            raise RuntimeError("reset the world before stepping in it")
        if int(action) not in range(len(ACTIONS)):
            raise ValueError(f"actions are 0 to {len(ACTIONS) - 1}, not {action}")
        observation, reward, terminated, truncated, _ = self._env.step(int(action))
        self._show(observation["image"])
        self.steps += 1
        return StepResult(float(reward), bool(terminated), bool(truncated))

    def _place(self) -> Cell:
        x, y = self._env.agent_pos
        return int(x), int(y)

    def _show(self, image: np.ndarray) -> None:
        """Keep the content of a view, u8 (7, 7, 3), because each step asks for it three times."""
        walls = [_ahead(*cell) for cell in np.argwhere(image[:, :, 0] == WALL).tolist()]
        free = [_ahead(*cell) for cell in np.argwhere(np.isin(image[:, :, 0], FREE)).tolist()]
        self._sight = self._things(image), walls, free

    def perception_since(self, began: Cell) -> GridPerception:
        """A snapshot of now."""
        (x, y), (x0, y0) = self._place(), self._start
        cell = self._env.grid.get(*self._env.front_pos)
        return GridPerception(
            *self._sight,
            blocked=cell is not None and not cell.can_overlap(),
            at=(x - x0, y - y0),
            heading=int(self._env.agent_dir),
            began=(began[0] - x0, began[1] - y0),
            steps=self.steps,
        )

    def _things(self, image: np.ndarray) -> list[Thing]:
        from minigrid.core.constants import IDX_TO_COLOR, IDX_TO_OBJECT

        things = list[Thing]()
        for column, row in np.argwhere(image[:, :, 0] > 0).tolist():
            code, colour_index, state = image[column, row].tolist()
            kind, colour = IDX_TO_OBJECT[code], IDX_TO_COLOR[colour_index]
            if kind not in TYPES:
                continue
            door_state = STATES[state] if kind == "door" else ""
            is_held = (column, row) == (VIEW // 2, VIEW - 1)
            place = (0, 0) if is_held else _ahead(column, row)
            things.append(Thing(VIEW * row + column, f"{colour} {kind}", kind, colour, door_state, *place, is_held))
        if (below := self._env.grid.get(*self._env.agent_pos)) is not None and below.type in TYPES:
            door_state = "open" if below.type == "door" else ""
            things.append(Thing(HERE, f"{below.color} {below.type}", below.type, below.color, door_state, 0, 0))
        return sorted(things, key=lambda thing: (thing.forward + abs(thing.right), thing.id))

    def begin_subgoal(self) -> None:
        """The current subgoal begins now."""
        self.began = self._place()

    def render(self) -> np.ndarray:
        """The environment's own picture."""
        return self._env.get_frame(tile_size=16)


def _ahead(column: int, row: int) -> Cell:
    """A cell of the view as (forward, right)."""
    return VIEW - 1 - row, column - VIEW // 2


BESIDE_SKILLS = ("turn_left", "turn_right", "move_forward", "drop", "toggle")
"""Actions that programs may use beside skills, because a skill acts on what is in view: the rest has to be found."""
ACTIONS = tuple(
    Action(name, about, number, beside_skills=name in BESIDE_SKILLS)
    for number, (name, about) in enumerate(
        (
            ("turn_left", "turn a quarter to the left"),
            ("turn_right", "turn a quarter to the right"),
            ("move_forward", "go one cell forward"),
            ("pick_up", "pick up the thing in front, where the hand is free and it can be carried"),
            ("drop", "put what is carried into the cell in front"),
            ("toggle", "open or close the door, or open the box, in front; a locked door needs its key in the hand"),
            ("done", "nothing, unless the mission asks for it"),
        )
    )
)


class GridLanguage(NamedThings):
    """Descriptions such as "yellow key" or "door" (`sdg.envs.domain.Language`)."""

    parts: Mapping[str, tuple[str, ...]] = {"color": COLOURS, "type": TYPES}

    def part(self, target: int, part: str) -> str | None:
        """The colour or the type of a target."""
        return next((word for word in self.names[target].split() if word in self.parts[part]), None)

    def resolve(self, argument: str, elements: Sequence[Any]) -> Sequence[Any]:
        """The things that a description fits. ValueError where it describes nothing."""
        words = set(self.text(self.parse(argument)).split())
        return [element for element in elements if words <= {element.color, element.type}]


class GridPersistence(Persistence):
    """Only the view is known; a policy that comes back to the same view is stuck there."""

    def is_known(self, perception: GridPerception, argument: str) -> bool:
        """Whether it is in view."""
        return bool(GRID_LANGUAGE.resolve(argument, perception.things))

    def patience(self, perception: GridPerception, argument: str) -> int:
        """Steps from one corner of the view to the other and back, with turns."""
        return 4 * VIEW


class GridInputs(PlainInputs):
    """For each cell in view, the hand and the agent's own cell: the kind of thing, whether the argument names it, and
    the state of a door; last, whether the way ahead is blocked."""

    planes = len(TYPES) + 1 + len(STATES) + 1
    size = (HERE + 1) * planes + 1
    actions = len(ACTIONS)

    def write_row(self, memory: Any, row: int, target: np.ndarray, out: np.ndarray) -> int:
        """Inputs of one row; there is one frame."""
        perception: Any = world_of(memory, row).perception()
        description = GRID_LANGUAGE.description_of(target)
        target_ids = set(map(id, GRID_LANGUAGE.resolve(description, perception.things) if description else ()))
        out[:] = 0
        cells = out[:-1].reshape(HERE + 1, self.planes)
        for forward, right in perception.walls:
            cells[VIEW * (VIEW - 1 - forward) + right + VIEW // 2, -1] = 1
        for thing in perception.things:
            cells[thing.id, TYPES.index(thing.type)] = 1
            cells[thing.id, len(TYPES)] = id(thing) in target_ids
            if thing.state:
                cells[thing.id, len(TYPES) + 1 + STATES.index(thing.state)] = 1
        out[-1] = perception.is_blocked()
        return 0


GRID_LANGUAGE = GridLanguage([*(f"{colour} {kind}" for colour in COLOURS for kind in TYPES), *TYPES])


class MiniGridDomain(PlainDomain):
    """The domain of one MiniGrid id (`sdg.envs.domain.Domain`). Raises ValueError for one that isn't registered."""

    world = Grid
    language = GRID_LANGUAGE
    inputs = GridInputs()
    actions = ACTIONS
    persistence = GridPersistence()
    can = Capabilities()
    hints = SearchHints(prior=(0.0, 0.0, 0.7, 0.0, -1.0, 0.0, -2.0), walks=2, stroll=(0, 1, 2))
    perceivable = Perceivable(
        GridPerception([], [], [], blocked=False, at=(0, 0), heading=0, began=(0, 0), steps=0).functions(),
        (Thing,),
        f"A thing is a record: thing.name ('yellow key'), color, type ({', '.join(TYPES)}), "
        "state ('open', 'closed' or 'locked', of doors), "
        "forward, right, held. Only what is in view is told: 7 x 7 cells ahead, not behind "
        "walls, and what lies where the agent stands, 0 forward and 0 right.",
        for_checks=frozenset({"get_start_position"}),
    )
    texts: Mapping[str, str] = dict.fromkeys(TEXTS, "") | {
        "role": "A robot moves through a grid of cells with walls, doors and things. It sees the cells in front of it. "
        "It turns, goes forward, picks up, drops, and opens doors and boxes.",
        "unfolding": "- A thing has to be in view before the robot can go to it, and in front before it can act on "
        "it.\n"
        "- It carries one thing at a time, acts on the cell in front alone, and opens a locked door with the key of "
        "its colour in the hand. Stepping into lava ends everything.",
        "translation": "- The argument is the thing: `go_to | yellow key`.",
        "programs": "- Things and doors leave the view when the robot turns away: keep in mind where they were.",
    }

    def __init__(self, identifier: str) -> None:
        import minigrid

        gymnasium.register_envs(minigrid)
        self.name = f"minigrid:{identifier}"
        self.level_names = (identifier,)
        if identifier not in gymnasium.registry or not identifier.startswith("MiniGrid-"):
            raise RegistryError(
                f"the domain {self.name!r:.80}: no MiniGrid environment is registered as {identifier!r:.80}"
            )

    def __reduce__(self) -> Any:
        return minigrid_domain, self.level_names


@cache
def minigrid_domain(identifier: str) -> MiniGridDomain:
    """The one domain of an id. Raises ValueError for one that isn't registered."""
    return MiniGridDomain(identifier)
