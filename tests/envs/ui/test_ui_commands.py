"""Commands come from models: what isn't one of the nine, in its form, is refused with what there is."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from sdg.envs.ui.commands import ARGUMENTS, SCREEN, IllegalCommand, command_from_json
from sdg.envs.ui.keys import key_event
from sdg.envs.ui.tasks import SEEN, TASKS, UNSEEN, task_name

JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text("a1é☃ <>-", max_size=8),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("CLICK 3 4", "a command is"),
        ({"name": "TAP", "args": {}}, "there is no command 'TAP'"),
        ({"name": "CLICK_COORDS", "args": {"x": 3}}, '"coords"'),
        ({"name": "CLICK_COORDS", "args": {"coords": [1, 2, 3]}}, "a point"),
        ({"name": "CLICK_COORDS", "args": {"coords": [1e400, 2]}}, "a point"),
        ({"name": "CLICK_COORDS", "args": {"coords": "55"}}, "a point"),
        ({"name": "CLICK_COORDS", "args": {"coords": {"60": "x", "40": "y"}}}, "a point"),
        ({"name": "CLICK_COORDS", "args": {"coords": [-1, 2]}}, "outside"),
        ({"name": "CLICK_COORDS", "args": {"coords": [5, SCREEN]}}, "outside"),
        ({"name": "PRESS_KEY", "args": {"key": "<F13>"}}, "there is no key"),
        ({"name": "TYPE_TEXT", "args": {"text": 7}}, "takes a text"),
        ({"name": "TYPE_TEXT", "args": {"text": "x" * 100_000}}, "at most 1000 characters"),
    ],
)
def test_what_is_no_command_is_told(value: object, says: str) -> None:
    with pytest.raises(IllegalCommand, match=says) as caught:
        command_from_json(value)
    assert len(str(caught.value)) < 300


@given(st.sampled_from(sorted(ARGUMENTS)), st.dictionaries(st.sampled_from(["coords", "key", "text"]), JSON))
def test_any_json_is_a_command_or_an_error_that_says_so(name: str, arguments: dict[str, object]) -> None:
    try:
        command = command_from_json({"name": name, "args": arguments})
    except IllegalCommand:
        return
    again = list(command.argument) if isinstance(command.argument, tuple) else command.argument
    assert command_from_json({"name": name, "args": {ARGUMENTS[name]: again}}) == command


def test_a_point_may_be_written_with_fractions() -> None:
    assert command_from_json({"name": "CLICK_COORDS", "args": {"coords": [36.6, "68"]}}).argument == (37, 68)


@pytest.mark.parametrize(
    ("letter", "key", "code", "number"),
    [
        ("a", "a", "KeyA", 65),
        ("5", "5", "", 53),
        ("\r", "Enter", "Enter", 13),
        (" ", " ", "Space", 32),
        (";", ";", "", 186),
    ],
)
def test_keys_are_described_as_browsers_do(letter: str, key: str, code: str, number: int) -> None:
    assert key_event(letter) == {"key": key, "code": code, "windowsVirtualKeyCode": number}


def test_the_tasks_are_the_papers() -> None:
    assert len(TASKS) == 74
    assert list(TASKS) == sorted(set(TASKS))
    assert len(UNSEEN) == 15
    assert len(SEEN) == 59
    assert not set(SEEN) & set(UNSEEN)
    with pytest.raises(ValueError, match="did you mean click-test"):
        task_name("click-tset")
