"""A small world for tests and for reading: a corridor with lamps.

An agent walks along a dark corridor and sees two cells far. Lamps stand in it, each of another colour; it can take one
lamp along and switch on the one it stands at. It shows what a domain has to bring, in the fewest lines that make all
four stages work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sdg.envs.defaults import NamedThings, PlainDomain, PlainInputs, PlainPerception
from sdg.envs.domain import Perceivable, Persistence, SearchHints
from sdg.envs.world import Action, StepResult
from sdg.envs.world_rows import world_of

LENGTH, SIGHT, LIMIT = 12, 2, 60
COLOURS = ("red", "green", "blue", "white")
LEFT, RIGHT, SWITCH, TAKE = range(4)


@dataclass(frozen=True, slots=True)
class Lamp:
    """A lamp the agent has seen; `position` counts from where it started, `distance` from where it is."""

    id: int
    name: str
    color: str
    position: int
    distance: int
    is_on: bool
    held: bool


ANY = len(COLOURS)
"""The target that any lamp is; others are the index of a colour."""


class LampLanguage(NamedThings):
    """Descriptions such as "the red lamp" (`sdg.envs.domain.Language`); "lamp" is any of them."""

    parts: Mapping[str, tuple[str, ...]] = {"color": COLOURS}

    def part(self, target: int, part: str) -> str | None:
        """The colour of a target; None where it is open."""
        return COLOURS[target] if target != ANY else None

    def resolve(self, argument: str, elements: Sequence[Lamp]) -> Sequence[Lamp]:
        """The lamps that a description fits. ValueError when it describes nothing."""
        target = self.parse(argument)
        return [lamp for lamp in elements if target in (ANY, lamp.id)]


LAMPS = LampLanguage((*(f"{color} lamp" for color in COLOURS), "lamp"))


@dataclass(frozen=True, slots=True)
class _State:
    """Everything that changes: the agent, the lamps (position, -1 taken), which are on, what was seen, when."""

    at: int
    start: int
    lamps: tuple[int, ...]
    lit: tuple[bool, ...]
    seen: tuple[bool, ...]
    low: int
    high: int
    steps: int
    began: int
    verb: str
    aim: int


class CorridorPerception(PlainPerception):
    """What the agent knows: a read-only snapshot."""

    api = ("get_lamps", "find_lamps", "get_position", "get_steps", "get_start_steps")

    def __init__(self, state: _State) -> None:
        self._state = state

    def get_lamps(self) -> list[Lamp]:
        """All lamps seen so far, nearest first."""
        state, lamps = self._state, []
        for number, (color, place, lit) in enumerate(zip(COLOURS, state.lamps, state.lit, strict=False)):
            at = state.at if place < 0 else place
            if state.seen[number]:
                away = abs(at - state.at)
                lamps.append(Lamp(number, f"{color} lamp", color, at - state.start, away, lit, place < 0))
        return sorted(lamps, key=lambda lamp: (lamp.distance, lamp.id))

    def find_lamps(self, description: str) -> list[Lamp]:
        """The lamps seen so far that match a description such as "red lamp", nearest first."""
        target = LAMPS.parse(description)
        return [lamp for lamp in self.get_lamps() if target in (ANY, lamp.id)]

    def get_position(self) -> int:
        """How many cells to the right of its start the agent is; negative to the left."""
        return self._state.at - self._state.start

    def get_steps(self) -> int:
        """How many steps the agent has made."""
        return self._state.steps

    def get_start_steps(self) -> int:
        """What get_steps() gave when the current subgoal began."""
        return self._state.began

    def elements(self) -> Sequence[Lamp]:
        """Every lamp seen so far."""
        return self.get_lamps()

    def describe(self) -> str:
        """The snapshot in a few lines."""
        lines = [f"- {lamp.name} at {lamp.position}{', on' if lamp.is_on else ''}" for lamp in self.get_lamps()]
        where = f"The agent is at {self.get_position()}; seen: {self._state.low} to {self._state.high}."
        return "\n".join([f"Step {self._state.steps}.", where, *lines])


class Corridor:
    """One corridor (`sdg.envs.world.SingleWorld`). Levels: Visit (stand at a lamp) and Light (switch one on)."""

    def __init__(self, level: str, *, lift_time_limit: bool = False) -> None:
        self.level, self.lift_time_limit = level, lift_time_limit
        self._state: _State | None = None

    @property
    def state(self) -> _State:
        """Everything that changes. RuntimeError before the first reset."""
        if self._state is None:
            raise RuntimeError("reset the world before stepping in it")
        return self._state

    @property
    def memory(self) -> Corridor:
        """What was perceived so far: the world keeps it."""
        return self

    @property
    def mission(self) -> str:
        """The instruction in words."""
        return f"{self.state.verb} the {COLOURS[self.state.aim]} lamp"

    @property
    def max_steps(self) -> int:
        """The time limit in steps."""
        return LIMIT

    @property
    def steps(self) -> int:
        """Steps since reset."""
        return self.state.steps

    def reset(self, seed: int) -> None:
        """Begin the episode of this seed."""
        rng = np.random.default_rng(seed)
        at, *lamps = (int(place) for place in rng.permutation(LENGTH)[: len(COLOURS)])
        n, verb = len(lamps), "visit" if self.level == "Visit" else "light"
        blank = _State(at, at, tuple(lamps), (False,) * n, (False,) * n, at, at, 0, 0, verb, int(rng.integers(n)))
        self._state = _looked(blank)

    def step(self, action: Any) -> StepResult:
        """Take action 0..3. ValueError for another one."""
        state = self.state
        if int(action) not in range(len(ACTIONS)):
            raise ValueError(f"actions are 0 to {len(ACTIONS) - 1}, not {action}")
        if action in (LEFT, RIGHT):
            state = replace(state, at=min(max(state.at + (1 if action == RIGHT else -1), 0), LENGTH - 1))
        elif action == SWITCH and state.at in state.lamps:
            here = state.lamps.index(state.at)
            state = replace(state, lit=tuple(on != (n == here) for n, on in enumerate(state.lit)))
        elif action == TAKE:
            state = _took(state)
        self._state = _looked(replace(state, steps=state.steps + 1))
        state = self._state
        done = state.lit[state.aim] if state.verb == "light" else state.lamps[state.aim] == state.at
        out = state.steps >= LIMIT and not self.lift_time_limit
        return StepResult(1 - 0.9 * min(1.0, state.steps / LIMIT) if done else 0.0, done, out and not done)

    def perception(self) -> CorridorPerception:
        """A snapshot of what is known now."""
        return CorridorPerception(self.state)

    def perception_since(self, began: int) -> CorridorPerception:
        """The same for an agent whose subgoal began at step `began`."""
        return CorridorPerception(replace(self.state, began=began))

    def begin_subgoal(self) -> None:
        """The current subgoal begins now."""
        self._state = replace(self.state, began=self.state.steps)

    @property
    def began(self) -> int:
        """The step at which the current subgoal began."""
        return self.state.began

    def forget(self) -> None:
        """Nothing is forgotten here."""

    def set_instruction(self, text: str) -> None:
        """`visit the red lamp` or `light the red lamp`. ValueError for other words."""
        verb, _, what = text.strip().lower().partition(" ")
        if verb not in ("visit", "light") or LAMPS.parse(what) == ANY or self.steps:
            raise ValueError(f"this world can't judge {text!r:.80}: say `visit the red lamp` or `light the red lamp`")
        self._state = replace(self.state, verb=verb, aim=LAMPS.parse(what))

    def keep(self) -> _State:
        """This moment."""
        return self.state

    def restore(self, moment: _State) -> None:
        """Go on from a moment."""
        self._state = moment

    def render(self) -> np.ndarray:
        """The corridor from above, RGB u8 (16, 16 * LENGTH, 3)."""
        picture = np.full((16, 16 * LENGTH, 3), 40, np.uint8)
        shades = {"red": (220, 60, 60), "green": (60, 200, 60), "blue": (70, 90, 230), "white": (230, 230, 230)}
        for number, place in enumerate(self.state.lamps):
            if place >= 0:
                size = 6 if self.state.lit[number] else 3
                picture[8 - size : 8 + size, 16 * place + 8 - size : 16 * place + 8 + size] = shades[COLOURS[number]]
        picture[12:, 16 * self.state.at : 16 * self.state.at + 16] = (250, 200, 80)
        return picture


def _looked(state: _State) -> _State:
    near = [place < 0 or abs(place - state.at) <= SIGHT for place in state.lamps]
    seen = tuple(before or now for before, now in zip(state.seen, near, strict=True))
    low, high = min(state.low, state.at - SIGHT), max(state.high, state.at + SIGHT)
    return replace(state, seen=seen, low=max(low, 0), high=min(high, LENGTH - 1))


def _took(state: _State) -> _State:
    """Take the lamp that stands here along, or put down the one that is carried where nothing stands."""
    free = state.at not in state.lamps
    if free != (-1 in state.lamps):
        return state
    old, new = (-1, state.at) if free else (state.at, -1)
    return replace(state, lamps=tuple(new if place == old else place for place in state.lamps))


ACTIONS = (
    Action("go_left", "go one cell to the left", LEFT),
    Action("go_right", "go one cell to the right", RIGHT),
    Action("press", "switch the lamp on or off that stands here", SWITCH),
    Action("take", "take the lamp that stands here along, or put the carried one down", TAKE),
)


class LampInputs(PlainInputs):
    """Bits: where the target is (known and how far, or unknown), what was seen on either side, the hand."""

    size, actions, dtype = 2 * LENGTH + 6, 4, np.uint8

    def write_row(self, memory: Any, row: int, target: np.ndarray, out: np.ndarray) -> int:
        """Inputs of one row; there is one frame."""
        world = world_of(memory, row)
        state = world.keep()
        out[:] = 0
        lamps = world.perception().get_lamps() if isinstance(world, Corridor) else []
        wanted = [lamp for lamp in lamps if target[0] in (ANY, lamp.id)]
        if wanted:
            out[LENGTH + wanted[0].position + state.start - state.at] = 1
            out[2 * LENGTH], out[2 * LENGTH + 1] = wanted[0].is_on, wanted[0].held
        out[2 * LENGTH + 2], out[2 * LENGTH + 3] = state.low > 0, state.high < LENGTH - 1
        out[2 * LENGTH + 4], out[2 * LENGTH + 5] = -1 in state.lamps, state.at in state.lamps
        return 1


class LampSense(Persistence):
    """A corridor is one place, and everything in it can be reached (`sdg.envs.domain.Persistence`)."""

    reasons: Mapping[str, str] = {
        "unseen": "nothing like it was ever seen, and nothing new comes into view",
        "elsewhere": "it is somewhere else",
        "strayed": "it ended somewhere else",
    }

    def knowledge(self, memory: Any) -> int:
        """How many cells were seen."""
        state = world_of(memory, 0).keep()
        return int(state.high - state.low)

    def is_known(self, perception: CorridorPerception, argument: str) -> bool:
        """Whether a lamp of this description was seen."""
        return bool(perception.find_lamps(argument))


class CorridorDomain(PlainDomain):
    """The domain `corridor` (`sdg.envs.domain.Domain`)."""

    name = "tests.envs.corridor:CORRIDOR"
    level_names = ("Visit", "Light")
    world = Corridor
    actions = ACTIONS
    perceivable = Perceivable(
        CorridorPerception.__new__(CorridorPerception).functions(),
        (Lamp,),
        "A lamp is a record with the fields id, name, color, position, distance, is_on, held.",
    )
    language = LAMPS
    inputs = LampInputs()
    hints = SearchHints(prior=(0.0, 0.0, -0.5, -1.5), hands=(TAKE,), stroll=(LEFT, RIGHT), about_hands=("held",))
    persistence = LampSense()
    texts: Mapping[str, str] = {
        "role": "An agent walks along a dark corridor in which lamps stand. It sees two cells far.",
        "unfolding": '- "visit X": see X, then stand at it.\n- "light X": stand at X as above, then switch it on.',
        "translation": "The name says what is done, the argument names the lamp: `visit | red lamp`.",
        "programs": "A lamp has to be seen before the agent can go to it.",
        "example": "",
        "judging": "",
        "moves": "A lamp has to be reached before the agent can switch it on.",
        "moves_example": "",
        "actions": "Positions are whole numbers along the corridor.",
        "executor": "The executor is an agent in a dark corridor; it has seen the lamps that are listed. One command "
        "is one learned skill: it walks along the corridor, looks for lamps, or handles the one that it stands at.",
    }

    def __reduce__(self) -> str:
        return "CORRIDOR"


CORRIDOR = CorridorDomain()
