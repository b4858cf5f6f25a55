"""BabyAI's `Inputs`: relabelled cells of the remembered map, around the robot and turned to its heading.

Every input says something about one cell that was seen (or that it was not seen), about what the robot carries, or
about where it has been since the subgoal began: where two ways round are as good, going one way and coming back is what
a policy without that memory does. There are no path or distance planes. The skill's argument is *marked in the map*: a
cell is 1 where a remembered object matches it.

A room and its mirror image ask for the same skill, with left for right. What a skill is about is always shown on the
robot's right (where nothing is marked, what was not seen yet): the map is mirrored where that takes a mirror, and so
are the turns that the policy answers with. Half of the situations that a policy would have to learn one by one are then
the same as the other half (symmetries of a Markov decision process: Ravindran and Barto, 2001; van der Pol et al.,
2020).

A policy that plays walks into no wall that it has seen (masking of invalid actions: Huang and Ontanon, 2020). Practice
is not masked: there a policy learns from what it tried.

The BabyAI paper's model sees the robot's 7 x 7 view of this moment, and a text as numbers of words. The view is drawn
from memory. What is in sight was just written there, and light only passes through what is in sight,
so this is the very view that the robot was given (a test walks about and compares them); nothing remembered is in it.
"""

import re
from functools import lru_cache

import numpy as np

from sdg.envs.babyai.cells import (
    BOX,
    COLOUR_SHIFT,
    COLOURS,
    DOOR_CLOSED,
    DOOR_LOCKED,
    DOOR_OPEN,
    DROP,
    EMPTY,
    FLOOR,
    FORWARD,
    GOAL,
    KEY,
    KIND_MASK,
    LEFT,
    PICKUP,
    RIGHT,
    TOGGLE,
    TYPES,
    UNSEEN,
    VIEW,
    WALL,
)
from sdg.envs.babyai.engine.state import LIGHT, OPAQUE
from sdg.envs.babyai.perception.columns import code_at, front_cell, is_explored
from sdg.envs.babyai.perception.description import Target, matches, text as described
from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.babyai.perception.tracking import ahead, is_door, is_thing
from sdg.envs.batch import Inputs
from sdg.envs.kernels import inner_kernel, kernel, wide

N_ACTIONS = 6
"""left, right, forward, pickup, drop, toggle; minigrid's `done` is never used."""
NO_TARGET = (-1, -1, 0, 99)
"""The target of a skill without an argument: no object has this id, so nothing is marked."""
NEVER = np.float32(-1e9)
"""Logit of an action that isn't taken."""
AS_IT_IS, MIRRORED = 1, -1
"""Sides: factors of a row's distances to the right."""

FAR = 7
"""Radius of the planes that say where to go: a whole 8x8 room from any of its cells."""
NEAR = 4
"""Radius of the planes of obstacles."""
FAR_SIDE, NEAR_SIDE = 2 * FAR + 1, 2 * NEAR + 1
FAR_PLANES, NEAR_PLANES, SCALARS, HEADINGS = 3, 5, 4, 4

_TARGET, _UNSEEN, _UNEXPLORED, _NEAR = (p * FAR_SIDE**2 for p in range(FAR_PLANES + 1))
_FREE, _CLOSED, _LOCKED, _OBJECT, _TRAIL, _SCALARS = (_NEAR + p * NEAR_SIDE**2 for p in range(NEAR_PLANES + 1))
_HEADINGS = _SCALARS + SCALARS
SIZE = _HEADINGS + HEADINGS
"""Length of the input vector; every entry is 0 or 1."""
MOSTLY_ON = slice(_UNSEEN, _UNSEEN + FAR_SIDE**2)
"""The only inputs that are 1 more often than 0: cells never seen."""


@kernel
def write_features(memory: Memory, i: int, target: np.ndarray, side: int, out: np.ndarray) -> None:
    """Write the inputs of row i for `target` int16 (4,), seen from this `side` (1 or -1), into `out` uint8 (SIZE,)."""
    out[:] = 0
    x, y, direction = wide(memory.pose[i, 0]), wide(memory.pose[i, 1]), wide(memory.pose[i, 2])
    fx, fy = ahead(direction)
    rx, ry = -side * fy, side * fx
    _write_map(memory, i, (x, y, fx, fy, rx, ry), out)
    for turn in range(HEADINGS):
        out[_HEADINGS + turn] = (memory.trail[i, x, y] >> ((direction + side * turn) % 4)) & 1
    for k in range(wide(memory.n_objects[i])):
        ox, oy = wide(memory.at[i, k, 0]), wide(memory.at[i, k, 1])
        forward, right = (ox - x) * fx + (oy - y) * fy, (ox - x) * rx + (oy - y) * ry
        if ox >= 0 and abs(forward) <= FAR and abs(right) <= FAR:
            cell = (forward + FAR) * FAR_SIDE + right + FAR
            if matches(memory, i, k, target):
                out[_TARGET + cell] = 1
            if is_door(memory.code[i, k]) and not is_explored(memory, i, k):
                out[_UNEXPLORED + cell] = 1
    thing = wide(memory.carried[i])
    if thing >= 0:
        out[_SCALARS], out[_SCALARS + 1] = 1, matches(memory, i, thing, target)
        out[_SCALARS + 2] = memory.code[i, thing] & KIND_MASK == KEY
    out[_SCALARS + 3] = memory.room[i] >= 0 and (memory.visited_before[i] >> memory.room[i]) & 1


