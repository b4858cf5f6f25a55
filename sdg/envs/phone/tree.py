"""A phone's UI tree: uiautomator's XML parsed, compressed as AndroidLab does it, and its elements with stable numbers.

    <hierarchy rotation="0"><node class="android.widget.Button" text="Save" bounds="[8,60][90,108]" .../></hierarchy>

Screens are hostile data: a dump is parsed without entities and within bounds of size, and what it says is cut to lines.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from xml.etree import ElementTree
from zlib import crc32

from sdg.envs.box import Box
from sdg.envs.ui.parser.screen import ScreenElement
from sdg.errors import SDGError, refuse

Bounds = tuple[int, int, int, int]

MAX_DUMP_CHARS = 4_000_000
MAX_TEXT_CHARS = 4000
"""Letters of a text, and of the words below something that can be pressed; longer ones are cut."""
MAX_DEPTH = 200
MAX_ID = 999
FLAGS = (
    "checkable", "checked", "clickable", "enabled", "focusable", "focused", "scrollable", "long-clickable", "password",
    "selected",
)  # fmt: skip
"""uiautomator's booleans."""
_KEEPING = frozenset(FLAGS) - {"enabled", "focused"}
PRESSED = frozenset({"clickable", "long-clickable"})
"""Flags of what can be pressed."""
FIELDS = ("EditText", "AutoCompleteTextView")
"""How the classes of fields end; an element's kind is the first for all."""
_LAYOUT_KINDS = frozenset({"View", "ViewGroup", "FrameLayout", "LinearLayout", "RelativeLayout"})
_KINDS = {
    "EditText": "textbox", "Button": "button", "ImageButton": "button", "CheckBox": "checkbox", "Switch": "checkbox",
    "ToggleButton": "checkbox", "RadioButton": "radio", "Spinner": "dropdown", "ImageView": "icon",
}  # fmt: skip
_STATES = {
    "long-clickable": "long-press", "selected": "selected", "password": "password", "scrollable": "scrollable",
}  # fmt: skip
"""Words for flags that an element's look tells."""
_BOUNDS = re.compile(r"\[(-?\d{1,6}),(-?\d{1,6})\]\[(-?\d{1,6}),(-?\d{1,6})\]")
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class DumpError(SDGError, ValueError):
    """A dump that can't be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the tree; `kind` is the class without its package, `box` [x0, y0, x1, y1] in pixels."""

    kind: str
    text: str
    description: str
    resource: str
    package: str
    box: Box
    flags: frozenset[str]
    children: tuple["Node", ...] = ()

    @property
    def label(self) -> str:
        """Its text, otherwise its content description."""
        return self.text or self.description


@dataclass(frozen=True, slots=True)
class UiTree:
    """What is on a screen: the roots of its windows, its elements as an agent is shown them, and `nodes`, all of the
    dump's that have a box, in the order in which they are drawn."""

    roots: tuple[Node, ...]
    elements: tuple[ScreenElement, ...]
    lines: tuple[str, ...]
    nodes: tuple[Node, ...] = ()

    @property
    def package(self) -> str:
        """The app in front; "" on an empty screen."""
        return self.roots[-1].package if self.roots else ""

    def walk(self) -> Iterator[Node]:
        """All nodes, in the order of the document."""
        left = [*reversed(self.roots)]
        while left:
            yield (node := left.pop())
            left.extend(reversed(node.children))

    def __str__(self) -> str:
        return "\n".join(self.lines) or "(an empty screen)"


def parse_dump(xml: str) -> ElementTree.Element:
    """A dump's own nodes, each of their texts on one line with single blanks, cut: what everybody reads who reads a
    dump. Raises DumpError for one that is empty, malformed, too large or too deep."""
    faults = (
        (not xml.strip(), "the dump is empty"),
        (len(xml) > MAX_DUMP_CHARS, f"the dump has {len(xml)} characters; at most {MAX_DUMP_CHARS} are read"),
        ("<!" in xml, "the dump declares a document type or holds comments: uiautomator writes none"),
    )
    refuse(DumpError, faults)
    try:
        top = ElementTree.fromstring(_NOT_XML.sub(" ", xml))
    except ElementTree.ParseError as error:
        raise DumpError(f"the dump is no XML: {error}") from None
    if top.tag != "hierarchy":
        raise DumpError(f"the dump begins with <{top.tag:.40}>, not with <hierarchy>")
    level = [top]
    for _ in range(MAX_DEPTH + 2):
        level = [inner for node in level for inner in node]
    if level:
        raise DumpError(f"the dump is nested deeper than {MAX_DEPTH}")
    for node in top.iter():
        node.attrib.update({name: " ".join(text.split())[:MAX_TEXT_CHARS] for name, text in node.items()})
    return top


def read_dump(xml: str) -> UiTree:
    """The compressed tree of a dump. Raises DumpError for one that can't be parsed."""
    top = parse_dump(xml)
    roots = tuple(node for element in top for node in _compressed(element, None))
    nodes = tuple(node for element in top.iter() if (node := _node(element)))
    return UiTree(roots, *_elements(roots), nodes)


def _node(node: ElementTree.Element, children: tuple[Node, ...] = ()) -> Node | None:
    """A node of the dump; None without a box."""
    if (box := bounds_of(node.get("bounds", ""))) is None:
        return None
    kind = node.get("class", "").rpartition(".")[2]
    words = (node.get("text", ""), node.get("content-desc", ""), node.get("resource-id", "").partition(":id/")[2])
    flags = frozenset(flag for flag in FLAGS if node.get(flag) == "true")
    kind = FIELDS[0] if kind.endswith(FIELDS) else "" if kind in _LAYOUT_KINDS else kind
    return Node(kind, *words, node.get("package", ""), box, flags, children)


