"""A clustering that has little to do with what checks ask is let go, and that is said."""

from __future__ import annotations

import pytest

from sdg.envs.babyai.domain import BABYAI
from sdg.induction.induce import Discovery, InduceSettings, discover
from sdg.skills.clustering.kmeans import adjusted_rand
from sdg.skills.subgoal import Experience
from tests.shared.subgoal_corpora import recorded_corpus, stand_in_corpus


def discover_stand_ins(text: str) -> tuple[Discovery, float]:
    corpus = stand_in_corpus(n_items=60, seed=0)
    experiences = [Experience("x", "Open", 0, n, item.subgoal, (), ()) for n, item in enumerate(corpus.items)]
    discovery = discover(
        experiences, [item.call for item in corpus.items], InduceSettings(text=text), seed=0, language=BABYAI.language
    )
    return discovery, adjusted_rand(corpus.kinds, discovery.reviewed.labels)


def test_names_alone_are_let_go_and_the_default_is_not() -> None:
    bad, right = discover_stand_ins("api")
    assert "let go" in bad.doubt
    assert bad.to_json()["doubt"] == bad.doubt
    assert right > 0.7
    good, _ = discover_stand_ins("mix")
    assert good.doubt == ""


def test_every_recorded_subgoal_has_a_kind_and_a_translation() -> None:
    corpus = recorded_corpus()
    assert len(corpus.items) > 100
    assert len(set(corpus.kinds)) == pytest.approx(14, abs=1)
