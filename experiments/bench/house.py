"""The house in numbers: statements, folders, worlds that are named, how far a check and a skill call travel.

A statement is an `ast.stmt` that isn't a docstring. A hop is a pair of our functions of which one calls the other,
counted once, while something is done: from a reply's text to the first reward of its checks, from a program to its
first action.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import sdg
from sdg.experiments.bench import options

ROOT = Path(sdg.__file__).resolve().parents[1]
FLOORS = ("envs", "skills", "sdg", "experiments")
WORLD = re.compile(r"babyai|minigrid|(?<![a-z])(doors?|rooms?|box(es)?|balls?)(?![a-z])", re.IGNORECASE)
"""Words that name BabyAI's world, as words or as parts of an identifier."""

Row = dict[str, Any]


def rows(*, seed: options.Seed = 0) -> Iterator[Row]:
    """A row for each measure: what was measured and its value."""
    for floor in FLOORS:
        yield {"measure": f"statements in {floor}", "value": sum(map(_statements, _files(floor)))}
    yield {"measure": "statements", "value": sum(_statements(file) for floor in FLOORS for file in _files(floor))}
    folders = [file.parent for floor in (*FLOORS, "tests") for file in _files(floor) if file.name != "__init__.py"]
    largest = max(set(folders), key=folders.count)
    yield {"measure": f"modules in the largest folder ({largest.relative_to(ROOT)})", "value": folders.count(largest)}
    yield {"measure": "lines of sdg and skills that name a world", "value": sum(map(_named, _above_worlds()))}
    hops, files = _walked(_a_check(seed))
    yield {"measure": "a check, from text to reward: hops", "value": hops}
    yield {"measure": "a check, from text to reward: files", "value": files}
    yield {"measure": "frames of ours at the first action of a program", "value": _frames(seed)}


def _files(floor: str) -> list[Path]:
    return [path for path in sorted((ROOT / floor).rglob("*.py")) if path.resolve() == path]


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
    """Distinct (caller, callee) pairs of ours while something is done, and the files of the callees."""
    pairs: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_back is not None and _is_ours(frame) and _is_ours(frame.f_back):
            pairs.add((_place(frame.f_back), _place(frame)))

    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
    return len(pairs), len({callee.partition(":")[0] for _, callee in pairs})


def _frames(seed: int) -> int:
    """Frames of ours on the stack at the first action of an episode with the shipped skills."""
    from sdg.agents.agents import Task, open_world
    from sdg.envs.instructions import seeds
    from sdg.experiments.play.players import PlannerRecipe
    from sdg.experiments.table.comparison import SHIPPED

    task = Task("GoToLocal", seeds("evaluation", count=1, seed=seed)[0])
    agent, (_, world) = PlannerRecipe("sdg", SHIPPED).build(), open_world(task)
    found: list[int] = []
    step = world.step

    def watched(action: Any) -> Any:
        frame: FrameType | None = sys._getframe(1)
        depth = 0
        while frame is not None and frame.f_code.co_name != "_frames":
            depth += _is_ours(frame)
            frame = frame.f_back
        found.append(depth)
        return step(action)

    world.step = watched  # type: ignore[method-assign]
    agent.play(world, task)
    return found[0] if found else 0


def _is_ours(frame: FrameType) -> bool:
    return Path(frame.f_code.co_filename).resolve().is_relative_to(ROOT) and ".venv" not in frame.f_code.co_filename


def _place(frame: FrameType) -> str:
    return f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}"
