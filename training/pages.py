"""Gathering pages for screens' guards in a browser: commands on them, and the outcome of each."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from sdg.envs.ui.affordances import CLICK, TYPE
from sdg.envs.ui.boxes import TrueElement, lies_in, true_elements
from sdg.envs.ui.browser import Browser, PageError
from sdg.envs.ui.captions import Caption, alike, alike_page, caption_of
from sdg.envs.ui.commands import SCREEN, ScreenCommand
from sdg.envs.ui.parser.detector import ICONS
from sdg.envs.ui.parser.screen import FIELDS, ScreenElement, colour_of, picture_of
from sdg.experiments.bench.gate.screens import (
    HELD_OUT,
    PLACE,
    WORDS,
    Named,
    Page,
    ScreenTransition,
    _key,
    name_in_words,
)
from training.parser.lively import LIVELY
from training.parser.pages import made_up_page

TRAINING_SEED, EVALUATION_SEED = 1_100_000, 1_200_000
MOST_CHARACTERS = 40
"""Of a caption that commands are written from; longer ones are prose."""
MADE_UP = "made up"
"""The task of a page that `made_up_page` makes."""
PAGES, TRIES, TRANSITIONS = 8, 10, 6


def named_of(elements: Sequence[TrueElement], picture: np.ndarray) -> tuple[Named, ...]:
    """The elements that commands can name without doubt: no other one of the page has their caption."""
    screen = as_screen(elements, picture)
    captions = [caption_of(element, screen) for element in screen]
    keys = [_key(caption) for caption in captions]
    return tuple(
        Named(caption.kind, caption.words, caption.look, box=element.box)
        for element, caption, key in zip(screen, captions, keys, strict=True)
        if keys.count(key) == 1 and _is_sayable(caption)
    )


def as_screen(elements: Sequence[TrueElement], picture: np.ndarray) -> tuple[ScreenElement, ...]:
    """True elements as a perfect parser would give them, links told apart from text."""
    screen: list[ScreenElement] = []
    holders = [element.box for element in elements if element.kind in ("button", "link", "tab")]
    for element in elements:
        kind, text, look, box = element.kind, element.text, "", element.box
        if kind == "text" and any(lies_in(box, holder) for holder in holders):
            continue
        if kind == "icon":
            kind, text = (f"{text} icon" if text in ICONS else "icon"), ""
        elif kind == "shape" and re.match(r"rgb|none|#|url|$", text):
            text, look = "", colour_of(picture, box)
        elif kind == "shape":  # it is drawn with letters
            kind = "text"
        screen.append(ScreenElement(len(screen) + 1, kind, text, box, element.checked, element.focused, look))
    return tuple(screen)


def _is_sayable(caption: Caption) -> bool:
    if caption.kind == "icon":
        return bool(caption.words)
    if caption.kind == "shape":
        return caption.look not in ("", "white")
    if caption.kind in FIELDS[:2] and not caption.words:
        return True
    return bool(alike(caption.words)) and len(caption.words) <= MOST_CHARACTERS and "'" not in caption.words


def gather(
    browser: Browser, tasks: Sequence[str], *, pages: int = PAGES, made_up: int = 0, seed: int
) -> Iterator[Page]:
    """Pages of tasks, then made-up ones, with commands that had a visible effect. Pages that break are left out."""
    plan = [(task, seed + number) for task in tasks for number in range(pages)]
    plan += [(MADE_UP, seed + number) for number in range(made_up)]
    for task, page_seed in plan:
        try:
            yield _page(browser, task, page_seed)
        except PageError:
            continue


def _page(browser: Browser, task: str, seed: int) -> Page:
    rng = np.random.default_rng(seed)
    lead = _open_first(browser, task, seed, rng)
    before, elements = browser.screenshot(), true_elements(browser)
    picture = picture_of(before)
    named = named_of(elements, picture)
    order = sorted(rng.permutation(len(named)), key=lambda i: named[i].kind == "text")
    words = str(rng.choice(WORDS))
    transitions: dict[Any, ScreenTransition] = {}
    for target in [named[i] for i in order[:TRIES]]:
        _open_page(browser, task, seed, lead)
        types = target.kind in FIELDS[:2] and rng.random() < 0.7
        _act(browser, target, words if types else "")
        after = browser.screenshot()
        if _is_over(browser, task) or not _shows(picture, picture_of(after), target.box):
            continue
        phrase, elements_after = name_in_words(target, rng), true_elements(browser)
        verb, argument = (TYPE, f"'{words}' into {phrase}") if types else (CLICK, phrase)
        outcome = _outcome_of(elements_after)
        if outcome in transitions:  # a label does what its tick does: after one, the other isn't incomplete
            continue
        parsed_after = parsed_like(elements_after, picture_of(after)) if task == MADE_UP else ()
        transitions[outcome] = ScreenTransition(verb, argument, target.box, after, parsed_after)
        if len(transitions) == TRANSITIONS:
            break
    parsed = parsed_like(elements, picture) if task == MADE_UP else ()
    texts = alike_page(as_screen(elements, picture))
    return Page(task, seed, before, named, texts, tuple(transitions.values()), parsed)


def _open_first(browser: Browser, task: str, seed: int, rng: np.random.Generator) -> Named | None:
    """Open a page, at times with a first click that doesn't end the task: return its target."""
    named = _open_page(browser, task, seed, None)
    lead = None
    if named and rng.random() < 0.5:
        lead = named[int(rng.integers(len(named)))]
    _open_page(browser, task, seed, lead)
    if _is_over(browser, task):
        lead = None
        _open_page(browser, task, seed, lead)
    return lead


