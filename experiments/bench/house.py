"""The house in numbers: statements, folders, worlds that are named, how far a check and a skill call travel.

A statement is an `ast.stmt` that isn't a docstring. A hop is a pair of two functions of ours of which one calls the
other, counted once, while something is done: from a reply's text to the first reward of its checks, from a program to
its first action. Comprehensions and lambdas belong to the function that they stand in; what is generated, by a model
or by a dataclass, isn't ours.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import sdg
from sdg.agents.agents import Task, open_world
from sdg.envs.instructions import seeds
from sdg.experiments.bench import options
from sdg.experiments.play.episodes import Job
from sdg.experiments.play.players import PlannerRecipe
from sdg.experiments.run.workers import Workers
from sdg.experiments.table.comparison import SHIPPED

ROOT = Path(sdg.__file__).resolve().parents[1]
FLOORS = ("envs", "skills", "sdg", "experiments")
WORLD = re.compile(r"babyai|minigrid|(?<![a-z])(doors?|rooms?|box(es)?|balls?)(?![a-z])", re.IGNORECASE)
"""Words that name BabyAI's world, as words or as parts of an identifier."""

_INNER = re.compile(r"(\.<locals>\.<\w+>)+$")
"""The end of a qualified name that says comprehension or lambda."""

Row = dict[str, Any]


def rows(*, seed: options.Seed = 0) -> Iterator[Row]:
    """A row for each measure: what was measured and its value."""
    for floor in FLOORS:
        yield {"measure": f"statements in {floor}", "value": sum(map(_statements, _files(floor)))}
    yield {"measure": "statements", "value": sum(_statements(file) for floor in FLOORS for file in _files(floor))}
    yield {"measure": "statements between reply and callable", "value": sum(map(_statements, _between()))}
    folders = [file.parent for floor in (*FLOORS, "tests") for file in _files(floor) if file.name != "__init__.py"]
    largest = max(set(folders), key=folders.count)
    yield {"measure": f"modules in the largest folder ({largest.relative_to(ROOT)})", "value": folders.count(largest)}
    yield {"measure": "lines of sdg and skills that name a world", "value": sum(map(_named, _above_worlds()))}
    hops, files = _walked(_a_check(seed))
    yield {"measure": "a check, from text to reward: hops", "value": hops}
    yield {"measure": "a check, from text to reward: files", "value": files}
    task = Task("GoToLocal", seeds("evaluation", count=1, seed=seed)[0])
    ((_, frames),) = Workers(1)(_first_action, [Job(PlannerRecipe("sdg", SHIPPED), task)])
    yield {"measure": "frames of ours at the first action of a program", "value": frames}


def _files(floor: str) -> list[Path]:
    return [path for path in sorted((ROOT / floor).rglob("*.py")) if path.resolve() == path]


def _between() -> list[Path]:
    """All that a reply's text passes on its way to a function that can be called, and all that this function calls."""
    prompts = ROOT / "sdg" / "prompts"
    return [*_files("skills/sandbox/guard"), prompts / "replies.py", prompts / "sources.py"]


def _above_worlds() -> list[Path]:
    return [path for floor in ("sdg", "skills") for path in _files(floor) if "babylang" not in path.parts]


def _statements(path: Path) -> int:
    nodes = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.stmt)]
    return sum(not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) for node in nodes)


def _named(path: Path) -> int:
    return sum(WORLD.search(line.replace("_", " ")) is not None for line in path.read_text("utf-8").splitlines())


def _a_check(seed: int) -> Callable[[], object]:
    """What is done with a check, on something that was done once before, so that no import is counted."""
    import numpy as np

    from sdg.envs.domains import domain
    from sdg.hypothesis.hypothesize import parse, prompt
    from sdg.llm.babylang.model import BabyLang
    from sdg.llm.model import Sampling
    from sdg.skills.practice.env import PracticeEnv
    from sdg.skills.practice.starts import Starts, restored, target_of

    babyai = domain("babyai")
    layouts = babyai.layouts("GoToLocal", [seed])
    turns = prompt(layouts.mission(0), domain=babyai)
    reply = BabyLang().complete(turns, sampling=Sampling(seed=seed)).text

    def travel(marked: str) -> object:
        check = parse(reply.replace("def ", f"{marked}def "), instruction=layouts.mission(0)).subgoals[-1].check
        rows = restored(babyai, layouts, [0], actions=[()])
        starts = Starts(rows, target_of(check, babyai.language)[None], (check,), np.zeros(1, np.int64))
        env = PracticeEnv(starts, 1, horizon=2, seed=seed)
        env.load_random(np.arange(1))
        return env.step(np.zeros(1, np.int64))

    travel("")
    return lambda: travel("# again\n")


def _walked(act: Callable[[], object]) -> tuple[int, int]:
    """Distinct pairs (caller, callee) of functions of ours while something is done, and the callees' files."""
    pairs: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and _is_ours(frame):
            caller = next(filter(_is_ours, _below(frame)), frame)
            if caller.f_code.co_filename != __file__ and _place(caller) != _place(frame):
                pairs.add((_place(caller), _place(frame)))

    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
    return len(pairs), len({callee.partition(":")[0] for _, callee in pairs})


def _first_action(job: Job) -> int:
    """Frames of ours on the stack at the first action of an episode, in a worker as `sdg solve` plays it."""
    agent, (_, world) = job.recipe.build(), open_world(job.task)
    found: list[int] = []
    step = world.step

    def watched(action: Any) -> Any:
        found.append(sum(map(_is_ours, _below(sys._getframe()))))
        return step(action)

    world.step = watched  # type: ignore[method-assign]
    agent.play(world, job.task)
    return found[0] if found else 0


def _below(frame: FrameType) -> Iterator[FrameType]:
    while frame.f_back is not None:
        frame = frame.f_back
        yield frame


def _is_ours(frame: FrameType) -> bool:
    return _is_our_file(frame.f_code.co_filename)


@cache
def _is_our_file(name: str) -> bool:
    place = Path(name).resolve()
    return not name.startswith("<") and place.is_relative_to(ROOT) and ".venv" not in place.parts


def _place(frame: FrameType) -> str:
    return f"{frame.f_code.co_filename}:{_INNER.sub('', frame.f_code.co_qualname)}"
