"""The guards for screens, measured on frozen pages of kinds of tasks that they never saw.

python -m training.screens     learns again: gathers pages in a browser, parses, trains
sdg bench gate --world ui                 figures of the shipped guards
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sdg.envs.box import Box
from sdg.envs.ui.affordances import CLICK, TYPE, ScreenAffordances, SeenScreen, asked_for, box_meant, resolve
from sdg.envs.ui.parser.screen import ScreenElement, parse, picture_of
from sdg.envs.world import Observation, PlainObservation
from sdg.experiments.bench.gate.figures import figures
from sdg.experiments.bench.gate.rollouts import COMPLETENESS, FEASIBILITY, chance
from sdg.experiments.bench.gate.screens import PLACE, Item, items, load
from sdg.gate.executor import Command, GateGuard
from sdg.gate.registry import gate_of
from sdg.gate.rules import Usage
from sdg.gate.screens import ScreenGuard

PAPER_LOCATED = 0.51
"""mIoU of ResponsibleTA's own models."""


class Parsed:
    """Screens by their PNG, each parsed once; true elements, where known, replace the parser's."""

    def __init__(self) -> None:
        self._screens: dict[bytes, SeenScreen] = {}

    def __call__(self, png: bytes, elements: Sequence[ScreenElement] = ()) -> SeenScreen:
        """The screen of a PNG."""
        if png not in self._screens:
            picture = picture_of(png)
            self._screens[png] = SeenScreen(picture, elements or parse(picture).elements)
        return self._screens[png]


def text_match(item: Item, parsed: Parsed) -> float:
    """The plain baseline, 1 for yes: the wanted words, or after typing the typed ones, are on the screen exactly."""
    before = parsed(item.page.before)
    phrase = asked_for({item.verb}, item.argument, before.parsed)[0]
    typed = None if item.after is None else phrase.typed
    words = (typed or phrase.words or phrase.kind).lower()
    screen = before if item.after is None else parsed(item.after)
    return float(any(words in (element.text or element.name).lower() for element in screen.parsed))


def located_overlap(item: Item, parsed: Parsed) -> float:
    """Intersection over union of the box found for a command and the true box."""
    assert item.box is not None
    box = box_meant({item.verb}, item.argument, parsed(item.page.before).parsed)
    return Box(*item.box).overlap(box) if box else 0.0


def rows(*, seed: int = 0, place: Path = PLACE) -> Iterator[Mapping[str, Any]]:
    """A row for each guard and kind, from frozen pages; `ms` is a verdict's CPU time without the parsing."""
    questions = items(load(place), seed=seed)
    screens = Parsed()
    usages = {verb: Usage(needs_seen_target=True, asks=frozenset({verb})) for verb in (CLICK, TYPE)}
    rules = gate_of(["rules"], usages=usages, resolve=resolve, affordances=ScreenAffordances())  # type: ignore[arg-type]
    judges: Mapping[str, GateGuard] = {"rules": rules, "learned": ScreenGuard()}
    for verb in (FEASIBILITY, COMPLETENESS):
        subset = [item for item in questions if item.guard == verb]
        labels = np.array([item.label for item in subset])
        groups = np.array([f"{item.page.task}/{item.page.seed}" for item in subset])
        chances, times = {"majority": np.full(len(subset), 0.51)}, {}
        chances["text match"] = np.array([text_match(item, screens) for item in subset])
        for kind, guard in judges.items():
            chances[kind], times[kind] = _chances(guard, subset, screens)
        for kind in (*judges, "majority", "text match"):
            row: dict[str, Any] = {"world": "ui", "guard": verb, "kind": kind}
            row |= figures(labels, chances[kind], groups, against=chances["text match"])
            if kind == "learned" and verb == FEASIBILITY:
                shares = [located_overlap(item, screens) for item in subset if item.box is not None]
                row |= {"miou": round(float(np.mean(shares)), 4), "miou_paper": PAPER_LOCATED}
            if kind == "learned":
                row["ms"] = round(times[kind], 2)
            yield row


def _chances(guard: GateGuard, subset: Sequence[Item], screens: Parsed) -> tuple[np.ndarray, float]:
    """The chances that a guard gives, and the median CPU time of a verdict in milliseconds."""
    chances, times = [], []
    for item in subset:
        command = Command(item.verb, item.argument)
        before = observe_screen(screens(item.page.before))
        after = observe_screen(screens(item.after)) if item.after is not None else None
        began = time.process_time()
        verdict = guard.complete(command, before, after) if after else guard.feasible(command, before)
        times.append(1000 * (time.process_time() - began))
        chances.append(chance(verdict))
    return np.array(chances), float(np.median(times))


def observe_screen(screen: SeenScreen) -> Observation:
    """A screen as a guard observes it."""
    return PlainObservation(screen.describe(), screen.picture, tuple(screen.parsed), screen)
