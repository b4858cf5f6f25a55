"""A rule-based planner for phones, no language model: with it the system runs offline, and it is a baseline to beat.

It knows no task by name, and of nine apps what their tasks speak of: it reads the prompt `phone`, presses what the task
names, fills fields by their labels, saves, and answers questions with the text beside the words asked about.
"""

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sdg.llm.model import Completion, Message, Sampling
from sdg.llm.provider import Provider
from sdg.llm.webrules.situation import read_situation

MAX_SWIPES = 3
"""Swipes in a row after which it stops scrolling."""
_ELEMENT = re.compile(r"^\s*\[(\d{1,4})\] (.{0,500}): \[\d+, \d+, \d+, \d+\]$")
_STATES = ("checked", "focused", "disabled", "selected", "scrollable", "password", "long-press")
_FORMS: tuple[tuple[str, str], ...] = (
    ("time", r"\b\d{1,2}:\d\d\b"),
    ("date", r"\b\d{4}-\d\d-\d\d\b"),
    ("amount", r"\b\d+\.\d\d\b"),
    ("budget", r"\b\d+\.\d\d\b"),
    ("minutes", r"\b(\d+) minutes?\b"),
    ("phone", r'"([+\d][\d ()-]{2,})"'),
    ("pin", r'"(\d{4,8})"'),
)
"""Words of a field's label, and how its value looks in a task."""
_VERBS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"\b(delete)\b", ("delete",)),
    (r"\b(remove)\b", ("remove",)),
    (r"\b(rename)\b", ("rename",)),
    (r"\b(change|set|put)\b", ("edit",)),
    (r"\b(create|add|set an?|record)\b", ("add", "new", "create")),
    (r"\bsave\b", ("save",)),
)
"""Verbs of a task, and the first words of buttons for them."""
_TOPICS: tuple[tuple[str, str], ...] = (
    ("clock", r"\balarms?\b|\btimer\b"),
    ("calendar", r"\bevents?\b|\breminder\b"),
    ("notes", r"\bnotes?\b"),
    ("contacts", r"\bcontacts?\b"),
    ("settings", r"\bwi-?fi\b|\bbrightness\b|\blanguage\b|\bringtone\b|\bphone\b"),
    ("maps", r"\bplaces?\b|\bdirections?\b"),
    ("files", r"\bfiles?\b|\bfolders?\b"),
    ("music", r"\bsongs?\b|\bplaylists?\b"),
    ("expenses", r"\bexpenses?\b|\bincome\b|\bbudget\b|\bentry\b"),
)
"""Names of apps, and words of tasks that need such an app without naming it."""


@dataclass(frozen=True, slots=True)
class PhoneElement:
    """An element of the prompt: number, kind, its words, and for a field its label and its content."""

    number: int
    kind: str
    label: str
    beside: str
    states: frozenset[str]

    @property
    def words(self) -> str:
        """Its label without signs and capitals."""
        return bare_words(self.label)


@dataclass(frozen=True)
class PhonePrompt:
    """The content of a prompt: the task, the elements now, and the commands so far."""

    task: str
    elements: tuple[PhoneElement, ...]
    past: tuple[str, ...]

    @property
    def fields(self) -> list[PhoneElement]:
        """The elements that can be typed into."""
        return [element for element in self.elements if element.kind == "textbox"]

    @property
    def live(self) -> list[PhoneElement]:
        """The elements that can be pressed and have words."""
        return [item for item in self.elements if item.kind in ("button", "checkbox", "radio") and item.words]

    def was_pressed(self, element: PhoneElement) -> bool:
        """Whether an element of this number was pressed already, with success or at least twice."""
        rows = [
            row for row in self.past if row.startswith(("Tap(", "Long Press(")) and f"element {element.number} " in row
        ]
        return len(rows) > 1 or any(row.endswith(": done") for row in rows)


class PhoneRules:
    """A `sdg.llm.model.LanguageModel` made of rules."""

    name = "phonerules (rule-based planner, no language model)"

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """The first rule's action as JSON, or in words where the prompt asks for words."""
        name, arguments = next(_rules(read_moment(messages[-1].content)))
        if "without JSON" in messages[-1].content:
            return Completion(f"{name} {json.dumps(arguments, ensure_ascii=False)}", self.name)
        answer = {"commands": [{"name": name, "args": arguments}]}
        return Completion(json.dumps(answer, ensure_ascii=False), self.name)


def read_moment(prompt: str) -> PhonePrompt:
    """The content of the user's turn of the prompt `phone`; lines that can't be read are left out."""
    situation = read_situation(prompt)
    matches = map(_ELEMENT.match, prompt.rpartition("\nObservation ")[2].splitlines())
    elements = tuple(_element(int(match[1]), match[2]) for match in matches if match)
    return PhonePrompt(situation.task, elements, situation.done)


