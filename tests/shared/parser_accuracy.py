"""How well the screen parser sees, judged by the DOM: python -m tests.shared.parser_accuracy SEED.

A row for new seeds of the tasks that the detector was trained on, and one for the 15 kinds of tasks that it never saw.
`element_f1`: elements of the detector's kinds, icons as one kind, found where the box overlaps by half (intersection
over union) and the kind is right. `map50`: mean over kinds of the average precision at the same overlap. `text_recall`:
texts of the DOM that are read where they stand, letter by letter at least 80 % the same with spaces and case aside;
`text_exact` all of them. `icons`: elements that a page names as one of the detector's icons, found by that name where
they stand. `states`: ticks and focus told right on found elements that can have them. `ms`: CPU time of
one screenshot on one thread, median and 90 %.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sdg.envs.box import Box
from sdg.envs.ui.boxes import TrueElement
from sdg.envs.ui.browser import Browser
from sdg.envs.ui.captions import alike, likeness
from sdg.envs.ui.parser.detector import Detection, detect
from sdg.envs.ui.parser.screen import FIELDS, Screen, ScreenElement, parse
from sdg.envs.ui.tasks import SEEN, UNSEEN
from training.parser.detector import gather, kind_of
from training.parser.kits import fetch

FIRST_SEED = 1_300_000
ENOUGH, READ = 0.5, 0.8
LEAST_HEIGHT = 14
"""Pixels; of a lower line too much is scrolled out of sight to be read."""
RESPONSIBLE_TA = 0.71
"""mAP of ResponsibleTA's own screen parser, on its own screens."""


def rows(*, seed: int = 0, seeds_per_task: int = 2, kits: Path | None = None) -> list[Mapping[str, Any]]:
    """A row for each kind of screens; of the kinds never trained on three times as many, UI kits from `kits` too."""
    figure_rows: list[Mapping[str, Any]] = []
    with Browser() as browser:
        for name, tasks, times in (("new seeds", SEEN, 1), ("kinds never trained on", UNSEEN, 3)):
            shots = list(
                gather(browser, tasks=tasks, per_task=times * seeds_per_task, made_up=0, seed=FIRST_SEED + seed)
            )
            figure_rows.append({"screens": name, "tasks": len(tasks)} | figures(shots))
        if kits is not None:
            pages = 20 * seeds_per_task
            more = {"tasks": (), "per_task": 0, "made_up": 0, "kit_pages": pages, "styles": fetch(kits)}
            shots = list(gather(browser, **more, held_out=True, seed=FIRST_SEED + seed))  # type: ignore[arg-type]
            figure_rows.append({"screens": "UI kits never trained on", "tasks": 0} | figures(shots))
    return figure_rows


def figures(shots: Sequence[tuple[np.ndarray, Sequence[TrueElement]]]) -> dict[str, Any]:
    """The figures over labelled screenshots."""
    parse(shots[0][0])  # loads the weights
    tallies, took, scored = Tally(), [], []
    for picture, elements in shots:
        began = time.process_time()
        screen = parse(picture)
        took.append(1000 * (time.process_time() - began))
        tallies.add(screen, elements)
        scored.append((detect(picture), elements))
    return tallies.figures() | {
        "map50": round(mean_average_precision(scored), 4),
        "map_responsible_ta": RESPONSIBLE_TA,
        "ms": round(float(np.median(took)), 1),
        "ms_p90": round(float(np.quantile(took, 0.9)), 1),
        "n": len(shots),
    }


def family(kind: str) -> str:
    """The kind that is judged: icons are one."""
    return "icon" if kind.endswith("icon") else kind


