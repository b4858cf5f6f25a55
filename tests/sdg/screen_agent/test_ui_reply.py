"""Answers to a screen: JSON is found in what models write around it; what isn't there is told."""

from __future__ import annotations

import contextlib
import json
import time

import pytest
from hypothesis import given, strategies as st

from sdg.screen_agent.agent import NoCommands, read_answer
from tests.shared.slowness import slowness

CLICK = {"name": "CLICK_COORDS", "args": {"coords": [36, 68]}}
WHOLE = {"thoughts": {"text": "a", "plan": "b"}, "commands": [CLICK]}


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps(WHOLE),
        f"```json\n{json.dumps(WHOLE, indent=1)}\n```",
        f"I think {{so}}.\n{json.dumps(WHOLE)}\nThat is all {{}}",
        f"{json.dumps({'commands': []})} no, rather {json.dumps(WHOLE)}",
    ],
)
def test_commands_are_found_in_what_is_written_around_them(reply: str) -> None:
    answer = read_answer(reply)
    assert answer.commands == (CLICK,)
    assert answer.thoughts["plan"] == "b"


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("I would click on Ok.", "no JSON"),
        ("", "no JSON"),
        (json.dumps(WHOLE)[:-3], "no JSON"),
        ('{"commands": "CLICK 3 4"}', "must be a list"),
        ('{"commands": []}', "must be a list"),
        ("{" * 100_000, "characters|no JSON"),
    ],
)
def test_an_answer_without_commands_is_told(reply: str, says: str) -> None:
    with pytest.raises(NoCommands, match=says):
        read_answer(reply)


@given(st.text(alphabet='{}[]",:a1 \n', max_size=300))
def test_any_text_is_read_or_refused(reply: str) -> None:
    with contextlib.suppress(NoCommands):
        assert read_answer(reply).commands


@pytest.mark.parametrize("unit", ["{", '{"a":', "[", '{"commands":[', "{}", '"{'])
def test_long_answers_are_read_in_a_moment(unit: str) -> None:
    reply = unit * (15_000 // len(unit))
    began = time.process_time()
    with pytest.raises(NoCommands):
        read_answer(reply)
    assert time.process_time() - began < 0.2 * slowness()