def _element(number: int, description: str) -> PhoneElement:
    before, quote, rest = description.partition("'")
    text, _, after = rest.rpartition("'")
    words = f"{before} {after}".replace("containing the text", "").split()
    states = frozenset(words) & set(_STATES)
    if "textbox" in words:
        label = " ".join(word for word in words if word not in (*_STATES, "empty", "textbox"))
        return PhoneElement(number, "textbox", label, text, states)
    label, _, beside = text.partition(" | ")
    return PhoneElement(number, words[-1] if not quote or after.strip() else "text", label, beside, states)


Act = tuple[str, dict[str, Any]]


def _rules(now: PhonePrompt) -> Iterator[Act]:
    """Actions, of which the first is taken; each rule yields one where it applies."""
    yield from _fill(now)
    if any(element.words.startswith("loading") for element in now.elements):
        yield "Wait", {"seconds": 2}
    asks = now.task.rstrip().endswith("?")
    yield from _answer(now, certain=True) if asks else _hold_named(now)
    yield from _press_named(now)
    if not asks:
        yield from _press_verb(now)
    yield from _open_topic(now)
    yield from _press_beside(now)
    swipes = [row for row in now.past[-MAX_SWIPES:] if row.startswith("Swipe(")]
    ended = len(swipes) == MAX_SWIPES or any(not row.endswith(": done") for row in swipes[-1:])
    if not ended and any("scrollable" in element.states for element in now.elements):
        yield "Swipe", {"direction": "up", "dist": "medium"}
    if asks:
        yield from _answer(now, certain=False)
    yield "finish", {"message": "I did what I could."}


def _fill(now: PhonePrompt) -> Iterator[Act]:
    for element in now.fields:
        value = value_for(element.label, now.task)
        if not value or element.beside == value:
            continue
        was_typed = "password" in element.states and any(row.startswith("Type(") for row in now.past)
        if "focused" in element.states and not any(f"Type({value!r})" in row for row in now.past[-1:]):
            yield "Type", {"text": value}
        if "focused" not in element.states and not was_typed:
            yield "Tap", {"element": element.number}


def value_for(label: str, task: str) -> str:
    """The value that a task wants in a field with this label; "" where it gives none."""
    words = bare_words(label)
    if words.startswith("search"):
        return ""
    for word, form in _FORMS:
        if word in words.split() and (match := re.search(form, task)):
            return match[match.lastindex or 0]
    for word in words.split():
        mention = re.search(rf'\b{re.escape(word)}\w*(?: is| of)?[:]? "([^"]+)"', task, re.IGNORECASE)
        if mention and len(word) > 2:
            return mention[1]
    texts = [text for text in re.findall(r'"([^"]+)"', task) if re.search(r"[^\W\d]", text)]
    return texts[0] if texts and words.split()[-1:] in (["name"], ["title"]) else ""


def _press_named(now: PhonePrompt) -> Iterator[Act]:
    """Press the element that the task names, by the longest name; a switch only if its state isn't the wanted one."""
    task = f" {bare_words(now.task)} "
    is_off = bool(re.search(r"\boff\b|doesn t", task))
    for element in sorted(now.live, key=lambda element: -len(element.words)):
        name = element.words
        is_named = len(name) > 2 and f" {name} " in task and name not in ("save", "back", "cancel")
        is_so = "selected" in element.states or (element.kind == "checkbox" and ("checked" in element.states) != is_off)
        if is_named and not is_so and not now.was_pressed(element):
            yield "Tap", {"element": element.number}


def _hold_named(now: PhonePrompt) -> Iterator[Act]:
    """Press long on a named element, which opens its menu of actions."""
    task = f" {bare_words(now.task)} "
    for element in now.live:
        wanted = f" {element.words} " in task and "long-press" in element.states and not now.was_pressed(element)
        if wanted and len(element.words) > 2 and not re.search(r"\b(play|open|create|folder)\b", task):
            yield "Long Press", {"element": element.number}


def _open_topic(now: PhonePrompt) -> Iterator[Act]:
    for name, words in _TOPICS:
        if re.search(words, now.task, re.IGNORECASE) and not now.past:
            yield from (("Tap", {"element": element.number}) for element in now.live if element.words == name)


def _press_beside(now: PhonePrompt) -> Iterator[Act]:
    """Press elements whose second line has a word of the task."""
    task = {word for word in bare_words(now.task).split() if len(word) > 3}
    for element in now.live:
        if (
            task & set(bare_words(element.beside).split())
            and "·" not in element.beside
            and not now.was_pressed(element)
        ):
            yield "Tap", {"element": element.number}


