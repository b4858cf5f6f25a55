"""The data and figures of the guards of screens: what commands name, what is held out, what shipped guards come to."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from sdg.envs.ui.boxes import TrueElement
from sdg.envs.ui.parser.screen import parse, picture_of
from sdg.envs.ui.tasks import UNSEEN
from sdg.experiments.bench.gate.rollouts import COMPLETENESS, FEASIBILITY
from sdg.experiments.bench.gate.screen_guards import rows
from sdg.experiments.bench.gate.screens import (
    HELD_OUT,
    LEARNED,
    Named,
    Page,
    ScreenTransition,
    family,
    items,
    load,
    name_in_words,
)
from tests.shared.parser_accuracy import match_pairs
from training.pages import as_screen, named_of, save

WHITE = np.full((320, 320, 3), 255, np.uint8)


def test_the_unseen_tasks_are_in_no_data_of_the_guards() -> None:
    assert not {*LEARNED, *HELD_OUT, *(page.task for page in load())} & set(UNSEEN)


def test_held_out_kinds_share_no_variant_with_learned_ones() -> None:
    assert {family(task) for task in HELD_OUT}.isdisjoint(family(task) for task in LEARNED)
    assert {page.task for page in load()} <= set(HELD_OUT)
    assert len(HELD_OUT) > 10 < len(LEARNED)


def test_commands_name_what_is_there_once_and_absent_ones_what_is_not() -> None:
    def page(seed: int, word: str) -> Page:
        elements = [TrueElement("button", word, (0, 0, 60, 30)), TrueElement("button", "Same", (0, 40, 60, 70))]
        elements += [TrueElement("checkbox", "", (0, y, 20, y + 20)) for y in (100, 130)]
        named = named_of(elements, WHITE)
        assert [element.words for element in named] == [word, "Same"], "ticks without words can't be told apart"
        effects = tuple(
            ScreenTransition("click", name_in_words(n, np.random.default_rng(0)), n.box, n.words.encode())
            for n in named
        )
        words = "".join(element.text.lower() for element in as_screen(elements, WHITE))
        return Page("click-test", seed, b"", named, words, effects)

    judged = items([page(0, "Ok"), page(1, "No")])
    counts = Counter((item.guard, item.label) for item in judged)
    assert counts == {
        (FEASIBILITY, True): 2,
        (FEASIBILITY, False): 2,
        (COMPLETENESS, True): 4,
        (COMPLETENESS, False): 4,
    }
    for item in judged:
        if item.guard == FEASIBILITY:
            there = any(f"'{element.words}'" in item.argument for element in item.page.named)
            assert item.label is there
        elif item.label:
            after = {transition.argument: transition.after for transition in reversed(item.page.transitions)}
            assert item.after == after[item.argument]


def test_frozen_pages_are_kept_whole(tmp_path: Path) -> None:
    pages = load()[:2]
    save(pages, tmp_path / "pages.gz")
    assert load(tmp_path / "pages.gz") == pages


def test_shipped_guards_are_ahead_of_text_match_on_frozen_pages(tmp_path: Path) -> None:
    frozen = load()
    some = sorted({page.task for page in frozen if len(page.transitions) > 1})[::4]
    pages = [page for page in frozen if page.task in some]  # all of a task: what is absent from one page is on another
    save(pages, tmp_path / "pages.gz")
    by_guard = {(row["guard"], row["kind"]): row for row in rows(place=tmp_path / "pages.gz")}
    assert {kind for _, kind in by_guard} == {"rules", "learned", "majority", "text match"}
    for guard in (FEASIBILITY, COMPLETENESS):
        assert by_guard[guard, "learned"]["n"] > 10
        assert by_guard[guard, "learned"]["accuracy"] > 0.8 > by_guard[guard, "majority"]["accuracy"]


def test_the_shipped_parser_finds_what_is_named_on_frozen_pages() -> None:
    right = total = 0
    for page in load()[::8]:
        screen = parse(picture_of(page.before))
        wanted = [
            element
            for element in page.named
            if element.kind in ("button", "textbox", "checkbox", "radio", "tab", "dropdown")
        ]
        right += len(
            match_pairs(
                [(element.kind, element.box) for element in screen.elements],
                [(element.kind, element.box) for element in wanted],
            )
        )
        total += len(wanted)
    assert total > 5
    assert right / total > 0.8


def test_named_things_have_captions() -> None:
    assert Named("shape", "", "red", box=(0, 0, 9, 9)).look == "red"
    with pytest.raises(KeyError):
        name_in_words(Named("moon", "x", "", box=(0, 0, 1, 1)), np.random.default_rng(0))