def _outcome_of(elements: Sequence[TrueElement]) -> tuple[Any, ...]:
    """The elements in any order, and the box of the field that has the focus."""
    rows = sorted((element.kind, element.text, element.box, element.checked) for element in elements)
    fields = (element for element in elements if element.kind in FIELDS)
    return tuple(rows), next((field.box for field in fields if field.focused), ())


def parsed_like(elements: Sequence[TrueElement], picture: np.ndarray) -> tuple[ScreenElement, ...]:
    """True elements as the parser gives them: links are text, and ticks and icons have none."""
    return tuple(_as_parsed(element) for element in as_screen(elements, picture))


def _as_parsed(element: ScreenElement) -> ScreenElement:
    if element.kind == "link":
        return replace(element, kind="text")
    if element.kind in ("checkbox", "radio") or element.kind.endswith("icon"):
        return replace(element, text="")
    return element


def _open_page(browser: Browser, task: str, seed: int, lead: Named | None) -> tuple[Named, ...]:
    """A task's page after a first click on `lead`; what can be named on it without one."""
    if task == MADE_UP:
        browser.page.mouse.move(0, 0)
        browser.show(made_up_page(seed))
        browser.page.evaluate("() => { window.WOB_TASK_READY = true }")  # it is what `settle` waits for
        browser.page.evaluate(LIVELY, seed + 1)
    else:
        browser.begin(task, seed)
    if lead is not None:
        _act(browser, lead, "")
        return ()
    return named_of(true_elements(browser), np.full((SCREEN, SCREEN, 3), 255, np.uint8))


def _is_over(browser: Browser, task: str) -> bool:
    return task != MADE_UP and bool(browser.state()["done"])


def _act(browser: Browser, target: Named, words: str) -> None:
    x0, y0, x1, y1 = target.box
    middle = min((x0 + x1) // 2, SCREEN - 1), min((y0 + y1) // 2, SCREEN - 1)
    browser.perform(ScreenCommand("CLICK_COORDS", middle))
    if words:
        browser.perform(ScreenCommand("TYPE_TEXT", words))


def _shows(before: np.ndarray, after: np.ndarray, box: Sequence[int]) -> bool:
    """Whether pictures show an effect: around the target's box, or on a good part of the screen."""
    changed = (np.abs(before.astype(np.int16) - after) > 24).any(axis=2)
    x0, y0, x1, y1 = box
    around = changed[max(y0 - 6, 0) : y1 + 6, max(x0 - 6, 0) : x1 + 6]
    return bool(around.any()) or float(changed.mean()) > 0.02


def save(pages: Sequence[Page], place: Path) -> None:
    """Write pages, a line each, gzipped without a time."""
    with gzip.GzipFile(place, "wb", mtime=0) as out:
        for page in pages:
            out.write(json.dumps(_plain(_without_elements(asdict(page)))).encode() + b"\n")


def _without_elements(row: dict[str, Any]) -> dict[str, Any]:
    transitions = [_without(transition, "elements") for transition in row["transitions"]]
    return _without(row, "elements") | {"transitions": transitions}


def _without(row: dict[str, Any], dropped: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != dropped}


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def main() -> None:
    """Freeze pages of the held-out kinds, from which the figures come."""
    with Browser() as browser:
        save(list(gather(browser, HELD_OUT, seed=EVALUATION_SEED)), PLACE)


if __name__ == "__main__":
    main()