def _press_verb(now: PhonePrompt) -> Iterator[Act]:
    for pattern, starts in _VERBS:
        if re.search(pattern, now.task, re.IGNORECASE):
            for element in reversed(now.live):
                if element.words.split()[0] in starts and not now.was_pressed(element):
                    yield "Tap", {"element": element.number}
    save = [end for end in now.live if end.label in ("Save", "Create", "OK") and not now.was_pressed(end)]
    if save and any(row.startswith(("Type(", "Tap(")) for row in now.past[1:]):
        yield "Tap", {"element": save[-1].number}
    if now.fields and not save and any(element.label == "Save" for element in now.live):
        yield "Back", {}


def _answer(now: PhonePrompt, *, certain: bool) -> Iterator[Act]:
    """A question's answer: the text beside or below the words that it asks about."""
    task = set(bare_words(now.task).split())
    for below, element in pairwise([element for element in reversed(now.elements) if element.kind == "text"]):
        words = element.words.split()
        if len(words) <= 2 and set(words) <= task and len(now.past) > 1:
            yield "finish", {"message": below.label}
    if not certain:
        rows = [row for row in now.elements if row.kind in ("text", "button") and row.words]
        best = max(rows, key=lambda row: len(set(bare_words(f"{row.label} {row.beside}").split()) & task), default=None)
        texts = f"{best.label} | {best.beside}".split(" | ") if best else []
        yield "finish", {"message": ", ".join(text for text in texts if not set(bare_words(text).split()) <= task)}


def bare_words(words: str) -> str:
    """Words in lower case without the signs between them."""
    return " ".join(re.findall(r"\w+", words.lower()))


class RandomPresses:
    """A `sdg.llm.model.LanguageModel` that presses, swipes or goes back by chance: the baseline of every figure.

    Its choices follow from the prompt and the sampling's seed, so that episodes can be repeated.
    """

    name = "phonerandom (random actions, no language model)"

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """One action on an element of the prompt; finish one time in twenty."""
        now = read_moment(messages[-1].content)
        rng = random.Random(f"{sampling.seed}\n{messages[-1].content}")
        presses: list[Act] = [("Tap", {"element": target.number}) for target in now.elements if target.kind != "text"]
        others: list[Act] = [("Back", {}), ("Swipe", {"direction": "up"}), ("Type", {"text": "a"})]
        name, arguments = rng.choice([*presses, *others]) if rng.random() < 0.95 else ("finish", {"message": "done"})
        return Completion(json.dumps({"commands": [{"name": name, "args": arguments}]}), self.name)


class ClumsyPresses:
    """A `sdg.llm.model.LanguageModel` that spoils a share `rate` of PhoneRules' actions, to measure a gate.

    Only the seed, the task and the number of the action decide a mistake: a press on plain text, on nothing, or on
    another element; a text without its last letter. The planner believes that it did what it meant unless it learns
    otherwise: its plan has the action that was meant, which replaces the actual one when the prompt repeats it.
    """

    name = "phoneclumsy (rule-based planner that errs, no language model)"

    def __init__(self, rate: float, seed: str) -> None:
        self._rate, self._seed = rate, seed

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """The first rule's action, or a mistake, with the intended action as the plan."""
        now = read_moment(_PLAN.sub(r"\2. \1: ", messages[-1].content))
        name, arguments = next(_rules(now))
        rng = random.Random(f"{self._seed}|{now.task}|{len(now.past)}")
        intention = (
            f"Type({arguments['text']!r})" if name == "Type" else f'{name}("element {arguments.get("element")} ")'
        )
        if rng.random() < self._rate:
            name, arguments = self._spoil(now, name, arguments, rng)
        answer = {"thoughts": {"plan": f"meant {intention}"}, "commands": [{"name": name, "args": arguments}]}
        return Completion(json.dumps(answer), self.name)

    def _spoil(self, now: PhonePrompt, name: str, arguments: dict[str, Any], rng: random.Random) -> Act:
        if name == "Type":
            return name, {"text": arguments["text"][:-1] or arguments["text"]}
        others = [element for element in now.elements if element.number != arguments.get("element")]
        kind = rng.choice(("shows", "nothing", "other"))
        pool = [element for element in others if (element.kind == "text") == (kind == "shows")]
        if name not in ("Tap", "Long Press") or (kind != "nothing" and not pool):
            return name, arguments
        return name, {"coords": [NOWHERE, NOWHERE]} if kind == "nothing" else {"element": rng.choice(pool).number}


NOWHERE = 12
"""A place (x = y) in the status bar, where a press does nothing."""
_PLAN = re.compile(r"^Thought \d+: meant (.*)\n(\d+)\. .*?: (?=done$|no: |refused: )", re.MULTILINE)


RANDOM = Provider(lambda settings: RandomPresses(), rule_based=True)
PHONERULES = Provider(lambda settings: PhoneRules(), rule_based=True)
CLUMSY = Provider(lambda settings: ClumsyPresses(0.25, settings.name), rule_based=True)
