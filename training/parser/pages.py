"""Pages made up for training: controls of other sizes, fonts, colours and arrangements than the tasks have.

A detector that has seen the 59 tasks alone knows their pages by heart; from these it learns what other pages have.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from html import escape

from sdg.experiments.bench.gate.screens import WORDS

FONTS = ("Arial", "Liberation Serif", "Liberation Mono", "DejaVu Sans", "DejaVu Serif", "Liberation Sans Narrow")
SYLLABLES = ("ba", "co", "di", "fe", "gu", "hi", "jo", "ka", "lu", "me", "no", "pi", "qua", "re", "sa", "tu", "ve",
             "wo", "xi", "yo")  # fmt: skip


def made_up_page(seed: int) -> str:
    """The HTML of a page with 2 to 12 controls, from a seed."""
    rng = random.Random(seed)
    base = (
        f"font:{rng.choice((9, 10, 10, 11, 12, 13))}px {rng.choice(FONTS)};color:{_dark(rng)};background:{_light(rng)}"
    )
    makers, weights = zip(*_MAKERS, strict=True)
    controls = [rng.choices(makers, weights)[0](rng) for _ in range(rng.randint(2, 12))]
    if rng.random() < 0.3:
        controls = [_placed(rng, control) for control in controls[:7]]
    body = rng.choice(("", "<br>", "<p style='margin:3px'>")).join(controls)
    return (
        f"<html><body style='margin:0;background:#555'><div style='height:50px;width:160px;background:#ff0'></div>"
        f"<div id='area' style='position:relative;width:156px;height:156px;padding:2px;overflow:hidden;{base}'>{body}"
        "</div></body></html>"
    )


def _placed(rng: random.Random, control: str) -> str:
    return f"<div style='position:absolute;left:{rng.randint(0, 110)}px;top:{rng.randint(0, 130)}px'>{control}</div>"


def text(rng: random.Random, most: int = 3) -> str:
    """Up to `most` words, escaped for HTML."""

    def word() -> str:
        is_made_up = rng.random() < 0.4
        letters = "".join(rng.choices(SYLLABLES, k=rng.randint(1, 3))) if is_made_up else rng.choice(WORDS)
        return rng.choice((letters, letters.capitalize(), letters.upper(), str(rng.randint(0, 99))))

    return escape(" ".join(word() for _ in range(rng.randint(1, most))))


def _light(rng: random.Random) -> str:
    if rng.random() < 0.6:
        return "#fff"
    return f"rgb({rng.randint(190, 255)},{rng.randint(190, 255)},{rng.randint(190, 255)})"


def _dark(rng: random.Random) -> str:
    return f"rgb({rng.randint(0, 120)},{rng.randint(0, 120)},{rng.randint(0, 120)})"


def _any_colour(rng: random.Random) -> str:
    return f"rgb({rng.randint(0, 255)},{rng.randint(0, 255)},{rng.randint(0, 255)})"


def _button_style(rng: random.Random) -> str:
    if rng.random() < 0.4:
        return ""
    style = f"padding:{rng.randint(0, 8)}px {rng.randint(1, 22)}px;border-radius:{rng.choice((0, 0, 2, 4, 10))}px;"
    style += f"border:{rng.choice((1, 1, 2))}px {rng.choice(('solid', 'outset'))} {_dark(rng)};"
    if rng.random() < 0.7:
        return f"{style}background:{_light(rng)};color:{_dark(rng)};"
    return f"{style}background:{_dark(rng)};color:#fff;"


def _button(rng: random.Random) -> str:
    tag = rng.choice(("button", "button", "input", "div"))
    style = f"{_button_style(rng)}font-size:{rng.choice((9, 10, 11, 13, 13, 16))}px;margin:{rng.randint(0, 6)}px"
    if tag == "input":
        return f"<input type='submit' value='{text(rng, 2)}' style='{style}'>"
    if tag == "div":
        look = f"display:inline-block;cursor:pointer;border:1px solid {_dark(rng)};background:{_light(rng)};{style}"
        return f"<div style='{look}'>{text(rng, 2)}</div>"
    return f"<button style='{style}'>{text(rng, 2)}</button>"


def _field(rng: random.Random) -> str:
    value = text(rng, 2) if rng.random() < 0.4 else ""
    style = (
        f"width:{rng.randint(20, 140)}px;margin:{rng.randint(0, 5)}px;font-size:{rng.choice((9, 11, 13, 13, 15))}px;"
    )
    if rng.random() < 0.4:
        style += f"border:{rng.choice((1, 2))}px solid {_any_colour(rng)};padding:{rng.randint(0, 5)}px"
    focus = " autofocus" if rng.random() < 0.3 else ""
    return (
        f"{_label(rng)}<input type='{rng.choice(('text', 'text', 'password'))}' value='{value}' style='{style}'{focus}>"
    )


def _area(rng: random.Random) -> str:
    style = f"width:{rng.randint(50, 145)}px;height:{rng.randint(20, 90)}px;margin:{rng.randint(0, 5)}px"
    focus = " autofocus" if rng.random() < 0.2 else ""
    content = text(rng, 25) if rng.random() < 0.7 else ""
    return f"<textarea style='{style}'{focus}>{content}</textarea>"


def _ticks(rng: random.Random) -> str:
    kind = rng.choice(("checkbox", "radio"))
    rows = [
        f"<label><input type='{kind}'{' checked' if rng.random() < 0.4 else ''}>{text(rng, 2)}</label>"
        for _ in range(rng.randint(1, 5))
    ]
    return rng.choice(("<br>", " ")).join(rows)


def _dropdown(rng: random.Random) -> str:
    style = f"width:{rng.randint(30, 140)}px;margin:{rng.randint(0, 5)}px" if rng.random() < 0.6 else ""
    label = _label(rng)
    options = "".join(f"<option>{text(rng, 2)}" for _ in range(3))
    return f"{label}<select style='{style}'>{options}</select>"


def _label(rng: random.Random) -> str:
    return f"<label>{text(rng, 2)} </label>" if rng.random() < 0.5 else ""


def _words(rng: random.Random) -> str:
    style = f"font-size:{rng.choice((9, 10, 12, 16, 24))}px;font-weight:{rng.choice(('normal', 'bold'))}"
    return f"<div style='{style}'>{text(rng, 9)}</div>"


def _tabs(rng: random.Random) -> str:
    look = f"display:inline-block;border:1px solid {_dark(rng)};padding:{rng.randint(2, 6)}px {rng.randint(3, 9)}px;"
    rows = [
        f"<li role='tab' style='{look}background:{_any_colour(rng) if n == 0 else _light(rng)}'>{text(rng, 1)}</li>"
        for n in range(rng.randint(2, 4))
    ]
    return f"<ul style='margin:2px;padding:0;list-style:none'>{''.join(rows)}</ul>"


def _shapes(rng: random.Random) -> str:
    def shape() -> str:
        x, y, r, fill = rng.randint(8, 140), rng.randint(6, 60), rng.randint(4, 16), _any_colour(rng)
        edge = f"stroke='black' stroke-width='{rng.choice((0, 0, 1, 2))}'"
        if rng.random() < 0.35:
            return (
                f"<circle cx='{x}' cy='{y}' r='{r}' fill='{rng.choice((fill, fill, 'none'))}' stroke='{_dark(rng)}'/>"
            )
        if rng.random() < 0.5:
            return f"<rect x='{x}' y='{y}' width='{r * 2}' height='{rng.randint(8, 30)}' fill='{fill}' {edge}/>"
        return f"<polygon points='{x},{y - r} {x - r},{y + r} {x + r},{y + r}' fill='{fill}' {edge}/>"

    height = rng.randint(30, 80)
    shapes = "".join(shape() for _ in range(rng.randint(1, 5)))
    return f"<svg width='156' height='{height}'>{shapes}</svg>"


def _blocks(rng: random.Random) -> str:
    side = rng.randint(8, 40)
    look = f"display:inline-block;width:{side}px;height:{side}px;margin:{rng.randint(1, 6)}px;"
    edge = f"border:{rng.choice((0, 1, 2))}px solid black;"
    return "".join(f"<div style='{look}{edge}background:{_any_colour(rng)}'></div>" for _ in range(rng.randint(1, 5)))


def _links(rng: random.Random) -> str:
    return f"<p style='margin:2px'>{text(rng, 5)} <a href='#'>{text(rng, 2)}</a> {text(rng, 4)}</p>"


_ICON_PATHS = {
    "star": "M8 1l2 5h5l-4 3 2 6-5-4-5 4 2-6-4-3h5z",
    "trash": "M2 4h12M6 4V2h4v2M3 4l1 11h8l1-11M6 7v5M10 7v5",
    "search": "M7 2a5 5 0 1 0 .1 0M11 11l4 4",
    "reply": "M7 3L1 8l6 5v-3c4 0 6 1 8 4 0-5-3-8-8-8z",
    "forward": "M9 3l6 5-6 5v-3c-4 0-6 1-8 4 0-5 3-8 8-8z",
    "retweet": "M4 12V5M1 7l3-3 3 3M7 12h-3M12 4v7M9 9l3 3 3-3M9 4h3",
    "like": "M8 14L2 8a3.5 3.5 0 0 1 6-4 3.5 3.5 0 0 1 6 4z",
    "share": "M12 4L4 8l8 4M12 2a2 2 0 1 0 .1 0M4 6a2 2 0 1 0 .1 0M12 10a2 2 0 1 0 .1 0",
    "more": "M2 8h2M7 8h2M12 8h2",
    "closethick": "M3 3l10 10M13 3L3 13",
    "triangle-w": "M11 2v12L4 8z",
    "triangle-e": "M5 2v12l7-6z",
    "triangle-1-s": "M3 6h10l-5 6z",
    "collapsable-hitarea": "M2 2h12v12H2zM5 8h6",
    "expandable-hitarea": "M2 2h12v12H2zM5 8h6M8 5v6",
    "folder": "M1 4h5l2 2h7v8H1z",
    "file": "M3 1h7l3 3v11H3zM10 1v3h3",
    "gripsmall": "M14 4L4 14M14 8l-6 6M14 12l-2 2",
    "back": "M1 8h13M7 2L1 8l6 6",
    "house": "M1 8l7-6 7 6M3 7v8h10V7",
    "bell": "M8 2c-4 0-4 4-5 9h10c-1-5-1-9-5-9M7 13h2",
}
"""Icons by a word that names them in a class, as SVG paths on a square of 16."""


def _icons(rng: random.Random) -> str:
    def icon() -> str:
        name, side = rng.choice(list(_ICON_PATHS)), rng.randint(8, 24)
        ink = _any_colour(rng) if rng.random() < 0.4 else _dark(rng)
        fill = ink if rng.random() < 0.4 else "none"
        svg = (
            f"<svg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 16 16%22><path d=%22{_ICON_PATHS[name]}%22 "
            f"fill=%22{fill}%22 stroke=%22{ink}%22 "
            f"stroke-width=%22{rng.choice((1, 1.5, 2))}%22/></svg>"
        )
        look = f"display:inline-block;width:{side}px;height:{side}px;margin:{rng.randint(1, 9)}px;cursor:pointer;"
        return f"<span class='{name}' style='{look}background:url(\"data:image/svg+xml,{svg}\") 0 0/100%'></span>"

    return "".join(icon() for _ in range(rng.randint(1, 5)))


_MAKERS: tuple[tuple[Callable[[random.Random], str], int], ...] = (
    (_button, 6),
    (_field, 5),
    (_area, 2),
    (_ticks, 4),
    (_dropdown, 3),
    (_words, 3),
    (_tabs, 1),
    (_shapes, 2),
    (_blocks, 1),
    (_links, 1),
    (_icons, 2),
)
