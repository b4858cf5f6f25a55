"""What is refused is told in words that a model can act on; replies are read as models write them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from sdg.experiments.bench.hostile_world import SnippetWorld, load
from sdg.prompts.replies import extract_code
from sdg.sandbox.guard import GuardError
from tests.shared.slowness import slowness

WORLD: dict[str, Any] = json.loads((Path(__file__).parents[3] / "data" / "hostile-world.json").read_text("utf-8"))


def advice_on(code: str, *, api: str = "check") -> str:
    world = SnippetWorld(WORLD)
    with pytest.raises(GuardError) as caught:
        load(code, api=api, data=WORLD)({**world.perception(), **world.skills()})
    return str(caught.value)


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("math.sqrt(4) == 2", "math has to be imported: write `import math` above"),
        ("np.array([1])", "no module np here"),
        ("self.get_steps() > 1", "get_steps is a plain function: call it without `self.`"),
        ("agent.view.get_steps() > 1", "call it without `agent.view.`"),
        ("robot.carrying", "there is no robot: call the functions by their names alone"),
        ("get_observed_objects()[0].colour == 'red'", "did you mean color?"),
        ("get_position().x == 1", "write x, y = pair"),
        ("'{0.real}'.format(1) == '1'", "use an f-string"),
        ("type(get_observed_objects()[0]) == int", "isinstance(value, int)"),
        ("getattr(get_observed_objects()[0], get_mission())", "read the attribute itself"),
        ("true", "write True"),
        ("get_step() > 3", "did you mean get_steps?"),
        ("get_mission == 'x'", "get_mission is a function: call it, as in get_mission()"),
        ("len(get_observed_objects) > 0", "call the function first"),
        ("get_observed_objects()[0]['x']", "it has attributes only, which are name, type"),
        ("is_holding(thing='key')", "none is named thing: give arguments by position"),
        ("sum(['a'], '')", "''.join(texts)"),
        ("dict.fromkeys([1])", "{key: 0 for ...}"),
        ("get_steps() > 3 && True", "write `and`"),
        ("__name__ == '__main__'", "the function is called for you"),
        ("b'x'", "use plain numbers and texts"),
    ],
)
def test_expressions_are_answered_with_what_to_write_instead(expression: str, says: str) -> None:
    assert says in advice_on(f"def check():\n    return {expression}\n")


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("The check is true when the ball is near.", "holds no code: reply with one ```python code block"),
        ("I'm sorry, I can't do that: what is near?", "holds no code"),
        ('{"code": "def check(): return True"}', "JSON, not code"),
        ('```json\n{"code": "def check(): return True"}\n```', "not plain Python"),
        ("Here is the code: def check(): return True", "`def` at the beginning of a line"),
        ("function check() { return true; }", "holds no code"),
        ("import random\ndef check():\n    return random.random() > 0", "no chance here"),
        ("from typing import List\ndef check():\n    return List is None", "need no import"),
        (
            "from math import dist\ndef far():\n    dist = 1\n    return dist > 2\ndef check():\n    return far()",
            "dist is imported, too: choose another name",
        ),
        ("async def check():\n    return True", "write a plain def"),
        ("class A:\n    pass\ndef check():\n    return A() is not None", "use plain functions and values"),
        ("def check(self):\n    return True", "must take no arguments: write def check():"),
        ("get_steps() > 3", "put the code into def check():"),
        ("def check():\n    return True\nif check():\n    get_steps()", "leave this line out"),
        ("SEEN = []\ndef check():\n    SEEN.append(1)\n    return True", "make it inside the function"),
        ("def check()\n    return True", "a function begins with `def name():`"),
    ],
)
def test_replies_are_answered_with_what_to_reply_instead(reply: str, says: str) -> None:
    assert says in advice_on(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "* so:\n* ```python\n  def check():\n      return True\n  ```\n",
        "1) ```py\n   def check():\n       return True\n   ```",
        "<think>\n```python\ndef check():\n    return 1\n```\n</think>\n```python\ndef check():\n    return True\n```",
        "```python\n>>> def check():\n...     return True\n```",
        "First:\n\n    def check():\n        return True\n\nDone.",
        "python\ndef check():\n    return True",
    ],
)
def test_code_is_found_as_models_wrap_it(reply: str) -> None:
    assert extract_code(reply).strip() == "def check():\n    return True"


def test_constants_are_made_anew_for_each_call() -> None:
    code = "ROWS = [[1], [2]]\n\ndef check():\n    rows = ROWS\n    rows.append([3])\n    return len(ROWS) == 3\n"
    guarded, functions = load(code, api="check", data=WORLD), SnippetWorld(WORLD).perception()
    assert [guarded(functions) for _ in range(3)] == [True] * 3


@pytest.mark.parametrize(
    "fence", ["```" + "a" * 150_000 + "`", "```" + " " * 150_000 + "`", "~~~ " + "+" * 150_000 + "`"]
)
def test_a_fence_of_any_length_is_read_in_linear_time(fence: str) -> None:
    began = time.process_time()
    with pytest.raises(GuardError):
        extract_code(fence + "\n")
    assert time.process_time() - began < slowness()
