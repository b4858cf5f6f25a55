"""Instructions by seed, in disjoint sets: what is grounded, what judges, what is evaluated, what is practised on.

An instruction is what a world makes of a level under a seed: layout and mission together. The sets are disjoint ranges
of seeds, so "unseen" means an unseen seed, hence an unseen layout; texts may repeat.
"""

from dataclasses import dataclass
from zlib import crc32

from sdg.errors import UserError

SPLITS: dict[str, range] = {
    "grounding": range(0, 1_000_000),
    "validation": range(1_000_000, 2_000_000),
    "training": range(3_000_000, 1_000_000_000),
    "evaluation": range(1_000_000_000, 2_000_000_000),
}
"""Seeds of each set; `training` holds the layouts on which policies practise. Up to 22 November 2026 `evaluation` was
the million from 2,000,000 on, which nothing draws from any more."""

STRIDE = 10_000
"""User seed s starts a split at offset s * STRIDE (wrapping round), so that seeds 0..99 share nothing below 10,000."""

MAX_SEED = 2**31 - 1
OF_A_LEVEL = 1_000_000
"""Evaluation seeds in a level's part of the range: levels made by one generator would otherwise all have the same
missions."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One task: a level's layout and mission under `seed`, which lies in its split's range."""

    level: str
    seed: int
    split: str
    text: str

    def __post_init__(self) -> None:
        check_seed(self.seed, self.split)


def check_seed(seed: int, split: str) -> None:
    """UserError when `seed` isn't one of `split`'s."""
    own_seeds = _seeds_of(split)
    if seed not in own_seeds:
        owner = next((name for name, seeds in SPLITS.items() if seed in seeds), "no set")
        raise UserError(f"seed {seed} is outside {split} ({own_seeds[0]} to {own_seeds[-1]}); it belongs to {owner}")


def _seeds_of(split: str) -> range:
    if split not in SPLITS:
        raise UserError(f"there is no set of instructions {split!r}; there are {', '.join(SPLITS)}")
    return SPLITS[split]


def check_layout(seed: int) -> int:
    """The seed of a layout. Raises UserError for one that no world takes."""
    if not 0 <= seed <= MAX_SEED:
        raise UserError(f"a seed is 0 to {MAX_SEED}, not {seed}")
    return seed


def is_unseen(seed: int) -> bool:
    """Whether a seed judges or evaluates, so that a world may give it what its training instructions never combine."""
    return seed in SPLITS["evaluation"] or seed in SPLITS["validation"]


def seeds(split: str, *, count: int, seed: int = 0, level: str = "") -> list[int]:
    """`count` distinct layout seeds of a split for the user's seed: start + (seed * STRIDE + n) modulo its size.

    Those of `evaluation` begin in a part of the range that a checksum of the level's name picks, one of 1000: two
    levels have other seeds unless it picks the same part for both, or one runs on into the other's.
    """
    split_seeds = _seeds_of(split)
    if not 0 <= count <= len(split_seeds):
        raise UserError(f"{split} has {len(split_seeds)} seeds, so {count} can't be taken")
    if seed < 0:
        raise UserError(f"a seed is 0 or more, not {seed}")
    part = OF_A_LEVEL * (crc32(level.encode()) % (len(split_seeds) // OF_A_LEVEL)) if split == "evaluation" else 0
    return [split_seeds[(part + seed * STRIDE + n) % len(split_seeds)] for n in range(count)]
