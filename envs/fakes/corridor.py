"""A small world for tests and for reading: a corridor with lamps.

An agent walks along a dark corridor and sees two cells far. Lamps stand in it, each of another colour; it can take one
lamp along and switch on the one it stands at. It shows what a domain has to bring, in the fewest lines that make all
four stages work.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sdg.envs.defaults import PlainPerception
from sdg.envs.world import Action, StepResult

LENGTH, SIGHT, LIMIT = 12, 2, 60
COLOURS = ("red", "green", "blue", "white")
LEFT, RIGHT, SWITCH, TAKE = range(4)
NOTHING, ANY = -2, -1
"""Targets: nothing at all, any lamp; else the index of a colour."""


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
        state = self._state
        found = []
        for number, place in enumerate(state.lamps):
            if state.seen[number]:
                at = state.at if place < 0 else place
                name = f"{COLOURS[number]} lamp"
                away = abs(at - state.at)
                found.append(
                    Lamp(number, name, COLOURS[number], at - state.start, away, state.lit[number], place < 0)
                )  # fmt: skip
        return sorted(found, key=lambda lamp: (lamp.distance, lamp.id))

    def find_lamps(self, description: str) -> list[Lamp]:
        """The lamps seen so far that match a description such as "red lamp", nearest first."""
        wanted = parse(description)
        return [lamp for lamp in self.get_lamps() if wanted in (ANY, lamp.id)]

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


def parse(description: str) -> int:
    """The target of a description: `[the] [red|green|blue|white] lamp`. ValueError for anything else."""
    found = re.fullmatch(rf"(?:an? |the )?(?:({'|'.join(COLOURS)}) )?lamp", str(description).strip().lower())
    if found is None:
        raise ValueError(f"{description!r:.80} describes nothing: say [the] [{'|'.join(COLOURS)}] lamp")
    return COLOURS.index(found[1]) if found[1] else ANY


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
        done = self._is_done()
        out = self._state.steps >= LIMIT and not self.lift_time_limit
        return StepResult(1 - 0.9 * min(1.0, self._state.steps / LIMIT) if done else 0.0, done, out and not done)

    def _is_done(self) -> bool:
        state = self.state
        return state.lit[state.aim] if state.verb == "light" else state.lamps[state.aim] == state.at

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
        if verb not in ("visit", "light") or parse(what) == ANY or self.steps:
            raise ValueError(f"this world can't judge {text!r:.80}: say `visit the red lamp` or `light the red lamp`")
        self._state = replace(self.state, verb=verb, aim=parse(what))

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
    if -1 in state.lamps:
        held = state.lamps.index(-1)
        free = state.at not in state.lamps
        return replace(state, lamps=_with(state.lamps, held, state.at)) if free else state
    here = state.lamps.index(state.at) if state.at in state.lamps else None
    return state if here is None else replace(state, lamps=_with(state.lamps, here, -1))


def _with(places: tuple[int, ...], number: int, place: int) -> tuple[int, ...]:
    return (*places[:number], place, *places[number + 1 :])


ACTIONS = (
    Action("go_left", "go one cell to the left", LEFT),
    Action("go_right", "go one cell to the right", RIGHT),
    Action("press", "switch the lamp on or off that stands here", SWITCH),
    Action("take", "take the lamp that stands here along, or put the carried one down", TAKE),
)
