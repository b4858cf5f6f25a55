"""Layouts as minigrid makes them under its own seeds, written down as arrays.

An instruction's seed therefore means the same in the engine as in minigrid itself. As a program
(`python -m sdg.envs.babyai.engine.layouts LEVEL SEEDS.npy OUT.npz`) it fills a part of a bank in a process of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from minigrid.core.constants import COLOR_TO_IDX
from minigrid.envs.babyai.core import roomgrid_level
from minigrid.envs.babyai.core import verifier as minigrid_verifier
from minigrid.envs.babyai.core.verifier import (
    AfterInstr,
    AndInstr,
    BeforeInstr,
    GoToInstr,
    Instr,
    ObjDesc,
    OpenInstr,
    PickupInstr,
    PutNextInstr,
)

from sdg.envs.babyai import cells
from sdg.envs.babyai.engine import verifier
from sdg.envs.babyai.engine.state import GRID, LAYOUT, MAX_OBJECTS, MAX_SIZE, OUTSIDE, spot_of
from sdg.envs.babyai.levels import gym_id


class LayoutError(ValueError):
    """A layout that cannot be generated, or that the engine cannot represent; the message says which and why."""


_MOVABLE = {"key": cells.KEY, "ball": cells.BALL, "box": cells.BOX}
_KINDS: dict[Any, int] = {GoToInstr: verifier.GO_TO, OpenInstr: verifier.OPEN, PickupInstr: verifier.PICK_UP}
_ROOTS = {BeforeInstr: verifier.BEFORE, AfterInstr: verifier.AFTER}


def generate(level: str, seeds: Sequence[int] | np.ndarray) -> tuple[np.recarray, list[str]]:
    """Layouts (dtype LAYOUT, one for each seed, in order; `mission` numbers them) and their mission texts.

    Raises ValueError when there is no such level, LayoutError when it fails for a seed or holds what the engine does
    not know.
    """
    env = make_minigrid(level)
    env.gen_obs = lambda: {"mission": env.mission}  # the first view costs a fifth of a reset, and nobody looks
    layouts = np.zeros(len(seeds), LAYOUT).view(np.recarray)
    layouts.cells[:] = OUTSIDE
    missions: list[str] = []
    for row, seed in enumerate(seeds):
        try:
            observation, _ = env.reset(seed=int(seed))
            _write(layouts, row, env)
        except LayoutError as error:
            raise LayoutError(f"{level}, seed {int(seed)}: {error}") from error
        except Exception as error:
            raise LayoutError(f"{level}, seed {int(seed)}: minigrid failed with {error!r}") from error
        layouts.mission[row] = row
        missions.append(str(observation["mission"]))
    return layouts, missions


def make_minigrid(level: str, **options: Any) -> Any:
    """One minigrid environment (`options` are its own) without wrappers, that prints no rejected samples to stdout.

    Raises LayoutError when minigrid was told to wait for the `done` action: then its missions mean something else.
    """
    if minigrid_verifier.use_done_actions:
        raise LayoutError("BABYAI_DONE_ACTIONS is set: unset it, missions here are done without the action `done`")
    # minigrid prints "Sampling rejected" from this one module. Redirecting stdout would be process-wide (other threads
    # lose their output); a module-level name is seen by that module alone.
    roomgrid_level.print = lambda *_: None  # type: ignore[attr-defined]
    return gym.make(gym_id(level), disable_env_checker=True, **options).unwrapped


def _write(layouts: np.recarray, row: int, env: Any) -> None:
    """Write the environment, just reset, into a row."""
    if max(env.width, env.height) > MAX_SIZE:
        raise LayoutError(f"a grid of {env.width} x {env.height} is larger than {MAX_SIZE} x {MAX_SIZE}")
    objects = _Objects(env)
    objects.write(layouts, row)
    layouts.spot[row] = spot_of(int(env.agent_pos[0]), int(env.agent_pos[1]))
    layouts.direction[row] = env.agent_dir
    layouts.max_steps[row] = env.max_steps
    layouts.room_size[row], layouts.width[row], layouts.height[row] = env.room_size, env.width, env.height
    layouts.columns[row] = env.num_cols
    _write_mission(layouts, row, instruction=env.instrs, objects=objects)


class _Objects:
    """The objects and doors of an environment, numbered: first those on the grid by x then y, then those in boxes."""

    def __init__(self, env: Any) -> None:
        self._index: dict[int, int] = {}
        self._all: list[Any] = []
        self._spots: list[int] = []
        self._codes: dict[tuple[int, int], int] = {}
        self._held = 0
        for x in range(env.width):
            for y in range(env.height):
                self._add_cell(env.grid.get(x, y), (x, y))
        if env.carrying is not None:
            x, y = env.carrying.init_pos  # PutNext*Carrying: the first observation still shows it where it lay
            self._codes[x, y] = _code(env.carrying)
            self._held = self._add(env.carrying, spot_of(int(x), int(y))) + 1
        for item in self._all:  # grows while we look: a box may hold a box
            content = item.contains
            if content is not None:
                self._add(content, 0)

    def _add_cell(self, cell: Any, position: tuple[int, int]) -> None:
        self._codes[position] = cells.EMPTY if cell is None else _code(cell)
        if cell is not None and cell.type != "wall":
            self._add(cell, spot_of(*position))

    def _add(self, item: Any, spot: int) -> int:
        if len(self._all) == MAX_OBJECTS:
            raise LayoutError(f"more than {MAX_OBJECTS} objects and doors")
        self._index[id(item)] = len(self._all)
        self._all.append(item)
        self._spots.append(spot)
        return len(self._all) - 1

    def write(self, layouts: np.recarray, row: int) -> None:
        # A record array looks a field up by its name in some 40 us: once here, not once a cell.
        cells, code, where, inside = (layouts[name][row] for name in ("cells", "code", "where", "inside"))
        for position, value in self._codes.items():
            cells[spot_of(*position) - GRID.start] = value
        for k, item in enumerate(self._all):
            code[k], where[k] = _code(item), self._spots[k]
            if item.contains is not None:
                inside[k] = self._index[id(item.contains)] + 1
        layouts.carried[row] = self._held

    def members(self, description: ObjDesc, walls_count: bool) -> int:
        """The objects that a description meant at reset, as bits. "a grey object" matches walls too."""
        bits = 0
        for item in description.obj_set:
            if id(item) in self._index:
                bits |= 1 << self._index[id(item)]
            elif walls_count or item.type != "wall":
                raise LayoutError(f"the mission speaks of a {item.type} that the engine does not track")
        return bits


def _code(item: Any) -> int:
    colour = COLOR_TO_IDX[item.color] << cells.COLOUR_SHIFT
    if item.type == "wall":
        return cells.WALL | colour
    if item.type == "door":
        if item.is_open and item.is_locked:
            raise LayoutError("a door that is open and locked at once")
        state = cells.DOOR_OPEN if item.is_open else cells.DOOR_LOCKED if item.is_locked else cells.DOOR_CLOSED
        return state | colour
    if item.type in _MOVABLE:
        return _MOVABLE[item.type] | colour
    raise LayoutError(f"a cell of type {item.type!r}")


def _write_mission(layouts: np.recarray, row: int, *, instruction: Instr, objects: _Objects) -> None:
    program = layouts.program[row]
    sides: list[Instr] = [instruction]
    if type(instruction) in _ROOTS:
        program[verifier.ROOT] = _ROOTS[type(instruction)]  # type: ignore[index]
        program[verifier.ROOT_STRICT] = bool(instruction.strict)  # type: ignore[attr-defined]
        sides = [instruction.instr_a, instruction.instr_b]  # type: ignore[attr-defined]
    for side, part in enumerate(sides):
        clauses: list[Instr] = [part]
        if type(part) is AndInstr:
            program[verifier.JOINED + side] = 1
            clauses = [part.instr_a, part.instr_b]
        for number, clause in enumerate(clauses):
            _write_clause(layouts, row, clause=2 * side + number, instruction=clause, objects=objects)


def _write_clause(layouts: np.recarray, row: int, *, clause: int, instruction: Any, objects: _Objects) -> None:
    program, targets = layouts.program[row], layouts.targets[row, clause]
    if type(instruction) not in (*_KINDS, PutNextInstr):
        raise LayoutError(f"a mission with {type(instruction).__name__}")
    program[verifier.STRICT + clause] = bool(getattr(instruction, "strict", False))
    if isinstance(instruction, PutNextInstr):
        program[verifier.KINDS + clause] = verifier.PUT_NEXT
        targets[0] = objects.members(instruction.desc_move, walls_count=False)
        targets[1] = objects.members(instruction.desc_fixed, walls_count=True)
        return
    program[verifier.KINDS + clause] = _KINDS[type(instruction)]
    targets[0] = objects.members(instruction.desc, walls_count=isinstance(instruction, GoToInstr))


def _main(level: str, seeds_path: str, out_path: str) -> None:
    layouts, missions = generate(level, np.load(seeds_path, allow_pickle=False))
    np.savez(out_path, layouts=layouts.view(np.ndarray), missions=np.frombuffer("\n".join(missions).encode(), np.uint8))


if __name__ == "__main__":
    try:
        _main(*sys.argv[1:])
    except ValueError as error:
        sys.exit(str(error))