class Tally:
    """Counts over screenshots."""

    def __init__(self) -> None:
        self.hits = self.found = self.true = 0
        self.texts: list[float] = []
        self.states: list[bool] = []
        self.icons: list[bool] = []
        self.misses: dict[str, int] = {}

    def add(self, screen: Screen, elements: Sequence[TrueElement]) -> None:
        """One more screenshot."""
        real = [element for element in elements if kind_of(element) is not None]
        parsed = [element for element in screen.elements if element.kind != "text"]
        pairs = match_pairs(
            [(family(element.kind), element.box) for element in parsed],
            [(family(element.kind), element.box) for element in real],
        )
        self.hits, self.found, self.true = self.hits + len(pairs), self.found + len(parsed), self.true + len(real)
        for i, j in pairs:
            if real[j].kind in ("checkbox", "radio"):
                self.states.append(parsed[i].checked == real[j].checked)
            elif real[j].kind in FIELDS[:2]:
                self.states.append(parsed[i].focused == real[j].focused)
        for missed in set(range(len(real))) - {j for _, j in pairs}:
            self.misses[real[missed].kind] = self.misses.get(real[missed].kind, 0) + 1
        named = [(kind_of(element) or "", element.box) for element in real if str(kind_of(element)).endswith(" icon")]
        right = {j for _, j in match_pairs([(element.kind, element.box) for element in parsed], named)}
        self.icons += [j in right for j in range(len(named))]
        self.texts += [share_read(element, screen.elements) for element in elements if is_readable(element)]

    def figures(self) -> dict[str, Any]:
        """What was counted."""
        texts = np.array(self.texts)
        return {
            "element_f1": round(2 * self.hits / max(self.found + self.true, 1), 4),
            "precision": round(self.hits / max(self.found, 1), 4),
            "recall": round(self.hits / max(self.true, 1), 4),
            "text_recall": round(float((texts >= READ).mean()), 4),
            "text_exact": round(float((texts == 1).mean()), 4),
            "states": round(float(np.mean(self.states)), 4),
            "icons": round(float(np.mean(self.icons)), 4),
            "elements": self.true,
            "texts": len(texts),
            "named_icons": len(self.icons),
        }


def match_pairs(
    parsed: Sequence[tuple[str, Sequence[int]]], real: Sequence[tuple[str, Sequence[int]]]
) -> list[tuple[int, int]]:
    """Pairs (parsed, real) of the same kind that overlap enough, the closest first, each once."""
    close: list[tuple[float, int, int]] = []
    for i, (kind, box) in enumerate(parsed):
        same_kind = [(j, real_box) for j, (real_kind, real_box) in enumerate(real) if real_kind == kind]
        close += [(Box(*box).overlap(real_box), i, j) for j, real_box in same_kind]
    pairs: list[tuple[int, int]] = []
    used: set[int] = set()
    used_real: set[int] = set()
    for share, i, j in sorted(close, reverse=True):
        if share >= ENOUGH and i not in used and j not in used_real:
            used.add(i)
            used_real.add(j)
            pairs.append((i, j))
    return pairs


def is_readable(element: TrueElement) -> bool:
    """Whether an element shows words of its own that can be read whole: what is in a field may be scrolled."""
    if element.kind in ("icon", "shape", "text area", "checkbox", "radio"):
        return False
    return bool(alike(element.text)) and element.box[3] - element.box[1] >= LEAST_HEIGHT


def share_read(element: TrueElement, elements: Sequence[ScreenElement]) -> float:
    """How much of an element's words was read where it stands, in [0, 1]."""
    words, best = alike(element.text), 0.0
    x0, y0, x1, y1 = element.box
    for parsed in elements:
        a0, b0, a1, b1 = parsed.box
        if min(x1, a1) <= max(x0, a0) or min(y1, b1) <= max(y0, b0):
            continue
        parsed_words = alike(parsed.text)
        best = max(best, 1.0 if words in parsed_words else likeness(words, parsed_words))
    return best


def mean_average_precision(scored: Sequence[tuple[Sequence[Detection], Sequence[TrueElement]]]) -> float:
    """Mean over kinds of the area under precision and recall (all points), boxes overlapping by half."""
    real = [element for _, elements in scored for element in elements]
    kinds = {family(element.kind) for element in real if kind_of(element) is not None}
    return float(np.mean([_average_precision(kind, scored) for kind in sorted(kinds)]))


def _average_precision(kind: str, scored: Sequence[tuple[Sequence[Detection], Sequence[TrueElement]]]) -> float:
    marks: list[tuple[float, bool]] = []
    total = 0
    for detections, elements in scored:
        real = [element for element in elements if kind_of(element) is not None]
        real_boxes = [("", element.box) for element in real if family(element.kind) == kind]
        mine = [detection for detection in detections if family(detection.kind) == kind]
        hits = {i for i, _ in match_pairs([("", detection.box) for detection in mine], real_boxes)}
        marks += [(detection.score, i in hits) for i, detection in enumerate(mine)]
        total += len(real_boxes)
    right = np.array([hit for _, hit in sorted(marks, key=lambda mark: -mark[0])], float)
    if not len(right):
        return 0.0
    recall, precision = right.cumsum() / total, right.cumsum() / np.arange(1, len(right) + 1)
    precision = np.maximum.accumulate(precision[::-1])[::-1]
    return float(np.sum(np.diff(recall, prepend=0.0) * precision))


if __name__ == "__main__":
    for row in rows(seed=int(sys.argv[1])):
        print(json.dumps(row))