def _compressed(node: ElementTree.Element, outer: Box | None) -> tuple[Node, ...]:
    """The node with what is left below it, or its children in its place, as AndroidLab does it."""
    box = bounds_of(node.get("bounds", ""))
    children = tuple(inner for child in node for inner in _compressed(child, box or outer))
    own = _node(node, children)
    if own is None:
        return children
    is_inside = outer is None or outer.contains(own.box)
    return (own,) if is_inside and (own.flags & _KEEPING or own.label) else children


@lru_cache(maxsize=1 << 16)
def bounds_of(bounds: str) -> Box | None:
    """The box of uiautomator's bounds; None for what is none, or is empty."""
    match = _BOUNDS.fullmatch(bounds)
    if match is None:
        return None
    box = Box(*map(int, match.groups()))
    return box if box.width > 0 and box.height > 0 else None


def _elements(roots: Sequence[Node]) -> tuple[tuple[ScreenElement, ...], tuple[str, ...]]:
    """A number, kind and words for each node, and a line that says so; the words below something that can be pressed
    are its own.

    A number goes by what an element is, not by where: it stays the same from screen to screen and run to run.
    """
    elements: list[ScreenElement] = []
    lines: list[str] = []
    taken: set[int] = set()
    # The labels of nodes that only show something, each once; those below a node are its span of them.
    labels: list[str] = []
    spans: dict[int, slice] = {}

    def gather(node: Node) -> None:
        begins = len(labels)
        for child in node.children:
            labels.extend([child.label] if child.label and not child.flags & _KEEPING else [])
            gather(child)
        spans[id(node)] = slice(begins, min(len(labels), begins + MAX_TEXT_CHARS))

    def add(node: Node, depth: int) -> None:
        if len(taken) == MAX_ID:
            return
        merged = bool(node.flags & PRESSED) and not node.label
        words = labels[spans[id(node)]] if merged else []
        label = " | ".join(words)[:MAX_TEXT_CHARS] if merged else node.label
        # A row goes by its first words: those beside them may be a value that changes.
        fixed = node.resource or ("" if node.kind == "EditText" else words[0] if words else label)
        number = crc32("\n".join((node.package, node.kind, node.resource, fixed)).encode()) % MAX_ID + 1
        while number in taken:
            number = number % MAX_ID + 1
        taken.add(number)
        elements.append(_element(number, node, label))
        lines.append(f"{'  ' * depth}[{number}] {elements[-1]}")
        for child in node.children:
            if not (merged and child.label and not child.flags & _KEEPING and not child.children):
                add(child, depth + 1)

    for root in roots:
        gather(root)
        add(root, 0)
    return tuple(elements), tuple(lines)


def _element(number: int, node: Node, label: str) -> ScreenElement:
    kind = _KINDS.get(node.kind, "button" if node.flags & PRESSED else "list" if node.flags & {"scrollable"} else "")
    states = [] if "enabled" in node.flags else ["disabled"]
    look = " ".join([*states, *(word for flag, word in _STATES.items() if flag in node.flags)])
    if kind == "textbox":  # its own words are what was typed; what it is for is part of its name
        look = f"{look} {node.description}".strip()
        words = node.text
    else:
        words = label or (node.resource.replace("_", " ") if kind else "")
    return ScreenElement(
        number, kind or "text", words, node.box, "checked" in node.flags, "focused" in node.flags, look
    )


def bounds_in(tree: UiTree, number: int) -> Bounds | None:
    """Where the element with a number lies; None where there is none."""
    return next((element.box for element in tree.elements if element.id == number), None)


def marked_elements(tree: UiTree) -> tuple[ScreenElement, ...]:
    """The elements that get a mark on a picture (SoM): what can be pressed or has words, then what can be focused
    more than 10 pixels from those; of several within 5 pixels the first."""
    by_box: dict[tuple[int, ...], ScreenElement] = {element.box: element for element in reversed(tree.elements)}
    nodes = [node for node in tree.walk() if node.box in by_box]
    first = _apart(node.box for node in nodes if "clickable" in node.flags or node.label)
    second = _apart(node.box for node in nodes if "focusable" in node.flags)
    far = [box for box in second if all(math.dist(box.middle, marked.middle) > 10 for marked in first)]
    return tuple(by_box[box] for box in dict.fromkeys(first + far))


def _apart(boxes: Iterable[Box]) -> list[Box]:
    """The boxes whose middle is more than 5 pixels from those before them."""
    chosen: list[Box] = []
    for box in dict.fromkeys(boxes):  # each once, because a dump may have very many nodes in a few boxes
        if all(math.dist(box.middle, before.middle) > 5 for before in chosen):
            chosen.append(box)
    return chosen


def write_dump(rows: Iterable[tuple[str, str, Bounds, Iterable[str]]]) -> str:
    """A dump from a flat list of elements: class, words, box and flags of each. For worlds that have no uiautomator."""
    top = ElementTree.Element("hierarchy", rotation="0")
    for kind, words, (x0, y0, x1, y1), flags in rows:
        shown = {"class": kind, "text": _NOT_XML.sub(" ", words), "bounds": f"[{x0},{y0}][{x1},{y1}]"}
        ElementTree.SubElement(top, "node", shown | dict.fromkeys(("enabled", *flags), "true"))
    return ElementTree.tostring(top, "unicode")