@inner_kernel
def _write_map(memory: Memory, i: int, frame: tuple[int, int, int, int, int, int], out: np.ndarray) -> None:
    x, y, fx, fy, rx, ry = frame
    hand = memory.code[i, memory.carried[i]] if memory.carried[i] >= 0 else np.uint8(0)
    opens = hand >> COLOUR_SHIFT if hand & KIND_MASK == KEY else -1
    for forward in range(-FAR, FAR + 1):
        for right in range(-FAR, FAR + 1):
            gx, gy = x + forward * fx + right * rx, y + forward * fy + right * ry
            code = code_at(memory, i, gx, gy, UNSEEN)
            kind = code & KIND_MASK
            if kind == UNSEEN:
                out[_UNSEEN + (forward + FAR) * FAR_SIDE + right + FAR] = 1
            elif abs(forward) <= NEAR and abs(right) <= NEAR:
                cell = (forward + NEAR) * NEAR_SIDE + right + NEAR
                out[_TRAIL + cell] = memory.trail[i, gx, gy] > 0
                if kind == EMPTY or kind == FLOOR or kind == DOOR_OPEN or kind == GOAL:
                    out[_FREE + cell] = 1
                elif kind == DOOR_CLOSED or (kind == DOOR_LOCKED and code >> COLOUR_SHIFT == opens):
                    out[_CLOSED + cell] = 1
                elif kind == DOOR_LOCKED:
                    out[_LOCKED + cell] = 1
                elif is_thing(code):
                    out[_OBJECT + cell] = 1


@kernel
def side_of(memory: Memory, i: int, target: np.ndarray, reach: int) -> int:
    """AS_IT_IS or MIRRORED for row i and its `target` int16 (4,); unseen cells count up to `reach` cells away."""
    x, y = wide(memory.pose[i, 0]), wide(memory.pose[i, 1])
    rx, ry = ahead((wide(memory.pose[i, 2]) + 1) % 4)
    balance = 0
    for k in range(wide(memory.n_objects[i])):
        ox, oy = wide(memory.at[i, k, 0]), wide(memory.at[i, k, 1])
        if ox >= 0 and matches(memory, i, k, target):
            balance += (ox - x) * rx + (oy - y) * ry
    if balance == 0:
        for dx in range(-reach, reach + 1):
            for dy in range(-reach, reach + 1):
                right = dx * rx + dy * ry
                if right != 0 and code_at(memory, i, x + dx, y + dy, UNSEEN) & KIND_MASK == UNSEEN:
                    balance += 1 if right > 0 else -1
    return AS_IT_IS if balance >= 0 else MIRRORED


@kernel
def write_batch(memory: Memory, targets: np.ndarray, frames: np.ndarray, out: np.ndarray) -> None:
    """Inputs of all rows for `targets` i16 (n, 4) into `out` u8 (n, SIZE), their sides into `frames` i64 (n,)."""
    for i in range(out.shape[0]):
        frames[i] = side_of(memory, i, targets[i], FAR)
        write_features(memory, i, targets[i], frames[i], out[i])


@kernel
def mask_noop_actions(memory: Memory, row: int, logits: np.ndarray) -> None:
    """Set the logits (6,) of actions that would change nothing in a row to NEVER, judged by the memory of the
    cell ahead and of the hand; turning always changes something."""
    x, y = front_cell(memory, row)
    code = code_at(memory, row, x, y, WALL)
    kind = code & KIND_MASK
    if kind == UNSEEN:
        return
    hand = memory.code[row, memory.carried[row]] if memory.carried[row] >= 0 else np.uint8(0)
    movable = is_thing(code) and not is_door(code)
    if movable or kind == WALL or kind == DOOR_CLOSED or kind == DOOR_LOCKED:
        logits[FORWARD] = NEVER
    if not movable or hand > 0:
        logits[PICKUP] = NEVER
    if kind != EMPTY or hand == 0:
        logits[DROP] = NEVER
    opens = hand & KIND_MASK == KEY and hand >> COLOUR_SHIFT == code >> COLOUR_SHIFT
    if not (kind == DOOR_OPEN or kind == DOOR_CLOSED or kind == BOX or (kind == DOOR_LOCKED and opens)):
        logits[TOGGLE] = NEVER


