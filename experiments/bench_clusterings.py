"""How well embeddings find the true kinds of subgoals: adjusted Rand index, chosen k and stability."""

from __future__ import annotations

from experiments.clusterings import rows

__all__ = ["rows"]
