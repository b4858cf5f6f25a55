"""Generated Python behind a whitelist, a woven step budget and a typed border; it knows nothing of any world."""

from sdg.sandbox.guard.errors import BudgetSpent, GeneratedError, GuardError, Refused
from sdg.sandbox.guard.guard import Guard, GuardedFunction, HostFault, Signature, reserved_names
from sdg.sandbox.guard.meter import FILENAME

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
