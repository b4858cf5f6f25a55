"""Checks in batch: guarded source as small integer programs for one compiled kernel over memory rows."""

from sdg.skills.checks.lowering.lowering import (
    FALSE,
    FAULT,
    SCRATCH,
    TRUE,
    Batch,
    Lowered,
    NotLowerable,
    evaluate_row,
    lower,
    slots_of,
)

__all__ = [
    "FALSE",
    "FAULT",
    "SCRATCH",
    "TRUE",
    "Batch",
    "Lowered",
    "NotLowerable",
    "evaluate_row",
    "lower",
    "slots_of",
]
