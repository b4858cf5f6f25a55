"""A verification as `verifications.jsonl` keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sdg.skills.strict_json import decode


@dataclass(frozen=True, slots=True)
class Agreement:
    """On how many steps a check and the world both said yes, and on how many only one of them."""

    both: int
    only_check: int
    only_world: int


@dataclass(frozen=True, slots=True)
class Verified:
    """What one attempt at an instruction came to; its unit is LEVEL/SEED/ATTEMPT."""

    unit: str
    level: str
    seed: int
    verified: bool
    searched_steps: int
    replayed_steps: int = 0
    agreement: Agreement | None = None

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Verified:
        """A journal's row. Raises ValueError for one that lacks what every verification has."""
        return decode(cls, row, place=f"verification {row.get('unit')!r:.80}", extra="ignore")

    @property
    def attempt(self) -> int:
        """The number of the attempt at its instruction."""
        return int(self.unit.rpartition("/")[2])
