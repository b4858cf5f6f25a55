"""The house in numbers: `python -m tests.house.measure [--json]`.

A statement is an `ast.stmt` that isn't a docstring, a public function one whose name has no underscore in front; names
that are a bare participle are judged by their ending and a list of irregular verbs.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from tests.house.test_house_shape import CIRCLES

ROOT = Path(__file__).resolve().parents[2]
SDG = ROOT / "sdg"
IRREGULAR = re.compile(
    "asked|begun|bought|broken|brought|built|chosen|done|drawn|driven|found|frozen|given|gone|heard|held|hidden|kept|known"
    "|laid|learnt|led|left|lent|lost|made|meant|met|paid|said|seen|sent|shown|shut|sought|spoken|spent|taken|taught"
    "|thought|told|understood|woven|won|worn|written"
)
INNER = re.compile(r"(\.<locals>\.<\w+>)+$")
"""The end of a qualified name that says comprehension or lambda."""
NOT_PARTICIPLES = ("feed", "need", "seed", "speed", "embed", "exceed", "proceed", "bed", "shed")
"""Verbs in their first form, and nouns, that end as participles do."""


def statements(path: Path) -> int:
    """Statements of a file or of all Python files below a folder, docstrings left out."""
    files = [path] if path.is_file() else path.rglob("*.py")
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text("utf-8")))]
    found_statements = [node for node in nodes if isinstance(node, ast.stmt)]
    return sum(not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) for node in found_statements)


def participles() -> list[str]:
    """Public functions and methods of sdg that are called by a bare participle, as `path:name`."""
    participle_names = []
    for path in sorted(SDG.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_participle(node.name):
                participle_names.append(f"{path.relative_to(ROOT)}:{node.name}")
    return participle_names


def is_participle(name: str) -> bool:
    """Whether a public name is one word and that word a participle."""
    return name not in NOT_PARTICIPLES and bool(IRREGULAR.fullmatch(name) or re.fullmatch(r"[a-z]{2,}ed", name))


def words() -> int:
    """Words of the documentation, README and SECURITY."""
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "SECURITY.md"]
    return sum(len(page.read_text("utf-8").split()) for page in pages)


def measures() -> Iterator[tuple[str, int]]:
    """What is counted, and the count."""
    yield "statements", statements(SDG)
    for place in sorted(folder for folder in SDG.iterdir() if (folder / "__init__.py").is_file()):
        yield f"statements of {place.name}", statements(place)
    yield "statements of sandbox/guard", statements(SDG / "sandbox/guard")
    yield "statements of skills/checks", statements(SDG / "skills/checks")
    yield "words of docs, README and SECURITY", words()
    yield "public functions that are bare participles", len(participles())
    yield "excused circles", sum(map(len, CIRCLES.values()))
    yield "hops from reply to reward", count_hops()
    yield "modules called table", len(list(SDG.rglob("table.py")))


def count_hops() -> int:
    """Distinct pairs of functions of ours of which one calls the other, from a reply's text to the first reward.

    Comprehensions and lambdas belong to the function that they stand in; generated code isn't ours. The walk is done
    once before, so that no import is counted.
    """
    import numpy as np

    from sdg.envs.domains import domain
    from sdg.hypothesis.hypothesize import parse, prompt
    from sdg.llm.babylang.model import BabyLang
    from sdg.llm.model import Sampling
    from sdg.skills.practice.env import PracticeEnv
    from sdg.skills.practice.starts import Starts, restore, target_of

    babyai = domain("babyai")
    layouts = babyai.layouts("GoToLocal", [0])
    reply = BabyLang().complete(prompt(layouts.mission(0), domain=babyai), sampling=Sampling(seed=0)).text

    def travel(mark: str) -> None:
        check = parse(reply.replace("def ", f"{mark}def "), instruction=layouts.mission(0)).subgoals[-1].check
        rows = restore(babyai, layouts, [0], actions=[()])
        starts = Starts(rows, target_of(check, babyai.language)[None], (check,), np.zeros(1, np.int64))
        env = PracticeEnv(starts, 1, horizon=2, seed=0)
        env.restore_random(np.arange(1))
        env.step(np.zeros(1, np.int64))

    travel("")
    pairs: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and (callee := place_of(frame)):
            caller, below = "", frame.f_back
            while below is not None and not caller:
                caller, below = place_of(below), below.f_back
            if caller and caller != callee:
                pairs.add((caller, callee))

    sys.setprofile(note)
    try:
        travel("# again\n")
    finally:
        sys.setprofile(None)
    return len(pairs)


def place_of(frame: FrameType) -> str:
    """`file:function` of a frame of sdg, "" for another's."""
    code = frame.f_code
    return f"{code.co_filename}:{INNER.sub('', code.co_qualname)}" if code.co_filename.startswith(str(SDG)) else ""


if __name__ == "__main__":
    figures = dict(measures())
    lines = [f"{value:7,d}  {name}" for name, value in figures.items()]
    print(json.dumps(figures) if "--json" in sys.argv else "\n".join(lines))
