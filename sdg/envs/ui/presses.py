"""Which element of a page a command would press: the scripts that look, in a page and in every frame and open shadow
root of it.

They run in worlds of their own, where the page's scripts have patched nothing and see nobody look. Frames of other
origins are entered, too. What lies in a closed shadow root, or is drawn on a canvas, nobody sees: `unseen`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from sdg.envs.ui.browser import PageError, page_error

Point = Sequence[float | None]
"""x and y, or None twice for where the focus is."""
MAX_DEPTH = 8
"""Frames within frames, or beside what is pressed, that are looked into."""
MAX_ANSWER = 60
"""Letters of a press that may answer what another frame asks."""
CLICKS, DROPS, ENTERS, BREAKS, SPACES, TYPES = "click", "drop", "enter", "break", "space", "type"
CHOOSES, DELETES, COPIES = "choose", "delete", "copy"
"""The ways of pressing: at a point, letting go of a drag there, or by Enter, a line break in a text, Space, typing, an
arrow, a key that deletes or one that copies (whose words are what is marked) where the focus is."""
WAYS: Mapping[str, str] = {
    "<Enter>": ENTERS,
    "<Space>": SPACES,
    "C-v": TYPES,
    **dict.fromkeys(("<Delete>", "<Backspace>", "C-x"), DELETES),
    **dict.fromkeys(("<Up>", "<Down>", "<Left>", "<Right>"), CHOOSES),
}
"""How keys press; others press nothing."""
_IN_FIELDS = (TYPES, CHOOSES, DELETES)
"""The ways that act on a field, and press nothing that is drawn where the focus is."""


@dataclass(frozen=True, slots=True)
class Press:
    """What a command presses: its `role` (button, control, row of a phone's list, option, checkbox, slider, drop,
    card around a button that is pressed, search by its words alone, or a tag), the words on it, the names of its icon
    (`hints`, and `classes` with those of styles and files), whether it shows a picture or nothing that names it,
    whether it takes text; its `labels`, a line each: other texts that the command may set off, and the words of the
    `dialog` around it.

    `unseen`: it lies where nobody can see. `modal`: the page itself calls what is around it a dialog. `lines`: a line
    break is text there, in a field of many lines. `row`: a sign of all that stands in its row, which tells it from its
    like. `icons`: the names of pictures beside its words. `others`: what else is pressed, each judged by itself: what
    lies around it and hears of the press, too, or other buttons that Enter may press.
    `node`: the browser's number of the field that is typed into, 0 for what holds a part of a code.
    `box`: where a picture without words is drawn, [x0, y0, x1, y1] in pixels of the screenshot.
    """

    role: str = ""
    words: str = ""
    hints: str = ""
    picture: bool = False
    field: bool = False
    labels: str = ""
    dialog: str = ""
    unseen: bool = False
    lines: bool = False
    classes: str = ""
    modal: bool = False
    row: int = 0
    icons: str = ""
    others: tuple[Press, ...] = ()
    node: int = 0
    box: tuple[float, ...] = ()

    def is_still(self, now: Press) -> bool:
        """Whether this is what is pressed now; an icon without words goes by its names."""
        icons = self.words or self.labels or (self.hints, self.classes) == (now.hints, now.classes)
        others = len(self.others) == len(now.others) and all(map(Press.is_still, self.others, now.others))
        return bool(icons) and others and self._identity() == now._identity()

    def _identity(self) -> tuple[Any, ...]:
        return self.role, self.words, self.labels, self.dialog, self.unseen, self.icons, self.node


_FOCUS = (Path(__file__).parent / "focus.js").read_text("utf-8")
_PRESSED = f"([x, y, way, typed]) => {{\n{_FOCUS}{(Path(__file__).parent / 'presses.js').read_text('utf-8')}}}"
"""What lies at a point, or has the focus (x is null): what is pressed there, in words and by the names of its icon."""
_FRAMES, _SAID = "frames", "said"
"""Other questions to that script: the frames around what lies there, and all words of a frame."""
_NODE = f"([x, y]) => {{\n{_FOCUS}return deep(document); }}"
_AROUND = f"([x, y]) => {{\n{_FOCUS}const all = []; for (let at = deep(document); at; at = above(at)) all.push(at);"
_AROUND += "return all; }"
"""What lies there, and all around it that it is drawn in."""


class Frame:
    """A frame of a page as seen from a world of its own. Raises Playwright's errors, and PageError for a script's."""

    def __init__(self, page: Any, session: Any, name: str = "") -> None:
        self._page, self._session = page, session
        name = name or session.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
        self._world = session.send("Page.createIsolatedWorld", {"frameId": name, "worldName": "sdg"})

    def ask(self, script: str, *arguments: object, by_value: bool = True) -> Any:
        """What a function of JavaScript gives, `by_value`, or as a handle."""
        call = {"functionDeclaration": script, "arguments": [{"value": argument} for argument in arguments]}
        answer = self._session.send("Runtime.callFunctionOn", call | self._world | {"returnByValue": by_value})
        if "exceptionDetails" in answer:
            raise PageError(f"it can't be looked at: {str(answer['exceptionDetails'])[:200]}")
        return answer["result"].get("value" if by_value else "objectId")

    def node(self, at: Point) -> Any:
        """What lies there as the protocol describes it; {} for nothing."""
        node = self.ask(_NODE, at, by_value=False)
        return self._describe(objectId=node) if node else {}

    def _describe(self, **which: object) -> Any:
        return self._session.send("DOM.describeNode", which)["node"]

    def is_closed(self, at: Point) -> bool:
        """Whether what lies there is drawn by a shadow root that is closed, or within a button of such a root, which
        has a slot for it."""
        roots = [
            (n, self._describe(backendNodeId=root["backendNodeId"], depth=-1, pierce=True))
            for n, node in enumerate(self._nodes(_AROUND, at))
            for root in node.get("shadowRoots", ())
            if root["shadowRootType"] == "closed"
        ]
        return any(not n or _has_slot_in_button(root) for n, root in roots)

    def _nodes(self, script: str, *arguments: object) -> list[Any]:
        """The elements of the list that a script gives, as the protocol describes them."""
        listed = {"objectId": self.ask(script, *arguments, by_value=False), "ownProperties": True}
        found = self._session.send("Runtime.getProperties", listed)["result"]
        return [self._describe(objectId=each["value"]["objectId"]) for each in found if each["enumerable"]]

    def beside(self, at: Point) -> list[str]:
        """The words of the frames that stand around what lies there, in its dialog or close to it."""
        names = [node.get("frameId") for node in self._nodes(_PRESSED, [*at, _FRAMES, ""])]
        frames = [self._named(name)[0] for name in names[:MAX_DEPTH]]
        return [str(frame.ask(_PRESSED, [None, None, _SAID, ""])) for frame in frames if frame]

    def _named(self, name: str | None) -> tuple[Frame | None, Any]:
        """The frame of this name, None where nobody can enter it, and Playwright's where it has another process."""
        if name is None:
            return None, None
        for process in (None, *self._page.frames):
            with contextlib.suppress(page_error()):
                session = self._page.context.new_cdp_session(process) if process else self._session
                return Frame(self._page, session, name), process
        return None, None

    def inner(self, at: Point, on_screen: Point | None) -> tuple[Frame, Point, Point | None] | None:
        """The frame that lies at a point, or has the focus, the point in it and on its screen, unless it is scaled;
        None for one that nobody can enter. One of another process has a session, and a screen, of its own."""
        node = {"objectId": self.ask(_NODE, at, by_value=False)}
        name = self._session.send("DOM.describeNode", node)["node"].get("frameId")
        frame, process = self._named(name if on_screen else None)
        if frame is None or None in at:
            return (frame, at, at) if frame else None
        quad = self._session.send("DOM.getBoxModel", node)["model"]["content"]
        point, is_scaled = _within(quad, cast(Point, on_screen), frame.ask("() => [innerWidth, innerHeight]"))
        screen_point = point if process else on_screen
        return (frame, point, None if is_scaled else screen_point) if point else None


