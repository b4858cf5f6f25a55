"""Gathering pages for screens' guards in a browser: commands on them, and what came of each."""

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

from sdg.envs.box import Box
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


MOST_WORDS = 40
MADE_UP = "made up"
"""Characters of a caption that commands are written from; longer ones are prose."""
PAGES, TRIES, TRANSITIONS = 8, 10, 6


def named_of(elements: Sequence[TrueElement], picture: np.ndarray) -> tuple[Named, ...]:
    """What commands can name without doubt on a page: captions that only one element has."""
    screen = as_screen(elements, picture)
    found = [(each, caption_of(each, screen)) for each in screen]
    said = [_key(caption) for _, caption in found]
    return tuple(
        Named(caption.kind, caption.words, caption.look, box=each.box)
        for each, caption in found
        if said.count(_key(caption)) == 1 and _is_sayable(caption)
    )


def as_screen(elements: Sequence[TrueElement], picture: np.ndarray) -> tuple[ScreenElement, ...]:
    """True elements as a perfect parser would give them, links told apart from text."""
    found: list[ScreenElement] = []
    holders = [each for each in elements if each.kind in ("button", "link", "tab")]
    for each in elements:
        kind, text, look = each.kind, each.text, ""
        if kind == "icon":
            kind, text = (f"{text} icon" if text in ICONS else "icon"), ""
        elif kind == "shape":
            letters = not re.match(r"rgb|none|#|url|$", text)
            kind, text, look = ("text", text, "") if letters else ("shape", "", colour_of(picture, each.box))
        elif kind == "text" and any(lies_in(each.box, other.box) for other in holders):
            continue
        found.append(ScreenElement(len(found) + 1, kind, text, each.box, each.checked, each.focused, look))
    return tuple(found)


def _is_sayable(caption: Caption) -> bool:
    if caption.kind == "icon":
        return bool(caption.words)
    if caption.kind == "shape":
        return caption.look not in ("", "white")
    if caption.kind in FIELDS[:2] and not caption.words:
        return True
    return bool(alike(caption.words)) and len(caption.words) <= MOST_WORDS and "'" not in caption.words


def gather(
    browser: Browser, tasks: Sequence[str], *, pages: int = PAGES, made_up: int = 0, seed: int
) -> Iterator[Page]:
    """Pages of tasks, then made-up ones, with commands that had a visible effect. Pages that break are left out."""
    todo = [(task, seed + number) for task in tasks for number in range(pages)]
    for task, number in (*todo, *((MADE_UP, seed + number) for number in range(made_up))):
        try:
            yield _page(browser, task, number)
        except PageError:
            continue


def _page(browser: Browser, task: str, seed: int) -> Page:
    rng = np.random.default_rng(seed)
    first = _open_page(browser, task, seed, None)
    lead = first[int(rng.integers(len(first)))] if first and rng.random() < 0.5 else None
    _open_page(browser, task, seed, lead)
    if _is_over(browser, task):
        lead = None
        _open_page(browser, task, seed, lead)
    before, elements = browser.screenshot(), true_elements(browser)
    picture = picture_of(before)
    named = named_of(elements, picture)
    order = sorted(rng.permutation(len(named)), key=lambda i: named[i].kind == "text")
    words = str(rng.choice(WORDS))
    found: dict[Any, ScreenTransition] = {}
    for each in [named[i] for i in order[:TRIES]]:
        _open_page(browser, task, seed, lead)
        types = each.kind in FIELDS[:2] and rng.random() < 0.7
        _act(browser, each, words if types else "")
        after = browser.screenshot()
        if _is_over(browser, task) or not _shows(picture, picture_of(after), each.box):
            continue
        phrase, then = name_in_words(each, rng), true_elements(browser)
        verb, argument = (TYPE, f"'{words}' into {phrase}") if types else (CLICK, phrase)
        came = tuple(sorted((new.kind, new.text, new.box, new.checked) for new in then)), _focus(then)
        if came in found:  # a label does what its tick does: neither can be told to be incomplete
            continue
        told = parsed_like(then, picture_of(after)) if task == MADE_UP else ()
        found[came] = ScreenTransition(verb, argument, each.box, after, told)
        if len(found) == TRANSITIONS:
            break
    told = parsed_like(elements, picture) if task == MADE_UP else ()
    texts = alike_page(as_screen(elements, picture))
    return Page(task, seed, before, named, texts, tuple(found.values()), told)


def _focus(elements: Sequence[TrueElement]) -> tuple[int, ...]:
    """The box of the field that has the focus."""
    return next((each.box for each in elements if each.focused and each.kind in FIELDS), ())


def parsed_like(elements: Sequence[TrueElement], picture: np.ndarray) -> tuple[ScreenElement, ...]:
    """True elements as the parser gives them: links are text, and ticks and icons have none."""
    return tuple(
        replace(each, kind="text")
        if each.kind == "link"
        else replace(each, text="")
        if each.kind in ("checkbox", "radio") or each.kind.endswith("icon")
        else each
        for each in as_screen(elements, picture)
    )


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


def _act(browser: Browser, on: Named, words: str) -> None:
    x, y = Box(*on.box).middle
    browser.perform(ScreenCommand("CLICK_COORDS", (min(x, SCREEN - 1), min(y, SCREEN - 1))))
    if words:
        browser.perform(ScreenCommand("TYPE_TEXT", words))


def _shows(before: np.ndarray, after: np.ndarray, box: Sequence[int]) -> bool:
    """Whether an effect is to be seen: at what was acted on, or on a good part of the screen."""
    changed = (np.abs(before.astype(np.int16) - after) > 24).any(axis=2)
    return bool(Box(*box).grown(6, 6).pixels_of(changed).any()) or float(changed.mean()) > 0.02


def save(pages: Sequence[Page], place: Path) -> None:
    """Write pages, a line each, gzipped without a time."""
    with gzip.GzipFile(place, "wb", mtime=0) as out:
        for page in pages:
            out.write(json.dumps(_plain(_without_elements(asdict(page)))).encode() + b"\n")


def _without_elements(row: dict[str, Any]) -> dict[str, Any]:
    transitions = [{key: each[key] for key in each if key != "elements"} for each in row["transitions"]]
    return {key: row[key] for key in row if key != "elements"} | {"transitions": transitions}


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def main() -> None:
    """Freeze pages of the held-out kinds, which the figures are drawn from."""
    with Browser() as browser:
        save(list(gather(browser, HELD_OUT, seed=EVALUATION_SEED)), PLACE)


if __name__ == "__main__":
    main()
