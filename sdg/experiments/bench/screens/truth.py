"""The screen according to the page's own elements: a reference for the parser, never used in an ordinary run.

`--eyes true` plays with it; failures are replayed with it to tell the parser's misses from the model's errors.
"""

import re
from collections.abc import Callable, Sequence

import numpy as np

from sdg.envs.ui.boxes import TrueElement, lies_in, true_elements
from sdg.envs.ui.browser import Browser
from sdg.envs.ui.parser.screen import Screen, ScreenElement, add_outlines, name_colour, numbered


def true_parser(browser: Browser) -> Callable[[np.ndarray], Screen]:
    """A parser that asks the page; only outlines are looked for in the picture, because a canvas tells of none."""
    return lambda picture: add_outlines(picture, screen_of(true_elements(browser)))


def screen_of(elements: Sequence[TrueElement]) -> Screen:
    """True elements in the form that an agent sees; a text that lies in an element belongs to it."""
    holders = [element for element in elements if element.kind != "text"]
    texts_alone = [
        text
        for text in elements
        if text.kind == "text"
        and not any(lies_in(text.box, holder.box) and text.text in holder.text for holder in holders)
    ]
    return numbered([_as_element(element) for element in (*holders, *texts_alone)])


def _as_element(element: TrueElement) -> ScreenElement:
    kind, text, look = element.kind, element.text, ""
    if kind == "icon":
        kind, text = f"{text} icon".strip(), ""
    elif kind == "shape":
        if _ink(element.form):  # a letter: its form is its colour
            look = _ink(element.form)
        else:
            look, text = f"{_ink(text)} {element.form}".strip(), ""
    return ScreenElement(0, kind, text, element.box, element.checked, element.focused, look)


def _ink(code: str) -> str:
    """The name of a colour written as rgb(1, 2, 3); "" for none."""
    channels = [float(number) for number in re.findall(r"[\d.]+", code)] if code.startswith("rgb") else []
    is_seen = len(channels) == 3 or (len(channels) == 4 and channels[3] > 0)
    return name_colour(np.array(channels[:3])) if is_seen else ""
