"""The guards for screens: trained on pages of some kinds of tasks and measured on the frozen pages of others.

sdg train-guards --world ui       learns again: gathers pages in a browser, parses, trains
sdg bench gate --world ui         figures of the shipped guards on kinds of tasks that they never saw
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sdg.console import UserError, progress
from sdg.envs.perception import Observation
from sdg.envs.ui.affordances import CLICK, TYPE, ScreenAffordances, SeenScreen, asked_for, place_of, resolve
from sdg.envs.ui.browser import Browser, NoBrowser, what_is_missing
from sdg.envs.ui.effects import effects
from sdg.envs.ui.parser.detector import overlap
from sdg.envs.ui.parser.screen import ScreenElement, parse, picture_of
from sdg.experiments.gate_training.attribution import Case, attributing
from sdg.experiments.gate_training.figures import figures
from sdg.experiments.gate_training.rollouts import COMPLETENESS, FEASIBILITY, chance
from sdg.experiments.gate_training.screens import (
    HELD_OUT,
    LEARNED,
    MADE_UP,
    PAGES,
    PLACE,
    TRAINING_SEED,
    Item,
    Page,
    family,
    gather,
    items,
    load,
)
from sdg.experiments.gate_training.training import fit_network
from sdg.gate.registry import gate_of
from sdg.gate.rules import Usage
from sdg.gate.screens import PLACE as SHIPPED
from sdg.gate.screens import ScreenGuard
from sdg.gate.verdict import Command, Gate
from sdg.storage import atomic_write

MADE_UP_PAGES = 450
ACTED, ACTED_AT_LEAST = 0.45, 0.2
"""Intersection over union from which a parsed element is what was acted on; of the one with most, at least."""
MOST_OF_A_KIND = 30
LEARNING: Mapping[str, Any] = {"hidden": (8,), "alpha": 10.0, "solver": "lbfgs", "max_iter": 200}
"""Small and held tight: a few hundred samples, chosen by cross-validation over the kinds that are learned from."""
PAPER_LOCATED = 0.51
"""mIoU of ResponsibleTA's own models."""
GUARDS = ("rules", "learned")


class Parsed:
    """Screens by their PNG, each parsed once; true elements, where they are known, are taken instead."""

    def __init__(self) -> None:
        self._known: dict[bytes, SeenScreen] = {}

    def __call__(self, png: bytes, elements: Sequence[ScreenElement] = ()) -> SeenScreen:
        """The screen of a PNG."""
        if png not in self._known:
            picture = picture_of(png)
            self._known[png] = SeenScreen(picture, elements or parse(picture).elements)
        return self._known[png]


def features(item: Item, parsed: Parsed) -> np.ndarray:
    """What the guard of feasibility learns of a question."""
    return ScreenAffordances().features({item.verb}, item.argument, parsed(item.page.before, item.page.elements))


def cases(page: Page, parsed: Parsed, *, weight: float = 1.0) -> list[Case]:
    """What came of each act on a page, seen as one that presses or, where some typed, as one that was to type it."""
    before, found = parsed(page.before, page.elements), []
    if not before.parsed:
        return []
    words = {each.argument.split("'")[1] for each in page.transitions if each.verb == TYPE}
    for each in page.transitions:
        after = parsed(each.after, each.elements)
        shares = np.array([overlap(other.box, each.box) for other in before.parsed])
        acted = np.append((shares >= ACTED) | (shares == max(shares.max(), ACTED_AT_LEAST)), False)
        if not acted.any():
            continue
        for typed in (None, *sorted(words)):
            told = effects(before.picture, after.picture, before.parsed, after.parsed, typed)
            found.append(Case(told, acted, weight / (1 + len(words))))
    return found


def text_match(item: Item, parsed: Parsed) -> float:
    """The plain baseline, 1 for yes: the words asked for are on the screen, exactly; after typing, the typed ones."""
    before = parsed(item.page.before)
    phrase = asked_for({item.verb}, item.argument, before.parsed)[0]
    if item.after is None:
        return float(_says(phrase.words or phrase.kind, before))
    if phrase.typed:
        return float(_says(phrase.typed, parsed(item.after)))
    return float(_says(phrase.words or phrase.kind, parsed(item.after)))


def _says(words: str, screen: SeenScreen) -> bool:
    return any(words.lower() in (each.text or each.name).lower() for each in screen.parsed)


def located_overlap(item: Item, parsed: Parsed) -> float:
    """Intersection over union of the box that is found for a command and the true one."""
    assert item.box is not None
    found = place_of({item.verb}, item.argument, parsed(item.page.before).parsed)
    return overlap(found, item.box) if found else 0.0


def train(*, to: Path | None = None, seed: int = 0) -> Path:
    """Gather pages, train both guards and write them; the file. Raises UserError where there is no browser."""
    return learn(_gathered(), to=to, seed=seed)


