"""Embeddings that a test makes up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sdg.skills.clustering.embedding import normalise


@dataclass(frozen=True)
class MadeUp:
    """Points from a function of the texts."""

    function: Callable[[Sequence[str]], Sequence[Sequence[float]]]

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Points float64 (n, d)."""
        return normalise(np.array(self.function(texts), np.float64))
