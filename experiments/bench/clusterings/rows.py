"""How well embeddings find the true kinds of subgoals: adjusted Rand index, chosen k and stability."""

from __future__ import annotations

from sdg.experiments.bench.clusterings.measure import rows

__all__ = ["rows"]
