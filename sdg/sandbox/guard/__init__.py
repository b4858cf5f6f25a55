"""Generated Python behind a whitelist, a woven step budget and a typed border; it knows nothing of any world."""

from sdg.sandbox.guard.guard import (
    FILENAME,
    BudgetSpent,
    GeneratedError,
    Guard,
    GuardedFunction,
    GuardError,
    HostFault,
    Refused,
    Signature,
    reserved_names,
)

__all__ = [
    "FILENAME",
    "BudgetSpent",
    "GeneratedError",
    "Guard",
    "GuardError",
    "GuardedFunction",
    "HostFault",
    "Refused",
    "Signature",
    "reserved_names",
]
