"""What an action on a phone presses, as guards judge presses on pages: words, role, icons, the dialog around."""

import math

from sdg.envs.phone.actions import PhoneAction
from sdg.envs.phone.tree import UiTree, contains
from sdg.envs.ui.parser.screen import ScreenElement
from sdg.envs.ui.presses import Press

SHORT, SMALL = 25, 300
"""Letters of a label that may only agree to a dialog, and of a dialog; more is a page."""
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
        found = [each for each in tree.elements if action.at and contains(each.box, (*action.at, *action.at))]
    return found[-1] if found else None


def press_on(action: PhoneAction, tree: UiTree) -> Press:
    """What an action presses on a screen, as guards judge presses on pages: its words and those of the small dialog
    around it, resources as names of its icon. Enter may press any button there is, but in a field to search."""
    target, still = target_of(action, tree), action.to and math.dist(action.at or action.to, action.to) < STILL
    buttons = [each for each in tree.walk() if each.kind in ("Button", "ImageButton")]
    if target is not None and action.name == "Enter" and not {"search", "query"} & set(_names_in(target, tree).split()):
        return Press("button", labels="\n".join(each.label for each in buttons), field=True)
    if (
        target is None
        or not (action.name in ("Tap", "Long Press") or still)
        or target.kind in ("text", "list", "textbox")
    ):
        return Press()
    inside = [each for each in tree.walk() if contains(target.box, each.box)]
    words = target.text if any(each.label for each in inside) else ""
    around = "\n".join(each.text for each in tree.elements if each.kind == "text")
    return Press(
        "button" if any(each.box == target.box for each in buttons) else "control",
        words,
        _names_in(target, tree),
        not words,
        labels="\n".join(each.description for each in inside if each.box == target.box and each.description),
        dialog=around if len(words) < SHORT and len(around) < SMALL else "",
    )


def _names_in(target: ScreenElement, tree: UiTree) -> str:
    """What an element is called by its app and, if it is a field, by its label, in words."""
    inside = [each for each in tree.walk() if contains(target.box, each.box)]
    names = [f"{each.resource} {each.description if target.kind == 'textbox' else ''}" for each in inside]
    return " ".join(names).replace("_", " ").lower()
