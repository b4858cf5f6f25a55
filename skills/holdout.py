"""Splitting a skill's members into training and validation, which guards against overfitting (SDG, section 4.4)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from skills.experience import Experience


def split_members(
    experiences: Sequence[Experience], *, seed: int, validation_share: float = 0.2
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Item numbers for training and for validation, in order; whoever shares an instruction text is on one side.

    About `validation_share` (0 to 1) of the instructions are held out, at least one where there are two or more, and
    never all. An instruction's rank depends on the seed and its text alone, so the split is the same in every order.
    """
    if not 0 <= validation_share < 1:
        raise ValueError(f"validation_share is {validation_share}, expected at least 0 and less than 1")
    instructions = sorted({e.instruction for e in experiences}, key=lambda text: _rank(text, seed))
    wanted = round(validation_share * len(instructions))
    if validation_share > 0 and len(instructions) > 1:
        wanted = min(max(wanted, 1), len(instructions) - 1)
    held_out = set(instructions[: wanted if len(instructions) > 1 else 0])
    validation = tuple(n for n, e in enumerate(experiences) if e.instruction in held_out)
    return tuple(n for n, e in enumerate(experiences) if e.instruction not in held_out), validation


def _rank(text: str, seed: int) -> str:
    return hashlib.sha256(f"{seed}|{text}".encode("utf-8", "surrogatepass")).hexdigest()