def learn(pages: Sequence[Page], *, to: Path | None = None, seed: int = 0, parsed: Parsed | None = None) -> Path:
    """Train both guards on pages and write them; the file."""
    parsed, questions = parsed or Parsed(), [item for item in items(pages, seed=seed) if item.guard == FEASIBILITY]
    rows: dict[tuple[str, int], list[dict[str, Any]]] = {}
    with progress().stage("screens", total=len(questions), unit="question") as stage:
        for item in questions:
            row = {"verb": item.guard, "features": features(item, parsed), "label": item.label}
            rows.setdefault((item.page.task, item.page.seed), []).append(row)
            stage.advance()
    feasibility = fit_network(list(rows.values()), FEASIBILITY, seed=seed, **LEARNING)
    acts = Counter(family(page.task) for page in pages for _ in page.transitions)
    seen = [case for page in pages for case in cases(page, parsed, weight=_weight(page.task, acts))]
    networks = {FEASIBILITY: feasibility, COMPLETENESS: attributing(seen, seed=seed)}
    card = {
        "about": "Feasibility and completeness of commands on screens, from pixels and parsed elements. "
        "Made by `sdg train-guards --world ui`.",
        "pages": len(pages),
        "tasks": sorted({page.task for page in pages}),
        "held_out": list(HELD_OUT),
        "seed": seed,
        "samples": {FEASIBILITY: len(questions), COMPLETENESS: sum(len(page.transitions) for page in pages)},
    }
    target = to or SHIPPED
    atomic_write(target, json.dumps({"card": card} | {verb: net.plain() for verb, net in networks.items()}) + "\n")
    return target


def _weight(task: str, acts: Mapping[str, int]) -> float:
    """Of an act: kinds of tasks with many count together as much as `MOST_OF_A_KIND` of them."""
    return 1.0 if task == MADE_UP else 1.5 * min(1.0, MOST_OF_A_KIND / acts[family(task)])


def _gathered() -> list[Page]:
    if missing := what_is_missing():
        raise UserError(f"screens need {missing}")
    try:
        with Browser() as browser, progress().stage("pages", total=PAGES * len(LEARNED), unit="page") as stage:
            found = []
            for page in gather(browser, LEARNED, made_up=MADE_UP_PAGES, seed=TRAINING_SEED):
                found.append(page)
                if page.task != MADE_UP:
                    stage.advance()
            return found
    except NoBrowser as error:
        raise UserError(str(error)) from None


def rows(*, seed: int = 0, place: Path = PLACE, guards: Mapping[str, Gate] | None = None) -> list[Mapping[str, Any]]:
    """A row for each guard and kind, from frozen pages; `ms` is the CPU time of a verdict beside the parsing."""
    questions, parsed = items(load(place), seed=seed), Parsed()
    judges = guards or {"rules": _rules(), "learned": ScreenGuard()}
    found: list[Mapping[str, Any]] = []
    for verb in (FEASIBILITY, COMPLETENESS):
        held = [item for item in questions if item.guard == verb]
        labels = np.array([item.label for item in held])
        groups = np.array([f"{item.page.task}/{item.page.seed}" for item in held])
        told, took = {"majority": np.full(len(held), 0.51)}, {}
        told["text match"] = np.array([text_match(item, parsed) for item in held])
        for kind, guard in judges.items():
            told[kind], took[kind] = _chances(guard, held, parsed)
        extra: dict[str, Any] = {}
        if verb == FEASIBILITY:
            shares = [located_overlap(item, parsed) for item in held if item.box is not None]
            extra = {"miou": round(float(np.mean(shares)), 4), "miou_paper": PAPER_LOCATED}
        for kind in (*judges, "majority", "text match"):
            about = {"world": "ui", "guard": verb, "kind": kind}
            row = about | figures(labels, told[kind], groups, against=told["text match"])
            found.append(row | (extra | {"ms": round(took[kind], 2)} if kind == "learned" else {}))
    return found


def _rules() -> Gate:
    usages = {verb: Usage(needs_seen_target=True, asks=frozenset({verb})) for verb in (CLICK, TYPE)}
    return gate_of(["rules"], usages=usages, resolve=resolve, affordances=ScreenAffordances())  # type: ignore[arg-type]


def _chances(guard: Gate, held: Sequence[Item], parsed: Parsed) -> tuple[np.ndarray, float]:
    """The chances that a guard gives, and the median CPU time of a verdict in milliseconds."""
    chances, took = [], []
    for item in held:
        command, before = Command(item.verb, item.argument), observe_screen(parsed(item.page.before))
        after = observe_screen(parsed(item.after)) if item.after is not None else None
        began = time.process_time()
        verdict = guard.complete(command, before, after) if after else guard.feasible(command, before)
        took.append(1000 * (time.process_time() - began))
        chances.append(chance(verdict))
    return np.array(chances), float(np.median(took))


def observe_screen(screen: SeenScreen) -> Observation:
    """A screen as a guard is shown it."""
    return Observation(screen.describe(), screen.picture, tuple(screen.parsed), screen)
