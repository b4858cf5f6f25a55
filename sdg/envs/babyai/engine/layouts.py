"""Layouts as minigrid makes them under its own seeds, written down as arrays.

An instruction's seed therefore means the same in the engine as in minigrid itself.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from minigrid.core.constants import COLOR_TO_IDX
from minigrid.envs.babyai.core import roomgrid_level, verifier as minigrid_verifier
from minigrid.envs.babyai.core.verifier import (
    AfterInstr,
    AndInstr,
    BeforeInstr,
    GoToInstr,
    ObjDesc,
    OpenInstr,
    PickupInstr,
    PutNextInstr,
)

from sdg.envs.babyai import cells
from sdg.envs.babyai.engine import verifier
from sdg.envs.babyai.engine.state import GRID, LAYOUT, MAX_OBJECTS, MAX_SIZE, OUTSIDE, spot_of
from sdg.envs.babyai.levels import gym_id
from sdg.errors import SDGError


class LayoutError(SDGError, ValueError):
    """A layout that cannot be generated, or that the engine cannot represent; the message says which and why."""


_KINDS_OF_CELLS = {"wall": cells.WALL, "key": cells.KEY, "ball": cells.BALL, "box": cells.BOX}
_KINDS: dict[Any, int] = {
    GoToInstr: verifier.GO_TO,
    OpenInstr: verifier.OPEN,
    PickupInstr: verifier.PICK_UP,
    PutNextInstr: verifier.PUT_NEXT,
}
_ROOTS: dict[Any, int] = {BeforeInstr: verifier.BEFORE, AfterInstr: verifier.AFTER}


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
    """Write the environment, just reset, into a row; its objects and doors are numbered, by x then y, then those in
    boxes."""
    if max(env.width, env.height) > MAX_SIZE:
        raise LayoutError(f"a grid of {env.width} x {env.height} is larger than {MAX_SIZE} x {MAX_SIZE}")
    # A record array looks a field up by its name in some 40 us: once here, not once a cell.
    codes, code, where, inside = (layouts[name][row] for name in ("cells", "code", "where", "inside"))
    contents = [(env.grid.get(x, y), spot_of(x, y)) for x in range(env.width) for y in range(env.height)]
    if env.carrying is not None:  # PutNext*Carrying: the first observation still shows it where it lay
        contents.append((env.carrying, spot_of(*map(int, env.carrying.init_pos))))
    items, spots = [], []
    for item, spot in contents:
        codes[spot - GRID.start] = cells.EMPTY if item is None else _code(item)
        if item is not None and item.type != "wall":
            items.append(item)
            spots.append(spot)
    layouts.carried[row] = len(items) if env.carrying is not None else 0
    for item in items:  # grows while we look: a box may hold a box
        items += [item.contains] if item.contains is not None else []
    if len(items) > MAX_OBJECTS:
        raise LayoutError(f"more than {MAX_OBJECTS} objects and doors")
    numbers = {id(item): number for number, item in enumerate(items)}
    where[: len(spots)] = spots
    for number, item in enumerate(items):
        code[number], inside[number] = _code(item), numbers.get(id(item.contains), -1) + 1
    layouts.spot[row], layouts.direction[row] = spot_of(*map(int, env.agent_pos)), env.agent_dir
    layouts.max_steps[row], layouts.columns[row] = env.max_steps, env.num_cols
    layouts.room_size[row], layouts.width[row], layouts.height[row] = env.room_size, env.width, env.height
    _write_mission(layouts.program[row], layouts.targets[row], env.instrs, numbers)


def _code(item: Any) -> int:
    if item.type == "door" and item.is_open and item.is_locked:
        raise LayoutError("a door that is open and locked at once")
    kind = _KINDS_OF_CELLS.get(item.type)
    if item.type == "door":
        kind = cells.DOOR_OPEN if item.is_open else cells.DOOR_LOCKED if item.is_locked else cells.DOOR_CLOSED
    if kind is None:
        raise LayoutError(f"a cell of type {item.type!r}")
    return kind | COLOR_TO_IDX[item.color] << cells.COLOUR_SHIFT


def _write_mission(program: np.ndarray, targets: np.ndarray, mission: Any, numbers: Mapping[int, int]) -> None:
    sides = [mission]
    if type(mission) in _ROOTS:
        program[verifier.ROOT] = _ROOTS[type(mission)]
        program[verifier.ROOT_STRICT] = bool(mission.strict)
        sides = [mission.instr_a, mission.instr_b]
    for side, part in enumerate(sides):
        program[verifier.JOINED + side] = type(part) is AndInstr
        for number, clause in enumerate([part.instr_a, part.instr_b] if type(part) is AndInstr else [part], 2 * side):
            if type(clause) not in _KINDS:
                raise LayoutError(f"a mission with {type(clause).__name__}")
            program[verifier.STRICT + number] = bool(getattr(clause, "strict", False))
            program[verifier.KINDS + number] = _KINDS[type(clause)]
            if isinstance(clause, PutNextInstr):
                targets[number] = (
                    _members(clause.desc_move, numbers, walls_count=False),
                    _members(clause.desc_fixed, numbers, walls_count=True),
                )
            else:
                targets[number, 0] = _members(clause.desc, numbers, walls_count=isinstance(clause, GoToInstr))


def _members(description: ObjDesc, numbers: Mapping[int, int], *, walls_count: bool) -> int:
    """The objects that a description meant at reset, as bits. "a grey object" matches walls too."""
    untracked = [item.type for item in description.obj_set if id(item) not in numbers]
    if kind := next((kind for kind in untracked if walls_count or kind != "wall"), ""):
        raise LayoutError(f"the mission speaks of a {kind} that the engine does not track")
    return sum({1 << numbers[id(item)] for item in description.obj_set if id(item) in numbers})
