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
from sdg.sandbox.guard import BudgetSpent, GeneratedError, Guard, Guarded, Refused, Signature
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
"""Keywords under which a skill's one argument is understood."""
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


class SnippetWorld:
    """One snippet's world: perception functions over fixed data, and skills that log their calls."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self._things = [SnippetThing(**{**each, "position": tuple(each["position"])}) for each in data["objects"]]
        self.calls: list[str] = []

    def get_observed_objects(self) -> list[SnippetThing]:
        """All things seen."""
        return list(self._things)

    def get_inventory(self) -> dict[str, int]:
        """What is carried, with counts."""
        return dict(self._data["inventory"])

    def get_position(self) -> tuple[int, int]:
        """Where the robot is."""
        x, y = self._data["position"]
        return x, y

    def get_steps(self) -> int:
        """Steps so far."""
        return int(self._data["steps"])

    def get_mission(self) -> str:
        """The mission."""
        return str(self._data["mission"])

    def is_holding(self, name: str) -> bool:
        """Whether something of this name or type is carried."""
        return self._name_of(name) in self._data["is_holding"]

    def perception(self) -> dict[str, Callable[..., Any]]:
        """The functions of checks."""
        names = ("get_observed_objects", "get_inventory", "get_position", "get_steps", "get_mission", "is_holding")
        return {name: getattr(self, name) for name in names}

    def skills(self) -> dict[str, Callable[..., bool]]:
        """The functions that programs have besides."""
        return {name: self._skill(name) for name in self._data["skills"]}

    def _skill(self, name: str) -> Callable[..., bool]:
        def call(*positional: Any, **keywords: Any) -> bool:
            arguments = (*positional, *keywords.values())
            if len(self.calls) >= MAX_SKILL_CALLS:
                raise TooManyCalls
            texts = [self._steps_to_wait(a) if name == "wait" else self._name_of(a) for a in arguments]
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
        if not all(part.isascii() and part.isalnum() for part in thing.replace("#", " ").replace("-", " ").split()):
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


def load(source: str, *, api: str, data: Mapping[str, Any], budget: int | None = None) -> Guarded:
    """A snippet behind its guard. Raises `Refused`."""
    if api not in ("check", "program"):
        raise ValueError(f"an api is check or program, not {api!r}")
    skills = tuple((str(name), int(least), int(most)) for name, (least, most) in data["skills"].items())
    return guards(skills, budget)[api].load(prune_source(extract_code(source), api), entry=api)


class _Watch:
    """Records what the interpreter is asked for while a snippet runs: files, imports, sockets, processes."""

    def __init__(self) -> None:
        self.events: list[str] | None = None
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.events is None or event in _EXPECTED_EVENTS or len(self.events) >= 20:
            return
        detail = str(arguments[0 if event == "open" else -1])[:60] if arguments else ""
        if (event, detail) not in _OWN_EVENTS:
            self.events.append(f"{event} {detail}".strip())


_watch: list[_Watch] = []
_state: list[frozenset[str]] = []


def run_snippet(request: dict[str, Any]) -> dict[str, Any]:
    """Inside the worker: outcome, message, calls and side effects of one snippet."""
    if not _watch:
        _watch.append(_Watch())
        _state.append(_interpreter_state())
        world = SnippetWorld(request["world"])
        source = "def check():\n    return get_steps() > 0\n"
        load(source, api="check", data=request["world"], budget=request.get("budget"))(world.perception())
    world = SnippetWorld(request["world"])
    began = time.process_time()
    _watch[0].events = []
    outcome, message = _outcome(request, world)
    events, _watch[0].events = _watch[0].events, None
    work = round(time.process_time() - began, 4)
    effects = [f"event {event}" for event in events]
    differences = sorted(_interpreter_state() ^ _state[0])
    if differences:
        effects.append(f"interpreter changed: {', '.join(differences[:5])}")
        _state[0] = _interpreter_state()
    if SECRET in message and SECRET not in request["code"]:
        effects.append("secret in the message")
    if SnippetWorld(request["world"]).get_observed_objects() != world.get_observed_objects():
        effects.append("world changed")
    return {
        "outcome": outcome,
        "message": message[:300],
        "calls": world.calls,
        "effects": effects,
        "work_seconds": work,
    }


def _outcome(request: dict[str, Any], world: SnippetWorld) -> tuple[str, str]:
    try:
        snippet = load(request["code"], api=request["api"], data=request["world"], budget=request.get("budget"))
        value = snippet({**world.perception(), **world.skills()})
        return "ok", repr(value)[:100]
    except Refused as error:
        return "reject", str(error)
    except BudgetSpent as error:
        return "timeout", str(error)
    except GeneratedError as error:
        return "error", str(error)
    except TooManyCalls:
        return "timeout", f"more than {MAX_SKILL_CALLS} skill calls"


def _interpreter_state() -> frozenset[str]:
    """What a snippet could leave behind in the interpreter, by name."""
    limit = f"recursion limit {sys.getrecursionlimit()}"
    return frozenset(
        (limit, *(f"builtin {name}" for name in vars(builtins)), *(f"module {name}" for name in sys.modules))
    )
