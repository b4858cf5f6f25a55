"""Checks in batch: guarded source as small integer programs for a domain's check machine."""

from sdg.skills.checks.lowering.lowering import Batch, Lowered, NotLowerable, lower, slots_of

__all__ = ["Batch", "Lowered", "NotLowerable", "lower", "slots_of"]
