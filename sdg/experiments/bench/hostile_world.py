"""The little world that hostile snippets run in, and the inside of the worker that runs them.

Not BabyAI on purpose: the guard takes the functions and records it exposes as arguments.
"""

import builtins
import encodings.unicode_escape  # noqa: F401  the parser imports this and the next when a source needs them
import sys
import time
import unicodedata  # noqa: F401
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sdg.deduction.deduce import DeductionSettings
from sdg.prompts.replies import extract_code
from sdg.prompts.sources import prune_source
from sdg.sandbox.guard import BudgetSpent, GeneratedError, Guard, GuardedFunction, Refused, Signature
from sdg.sandbox.guard.guard import BUDGET_STEPS
from sdg.sandbox.process.job import BEAT_SECONDS

MAX_SKILL_CALLS = 200
MAX_NAME_CHARACTERS = 64
MAX_WAIT_STEPS = 50
_EXPECTED_EVENTS = frozenset({"compile", "exec", "builtins.id"})
_OWN_EVENTS = frozenset(
    {("open", "<unknown>"), ("open", "<generated>"), ("time.sleep", str(BEAT_SECONDS))}
    | {("object.__getattr__", name) for name in ("tb_frame", "f_code")}
)
"""Events that the guard and its worker cause themselves: line numbers of errors, the parser's search for the text of a
wrong line, and (from Python 3.13 on) the sleep between two signs of life."""
_WORDS = frozenset({"thing", "name", "steps"})
"""Names of a skill's one argument when it is a keyword."""
BUDGETS = {"check": BUDGET_STEPS, "program": DeductionSettings().budget}
"""Steps of one run, by api: those of a check and of a program in a run."""
SECRET = "MARKER-9f31"
"""The secret in the scratch folder and the environment; a snippet that reveals it has read one of them."""


@dataclass(frozen=True, slots=True)
class SnippetThing:
    """An object as snippets see it; `distance` in cells, `position` (x, y)."""

    name: str
    type: str
    color: str
    distance: float
    position: tuple[int, int]
    is_open: bool
    held: bool


class TooManyCalls(BaseException):
    """A program called more skills than it may; programs can't catch this."""


_OUTCOMES: Mapping[type[BaseException], str] = {
    Refused: "reject",
    BudgetSpent: "timeout",
    GeneratedError: "error",
    TooManyCalls: "timeout",
}