def _within(quad: Sequence[float], at: Point, size: Sequence[float]) -> tuple[Point | None, bool]:
    """Where a point lies in a frame of this size that is drawn as this quad, None where that is no parallelogram, and
    whether it is turned or scaled."""
    x, y, next_x, next_y, far_x, far_y, last_x, last_y = quad
    (side_x, side_y), (edge_x, edge_y) = (next_x - x, next_y - y), (last_x - x, last_y - y)
    area = side_x * edge_y - side_y * edge_x
    is_parallelogram = max(abs(x + far_x - next_x - last_x), abs(y + far_y - next_y - last_y)) <= 1
    if not is_parallelogram or not area:
        return None, True
    across, down = (float(value or 0) - start for value, start in zip(at, (x, y), strict=True))
    along_side = (across * edge_y - down * edge_x) / area * size[0]
    along_edge = (down * side_x - across * side_y) / area * size[1]
    return (along_side, along_edge), max(abs(side_x - size[0]), abs(edge_y - size[1])) > 1


def _has_slot_in_button(node: Mapping[str, Any], within: bool = False) -> bool:
    """Whether a shadow root has a slot within a button or link, its own or one of a shadow root in it."""
    name, attributes = node["nodeName"].lower(), node.get("attributes", [])
    roles = dict(zip(attributes[::2], attributes[1::2], strict=True)).get("role", "").lower().split()
    within = within or name in ("a", "button") or not {"button", "link"}.isdisjoint(roles)
    within = within or any(map(_has_slot_in_button, node.get("shadowRoots", ())))
    return (within and name == "slot") or any(_has_slot_in_button(each, within) for each in node.get("children", ()))


