"""A clustering that has little to do with what checks ask is let go, and that is said."""

from __future__ import annotations

import pytest

from sdg.envs.babyai.domain import BABYAI
from sdg.envs.domains import domain
from sdg.induction.induce import Discovery, InduceSettings, discover
from sdg.skills.clustering.kmeans import adjusted_rand
from sdg.skills.subgoal import CheckFunction, Experience, SkillCall, Subgoal
from tests.shared.subgoal_corpora import recorded_corpus, stand_in_corpus

BLOCKS = ("red", "green", "blue", "yellow")


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


def test_clusters_that_the_review_parts_have_names_of_their_own() -> None:
    experiences, calls = [], []
    for n in range(8):
        block, other = f"{BLOCKS[n % 4]} block", f"{BLOCKS[n % 4 - 1]} block"
        for thing, near in ((block, 0.09), (f"{block} to {other}", 0.13)):
            check = CheckFunction("check", f"def check():\n    return distance({thing!r}) <= {near}\n")
            experiences.append(Experience("x", "PushNextTo", n, len(calls), Subgoal(f"push {thing}", check), (), ()))
            calls.append(SkillCall("push", thing))
    discovery = discover(experiences, calls, InduceSettings(), seed=0, language=domain("table").language)
    assert [discovery.name(label) for label in discovery.members] == ["push", "push_2"]


def test_every_recorded_subgoal_has_a_kind_and_a_translation() -> None:
    corpus = recorded_corpus()
    assert len(corpus.items) > 100
    assert len(set(corpus.kinds)) == pytest.approx(14, abs=1)
