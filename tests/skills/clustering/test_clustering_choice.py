"""k-means finds true kinds, tells how sure it is, and says so when a score means nothing."""

from __future__ import annotations

import numpy as np
import pytest

from sdg.skills.clustering.embedding import REPRESENTATIONS, ClusterItem, View, name_text
from sdg.skills.clustering.kmeans import adjusted_rand, cluster, project
from sdg.skills.subgoal import CheckFunction, SkillCall, Subgoal
from tests.shared.embedders import made_up
from tests.shared.subgoal_corpora import draw


def items_named(*names: str) -> list[ClusterItem]:
    return [ClusterItem(SkillCall(name, ""), Subgoal(name, CheckFunction("f", ""))) for name in names]


def views_at(places: dict[str, tuple[float, ...]]) -> tuple[View, ...]:
    return (View(name_text, made_up(lambda texts: [places[text] for text in texts])),)


def blobs() -> dict[str, tuple[float, ...]]:
    """Three far-off centres, eight names close around each."""
    noise = np.random.default_rng(0).normal(scale=0.05, size=(3, 8, 6))
    return {
        f"{kind}{n}": tuple((noise[k, n] + np.eye(6)[k]).tolist()) for k, kind in enumerate("abc") for n in range(8)
    }


BLOBS = blobs()


@pytest.mark.parametrize("half", ["fresh", "both"])
def test_paraphrases_are_found_far_better_than_by_names_alone(half: str) -> None:
    corpus = draw(half, n_items=200, seed=5)
    mixed = adjusted_rand(corpus.kinds, cluster(corpus.items, seed=0).labels)
    named = adjusted_rand(corpus.kinds, cluster(corpus.items, seed=0, parts=REPRESENTATIONS["api"]).labels)
    assert mixed > 0.65
    assert mixed > named + 0.2


def test_three_blobs_are_three_clusters() -> None:
    names = sorted(BLOBS) * 2
    clustering = cluster(items_named(*names), seed=0, parts=views_at(BLOBS))
    assert clustering.k == 3
    assert adjusted_rand([name[0] for name in names], clustering.labels) == 1.0
    assert 0.4 < clustering.stability <= 1.0
    assert [score.k for score in clustering.scores] == list(range(2, 17))
    assert clustering.labels[0] == 0
    assert len(clustering.points) == len(names)


def test_the_seed_decides_everything() -> None:
    corpus = draw("tuning", n_items=60, seed=1)
    assert cluster(corpus.items, seed=4) == cluster(corpus.items, seed=4)


def test_repeating_an_item_changes_no_score() -> None:
    names = sorted(BLOBS)
    once = cluster(items_named(*names), seed=0, parts=views_at(BLOBS))
    often = cluster(items_named(*names, *[names[0]] * 50), seed=0, parts=views_at(BLOBS))
    assert often.k == once.k
    expected = [score.calinski_harabasz for score in once.scores]
    assert [score.calinski_harabasz for score in often.scores] == pytest.approx(expected)


@pytest.mark.parametrize(("names", "k"), [("a", 1), ("ab", 2), ("aaaa", 1), ("aabb", 2)])
def test_too_few_texts_are_a_cluster_each(names: str, k: int) -> None:
    clustering = cluster(items_named(*names), seed=0, parts=views_at({"a": (1.0, 0.0), "b": (0.0, 1.0)}))
    assert clustering.k == k
    assert clustering.scores == ()
    assert "too few" in clustering.reason


def test_texts_that_share_points_are_reported_as_degenerate() -> None:
    places = {name: ((1.0, 0.0) if name in "abc" else (0.0, 1.0)) for name in "abcdef"}
    clustering = cluster(items_named(*"abcdef"), seed=0, parts=views_at(places))
    assert all(score.calinski_harabasz is None and score.degenerate for score in clustering.scores)
    assert "degenerate" in clustering.reason
    assert adjusted_rand("aaabbb", clustering.labels) == 1.0


def test_nothing_to_cluster_is_said() -> None:
    with pytest.raises(ValueError, match="no subgoal was verified"):
        cluster([], seed=0)


def test_never_more_clusters_than_allowed() -> None:
    corpus = draw("both", n_items=120, seed=0)
    clustering = cluster(corpus.items, seed=0, max_k=5)
    assert clustering.k <= 5
    assert {score.k for score in clustering.scores} == {2, 3, 4, 5}


@pytest.mark.parametrize("n_rows", [1, 2, 5, 6, 30])
def test_every_number_of_texts_can_be_drawn(n_rows: int) -> None:
    flat = project(np.random.default_rng(0).normal(size=(n_rows, 7)), seed=0)
    assert flat.shape == (n_rows, 2)
    assert np.isfinite(flat).all()
