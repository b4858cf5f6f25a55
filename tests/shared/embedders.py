"""Embeddings that a test makes up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sdg.skills.clustering.embedding import normalise


def made_up(function: Callable[[Sequence[str]], Sequence[Sequence[float]]]) -> Callable[[Sequence[str]], np.ndarray]:
    """An embedder of points float64 (n, d) from a function of the texts."""
    return lambda texts: normalise(np.array(function(texts), np.float64))
