"""The screen parser's figures, what they count, and what its weights were learned from."""

from __future__ import annotations

import ast
import json
from importlib.resources import files
from pathlib import Path

import numpy as np

from sdg.envs.ui.boxes import TrueElement
from sdg.envs.ui.parser.detector import CARD, Detection, detect
from sdg.envs.ui.parser.screen import Screen, ScreenElement
from sdg.envs.ui.tasks import SEEN, UNSEEN
from tests.shared.parser_accuracy import Tally, match_pairs, mean_average_precision, share_read
from training.parser.detector import augment, keep, load_labelled

ROOT = Path(__file__).resolve().parents[4]
WHITE = np.full((320, 320, 3), 255, np.uint8)


def test_the_unseen_tasks_are_in_no_data_of_the_detector() -> None:
    card = json.loads((files("sdg.envs.ui.parser") / CARD).read_text(encoding="utf-8"))
    assert card["tasks"] == list(SEEN)
    assert not set(card["tasks"]) & set(UNSEEN)


def test_shipped_weights_find_an_empty_field_and_nothing_on_an_empty_screen() -> None:
    picture = WHITE.copy()
    picture[100:140, 50:150] = 118
    picture[102:138, 52:148] = 255
    detections = detect(picture)
    assert [element.kind for element in detections] == ["textbox"]
    assert match_pairs([("", detections[0].box)], [("", (50, 100, 150, 140))]) == [(0, 0)]
    assert not detect(WHITE)


def test_only_what_labels_and_judges_reads_the_dom() -> None:
    sdg = ROOT / "sdg"
    for path in set(sdg.rglob("*.py")) - set((sdg / "experiments/bench/screens").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.ImportFrom) and node.module == "sdg.envs.ui.boxes"), path


def test_what_overlaps_by_half_and_is_of_the_kind_counts_once() -> None:
    real = [("button", (0, 0, 10, 10)), ("icon", (20, 20, 30, 30))]
    assert match_pairs([("button", (0, 0, 10, 9)), ("button", (0, 1, 10, 10)), ("shape", (20, 20, 30, 30))], real) == [
        (1, 0)
    ]


def test_the_tally_counts_misses_ghosts_states_and_texts() -> None:
    tally = Tally()
    true = [
        TrueElement("checkbox", "", (0, 0, 20, 20), checked=True),
        TrueElement("icon", "star", (50, 0, 70, 20)),
        TrueElement("text", "Hello there", (0, 40, 100, 60)),
        TrueElement("button", "Ok", (0, 100, 60, 130)),
    ]
    parsed = (
        ScreenElement(1, "checkbox", "", (0, 0, 20, 20), checked=False),
        ScreenElement(2, "heart icon", "", (50, 0, 70, 20)),
        ScreenElement(3, "text", "HelIo there", (0, 40, 100, 60)),
        ScreenElement(4, "shape", "", (200, 200, 220, 220)),
    )
    tally.add(Screen(parsed), true)
    figures = tally.figures()
    assert (figures["element_f1"], figures["precision"], figures["recall"]) == (0.6667, 0.6667, 0.6667)
    assert (figures["states"], figures["text_recall"], figures["texts"]) == (0.0, 0.5, 2)
    assert share_read(TrueElement("text", "far", (200, 200, 260, 220)), parsed[:3]) == 0


def test_average_precision_is_one_for_perfect_detections_and_falls_with_surer_ghosts() -> None:
    real = [TrueElement("button", "", (0, 0, 40, 20))]
    right = Detection("button", (0, 0, 40, 20), False, False, 0.5)
    ghost = Detection("button", (100, 100, 140, 120), False, False, 0.9)
    assert mean_average_precision([((right,), real)]) == 1
    assert mean_average_precision([((right, ghost), real)]) == 0.5
    assert mean_average_precision([((), real)]) == 0


def test_labels_move_with_their_pictures(tmp_path: Path) -> None:
    picture = WHITE.copy()
    picture[100:140, 50:90] = 0
    elements = (TrueElement("shape", "", (50, 100, 90, 140)), TrueElement("icon", "", (0, 0, 8, 8)))
    sides = set()
    for seed in range(9):
        shifted, kept_elements = augment(picture, elements, np.random.default_rng(seed))
        x0, y0, x1, y1 = kept_elements[0].box
        assert (shifted[y0 + 2 : y1 - 2, x0 + 2 : x1 - 2] == 0).all()
        outside = shifted.copy()
        outside[max(y0 - 2, 0) : y1 + 2, max(x0 - 2, 0) : x1 + 2] = 255
        assert (outside == 255).all()
        sides.add(x1 - x0)
    assert min(sides) < 40 < max(sides)
    keep([(picture, elements)], tmp_path / "data.npz")
    again = load_labelled(tmp_path / "data.npz")
    assert (again[0][0] == picture).all()
    assert again[0][1] == elements