@kernel
def mask_noop_actions_of_rows(memory: Memory, logits: np.ndarray) -> None:
    """Set the logits (n, 6) of actions that would change nothing to NEVER, in all rows."""
    for i in range(logits.shape[0]):
        mask_noop_actions(memory, i, logits[i])


class MapInputs(Inputs):
    """Bits of the remembered map (`sdg.envs.batch.Inputs`); a frame is the side that a row is seen from, 1 or -1."""

    size = SIZE
    actions = N_ACTIONS
    dtype = np.uint8
    mostly_on = MOSTLY_ON
    write = staticmethod(write_batch)
    mask_noops = staticmethod(mask_noop_actions_of_rows)
    mask_noops_row = staticmethod(mask_noop_actions)

    def write_row(self, memory: Memory, row: int, target: np.ndarray, out: np.ndarray) -> int:
        """Write the inputs of one row to `out` u8 (size,); returns the frame."""
        side = int(side_of(memory, row, target, FAR))
        write_features(memory, row, target, side, out)
        return side

    def to_world(self, logits: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """The logits (n, 6) with left and right turns swapped in rows that `frames` mirror; a new array."""
        return np.where((frames == MIRRORED)[:, None], logits[:, [RIGHT, LEFT, FORWARD, PICKUP, DROP, TOGGLE]], logits)

    def actions_to_world(self, actions: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """The actions (n,) that are meant by actions chosen for rows as their `frames` (n,) show them; its own
        inverse."""
        return np.where((frames == MIRRORED) & (actions <= RIGHT), LEFT + RIGHT - actions, actions)

    def __reduce__(self) -> str:
        return "MAP_INPUTS"


MAP_INPUTS = MapInputs()


CELLS = VIEW * VIEW

UNKNOWN = 1
"""Number of every word that isn't in WORDS; 0 fills up shorter texts."""

WORDS = (
    *("go", "to", "pick", "up", "open", "put", "next", "then", "after", "you", "and", "the", "a", "an"),
    *("on", "in", "your", "left", "right", "front", "of", "behind", "object"),
    *COLOURS,
    *TYPES,
)
"""All words of BabyAI's missions and of descriptions; word i has the number i + 2."""
N_WORDS = len(WORDS) + 2
_NUMBERS = {word: number for number, word in enumerate(WORDS, start=2)}


@lru_cache(maxsize=50_000)
def numbers_of(text: str) -> tuple[int, ...]:
    """The words of a text as numbers; at least one, for a text of no words is one unknown word."""
    return tuple(_NUMBERS.get(word, UNKNOWN) for word in re.findall(r"[a-z]+|#\d+", text.lower())) or (UNKNOWN,)


def pad_texts(texts: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Word numbers i64 (t, longest) of texts, filled up with 0, and the length of each, i64 (t,)."""
    numbers = [numbers_of(text) for text in texts]
    lengths = np.array([len(words) for words in numbers], np.int64)
    out = np.zeros((len(texts), int(lengths.max(initial=1))), np.int64)
    for row, words in zip(out, numbers, strict=True):
        row[: len(words)] = words
    return out, lengths


def argument_text(target: np.ndarray) -> str:
    """The argument of a skill in words, from its target i16 (4,); "" for none."""
    return "" if tuple(target) == NO_TARGET else described(Target(*target))


@kernel
def write_views(memory: Memory, out: np.ndarray) -> None:
    """The views of all rows as packed codes into `out` u8 (n, 7, 7), as `sdg.envs.babyai.engine.state` draws them."""
    for n in range(out.shape[0]):
        x, y, (dx, dy) = memory.pose[n, 0], memory.pose[n, 1], ahead(memory.pose[n, 2])
        lit = np.uint64(1 << 3)
        for j in range(VIEW - 1, -1, -1):
            opaque = np.uint64(0)
            for i in range(VIEW):
                far, right = VIEW - 1 - j, i - 3
                code = code_at(memory, n, x + far * dx - right * dy, y + far * dy + right * dx, WALL)
                out[n, i, j] = code
                opaque |= OPAQUE[code] << np.uint64(i)
            visible_bits, lit = (
                LIGHT[lit | opaque << np.uint64(VIEW), 0],
                np.uint64(LIGHT[lit | opaque << np.uint64(VIEW), 1]),
            )
            for i in range(VIEW):
                if not (visible_bits >> i) & 1:
                    out[n, i, j] = UNSEEN
        thing = memory.carried[n]
        out[n, 3, VIEW - 1] = memory.code[n, thing] if thing >= 0 else EMPTY
