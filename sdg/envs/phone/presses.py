"""What an action on a phone presses, as guards judge presses on pages: words, role, icons, the dialog around."""

import math
from dataclasses import replace

from sdg.envs.box import Box
from sdg.envs.phone.actions import IllegalCommand, PhoneAction, Point, place_of, swipe_ends
from sdg.envs.phone.tree import PRESSED, Bounds, UiTree
from sdg.envs.ui.parser.screen import ScreenElement
from sdg.envs.ui.presses import Press

SHORT = 25
"""A label of fewer letters may only agree to a dialog, so it is judged with the texts around it."""
SMALL = 300
"""Letters that are read of each text."""
STILL = 24
"""Pixels within which a swipe is a press."""


def reached_element(action: PhoneAction, tree: UiTree) -> ScreenElement | None:
    """The element that an action reaches: the one that it names, the innermost at its point, the focused one for what
    is typed; None for none."""
    if action.name in ("Type", "Enter"):
        reached = [element for element in tree.elements if element.focused]
    elif action.element:
        reached = [element for element in tree.elements if element.id == action.element]
    else:
        point = (*action.at, *action.at) if action.at else None
        reached = [element for element in tree.elements if point and Box(*element.box).contains(point)]
    return reached[-1] if reached else None


def press_on(action: PhoneAction, tree: UiTree, size: Point) -> Press:
    """What an action presses on a screen of this size, as guards judge presses on pages: the innermost
    that can be pressed at its place, with all words on it. Where the tree tells of nothing it is `unseen`. A swipe is
    a slider with the words at its start and on its way, or lets go over something at its end."""
    if action.name == "Enter" or (action.name == "Type" and {"\n", "\r"} & set(action.text)):
        return _enter(action, tree)
    if action.name not in ("Tap", "Long Press", "Swipe"):
        return Press()
    try:
        start = place_of(action, tree, size)
    except IllegalCommand:
        return Press(unseen=True)
    point = (*start, start[0] + 1, start[1] + 1)
    if action.name == "Swipe" and math.dist(start, end := swipe_ends(action, start, size)[1]) >= STILL:
        middle = ((start[0] + end[0]) // 2, (start[1] + end[1]) // 2) * 2
        passed = [node for node in tree.nodes if node.box.contains(point) or node.box.contains(middle)]
        texts = [words[:SMALL] for node in passed for words in (node.text, node.description)]
        return _dropped_on(
            tree,
            point,
            (*end, *end),
            Press("slider", dialog="\n".join(filter(None, texts))),
            goes_along=action.to is None,
        )
    here = [node for node in tree.nodes if node.box.contains(point) and (node.label or node.flags & PRESSED)]
    if not here:
        return Press(unseen=True)
    target = ([node for node in here if node.flags & PRESSED] or here)[-1]
    if target.kind == "EditText":
        return Press()
    inside = [node for node in tree.nodes if target.box.contains(node.box)]
    twins = [node for node in inside if node.box == target.box]
    inner = [node.label for node in inside if node.label and node.box != target.box and not node.flags & PRESSED]
    texts = [target.label, *(words for node in twins for words in (node.text, node.description)), " | ".join(inner)]
    words, *labels = [*dict.fromkeys(filter(None, texts)), ""]
    around = "\n".join(element.text[:SMALL] for element in tree.elements if element.kind == "text")
    is_button = any(node.kind in ("Button", "ImageButton") for node in twins)
    return Press(
        "button" if is_button else "row" if len(inner) > 1 else "control",
        words,
        picture=not words,
        classes=" ".join(node.resource for node in inside),
        labels="\n".join(filter(None, labels)),
        dialog=around if len(words) < SHORT else "",
    )


def _dropped_on(tree: UiTree, start: Bounds, end: Bounds, slides: Press, *, goes_along: bool) -> Press:
    """A swipe that lets go over something else than it began on, as a drop there; where the content `goes_along` with
    the finger, it scrolls."""
    ends = [node for node in tree.nodes if node.box.contains(end)]
    scrolls = goes_along and any("scrollable" in node.flags and node.box.contains(start) for node in ends)
    under = [node for node in ends if not node.box.contains(start) and (node.label or node.flags & PRESSED)]
    if scrolls or not under:
        return slides
    inside = [node for node in tree.nodes if under[-1].box.contains(node.box)]
    texts = filter(None, (words for node in inside for words in (node.text, node.description)))
    return replace(
        slides,
        role="drop",
        labels="\n".join(dict.fromkeys(texts)),
        classes=" ".join(node.resource for node in inside),
    )


def _enter(action: PhoneAction, tree: UiTree) -> Press:
    """Enter where the focus is: in a field to search it searches; elsewhere no button says what it sends, because a
    phone doesn't tell which one it presses, if any."""
    field = reached_element(action, tree)
    if field is None:
        return Press(unseen=True)
    inside = [node for node in tree.nodes if Box(*field.box).contains(node.box)]
    names = [f"{node.resource} {node.description if field.kind == 'textbox' else ''}" for node in inside]
    if {"search", "query"} & set(" ".join(names).replace("_", " ").lower().split()):
        return Press()
    labels = [element.text for element in tree.elements if element.kind not in ("text", "list", "textbox")]
    acting = [node for node in tree.nodes if node.flags & PRESSED and node.kind != "EditText"]
    labels += [words for node in acting for words in (node.text, node.description)]
    return Press("button", labels="\n".join(dict.fromkeys(labels)), field=True, unseen=True)
