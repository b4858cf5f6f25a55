"""The rules: named things are clicked, named checkboxes ticked, texts in quotation marks typed, then the form is sent.

General by construction: each uses the words of the task and the kinds and words of elements. Rules that really solve
just one task have no place here.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sdg.llm.model import Completion, Message, Sampling
from sdg.llm.provider import Provider
from sdg.llm.webrules.situation import FIELDS, SeenElement, Situation, bare_text, read_situation, similarity

ICONS = {"x": "close", "like": "heart", "delete": "trash", "important": "star"}
"""The name of the icon for an action, where it isn't the action's own."""


Written = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RuleAnswer:
    """The commands of a rule, and a note that the next question repeats to it."""

    commands: Sequence[Written]
    note: str = ""


def click(element: SeenElement) -> Written:
    """Click the middle of an element."""
    return {"name": "CLICK_COORDS", "args": {"coords": [max(0, min(319, value)) for value in element.middle]}}


def fill(field: SeenElement, text: str) -> list[Written]:
    """Replace a field's content by a text."""
    keys = ["C-a", "<Backspace>"] if field.text else []
    deletions: list[Written] = [{"name": "PRESS_KEY", "args": {"key": key}} for key in keys]
    return [click(field), *deletions, {"name": "TYPE_TEXT", "args": {"text": text}}]


def submit_form(now: Situation, commands: Sequence[Written]) -> RuleAnswer:
    """Send off a filled form."""
    button = now.submit()
    return RuleAnswer([*commands, *([click(button)] if button else [])])


def tick(now: Situation) -> RuleAnswer | None:
    """Select A, B and click Submit: checkboxes and radio buttons by the words beside them."""
    ticks = now.of_kind("checkbox", "radio")
    match = re.match(r"(?:select|choose|check|tick)\s+(.+?)(?:\s+and\s+(?:click|press|hit)\b.*)?$", now.task, re.I)
    if not ticks or match is None:
        return None
    labels = [(label_right(now, checkbox), checkbox) for checkbox in ticks]
    commands = []
    wants_none = bare_text(match[1]) in ("nothing", "none")
    for words in wanted_names(now.task) if not wants_none else ():
        scores = [(2.0 if text == words else similarity(text, words), checkbox) for text, checkbox in labels if text]
        best = max(scores, key=lambda pair: pair[0], default=(0.0, None))
        if best[1] is not None and best[0] > 0.6 and not best[1].is_checked:
            commands.append(click(best[1]))
    return submit_form(now, commands) if commands or wants_none else None


def wanted_names(task: str) -> list[str]:
    """The names that are to be selected: A and B of "Select words similar to A, B and click Submit"."""
    match = re.match(r"\w+\s+(.+?)(?:\s+and\s+(?:click|press|hit)\b.*)?$", task)
    names_text = re.sub(r"^(?:all )?(?:words|items|options) similar to ", "", match[1]) if match else ""
    return [name.strip(" .\"'") for name in re.split(r",\s*|\s+and\s+", names_text) if name.strip(" .\"'")]


