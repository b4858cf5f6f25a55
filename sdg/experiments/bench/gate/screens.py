"""Data that guards for screens learn from and are measured on: pages, commands in words, and their outcomes.

Made the paper's way (ResponsibleTA, section 4.1): feasible commands are written from captions of the page, infeasible
ones from captions that only other pages of the same task have. A triple (command, before, after) is complete if `after`
came from this command, and incomplete if it came from the same action on another element of the page. The DOM says what
is on a page and where; guards see the parsed screenshots.
"""

import base64
import gzip
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sdg.envs.box import Box
from sdg.envs.ui.affordances import CLICK, TYPE
from sdg.envs.ui.captions import Caption, alike
from sdg.envs.ui.parser.screen import FIELDS, ScreenElement
from sdg.envs.ui.tasks import SEEN
from sdg.experiments.bench.gate.rollouts import COMPLETENESS, FEASIBILITY


def family(task: str) -> str:
    """The kind of a task, which its variants share: `click-checkboxes-large` is of the kind `click-checkboxes`."""
    return "-".join(task.split("-")[:2])


_HELD_OUT_FAMILIES = random.Random(18).sample(sorted({family(task) for task in SEEN}), 14)
HELD_OUT: tuple[str, ...] = tuple(task for task in SEEN if family(task) in _HELD_OUT_FAMILIES)
"""Kinds of tasks, with all their variants, that no guard learns from."""
LEARNED: tuple[str, ...] = tuple(task for task in SEEN if task not in HELD_OUT)
PLACE = Path(__file__).parent / "screens.jsonl.gz"
"""Pages of the held-out kinds, frozen by `python -m training.pages`."""
MAX_COMMANDS = 4
"""Feasible commands per page, and infeasible ones."""
WORDS = """
account add alert all apply area back bank book call cancel cart city clear close code color copy country date
delete done edit email enter event find first forward group help home id info item join last light link list
log menu message month name new next no note number off ok old on open order page part pay phone play post
press price quick read reply reset save search second see send set share sign size sort star start stop street
submit table tag team test text third time title to top type up update use user view week word year yes zip
""".split()  # noqa: SIM905 - a list would have a line for each
"""Words that are typed."""
FORMS = {
    "button": ("the '{}' button", "the button '{}'", "the button that says '{}'", "'{}'"),
    "link": ("the '{}' link", "the link '{}'", "'{}'"),
    "tab": ("the '{}' tab", "the tab '{}'", "'{}'"),
    "text": ("the text '{}'", "the words '{}'", "'{}'"),
    "checkbox": ("the checkbox beside '{}'", "the '{}' checkbox"),
    "radio": ("the radio button beside '{}'", "the option '{}'"),
    "textbox": ("the textbox beside '{}'", "the '{}' field", "the field '{}'"),
    "text area": ("the text area '{}'", "the text area beside '{}'"),
    "dropdown": ("the dropdown showing '{}'", "the '{}' dropdown"),
    "icon": ("the {} icon", "the icon {}"),
    "shape": ("the {} shape", "the shape that is {}"),
}
"""Templates for naming an element, by kind; one without words is called by its kind alone."""


