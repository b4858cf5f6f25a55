"""The shipped guards of screens: gathers pages in a browser, parses, trains."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sdg.console import progress
from sdg.envs.box import Box
from sdg.envs.ui.affordances import TYPE, ScreenAffordances
from sdg.envs.ui.browser import Browser, NoBrowser, what_is_missing
from sdg.envs.ui.effects import effects
from sdg.errors import UserError
from sdg.experiments.bench.gate.rollouts import COMPLETENESS, FEASIBILITY
from sdg.experiments.bench.gate.screen_guards import Parsed
from sdg.experiments.bench.gate.screens import HELD_OUT, LEARNED, Item, Page, family, items
from sdg.gate.screens import PLACE as SHIPPED
from sdg.storage import atomic_write
from training.attribution import Case, fit_attribution
from training.pages import MADE_UP, PAGES, TRAINING_SEED, gather
from training.skills import fit_network

MADE_UP_PAGES = 450
ACTED, ACTED_AT_LEAST = 0.45, 0.2
"""Overlap with the box of the target from which a parsed element is the target; least overlap of the best one."""
MOST_OF_A_KIND = 30
LEARNING: Mapping[str, Any] = {"hidden": (8,), "alpha": 10.0, "solver": "lbfgs", "max_iter": 200}
"""Small and held tight: a few hundred samples, chosen by cross-validation over the kinds that are learned from."""


def features(item: Item, parsed: Parsed) -> np.ndarray:
    """A question's features for the feasibility guard."""
    return ScreenAffordances().features({item.verb}, item.argument, parsed(item.page.before, item.page.elements))


def cases(page: Page, parsed: Parsed, *, weight: float = 1.0) -> list[Case]:
    """The outcome of each act on a page, taken as that of a click and of typing each text that some act there typed."""
    before = parsed(page.before, page.elements)
    if not before.parsed:
        return []
    words = {act.argument.split("'")[1] for act in page.transitions if act.verb == TYPE}
    page_cases = []
    for act in page.transitions:
        after = parsed(act.after, act.elements)
        shares = np.array([Box(*element.box).overlap(act.box) for element in before.parsed])
        acted = np.append((shares >= ACTED) | (shares == max(shares.max(), ACTED_AT_LEAST)), False)
        if not acted.any():
            continue
        for typed in (None, *sorted(words)):
            rows = effects(before.picture, after.picture, before.parsed, after.parsed, typed)
            page_cases.append(Case(rows, acted, weight / (1 + len(words))))
    return page_cases


def cases_of_all(pages: Sequence[Page], parsed: Parsed) -> list[Case]:
    """The cases of all pages, none of a kind that nobody acted on; kinds with many acts weigh less in each."""
    acts = Counter(family(page.task) for page in pages for _ in page.transitions)
    return [case for page in pages for case in cases(page, parsed, weight=_weight(page.task, acts))]


def train(*, to: Path | None = None, seed: int = 0) -> Path:
    """Gather pages, train both guards and write them; the file. Raises UserError where there is no browser."""
    return learn(_gather_pages(), to=to, seed=seed)


def learn(pages: Sequence[Page], *, to: Path | None = None, seed: int = 0, parsed: Parsed | None = None) -> Path:
    """Train both guards on pages and write them; the file."""
    parsed = parsed or Parsed()
    questions = [item for item in items(pages, seed=seed) if item.guard == FEASIBILITY]
    rows: dict[tuple[str, int], list[dict[str, Any]]] = {}
    with progress().stage("screens", total=len(questions), unit="question") as stage:
        for item in questions:
            row = {"verb": item.guard, "features": features(item, parsed), "label": item.label}
            rows.setdefault((item.page.task, item.page.seed), []).append(row)
            stage.advance()
    feasibility = fit_network(list(rows.values()), FEASIBILITY, seed=seed, **LEARNING)
    networks = {FEASIBILITY: feasibility, COMPLETENESS: fit_attribution(cases_of_all(pages, parsed), seed=seed)}
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
    stored = {"card": card} | {verb: network.to_json() for verb, network in networks.items()}
    atomic_write(target, json.dumps(stored) + "\n")
    return target


def _weight(task: str, acts: Mapping[str, int]) -> float:
    """Of an act: all acts of a frequent kind of tasks together count as much as `MOST_OF_A_KIND`."""
    return 1.0 if task == MADE_UP else 1.5 * min(1.0, MOST_OF_A_KIND / max(acts[family(task)], 1))


def _gather_pages() -> list[Page]:
    if missing := what_is_missing():
        raise UserError(f"screens need {missing}")
    try:
        with Browser() as browser, progress().stage("pages", total=PAGES * len(LEARNED), unit="page") as stage:
            pages = []
            for page in gather(browser, LEARNED, made_up=MADE_UP_PAGES, seed=TRAINING_SEED):
                pages.append(page)
                if page.task != MADE_UP:
                    stage.advance()
            return pages
    except NoBrowser as error:
        raise UserError(str(error)) from None


if __name__ == "__main__":
    print(train())
