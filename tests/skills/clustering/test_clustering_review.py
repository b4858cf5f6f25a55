"""Clusters that mix meanings are split, twins are merged, leftovers are rejected, and each act is told."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from sdg.envs.table.domain import TABLE
from sdg.skills.clustering.embedding import ClusterItem
from sdg.skills.clustering.kmeans import REJECTED, adjusted_rand
from sdg.skills.clustering.review import meanings, review
from sdg.skills.subgoal import CheckFunction, SkillCall, Subgoal
from tests.shared.subgoal_corpora import draw

SEEN = "def f():\n    return len(find_objects('{x}')) > 0\n"
HELD = "def f():\n    return any(o.held and o.picked_up_at > get_start_steps() for o in find_objects('{x}'))\n"
CARRYING = (
    "def f():\n    c = get_carried()\n    if c is None or c.picked_up_at > get_start_steps():\n        return False\n"
    "    return len(find_objects('{x}')) > 0\n"
)


def an_item(api: str, argument: str, check: str) -> ClusterItem:
    return ClusterItem(
        SkillCall(api, argument), Subgoal(f"{api} the {argument}", CheckFunction("f", check.format(x=argument)))
    )


def test_a_cluster_of_two_meanings_is_split() -> None:
    items = [an_item("find", "red ball", SEEN), an_item("take", "red key", HELD)] * 3
    reviewed = review(items, [0] * 6)
    assert reviewed.labels == (0, 1, 0, 1, 0, 1)
    (decision,) = reviewed.decisions
    assert decision.action == "split"
    assert "'find the red ball'" in decision.reason
    assert "'take the red key'" in decision.reason


def test_still_carrying_is_no_other_meaning() -> None:
    items = [an_item("find", "red ball", SEEN), an_item("spot", "blue key", CARRYING)] * 2
    assert review(items, [0] * 4) == review(items, [0] * 4)
    assert review(items, [0] * 4).labels == (0, 0, 0, 0)
    assert review(items, [0] * 4).decisions == ()


def test_twins_are_merged_but_doors_stay_with_doors() -> None:
    things = [an_item("find", "red ball", SEEN), an_item("spot", "blue ball", SEEN)]
    doors = [an_item("find_door", "red door", SEEN)] * 2
    reviewed = review([*things, *things, *doors], [0, 1, 0, 1, 2, 2])
    assert reviewed.labels == (0, 0, 0, 0, 1, 1)
    assert [decision.action for decision in reviewed.decisions] == ["merge"]


def test_a_thing_and_a_pair_are_two_skills_though_they_are_checked_alike() -> None:
    near = "def f():\n    return distance('{x}') <= 0.1\n"
    touch = [an_item("touch", "red block", near), an_item("touch", "blue block", near)]
    push = [an_item("push", "red block to blue block", near), an_item("push", "blue block to red spot", near)]
    items, labels = [*touch, *push], [0, 0, 1, 1]
    assert review(items, labels).labels == (0, 0, 0, 0)
    assert review(items, labels, argument_kind=lambda said: " to " in said).labels == (0, 0, 1, 1)
    assert review(items, [0] * 4).labels == (0, 0, 0, 0)
    assert review(items, [0] * 4, relation=TABLE.language.relation).labels == (0, 0, 1, 1)


def test_too_small_clusters_are_rejected() -> None:
    items = [an_item("find", "red ball", SEEN)] * 3 + [an_item("take", "red key", HELD)]
    reviewed = review(items, [0, 0, 0, 1])
    assert reviewed.labels == (0, 0, 0, REJECTED)
    assert reviewed.decisions[0].action == "reject"
    assert reviewed.k == 1


def test_one_name_is_one_meaning_however_it_is_checked() -> None:
    other = "def f():\n    return any(o.name == '{x}' for o in get_observed_objects())\n"
    items = [an_item("find", "red ball", SEEN), an_item("find", "red ball", other), an_item("spot", "red key", other)]
    assert meanings(items) == [[0, 1, 2]]


def test_labels_must_fit() -> None:
    with pytest.raises(ValueError, match="1 items but 2 labels"):
        review([an_item("find", "red ball", SEEN)], [0, 0])


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(-1, 4), max_size=30), st.integers(1, 3))
def test_every_item_is_placed_or_rejected(labels: list[int], min_members: int) -> None:
    items = draw("both", n_items=max(len(labels), 1), seed=0).items[: len(labels)]
    reviewed = review(items, labels, min_members=min_members)
    assert len(reviewed.labels) == len(labels)
    labels_kept = [label for label in reviewed.labels if label != REJECTED]
    assert set(labels_kept) == set(range(reviewed.k))
    assert all(labels_kept.count(label) >= min_members for label in set(labels_kept))
    assert list(dict.fromkeys(labels_kept)) == sorted(set(labels_kept))
    assert all(new == REJECTED for old, new in zip(labels, reviewed.labels, strict=True) if old == REJECTED)


def test_a_random_clustering_is_mended() -> None:
    corpus = draw("tuning", n_items=110, seed=0)
    jumbled = [n % 5 for n in range(110)]
    assert adjusted_rand(corpus.kinds, review(corpus.items, jumbled).labels) > 0.4
