"""A job that holds what travels by content."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Parcel:
    """A large array and the folder of a library."""

    array: np.ndarray
    folder: Path

    @property
    def unit(self) -> str:
        return "parcel"


def describe(job: Parcel) -> tuple[str, float, list[str], str]:
    """Kind and sum of the array; the names in the folder, and where it is."""
    names = sorted(path.name for path in job.folder.iterdir() if not path.name.startswith("."))
    return type(job.array).__name__, float(job.array.view(np.ndarray)["f0"].sum()), names, str(job.folder)
