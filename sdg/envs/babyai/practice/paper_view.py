"""What the BabyAI paper's model sees: the robot's 7 x 7 view of this moment, and a text as numbers of words.

The view is drawn from memory. What is in sight was just written there, and light only passes through what is in sight,
so this is the very view that the robot was given (a test walks about and compares them); nothing remembered is in it.
"""

import re
from functools import lru_cache

import numpy as np

from sdg.envs.babyai.cells import COLOURS, EMPTY, TYPES, UNSEEN, WALL
from sdg.envs.babyai.engine.state import LIGHT, OPAQUE
from sdg.envs.babyai.perception.columns import code_at
from sdg.envs.babyai.perception.description import Target
from sdg.envs.babyai.perception.description import text as described
from sdg.envs.babyai.perception.memory import VIEW, Memory, ahead
from sdg.envs.babyai.practice.inputs import NO_TARGET
from sdg.envs.kernels import kernel

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
    found = tuple(_NUMBERS.get(word, UNKNOWN) for word in re.findall(r"[a-z]+|#\d+", text.lower()))
    return found or (UNKNOWN,)


def pad_texts(texts: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Word numbers i64 (t, longest) of texts, filled up with 0, and how many there are in each, i64 (t,)."""
    numbers = [numbers_of(text) for text in texts]
    lengths = np.array([len(each) for each in numbers], np.int64)
    out = np.zeros((len(texts), int(lengths.max(initial=1))), np.int64)
    for row, each in zip(out, numbers, strict=True):
        row[: len(each)] = each
    return out, lengths


def argument_text(target: np.ndarray) -> str:
    """The argument of a skill in words, from its target i16 (4,); "" for none."""
    values = tuple(int(each) for each in target)
    return "" if values == NO_TARGET else described(Target(*values))


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
            shown, lit = LIGHT[lit | opaque << np.uint64(VIEW), 0], np.uint64(LIGHT[lit | opaque << np.uint64(VIEW), 1])
            for i in range(VIEW):
                if not (shown >> i) & 1:
                    out[n, i, j] = UNSEEN
        held = memory.carried[n]
        out[n, 3, VIEW - 1] = memory.code[n, held] if held >= 0 else EMPTY
