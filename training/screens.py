"""The shipped guards of screens: gathers pages in a browser, parses, trains."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sdg.console import UserError, progress
from sdg.envs.box import Box
from sdg.envs.ui.affordances import TYPE, ScreenAffordances
from sdg.envs.ui.browser import Browser, NoBrowser, what_is_missing
from sdg.envs.ui.effects import effects
from sdg.experiments.bench.gate.rollouts import COMPLETENESS, FEASIBILITY
from sdg.experiments.bench.gate.screen_guards import Parsed
from sdg.experiments.bench.gate.screens import HELD_OUT, LEARNED, Item, Page, family, items
from sdg.gate.screens import PLACE as SHIPPED
from sdg.storage import atomic_write
from training.attribution import Case, attributing
from training.pages import MADE_UP, PAGES, TRAINING_SEED, gather
from training.skills import fit_network

MADE_UP_PAGES = 450


ACTED, ACTED_AT_LEAST = 0.45, 0.2
"""Intersection over union from which a parsed element is what was acted on; of the one with most, at least."""


MOST_OF_A_KIND = 30


LEARNING: Mapping[str, Any] = {"hidden": (8,), "alpha": 10.0, "solver": "lbfgs", "max_iter": 200}
"""Small and held tight: a few hundred samples, chosen by cross-validation over the kinds that are learned from."""


def features(item: Item, parsed: Parsed) -> np.ndarray:
    """A question's features for the feasibility guard."""
    return ScreenAffordances().features({item.verb}, item.argument, parsed(item.page.before, item.page.elements))


def cases(page: Page, parsed: Parsed, *, weight: float = 1.0) -> list[Case]:
    """What came of each act on a page, seen as one that presses or, where some typed, as one that was to type it."""
    before, found = parsed(page.before, page.elements), []
    if not before.parsed:
        return []
    words = {each.argument.split("'")[1] for each in page.transitions if each.verb == TYPE}
    for each in page.transitions:
        after = parsed(each.after, each.elements)
        shares = np.array([Box(*other.box).overlap(each.box) for other in before.parsed])
        acted = np.append((shares >= ACTED) | (shares == max(shares.max(), ACTED_AT_LEAST)), False)
        if not acted.any():
            continue
        for typed in (None, *sorted(words)):
            told = effects(before.picture, after.picture, before.parsed, after.parsed, typed)
            found.append(Case(told, acted, weight / (1 + len(words))))
    return found


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
        "Made by `python -m training.screens`.",
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


if __name__ == "__main__":
    print(train())
