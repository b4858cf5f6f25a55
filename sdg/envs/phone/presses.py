"""What an action on a phone presses, as guards judge presses on pages: words, role, icons, the dialog around."""

import math

from sdg.envs.box import Box
from sdg.envs.phone.actions import ActionError, PhoneAction, Point, place_of, swipe_ends
from sdg.envs.phone.tree import PRESSED, UiTree
from sdg.envs.ui.parser.screen import ScreenElement
from sdg.envs.ui.presses import Press

SHORT, SMALL = 25, 300
"""Letters of a label that may only agree to a dialog, and those that are read of each text around."""
STILL = 24
"""Pixels within which a swipe is a press."""


def target_of(action: PhoneAction, tree: UiTree) -> ScreenElement | None:
    """The element that an action reaches: the one that it names, the innermost at its point, the focused one for what
    is typed; None for none."""
    if action.name in ("Type", "Enter"):
        found = [each for each in tree.elements if each.focused]
    elif action.element:
        found = [each for each in tree.elements if each.id == action.element]
    else:
        found = [each for each in tree.elements if action.at and Box(*each.box).contains((*action.at, *action.at))]
    return found[-1] if found else None


def press_on(action: PhoneAction, tree: UiTree, size: Point) -> Press:
    """What an action presses on a screen of this size, as guards judge presses on pages: the innermost
    that can be pressed at its place, with all words on it. Where the tree tells of nothing it is `unseen`. A swipe is
    a slider with the words at its start and on its way."""
    if action.name == "Enter" or (action.name == "Type" and {"\n", "\r"} & set(action.text)):
        return _enter(action, tree)
    if action.name not in ("Tap", "Long Press", "Swipe"):
        return Press()
    try:
        start = place_of(action, tree, size)
    except ActionError:
        return Press(unseen=True)
    point = (*start, start[0] + 1, start[1] + 1)
    if action.name == "Swipe" and math.dist(start, end := swipe_ends(action, start, size)[1]) >= STILL:
        middle = ((start[0] + end[0]) // 2, (start[1] + end[1]) // 2) * 2
        passed = [each for each in tree.nodes if each.box.contains(point) or each.box.contains(middle)]
        said = [words[:SMALL] for each in passed for words in (each.text, each.description)]
        return Press("slider", dialog="\n".join(filter(None, said)))
    here = [each for each in tree.nodes if each.box.contains(point) and (each.label or each.flags & PRESSED)]
    if not here:
        return Press(unseen=True)
    target = ([each for each in here if each.flags & PRESSED] or here)[-1]
    if target.kind == "EditText":
        return Press()
    inside = [each for each in tree.nodes if target.box.contains(each.box)]
    same = [each for each in inside if each.box == target.box]
    inner = [each.label for each in inside if each.label and each.box != target.box and not each.flags & PRESSED]
    said = [target.label, *(words for each in same for words in (each.text, each.description)), " | ".join(inner)]
    words, *labels = [*dict.fromkeys(filter(None, said)), ""]
    around = "\n".join(each.text[:SMALL] for each in tree.elements if each.kind == "text")
    is_button = any(each.kind in ("Button", "ImageButton") for each in same)
    return Press(
        "button" if is_button else "row" if len(inner) > 1 else "control",
        words,
        picture=not words,
        classes=" ".join(each.resource for each in inside),
        labels="\n".join(filter(None, labels)),
        dialog=around if len(words) < SHORT else "",
    )


def _enter(action: PhoneAction, tree: UiTree) -> Press:
    """Enter where the focus is: in a field to search it searches; elsewhere no button says what it sends, because a
    phone doesn't tell which one it presses, if any."""
    field = target_of(action, tree)
    if field is None:
        return Press(unseen=True)
    inside = [each for each in tree.nodes if Box(*field.box).contains(each.box)]
    names = [f"{each.resource} {each.description if field.kind == 'textbox' else ''}" for each in inside]
    if {"search", "query"} & set(" ".join(names).replace("_", " ").lower().split()):
        return Press()
    labels = [each.text for each in tree.elements if each.kind not in ("text", "list", "textbox")]
    acting = [each for each in tree.nodes if each.flags & PRESSED and each.kind != "EditText"]
    labels += [words for each in acting for words in (each.text, each.description)]
    return Press("button", labels="\n".join(dict.fromkeys(labels)), field=True, unseen=True)