@dataclass(frozen=True, slots=True)
class Named(Caption):
    """A caption of a page and the true box [x0, y0, x1, y1] of its element, in pixels."""

    box: tuple[int, int, int, int] = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class ScreenTransition:
    """A command that was carried out on a page: verb, argument, box of its target, PNG of the screen afterwards and, on
    made-up pages, the true elements afterwards."""

    verb: str
    argument: str
    box: tuple[int, int, int, int]
    after: bytes
    elements: tuple[ScreenElement, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A page's screenshot (PNG), its captions, and the outcomes of commands there. A made-up page also has its true
    elements, so that it needn't be parsed for learning; they aren't saved."""

    task: str
    seed: int
    before: bytes
    named: tuple[Named, ...]
    texts: str
    transitions: tuple[ScreenTransition, ...]
    elements: tuple[ScreenElement, ...] = ()


def _key(caption: Caption) -> tuple[str, str]:
    if caption.kind in ("icon", "shape"):
        return caption.kind, caption.words or caption.look
    return ("" if caption.kind in ("button", "link", "tab", "text") else caption.kind), alike(caption.words)


def name_in_words(caption: Caption, rng: np.random.Generator) -> str:
    """A phrase that names a caption's element."""
    words = caption.look if caption.kind == "shape" else caption.words
    return str(rng.choice(FORMS[caption.kind])).format(words) if words else f"the {caption.kind}"


@dataclass(frozen=True, slots=True)
class Item:
    """A question to a guard: verb, command, page, the screen after it (None for feasibility), the true answer, the
    target's box if it is there."""

    guard: str
    verb: str
    argument: str
    page: Page
    after: bytes | None
    label: bool
    box: tuple[int, int, int, int] | None = None


def items(pages: Sequence[Page], *, seed: int = 0) -> list[Item]:
    """Questions about pages, equally many of each answer from every page."""
    rng = np.random.default_rng(seed)
    pools: dict[str, dict[tuple[str, str], Caption]] = {}
    for page in pages:
        for caption in page.named:
            pools.setdefault(page.task, {})[caption.kind, alike(caption.words) + caption.look] = caption
    questions: list[Item] = []
    for page in pages:
        questions += _feasibilities(page, list(pools.get(page.task, {}).values()), rng)
        questions += _completenesses(page, rng)
    return questions


def _feasibilities(page: Page, pool: Sequence[Caption], rng: np.random.Generator) -> list[Item]:
    absent = [caption for caption in pool if _is_absent(caption, page)]
    count = min(len(page.named), len(absent), MAX_COMMANDS)
    present = [page.named[i] for i in rng.permutation(len(page.named))[:count]]
    missing = [absent[i] for i in rng.permutation(len(absent))[:count]]
    return [
        *(Item(FEASIBILITY, *_command(caption, rng), page, None, True, caption.box) for caption in present),
        *(Item(FEASIBILITY, *_command(caption, rng), page, None, False) for caption in missing),
    ]


def _is_absent(caption: Caption, page: Page) -> bool:
    if caption.kind in ("icon", "shape"):
        return not any(_may_be(named, caption) for named in page.named)
    if not caption.words:
        return all(named.kind != caption.kind for named in page.named)
    return alike(caption.words) not in page.texts


def _may_be(named: Caption, caption: Caption) -> bool:
    """Whether a caption of a page may name the same icon or shape as `caption`."""
    looks_alike = caption.kind != "shape" or named.look == caption.look
    return _key(named) == _key(caption) or (named.kind == caption.kind and looks_alike and not named.words)


def _command(caption: Caption, rng: np.random.Generator) -> tuple[str, str]:
    phrase = name_in_words(caption, rng)
    if caption.kind in FIELDS[:2] and rng.random() < 0.7:
        return TYPE, f"'{rng.choice(WORDS)}' into {phrase}"
    return CLICK, phrase


def _completenesses(page: Page, rng: np.random.Generator) -> Iterator[Item]:
    for transition in page.transitions:
        box = transition.box
        others = [
            other
            for other in page.transitions
            if other is not transition and Box(*other.box).overlap(box) < 0.3 and other.after != transition.after
        ]
        if not others:
            continue
        same_verb = [other for other in others if other.verb == transition.verb] or others
        swapped = same_verb[int(rng.integers(len(same_verb)))]
        yield Item(COMPLETENESS, transition.verb, transition.argument, page, transition.after, True, box)
        yield Item(COMPLETENESS, transition.verb, transition.argument, page, swapped.after, False)


def load(place: Path = PLACE) -> list[Page]:
    """The pages of a file that `training.pages` wrote."""
    with gzip.open(place, "rt", encoding="utf-8") as lines:
        return [_page_of(json.loads(line)) for line in lines]


def _page_of(row: dict[str, Any]) -> Page:
    return Page(
        row["task"],
        row["seed"],
        base64.b64decode(row["before"]),
        tuple(Named(named["kind"], named["words"], named["look"], box=tuple(named["box"])) for named in row["named"]),
        row["texts"],
        tuple(
            ScreenTransition(act["verb"], act["argument"], tuple(act["box"]), base64.b64decode(act["after"]))
            for act in row["transitions"]
        ),
    )