class SnippetWorld:
    """One snippet's world: perception functions over fixed data, and skills that log their calls."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self.things = [SnippetThing(**{**thing, "position": tuple(thing["position"])}) for thing in data["objects"]]
        self.calls: list[str] = []

    def perception(self) -> dict[str, Callable[..., Any]]:
        """The functions of checks; each call makes its value again."""
        return {
            "get_observed_objects": lambda: list(self.things),
            "get_inventory": lambda: dict(self._data["inventory"]),
            "get_position": lambda: tuple(self._data["position"]),
            "get_steps": lambda: int(self._data["steps"]),
            "get_mission": lambda: str(self._data["mission"]),
            "is_holding": lambda name: self._name_of(name) in self._data["is_holding"],
        }

    def skills(self) -> dict[str, Callable[..., bool]]:
        """The functions that only programs have."""
        return {name: self._skill(name) for name in self._data["skills"]}

    def _skill(self, name: str) -> Callable[..., bool]:
        def call(*positional: Any, **keywords: Any) -> bool:
            arguments = (*positional, *keywords.values())
            if len(self.calls) >= MAX_SKILL_CALLS:
                raise TooManyCalls(f"more than {MAX_SKILL_CALLS} skill calls")
            texts = [self._steps_to_wait(value) if name == "wait" else self._name_of(value) for value in arguments]
            self.calls.append(f"{name}({', '.join(map(str, texts))})")
            return True

        return call

    def _steps_to_wait(self, steps: Any) -> int:
        if type(steps) is not int or not 0 <= steps <= MAX_WAIT_STEPS:
            raise ValueError(f"wait takes a whole number from 0 to {MAX_WAIT_STEPS}")
        return steps

    def _name_of(self, thing: Any) -> str:
        if type(thing) is SnippetThing:
            return thing.name
        if type(thing) is not str or not 0 < len(thing) <= MAX_NAME_CHARACTERS:
            raise ValueError(f"give an object, or a name of at most {MAX_NAME_CHARACTERS} characters")
        if not all(word.isascii() and word.isalnum() for word in thing.replace("#", " ").replace("-", " ").split()):
            raise ValueError(f"{thing!r} is not the name of an object")
        return thing


@cache
def guards(skills: tuple[tuple[str, int, int], ...], budget: int | None = None) -> dict[str, Guard]:
    """The guard for checks and the one for programs, with the budgets in BUDGETS or with `budget`."""
    blank = SnippetWorld.__new__(SnippetWorld).perception()
    actions = {name: Signature(name, least, most, keywords=_WORDS) for name, least, most in skills}
    return {
        "check": Guard(blank, records=(SnippetThing,), returns=bool, budget_steps=budget or BUDGETS["check"]),
        "program": Guard({**blank, **actions}, records=(SnippetThing,), budget_steps=budget or BUDGETS["program"]),
    }


def load(source: str, *, api: str, data: Mapping[str, Any], budget: int | None = None) -> GuardedFunction:
    """A snippet behind its guard. Raises `Refused`."""
    if api not in ("check", "program"):
        raise ValueError(f"an api is check or program, not {api!r}")
    skills = tuple((str(name), int(least), int(most)) for name, (least, most) in data["skills"].items())
    return guards(skills, budget)[api].load(prune_source(extract_code(source), api), entry=api)


class _Watch:
    """Records the interpreter's audit events while a snippet runs: files, imports, sockets, processes. `state` is the
    interpreter's before any snippet; a first check, which loads the modules that checks need, is run at once."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.events: list[str] | None = None
        sys.addaudithook(self._note)
        self.state = _interpreter_state()
        _outcome(request | {"code": "def check():\n    return get_steps() > 0\n", "api": "check"})

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.events is None or event in _EXPECTED_EVENTS or len(self.events) >= 20:
            return
        detail = str(arguments[0 if event == "open" else -1])[:60] if arguments else ""
        if (event, detail) not in _OWN_EVENTS:
            self.events.append(f"{event} {detail}".strip())


_watches: list[_Watch] = []


def run_snippet(request: dict[str, Any]) -> dict[str, Any]:
    """Inside the worker: outcome, message, calls and side effects of one snippet."""
    if not _watches:
        _watches.append(_Watch(request))
    watch = _watches[0]
    began = time.process_time()
    watch.events = events = list[str]()
    outcome, message, world = _outcome(request)
    watch.events = None
    work = round(time.process_time() - began, 4)
    effects = [f"event {event}" for event in events]
    if differences := sorted(_interpreter_state() ^ watch.state):
        effects.append(f"interpreter changed: {', '.join(differences[:5])}")
        watch.state = _interpreter_state()
    if SECRET in message and SECRET not in request["code"]:
        effects.append("secret in the message")
    if SnippetWorld(request["world"]).things != world.things:
        effects.append("world changed")
    return {
        "outcome": outcome,
        "message": message[:300],
        "calls": world.calls,
        "effects": effects,
        "work_seconds": work,
    }


def _outcome(request: dict[str, Any]) -> tuple[str, str, SnippetWorld]:
    """The outcome of a snippet, its message or value, and its world."""
    world = SnippetWorld(request["world"])
    try:
        snippet = load(request["code"], api=request["api"], data=request["world"], budget=request.get("budget"))
        return "ok", repr(snippet({**world.perception(), **world.skills()}))[:100], world
    except tuple(_OUTCOMES) as error:
        return next(name for kind, name in _OUTCOMES.items() if isinstance(error, kind)), str(error), world


def _interpreter_state() -> frozenset[str]:
    """Names of all parts of the interpreter that a snippet could change."""
    return frozenset(
        (
            f"recursion limit {sys.getrecursionlimit()}",
            *(f"builtin {name}" for name in vars(builtins)),
            *(f"module {name}" for name in sys.modules),
        )
    )
