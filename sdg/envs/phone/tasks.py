"""Tasks on a phone as data, and how an episode is judged: sub-goals in order, answers, and what else was changed.

    {"id": "clock_5", "instruction": "Delete the alarm at 22:30.", "shortest": 6,
     "goals": [{"at": "os.front", "is": "clock"}, {"at": "clock.alarms", "lacks": {"time": "22:30"}}]}
    {"id": "clock_8", "instruction": "Which label ...?", "answers": ["Pick up kids"], "shortest": 2}

A condition looks at a place of the state (`at`): `is` it this value, `has` or `lacks` the list an item with these
fields, do `all` items have them; or at the UI tree: `shows` an element these words.
"""

import json
import random
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sdg.envs.phone.tree import UiTree

FILE = Path(__file__).parent / "embedded" / "tasks.json"
TESTS = ("is", "has", "lacks", "all")
PASSING = "os."
"""Places of the state that a task passes through and needn't be at when it ends."""
HELD_OUT_COUNT, MEASURED_COUNT = 15, 60
SAMPLING_SEED = 2511
State = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PhoneTask:
    """A task: an operation with sub-goals in order, or a question with its right answers, any of which will do.

    `shortest` counts the actions of a shortest path, finish included, as a search found it; 0 where none is known.
    Tasks that are `fresh` were written after prompts and rules, to hold some of them out.
    """

    id: str
    instruction: str
    goals: tuple[Mapping[str, Any], ...] = ()
    answers: tuple[str, ...] = ()
    shortest: int = 0
    seed: int = 1
    fresh: bool = False

    @property
    def app(self) -> str:
        """The app that it is about, as AndroidLab's names have it: what stands before the first underscore."""
        return self.id.partition("_")[0]

    @property
    def is_question(self) -> bool:
        """Whether an answer is asked for."""
        return bool(self.answers)


@cache
def embedded_tasks() -> tuple[PhoneTask, ...]:
    """The tasks of the embedded phone, sorted by id."""
    tasks = [
        PhoneTask(**row | {key: tuple(row[key]) for key in ("goals", "answers") if key in row})
        for row in json.loads(FILE.read_text("utf-8"))
    ]
    return tuple(sorted(tasks, key=lambda task: task.id))


@cache
def held_out() -> frozenset[str]:
    """Ids of the 15 tasks whose episodes nobody reads who changes prompts, rules or guards: a sample of the fresh."""
    return _sample((task.id for task in embedded_tasks() if task.fresh), HELD_OUT_COUNT)


@cache
def measured_tasks() -> frozenset[str]:
    """Ids of the 60 tasks that a model is measured on: the held out ones, and a sample of the others."""
    others = (task.id for task in embedded_tasks() if task.id not in held_out())
    return held_out() | _sample(others, MEASURED_COUNT - HELD_OUT_COUNT)


def _sample(ids: Iterable[str], count: int) -> frozenset[str]:
    return frozenset(random.Random(SAMPLING_SEED).sample(sorted(ids), count))


def holds(condition: Mapping[str, Any], state: State, tree: UiTree | None = None) -> bool:
    """Whether a condition holds. ValueError for one that tests nothing."""
    if "shows" in condition:
        words = normal_words(str(condition["shows"]))
        return tree is not None and any(words in normal_words(element.text) for element in tree.elements)
    test = next((name for name in TESTS if name in condition), None)
    if test is None:
        raise ValueError(f"a condition needs shows, or at with one of {', '.join(TESTS)}: {dict(condition)!r:.100}")
    value = place_in(state, condition["at"])
    wanted = condition[test]
    if test == "is":
        return _alike(value, wanted)
    items = value if isinstance(value, list) else []
    matching = [_alike(item, wanted) for item in items]
    return {"has": any(matching), "lacks": not any(matching), "all": bool(items) and all(matching)}[test]


def place_in(state: Any, path: str) -> Any:
    """What lies at a place such as "clock.alarms"; None where there is nothing."""
    for part in path.split("."):
        state = state.get(part) if isinstance(state, Mapping) else None
    return state


