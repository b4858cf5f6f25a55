"""Actions on a phone: forms that are read, and errors that say the right form."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from sdg.envs.phone.actions import FORMS, IllegalCommand, PhoneAction, read_action, read_command, swipe_ends

LONG_UP = PhoneAction("Swipe", direction="up", distance="long")


@pytest.mark.parametrize(
    ("written", "action"),
    [
        ({"name": "Tap", "args": {"element": 7}}, PhoneAction("Tap", element=7)),
        ({"name": "tap", "args": {"mark": "7"}}, PhoneAction("Tap", element=7)),
        ({"name": "long_press", "args": {"coords": [10.4, 20]}}, PhoneAction("Long Press", at=(10, 20))),
        ({"name": "Swipe", "args": {"direction": "up", "dist": "long"}}, LONG_UP),
        ({"name": "Swipe", "args": {"coords": [1, 2], "to": [3, 4]}}, PhoneAction("Swipe", at=(1, 2), to=(3, 4))),
        ({"name": "Type", "args": {"text": "שלום 你好 🎉"}}, PhoneAction("Type", text="שלום 你好 🎉")),
        ({"name": "Home"}, PhoneAction("Home")),
        ({"name": "Wait", "args": {}}, PhoneAction("Wait")),
        ({"name": "finish", "args": {"message": "done"}}, PhoneAction("finish", text="done")),
    ],
)
def test_actions_are_read(written: object, action: PhoneAction) -> None:
    assert read_action(written) == action
    assert read_command(action.name, action.argument) == action


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("Tap 7", "an action is"),
        ({"name": "Click", "args": {}}, "there are Tap, Long Press, Swipe"),
        ({"name": "Tap", "args": {}}, "Tap needs its place"),
        ({"name": "Tap", "args": [3]}, 'Tap takes "args"'),
        ({"name": "Tap", "args": {"element": 0}}, "1 or more"),
        ({"name": "Tap", "args": {"element": "Save"}}, "whole number, not 'Save'"),
        ({"name": "Tap", "args": {"coords": "middle"}}, "[x, y] in pixels"),
        ({"name": "Tap", "args": {"coords": [float("inf"), 1]}}, "[x, y] in pixels"),
        ({"name": "Swipe", "args": {}}, "needs a direction"),
        ({"name": "Swipe", "args": {"direction": "north"}}, "up, down, left, right"),
        ({"name": "Swipe", "args": {"direction": "up", "dist": "far"}}, "short, medium, long"),
        ({"name": "Swipe", "args": {"to": [3, 4]}}, "where it begins"),
        ({"name": "Type", "args": {"text": ""}}, "1 to 1000 characters"),
        ({"name": "Type", "args": {"text": 7}}, "is a text"),
        ({"name": "Type", "args": {"text": "a", "element": 3}}, "takes no 'element'"),
        ({"name": "Wait", "args": {"seconds": 600}}, "1 to 60"),
        ({"name": "Back", "args": {"twice": True}}, "takes no 'twice'"),
    ],
)
def test_what_is_no_action_is_refused_with_the_right_form(written: object, message: str) -> None:
    with pytest.raises(IllegalCommand) as refused:
        read_action(written)
    assert message in str(refused.value)
    assert len(str(refused.value)) < 400


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["name", "args", "element", "coords", "to", "text", "direction"]), inner)
        ),
    ),
    st.sampled_from(list(FORMS)),
)
def test_anything_at_all_is_read_or_refused(value: object, name: str) -> None:
    for written in (value, {"name": name, "args": value}):
        try:
            action = read_action(written)
        except IllegalCommand:
            continue
        assert read_command(action.name, action.argument).name == action.name


def test_swipes_have_the_lengths_of_the_field() -> None:
    up = PhoneAction("Swipe", direction="up", distance="short")
    assert swipe_ends(up, (360, 720), (720, 1440)) == ((360, 720), (360, 576))
    swipe = PhoneAction("Swipe", direction="left")
    assert swipe_ends(swipe, (360, 720), (720, 1440)) == ((360, 720), (216, 720))
    assert swipe_ends(PhoneAction("Swipe", direction="down", distance="long"), (360, 720), (720, 1440))[1] == (
        360,
        1438,
    )


def test_a_command_with_a_label_for_people_is_read() -> None:
    assert read_command("Tap", "element 7 'Save' button") == PhoneAction("Tap", element=7)
    with pytest.raises(IllegalCommand, match="doesn't take 'Save'"):
        read_command("Tap", "Save")
