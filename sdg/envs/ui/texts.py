"""The texts of a page and their places as the browser lays them out, those in frames and in closed shadow roots too,
turned and faint ones as well. No script of the page's is asked."""

import contextlib
from collections.abc import Iterator
from typing import Any

from sdg.envs.ui.browser import page_error
from sdg.envs.ui.presses import Frame

Placed = tuple[str, tuple[int, int, int, int]]
"""A text and its box [x0, y0, x1, y1] on the screen in pixels."""
MOST_TEXT = 4000
"""Letters of a text; longer ones are cut."""
EVERYWHERE = (0, 0, 1 << 20, 1 << 20)
MOST_SIZE = 20_000_000
"""Letters in a page and its attributes, and a hundred for each node: a layout of more takes minutes and gigabytes."""
_SHOWN_ATTRIBUTES = ("placeholder", "alt", "label")
"""Attributes that are shown where there is nothing else."""


_IS_HUGE = """most => {
  const of = (kind, name) => Object.getOwnPropertyDescriptor(kind.prototype, name).get;
  const read = (get, node) => { try { return get.call(node); } catch { return null; } };
  const text = of(Node, 'nodeValue'), root = of(Element, 'shadowRoot');
  const {getAttributeNames, getAttribute} = Element.prototype;
  const values = [HTMLInputElement, HTMLTextAreaElement].map(kind => of(kind, 'value'));
  const inner = [HTMLIFrameElement, HTMLFrameElement].map(kind => of(kind, 'contentDocument'));
  const kinds = new Map([['input', values[0]], ['textarea', values[1]], ['iframe', inner[0]], ['frame', inner[1]]]);
  const name = of(Element, 'localName'), type = of(Node, 'nodeType');
  let size = 0;
  const count = top => {
    const walk = Document.prototype.createTreeWalker.call(document, top);
    for (let node = top; node && size < most; node = walk.nextNode()) {
      size += 100 + (text.call(node) || '').length;
      if (type.call(node) !== Node.ELEMENT_NODE) continue;
      for (const each of getAttributeNames.call(node)) size += each.length + getAttribute.call(node, each).length;
      const kind = kinds.get(name.call(node)), found = kind && read(kind, node), shadow = root.call(node);
      if (typeof found === 'string') size += found.length;
      else if (found) count(found);
      if (shadow) count(shadow);
    }
  };
  count(document);
  return size >= most;
}"""
"""Whether a page, with the frames and shadow roots that a script may enter, is of that size; no name that a form gives
its fields is mistaken for a node's own."""


def texts_of(page: Any) -> list[Placed]:
    """Each line of text, what is in each field or may be shown in it, and the entries of each dropdown, of a page of
    Playwright's in Chromium; a text that was cut, and stands everywhere, of a page that is too large to be laid out, or
    for a frame of another process that went away meanwhile."""
    roots: dict[Any, tuple[Any, _Place]] = {page.main_frame: (page.context.new_cdp_session(page), (0.0, 0.0, None))}
    try:
        texts = _texts_of_process(page, *roots[page.main_frame])
        for frame in page.frames[1:]:
            around = roots[frame] = roots.get(frame.parent_frame, roots[page.main_frame])
            try:
                own = page.context.new_cdp_session(frame)
            except page_error():  # its parent's process draws it
                continue
            try:
                roots[frame] = own, _place_of_process(own, *around)
                texts += _texts_of_process(page, *roots[frame])
            except page_error():
                texts.append(("?" * MOST_TEXT, EVERYWHERE))
        return texts
    finally:
        for session in {id(session): session for session, _ in roots.values()}.values():
            with contextlib.suppress(page_error()):
                session.detach()


_Place = tuple[float, float, tuple[int, int, int, int] | None]
"""Where a frame's document begins, and the box of a frame that is turned, zoomed or drawn to scale: all of it stands
for each text in it."""


