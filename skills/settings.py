"""Bounds of settings, as annotations: what a config file says is checked against them where it is read."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Gt, Le

Count = Annotated[int, Ge(1), Le(10**9)]
Size = Annotated[int, Ge(1), Le(2**16)]
"""Of what is made at once: arrays, processes, layouts."""
Natural = Annotated[int, Ge(0), Le(2**16)]
LayoutSeed = Annotated[int, Ge(0), Le(2**31 - 1)]
Share = Annotated[float, Ge(0), Le(1)]
Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