def _alike(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(value, Mapping) and all(_alike(value.get(key), part) for key, part in wanted.items())
    if isinstance(wanted, str) and isinstance(value, str):
        return normal_words(value) == normal_words(wanted) if normal_words(wanted) else value == wanted
    return bool(value == wanted and type(value) is type(wanted))


class TaskProgress:
    """Follows one episode of a task: `look` after each action, `answer` at its end; `flags` are AndroidLab's.

    Sub-goals count in order: one is reached when its condition holds and those before it were reached. A task is
    complete when all are reached and those that aren't passed through still hold.
    """

    def __init__(self, task: PhoneTask) -> None:
        self.task, self._reached, self._complete = task, 0, False

    def look(self, state: State, tree: UiTree | None = None) -> None:
        """The phone is in this state now."""
        goals = self.task.goals
        while self._reached < len(goals) and holds(goals[self._reached], state, tree):
            self._reached += 1
        lasting = [goal for goal in goals if not str(goal.get("at", PASSING)).startswith(PASSING)]
        self._complete = bool(goals) and self._reached == len(goals) and all(holds(goal, state) for goal in lasting)

    def answer(self, right: bool) -> None:
        """The question was answered, rightly or not."""
        self._complete = self.task.is_question and right
        self._reached = int(self._complete)

    @property
    def flags(self) -> dict[str, bool]:
        """ "1", "2", ... for the sub-goals, and "complete"."""
        count = len(self.task.goals) or 1
        return {str(n + 1): n < self._reached for n in range(count)} | {"complete": self._complete}


def is_right(answer: str, answers: Iterable[str]) -> bool:
    """Whether an answer has the words of one of the right ones, in their order and nothing between them.

    Numbers count as words: "5 alarms" has "5", "15" hasn't. An answer of more than 60 words is none.
    """
    words = normal_words(answer).split()
    if len(words) > 60:
        return False
    wanted = [normal_words(right).split() for right in answers]
    return any(right and right == words[n : n + len(right)] for right in wanted for n in range(len(words)))


def normal_words(text: str) -> str:
    """Letters and digits alone, in one case and one form of Unicode, with single blanks."""
    words = re.findall(r"\d+(?:[.,]\d+)*|[^\W\d_]+", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(words).replace(",", ".")


def side_effects(task: PhoneTask, before: State, after: State) -> tuple[str, ...]:
    """What was changed that the task doesn't ask for: places of the state, and items of lists that no condition names.

    What passes (`os`), and drafts and lists of recent things, are left out.
    """
    conditions = [goal for goal in task.goals if "at" in goal]
    changes = []
    for app in sorted((before.keys() | after.keys()) - {"os"}):
        for name in sorted(before.get(app, {}).keys() | after.get(app, {}).keys()):
            place = f"{app}.{name}"
            old = place_in(before, place)
            new = place_in(after, place)
            if old == new or place in _UNASKED:
                continue
            about = [goal for goal in conditions if goal["at"] == place or str(goal["at"]).startswith(f"{place}.")]
            if not about:
                changes.append(place)
            elif isinstance(old, list) and isinstance(new, list):
                changes += [f"{place}: {_name_of(item)}" for item in _unasked_items(old, new, about)]
    return tuple(dict.fromkeys(changes))


_NAMING = ("name", "title", "time")
"""Fields that name an item of a list."""
_UNASKED = frozenset({"maps.recent", "maps.by", "music.order"})


def _unasked_items(old: Sequence[Any], new: Sequence[Any], goals: Sequence[Mapping[str, Any]]) -> list[Any]:
    changed = [item for item in new if item not in old] + [item for item in old if item not in new]
    ids = {item.get("id") for item in changed if isinstance(item, Mapping) and _is_asked(item, goals)} - {None}
    edited = [item for item in changed if isinstance(item, Mapping) and item.get("id") in ids]
    return [item for item in changed if item not in edited and not _is_asked(item, goals)]


def _is_asked(item: Any, goals: Sequence[Mapping[str, Any]]) -> bool:
    if any("all" in goal for goal in goals):
        return True
    wanted = [goal[test] for goal in goals for test in ("has", "lacks") if test in goal]
    loose = [
        {key: fields[key] for key in _NAMING if key in fields} if isinstance(fields, Mapping) else fields
        for fields in wanted
    ]
    return any(pattern and _alike(item, pattern) for pattern in (*wanted, *loose))


def _name_of(item: Any) -> str:
    fields = item if isinstance(item, Mapping) else {}
    return str(next((fields[key] for key in _NAMING if key in fields), item))[:60]