def _texts_of_process(page: Any, session: Any, place: _Place) -> list[Placed]:
    """The texts of all documents that a process draws, the first of which lies at a place."""
    if Frame(page, session).ask(_IS_HUGE, MOST_SIZE):
        return [("?" * MOST_TEXT, place[2] or EVERYWHERE)]
    snapshot = session.send("DOMSnapshot.captureSnapshot", {"computedStyles": [], "includeDOMRects": True})
    places = {0: place}
    return [text for n in range(len(snapshot["documents"])) for text in _texts(session, snapshot, n, places)]


def _place_of_process(own: Any, session: Any, place: _Place) -> _Place:
    """Where the frame of a session lies, which stands in what the process of another draws at a place."""
    name = own.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
    node = session.send("DOM.getFrameOwner", {"frameId": name})["backendNodeId"]
    return place if place[2] else _place_of(session, node, place)


def _texts(session: Any, snapshot: dict[str, Any], n: int, places: dict[int, _Place]) -> Iterator[Placed]:
    """The texts of a document, and into `places` where the documents of its frames lie."""
    document, words = snapshot["documents"][n], snapshot["strings"]
    nodes, layout, lines = document["nodes"], document["layout"], document["textBoxes"]
    across, down, whole = places.get(n, (0.0, 0.0, None))
    across, down = across - document.get("scrollOffsetX", 0), down - document.get("scrollOffsetY", 0)
    at = {node: place for place, node in enumerate(layout["nodeIndex"])}
    frames = nodes["contentDocumentIndex"]
    for node, inner in zip(frames["index"], frames["value"], strict=True):
        if node in at:
            places[inner] = places[n] if whole else _place_of(session, nodes["backendNodeId"][node], places[0])
    rows = zip(*(lines[key] for key in ("layoutIndex", "start", "length", "bounds")), strict=True)
    texts = [(words[layout["text"][place]][start : start + length], box) for place, start, length, box in rows]
    shown = [value for kind in ("inputValue", "textValue") for value in zip(*nodes[kind].values(), strict=True)]
    for node, attributes in enumerate(nodes["attributes"]):
        pairs = zip(attributes[::2], attributes[1::2], strict=True)
        shown += [(node, value) for name, value in pairs if words[name] in _SHOWN_ATTRIBUTES]
    above, kinds = nodes["parentIndex"], [words[name] for name in nodes["nodeName"]]
    shown += [(above[node], value) for node, value in enumerate(nodes["nodeValue"]) if kinds[above[node]] == "OPTION"]
    for node, value in shown:
        while node not in at and kinds[node] in ("OPTION", "OPTGROUP"):  # a closed dropdown shows one of them
            node = above[node]
        if node in at and value >= 0:
            texts.append((words[value], layout["bounds"][at[node]]))
    for text, (x, y, wide, high) in texts:
        edges = (across + x - 2, down + y - 2, across + x + wide + 2, down + y + high + 2)
        x0, y0, x1, y1 = whole or (max(round(edge), 0) for edge in edges)
        yield text[:MOST_TEXT], (x0, y0, x1, y1)


def _place_of(session: Any, node: int, corner: _Place) -> _Place:
    """Where a frame's document lies in the viewport, by the corner of what its process draws; all over it if the frame
    just went away."""
    try:
        model = session.send("DOM.getBoxModel", {"backendNodeId": node})["model"]
    except page_error():
        return 0, 0, EVERYWHERE
    x, y = ([edge + start for edge in model["border"][n::2]] for n, start in enumerate(corner[:2]))
    (x0, x1), (y0, y1) = (min(x), max(x)), (min(y), max(y))
    upright = abs(x1 - x0 - model["width"]) < 1 and abs(y1 - y0 - model["height"]) < 1 and (x[0], y[0]) == (x0, y0)
    left, top = model["content"][:2]
    return (
        corner[0] + left,
        corner[1] + top,
        None if upright else (max(int(x0), 0), max(int(y0), 0), int(x1) + 1, int(y1) + 1),
    )