def pressed_on(page: Any, session: Any, point: tuple[float, float] | None, way: str, typed: str = "") -> Press:
    """What is pressed there, None for where the focus is; `unseen` in a frame that isn't to be entered. `typed`: the
    text that is typed, or the key."""
    at: Point = point or (None, None)
    frame, on_screen = Frame(page, session), cast(Point | None, at)
    asked: list[tuple[str, bool]] = []
    is_inner = False
    for _ in range(MAX_DEPTH):
        fields = frame.ask(_PRESSED, [*at, way, typed])
        if fields.pop("frames", 0):
            asked += [(words, fields.get("modal", False)) for words in frame.beside(at)]
        inner = frame.inner(at, on_screen) if fields.get("frame") else None
        if inner is None:
            break
        asked.append((fields.get("dialog", ""), fields.get("modal", False)))
        frame, at, on_screen = inner
        is_inner = True
    if fields.pop("frame", False):
        return Press("frame", unseen=True, field=True)
    press = Press(**fields | {"others": tuple(Press(**other) for other in fields.get("others", ()))})
    typed_into = frame.node(at) if way == TYPES else {}
    # A full field of a few letters hands the focus on to its like: a code is typed over all of them.
    is_part = {("maxlength", str(count)) for count in range(1, 9)} & {*pairwise(typed_into.get("attributes", ()))}
    is_unread = is_inner and point is None and bool(press.box) and not press.labels
    is_closed = way not in _IN_FIELDS and frame.is_closed(at)
    return replace(
        press,
        unseen=press.unseen or is_closed or is_unread,
        others=(*press.others, *_answers(press, asked)),
        node=0 if is_part else typed_into.get("backendNodeId", 0),
        box=_moved(press.box, at, point if on_screen else None) if is_inner else tuple(press.box),
    )


def _answers(press: Press, asked: Sequence[tuple[str, bool]]) -> list[Press]:
    """A press as the answer to what is asked in frames around it or beside it, if it is short, as an answer is."""
    may_answer = (press.role in ("button", "control", "a") or press.box) and len(press.words) < MAX_ANSWER
    texts = [(words, modal) for words, modal in asked if words and may_answer]
    return [replace(press, dialog=words, modal=modal, others=()) for words, modal in texts]


def _moved(box: Sequence[float], at: Point, point: Point | None) -> tuple[float, ...]:
    """A frame's box on the page, by a point of the page that lies at another in the frame; () without a point."""
    if point is None:
        return ()
    across, down = (float(there or 0) - float(here or 0) for there, here in zip(point, at, strict=True))
    return tuple(edge + (down if n % 2 else across) for n, edge in enumerate(box))
