"""k-means over subgoals, k by the Calinski-Harabasz score (SDG, section 4.4 and Figs 8, 9).

Only distinct texts (API names) are clustered and scored, because equal texts would make the within-cluster variance
vanish and the score meaningless. A clustering's stability over restarts is recorded with it.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from sdg.skills.clustering.embedding import REPRESENTATIONS, ClusterItem, View, embed_items, name_text

REJECTED = -1
"""Label of items that belong to no skill."""
MAX_SCORE = 1e12
"""A Calinski-Harabasz score beyond this only means that the clusters have no width at all."""


@dataclass(frozen=True, slots=True)
class Score:
    """How well k clusters fit: the Calinski-Harabasz score (None where degenerate, with the reason) and stability.

    `stability` is the mean adjusted Rand index between k-means runs from different starts, in [-1, 1].
    """

    k: int
    calinski_harabasz: float | None
    degenerate: str
    stability: float


@dataclass(frozen=True, slots=True)
class Clustering:
    """Which cluster each item is in (0 to k - 1 by first appearance, -1 rejected), with a measure of trust.

    `points` are 2-d positions of the items for a figure, `reason` says why this k.
    """

    k: int
    labels: tuple[int, ...]
    reason: str
    scores: tuple[Score, ...]
    n_texts: int
    stability: float
    points: tuple[tuple[float, float], ...]
    seed: int


def cluster(
    items: Sequence[ClusterItem],
    *,
    seed: int,
    parts: Sequence[View] | None = None,
    max_k: int = 16,
) -> Clustering:
    """Cluster items with the k of the best score, in 2..max_k and below the number of distinct texts.

    With fewer than three distinct texts, or when every k is degenerate, each text is a cluster (max_k at most).
    Raises ValueError without items.
    """
    if not items:
        raise ValueError("nothing to cluster: no subgoal was verified")
    rows, members = distinct(embed_items(items, parts if parts is not None else REPRESENTATIONS["mix"]), items)
    scores = tuple(_score(rows, k, seed=seed) for k in range(2, min(max_k, len(rows) - 1) + 1))
    k, reason = _choose(scores, n_texts=len(rows), max_k=max_k)
    labels = _number(_kmeans(rows, k, seed=seed).labels_[members])
    return Clustering(
        k=len(set(labels)),
        labels=labels,
        reason=reason,
        scores=scores,
        n_texts=len(rows),
        stability=_restart_stability(rows, k, seed=seed),
        points=tuple((float(x), float(y)) for x, y in project(rows, seed=seed)[members]),
        seed=seed,
    )


def distinct(points: np.ndarray, items: Sequence[ClusterItem]) -> tuple[np.ndarray, np.ndarray]:
    """One row for each distinct API text in sorted order, (m, d), and each item's row number, (n,)."""
    _, first, members = np.unique(np.array([name_text(item) for item in items]), return_index=True, return_inverse=True)
    return points[first], members


def adjusted_rand(kinds: Sequence[object], labels: Sequence[object]) -> float:
    """Adjusted Rand index in [-1, 1] between two labellings of the same items (Hubert and Arabie 1985)."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score([str(kind) for kind in kinds], [str(label) for label in labels]))


def project(rows: np.ndarray, *, seed: int) -> np.ndarray:
    """2-d positions (m, 2) for a figure: t-SNE, or the two principal axes where there are too few rows for it."""
    if len(rows) < 6:
        offsets = rows - rows.mean(axis=0)
        flat = offsets @ np.linalg.svd(offsets, full_matrices=False)[2][:2].T
        return np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))
    from sklearn.manifold import TSNE

    tsne = TSNE(perplexity=min(30.0, (len(rows) - 1) / 3), init="random", random_state=seed, n_jobs=1)
    return np.asarray(tsne.fit_transform(rows), np.float64)


def _choose(scores: Sequence[Score], *, n_texts: int, max_k: int) -> tuple[int, str]:
    if usable := [score for score in scores if score.calinski_harabasz is not None]:
        best = max(usable, key=lambda score: (score.calinski_harabasz or 0.0, -score.k))
        return best.k, "best Calinski-Harabasz score"
    why = "every score is degenerate" if scores else f"{n_texts} distinct texts are too few to score"
    return min(n_texts, max_k), f"a cluster for each distinct text, because {why}"


def _score(rows: np.ndarray, k: int, *, seed: int) -> Score:
    from sklearn.metrics import calinski_harabasz_score

    fit, stability = _kmeans(rows, k, seed=seed), _restart_stability(rows, k, seed=seed)
    count = len(set(fit.labels_.tolist()))
    if count < k:
        return Score(k, None, f"only {count} of {k} clusters: texts share points", stability)
    if fit.inertia_ < 1e-12:
        return Score(k, None, "the texts within every cluster share one point", stability)
    value = float(calinski_harabasz_score(rows, fit.labels_))
    if value <= MAX_SCORE:
        return Score(k, value, "", stability)
    return Score(k, None, f"score {value:.3g}", stability)


def _kmeans(rows: np.ndarray, k: int, *, seed: int, n_init: int = 10) -> Any:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():  # fewer distinct points than clusters, which `_score` records
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(min(k, len(rows)), n_init=n_init, random_state=seed).fit(rows)


def _restart_stability(rows: np.ndarray, k: int, *, seed: int, n_restarts: int = 5) -> float:
    runs = [_kmeans(rows, k, seed=seed + restart, n_init=1).labels_ for restart in range(n_restarts)]
    return float(np.mean([adjusted_rand(first.tolist(), second.tolist()) for first, second in combinations(runs, 2)]))


def _number(labels: np.ndarray) -> tuple[int, ...]:
    """Clusters numbered by first appearance, so that equal clusterings have equal labels."""
    names: dict[int, int] = {}
    return tuple(names.setdefault(int(label), len(names)) for label in labels)
