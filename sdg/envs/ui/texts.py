"""The texts of a page and their places as the browser lays them out, those in frames of its origin and in closed shadow
roots too, turned and faint ones as well. No script of the page's is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Placed = tuple[str, tuple[int, int, int, int]]
"""A text and its box [x0, y0, x1, y1] on the screen in pixels."""


def texts_of(page: Any) -> list[Placed]:
    """Each line of text, and what is in each field, of a page of Playwright's in Chromium."""
    session = page.context.new_cdp_session(page)
    asked = {"computedStyles": [], "includeDOMRects": True}
    try:
        found = session.send("DOMSnapshot.captureSnapshot", asked)
        places: dict[int, Sequence[float]] = {}
        return [each for n in range(len(found["documents"])) for each in _texts(found, n, places, session)]
    finally:
        session.detach()


def _place(session: Any, node: int) -> Sequence[float]:
    """Where the page in a frame begins: x, y; all of its box where the frame is turned or scaled."""
    model = session.send("DOM.getBoxModel", {"backendNodeId": node})["model"]
    (x, y, right, top, _, low, *_), across, down = model["border"], model["content"][::2], model["content"][1::2]
    changed = abs(right - x - model["width"]), abs(low - y - model["height"]), abs(top - y)
    box = min(across), min(down), max(across), max(down)
    return box if max(changed) > 1 else box[:2]


def _texts(found: dict[str, Any], n: int, places: dict[int, Sequence[float]], session: Any) -> Iterator[Placed]:
    """The texts of a document, and into `places` where the documents of its frames begin."""
    document, words = found["documents"][n], found["strings"]
    nodes, layout, lines = document["nodes"], document["layout"], document["textBoxes"]
    across, down, *far = places.get(n, (0.0, 0.0))
    across, down = across - document.get("scrollOffsetX", 0), down - document.get("scrollOffsetY", 0)
    at = {node: place for place, node in enumerate(layout["nodeIndex"])}
    frames = nodes["contentDocumentIndex"]
    for node, inner in zip(frames["index"], frames["value"], strict=True):
        if node in at:
            places[inner] = places[n] if far else _place(session, nodes["backendNodeId"][node])
    rows = zip(*(lines[key] for key in ("layoutIndex", "start", "length", "bounds")), strict=True)
    said = [(words[layout["text"][each]][start : start + length], box) for each, start, length, box in rows]
    for kind in ("inputValue", "textValue"):
        fields = zip(nodes[kind]["index"], nodes[kind]["value"], strict=True)
        said += [(words[text], layout["bounds"][at[node]]) for node, text in fields if node in at and text >= 0]
    for text, (x, y, wide, high) in said:
        edges = (across + x - 2, down + y - 2, across + x + wide + 2, down + y + high + 2)
        x0, y0, x1, y1 = (max(round(edge), 0) for edge in ([*places[n]] if far else edges))
        yield text, (x0, y0, x1, y1)
