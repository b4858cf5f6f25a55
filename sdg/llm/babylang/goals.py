"""Goals before they are phrased, as the hypothesis job of the rule-based stand-in lays them out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Goal:
    """One goal before it is phrased; `carried` has to stay in the hand until it is put to use ("" for nothing)."""

    kind: str
    argument: str = ""
    carried: str = ""


__all__ = ["Goal"]
