"""What was learned of privacy: words and facts, what is hidden whatever was learned, and that it fails closed."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from sdg.experiments.bench.gate.privacy import LabelledText, masking, read_sets
from sdg.privacy import tagger
from sdg.privacy.recognisers import PrivacyError, Span, find, recognisers_of
from sdg.privacy.tagger import ANY, SIZE, chances_of, evidence, facts, hash_facts, spans_of, tokens
from training.text import vary_values

TEXTS = [example.text for example in read_sets()["first"][:40]]


@pytest.mark.parametrize("text", [*TEXTS, "", " ", "é́ \n\t", "a.b.c...", "''''", "“Ann’s”", "x" * 500, "\udcff Ann"])
def test_words_cover_all_but_blanks_and_have_facts(text: str) -> None:
    words = tokens(text)
    assert [text[start:end] for start, end in words] == [text[start:end] for start, end in sorted(set(words))]
    assert "".join(text[a:b] for a, b in words) == "".join(text.split())
    word_facts = facts(text, words, [])
    assert len(word_facts) == len(words)
    assert all(ANY in facts and all(0 <= n < SIZE for n in hash_facts(facts)) for facts in word_facts)


def test_what_is_likely_in_one_place_is_hidden_in_every_other() -> None:
    text = "Tell Bo Quist. quist again"
    words = tokens(text)
    word_facts = facts(text, words, [])
    its_own = set(word_facts[2]).difference(*(facts for number, facts in enumerate(word_facts) if number != 2))
    learned = np.zeros(SIZE, np.float32)
    learned[hash_facts([ANY])] = -5
    learned[hash_facts(its_own)] = 1
    chances = chances_of(text, words, [], learned)
    names = [text[span.start : span.end] for span in spans_of(text, words, [], chances)]
    assert names == ["Quist", "quist"]


def test_what_a_pattern_is_sure_of_is_hidden_whatever_was_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Pay with 4111 1111 1111 1111 and write to ann@example.com"
    monkeypatch.setattr(tagger, "weights", lambda: np.full(SIZE, -1, np.float32))
    hidden = {text[span.start : span.end] for span in find(text, (tagger.tag,))}
    assert hidden == {"4111 1111 1111 1111", "ann@example.com"}
    assert any(span.score >= tagger.SURE for span in evidence(text))


@pytest.mark.parametrize("stored", [b"", b"not weights", "few", "infinite"])
def test_weights_that_cannot_be_read_let_nothing_through(
    stored: bytes | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "weights.npz"
    if isinstance(stored, bytes):
        place.write_bytes(stored)
    else:
        np.savez(place, weights=np.full(7 if stored == "few" else SIZE, np.inf))
    monkeypatch.setattr(tagger, "SHIPPED", place)
    tagger.weights.cache_clear()
    try:
        with pytest.raises(PrivacyError, match="nothing was sent"):
            find("Tell Ann that her code is 4711", recognisers_of())
    finally:
        tagger.weights.cache_clear()


def test_values_are_swapped_for_others_of_their_kind() -> None:
    ann = LabelledText("Tell Ann, yes Ann, 4711", (Span(5, 8, "name"), Span(14, 17, "name"), Span(19, 23, "pin")))
    bo = LabelledText("ask Bo 0815", (Span(4, 6, "first"), Span(7, 11, "pin")))
    for example in vary_values([ann, bo], rng=random.Random(1)):
        values = [example.text[span.start : span.end] for span in example.values]
        assert set(values) <= {"Ann", "Bo", "4711", "0815"}
        assert [name for name in values if name.isalpha()].count(values[0]) == (2 if len(values) == 3 else 1)


def test_what_is_shipped_hides_what_a_hand_wrote_that_it_never_saw() -> None:
    [row] = masking(names=("another hand",))
    assert row["n"] == 500
    assert row["masked"] > 0.95
    assert row["over_masked"] < 0.04


@pytest.mark.parametrize("text", ["Go to View history", "Read Edit View history", "text 'View history'", "Read, Tools"])
def test_words_of_screens_are_nobodys_names(text: str) -> None:
    assert not find(text, recognisers_of())