def label_right(now: Situation, element: SeenElement) -> str:
    """The words to the right of a small element."""
    near = [
        label
        for label in now.of_kind("text", "link")
        if abs(label.y - element.y) < 22 and 0 <= label.place[0] - element.place[2] + 8 < 60
    ]
    return min(near, key=lambda label: (abs(label.y - element.y) // 6, label.place[0]), default=element).text


def label_of(now: Situation, field: SeenElement) -> str:
    """The words beside or above a field."""
    labels: list[tuple[float, str]] = []
    for neighbour in now.of_kind("text"):
        left = field.place[0] - neighbour.place[2]
        above = field.place[1] - neighbour.place[3]
        if abs(neighbour.y - field.y) < 18 and -8 <= left < 150:
            labels.append((0.2 * max(left, 0), neighbour.text))
        elif -8 <= above < 50 and neighbour.place[0] < field.place[2] and neighbour.place[2] > field.place[0] - 30:
            labels.append((20.0 + above, neighbour.text))
    return min(labels, key=lambda label: label[0], default=(0, ""))[1]


def labelled_fields(now: Situation) -> RuleAnswer | None:
    """Several fields, each with a label that the task names."""
    fields = now.of_kind(*FIELDS)
    values = re.findall(r'(\w+)\s+"([^"]+)"', now.task)  # the word of a label and its value: username "juan"
    if len(fields) < 2 or len(values) < 2:
        return None
    commands: list[Written] = []
    free = list(fields)
    for names, value in values:
        words = bare_text(names).split()
        scores: list[tuple[float, int, SeenElement]] = []
        for field in free:
            label = bare_text(f"{label_of(now, field)} {field.text}").split()
            score = max((similarity(a, b) for a in words for b in label if len(a) > 2), default=0.0)
            scores.append((score, -field.y, field))
        best = max(scores, default=None, key=lambda score: score[:2])
        if best is not None and best[0] > 0.7:
            free.remove(best[2])
            commands += fill(best[2], value)
    if len(free) == len(fields):
        for field, (_, value) in zip(sorted(fields, key=lambda field: field.y), values, strict=False):
            commands += fill(field, value)
    return submit_form(now, commands)


def entered_text(now: Situation) -> RuleAnswer | None:
    """Type the quoted text into the only field."""
    fields = now.of_kind(*FIELDS)
    if not fields or not now.quotations or not re.search(r"\b(enter|type|write|input|put)\b", now.lower):
        return None
    text = now.quotations[0]
    if re.search("lower ?case", now.lower):
        text = text.lower()
    if re.search("upper ?case", now.lower):
        text = text.upper()
    return submit_form(now, fill(fields[0], text))


def icon(now: Situation, name: str, among: Sequence[SeenElement] | None = None) -> SeenElement | None:
    """An icon that stands for a word, on the screen or among some of its elements."""
    look = ICONS.get(name.lower(), name.lower())
    elements = now.elements if among is None else among
    icons = (element for element in elements if element.kind in ("icon", "button"))
    return next((element for element in icons if look in element.look.split()), None)


def clicked_in_order(now: Situation) -> RuleAnswer | None:
    """Click the elements that the task names, step by step."""
    if not re.search(r"\b(click|press|close|hit|tap|push)\b", now.lower):
        return None
    targets = [_element_named(now, step) for step in re.split(r",?\s*\bthen\b\s*", now.task)]
    commands = [click(target) for target in targets if target]
    return RuleAnswer(commands, "clicked") if commands else None


def _element_named(now: Situation, step: str) -> SeenElement | None:
    kinds = ("button", "link", "tab", "text", "icon")
    for words in re.findall(r'"([^"]+)"', step):
        element = _exactly(now, words, *kinds) or icon(now, words) or now.find_named(words, *kinds)
        if element:
            return element
    return max(
        [
            element
            for element in now.of_kind("button", "tab", "link", "text")
            if bare_text(element.text) and re.search(rf"\b{re.escape(bare_text(element.text))}\b", bare_text(step))
        ],
        key=lambda element: (element.kind != "text", len(element.text)),
        default=None,
    )


def _exactly(now: Situation, words: str, *kinds: str) -> SeenElement | None:
    matches = [element for element in now.of_kind(*kinds) if element.text.strip() == words]
    return min(matches, key=lambda element: kinds.index(element.kind), default=None)


def only_button(now: Situation) -> RuleAnswer | None:
    """When no other rule applies: click the only button."""
    button = now.submit()
    return RuleAnswer([click(button)], "the only button") if button and not now.done else None


def focused_field(now: Situation) -> RuleAnswer | None:
    """Focus into the 2nd textbox."""
    fields = sorted(now.of_kind(*FIELDS), key=lambda field: (field.y, field.x))
    if not fields or not re.match(r"(focus|click)\b.*\b(textbox|text ?field|text ?area|input)\b", now.lower):
        return None
    number = re.search(r"\b(\d+)(?:st|nd|rd|th)\b", now.lower)
    return RuleAnswer([click(fields[min(int(number[1]) if number else 1, len(fields)) - 1])])


RULES: tuple[Callable[[Situation], RuleAnswer | None], ...] = (
    tick,
    labelled_fields,
    focused_field,
    entered_text,
    clicked_in_order,
    only_button,
)
"""Rules in the order in which they are tried; the first that has a plan answers."""


class WebRules:
    """A `sdg.llm.model.LanguageModel` made of rules."""

    name = "webrules (rule-based planner, no language model)"

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """The first rule's commands as JSON; prose where no rule knows what to do."""
        now = read_situation(messages[-1].content)
        plan = next((plan for rule in RULES if (plan := rule(now)) is not None and plan.commands), None)
        if "FINISH:" in messages[0].content and (now.done or plan is None):  # a user's own page, which nobody judges
            stuck = ": refused" in now.done[-1] if now.done else plan is None
            words = "no rule knows what to do" if stuck else "done as far as the rules know"
            plan = RuleAnswer([{"name": "GIVE_UP" if stuck else "FINISH", "args": {"text": words}}])
        if plan is None:
            return Completion("No rule of mine knows what to do here.", self.name)
        thoughts = {"text": f"{len(now.elements)} elements", "plan": plan.note}
        return Completion(json.dumps({"thoughts": thoughts, "commands": list(plan.commands)[:30]}), self.name)


WEBRULES = Provider(lambda settings: WebRules(), rule_based=True)
