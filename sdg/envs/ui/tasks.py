"""The tasks: the 74 of MiniWoB++ that "computer tasks from screenshots alone" was evaluated on (its appendix A).

104 pages were known when the paper was written; 30 are excluded in its appendix A. Names are those of the package
`miniwob` 1.1, which has 73 of them; the page that the paper calls drag-item is there no more.
"""

import difflib
import random

from sdg.errors import UserError

GUESSED = "drag-circle"
"""Stands for the paper's drag-item, the 74th: a guess, told wherever it is counted."""

TASKS: tuple[str, ...] = (
    "bisect-angle",
    "choose-date",
    "circle-center",
    "click-button",
    "click-button-sequence",
    "click-checkboxes",
    "click-checkboxes-large",
    "click-checkboxes-soft",
    "click-checkboxes-transfer",
    "click-collapsible",
    "click-collapsible-2",
    "click-color",
    "click-dialog",
    "click-dialog-2",
    "click-link",
    "click-menu",
    "click-option",
    "click-pie",
    "click-shades",
    "click-shape",
    "click-tab",
    "click-tab-2",
    "click-tab-2-hard",
    "click-test",
    "click-test-2",
    "click-widget",
    "copy-paste",
    "copy-paste-2",
    "count-shape",
    "count-sides",
    "drag-box",
    "drag-circle",
    "drag-items",
    "drag-items-grid",
    "drag-shapes",
    "email-inbox",
    "email-inbox-forward-nl",
    "email-inbox-forward-nl-turk",
    "email-inbox-nl-turk",
    "enter-date",
    "enter-password",
    "enter-text",
    "enter-text-2",
    "enter-text-dynamic",
    "enter-time",
    "find-midpoint",
    "find-word",
    "focus-text",
    "focus-text-2",
    "identify-shape",
    "login-user",
    "login-user-popup",
    "multi-layouts",
    "multi-orderings",
    "navigate-tree",
    "read-table",
    "read-table-2",
    "resize-textarea",
    "right-angle",
    "scroll-text",
    "scroll-text-2",
    "search-engine",
    "simple-algebra",
    "simple-arithmetic",
    "social-media",
    "social-media-all",
    "social-media-some",
    "terminal",
    "text-transform",
    "tic-tac-toe",
    "unicode-test",
    "use-autocomplete",
    "use-colorwheel",
    "visual-addition",
)
"""The 74 names, sorted."""

UNSEEN: tuple[str, ...] = tuple(sorted(random.Random(74).sample(sorted(TASKS), 15)))
"""Drawn on 2026-11-22 before anything was written: held out: no exemplar, no rule, no training data."""

SEEN: tuple[str, ...] = tuple(task for task in TASKS if task not in UNSEEN)
"""The 59 tasks that parser, rules and prompts may be made from."""


def task_name(name: str) -> str:
    """The name itself. UserError, with close matches, for a task that there isn't."""
    if name in TASKS:
        return name
    close = difflib.get_close_matches(str(name), TASKS, n=3, cutoff=0.4)
    raise UserError(
        f"there is no task {name!r:.80}; " + (f"did you mean {', '.join(close)}?" if close else "see TASKS")
    )
