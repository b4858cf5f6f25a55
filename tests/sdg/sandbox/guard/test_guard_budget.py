"""What the budget counts is what work costs: over every helper and sizes no step is dearer than promised."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Iterator

import pytest

from sdg.sandbox.guard import BudgetSpent, Guard, GuardError
from sdg.sandbox.guard.library import BUILTINS, METHODS, MODULES as NAMES
from sdg.sandbox.guard.table import BINARY, COMPARE
from tests.adversarial.grammar import fuzz_programs

SECONDS_PER_STEP = 50e-6
"""A second for the 20,000 steps of a check."""
VALUES = {
    "text": "'ab' * {n}", "numbers": "list(range({n}))", "texts": "['ab' * 9] * {n}",
    "pairs": "[(i, -1) for i in range({n})]",
    "keys": "{{(i, -1): i for i in range({n})}}", "members": "{{(i, -2) for i in range({n})}}", "number": "3 ** {n}",
    "nested": "[[1] * 99] * {n}", "fraction": "1e300", "counted": "Counter(range({n}))", "queue": "deque(range({n}))",
    "views": "{{i: i for i in range({n})}}.items()", "fixed": "tuple(range({n}))", "range": "range({n})",
}  # fmt: skip
_OPERATORS = [name for name in (*BINARY.values(), *COMPARE.values()) if name not in ("in", "notin")]
SIGNS = dict(zip(BINARY.values(), ("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "|", "&", "^"), strict=True))
CALLS = [
    *(f"{name}({{x}})" for name in sorted(BUILTINS) if name != "print"),
    *(f"{name}({{x}}, {{y}})" for name in ("max", "min", "zip", "map", "sum", "pow", "divmod", "round", "int")),
    *(f"list({name}({{x}}))" for name in ("map", "zip", "iter", "reversed", "enumerate")), "list(zip({x}, {y}))",
    *(f"{{x}} {sign} {{y}}" for sign in SIGNS.values()), *(f"{{x}} {sign} {{y}}" for sign in ("==", "<", "in", "<=")),
    *(f"({{x}}).{name}()" for name in sorted(METHODS)), *(f"({{x}}).{name}({{y}})" for name in sorted(METHODS)),
    *(f"{module}.{name}({{x}})" for module, names in sorted(NAMES.items()) for name in sorted(names)),
    *(f"{module}.{name}({{x}}, {{y}})" for module, names in sorted(NAMES.items()) for name in sorted(names)),
    "[*{x}, *{y}]", "{{**{x}}}", "{{*{x}}}",
    "f'{{{x}}}'", "f'{{{x}!r:>9}}'", "({x})[1:]", "({x})[-1]", "sorted({x}, key=str)",
]  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def what_tests_hold_is_not_looked_through() -> Iterator[None]:
    """A full collection in a process that holds all tests takes longer than a case may."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.parametrize("call", CALLS)
def test_no_helper_works_more_than_it_is_charged(call: str) -> None:
    for first in VALUES.values():
        for second in ("x", "-1") if "{y}" in call else ("",):
            beginning = first.format(n=900)
            line = call.replace("{{", "{").replace("}}", "}").replace("{x}", "x").replace("{y}", second)
            source = (
                "from collections import Counter, deque\nimport math, heapq, itertools, collections\n\n"
                f"def program():\n    x = {beginning}\n    while True:\n        try:\n            {line}\n"
                "        except Exception:\n            pass\n"
            )
            with contextlib.suppress(GuardError):
                guarded = Guard({}, budget_steps=400).load(source)
                began = time.process_time()
                with contextlib.suppress(BudgetSpent):
                    guarded({})
                assert time.process_time() - began < 400 * SECONDS_PER_STEP + 0.05, source


BLOCKS = (
    "if x:", "if not x:\n        pass\n    else:", "for i in x:", "for i in x:\n        pass\n    else:", "while x:",
    "while not x:\n        pass\n    else:", "try:\n        x[9]\n    except IndexError:",
    "try:\n        x[9]\n    except (KeyError, IndexError) as error:", "try:\n        pass\n    finally:",
    "try:\n        pass\n    except IndexError:\n        pass\n    else:", "def inner():",
)  # fmt: skip


@pytest.mark.parametrize("block", BLOCKS)
def test_work_is_charged_in_every_block(block: str) -> None:
    begins = "def program():\n    x = [1]\n    inner = len\n"
    source = f"{begins}    {block}\n        while True:\n            pass\n    inner()\n"
    with pytest.raises(BudgetSpent):
        Guard({}, budget_steps=400).load(source)({})


def test_programs_of_the_grammar_agree_with_cpython_and_end() -> None:
    outcomes, violations = fuzz_programs(count=300, seed=11)
    assert violations == []
    assert outcomes["agree"] > 150
    assert outcomes["timed"] > 10
