"""A phone by adb: the real client against a fake server of the wire protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sdg.envs.phone.actions import DeviceLost, PhoneAction, carry_out
from sdg.envs.phone.adb import AdbPhone
from sdg.envs.phone.tree import DumpError, read_dump
from sdg.gate.executor import IllegalCommand, OpenGate
from sdg.llm.fakes import FakeModel
from sdg.phone_agent.desktop import PhoneDesktop
from tests.sdg.screen_agent.ui_agent import UIAgent
from tests.shared.fake_adb import FakePhone, fake_adb

pytest.importorskip("adbutils")
# The library leaves the socket of a call that failed to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def pair() -> Iterator[tuple[FakePhone, AdbPhone]]:
    with fake_adb() as (fake, port):
        yield fake, AdbPhone("fake-1", host="127.0.0.1", port=port, settle_seconds=0.0)


def test_it_is_seen(pair: tuple[FakePhone, AdbPhone]) -> None:
    fake, phone = pair
    assert phone.size == (100, 200)
    assert phone.screenshot().startswith(b"\x89PNG")
    assert str(read_dump(phone.dump())).endswith("'Open' button: [0, 0, 100, 50]")
    assert phone.activity() == "fake.app/.Main"
    fake.turned = True
    phone.screenshot()
    assert phone.size == (200, 100)
    assert 'rotation="1"' in phone.dump()


@pytest.mark.parametrize(
    ("action", "command"),
    [
        (PhoneAction("Tap", at=(3, 4)), ["input", "tap", "3", "4"]),
        (PhoneAction("Long Press", at=(3, 4)), ["input", "swipe", "3", "4", "3", "4", "1000"]),
        (PhoneAction("Swipe", direction="up"), ["input", "swipe", "50", "100", "50", "60", "400"]),
        (PhoneAction("Swipe", at=(1, 2), to=(3, 4)), ["input", "swipe", "1", "2", "3", "4", "400"]),
        (PhoneAction("Enter"), ["input", "keyevent", "66"]),
        (PhoneAction("Home"), ["input", "keyevent", "3"]),
        (PhoneAction("Back"), ["input", "keyevent", "4"]),
        (PhoneAction("Type", text="a b; rm -rf $(x) 'q'"), ["input", "text", "a%sb;%srm%s-rf%s$(x)%s'q'"]),
    ],
)
def test_actions_are_the_shells(pair: tuple[FakePhone, AdbPhone], action: PhoneAction, command: list[str]) -> None:
    fake, phone = pair
    carry_out(phone, action, read_dump(phone.dump()))
    assert fake.commands[-1] == command


def test_percent_and_s_are_typed_apart_because_together_they_are_a_blank(pair: tuple[FakePhone, AdbPhone]) -> None:
    fake, phone = pair
    phone.type_text("a%sb%%s c% s")
    assert [command[2] for command in fake.commands if command[:2] == ["input", "text"]] == ["a%", "sb%%", "s%sc%%ss"]


def test_nothing_is_typed_where_no_field_has_the_focus(pair: tuple[FakePhone, AdbPhone]) -> None:
    fake, phone = pair
    for fake.restless in (False, True):
        desktop = PhoneDesktop(phone, "Type hello.")
        with pytest.raises(IllegalCommand, match="tap the field first"):
            desktop.perform(desktop.command({"name": "Type", "args": {"text": "hello"}}))
    assert not any(command[0] == "input" for command in fake.commands)


def test_other_letters_need_a_keyboard(pair: tuple[FakePhone, AdbPhone]) -> None:
    fake, phone = pair
    with pytest.raises(IllegalCommand, match="ADBKeyboard"):
        phone.type_text("你好 🎉")
    fake.keyboard = True
    phone.type_text("你好 🎉")
    assert fake.commands[-1][:4] == ["am", "broadcast", "-a", "ADB_INPUT_B64"]


def test_an_app_that_never_settles_leaves_the_picture(pair: tuple[FakePhone, AdbPhone]) -> None:
    fake, phone = pair
    fake.restless = True
    with pytest.raises(DumpError, match="empty"):
        read_dump(phone.dump())
    observation = PhoneDesktop(phone, "look").observe()
    assert "can't be read: the dump is empty" in observation.text
    assert observation.image.shape == (200, 100, 3)


@pytest.mark.parametrize(
    "fault", [{"dumped": "Killed\n"}, {"dumped": "Segmentation fault\n"}, {"dumped": ""}, {"full": True}]
)
def test_a_dump_that_failed_shows_no_earlier_screen(pair: tuple[FakePhone, AdbPhone], fault: dict[str, Any]) -> None:
    fake, phone = pair
    assert "Open" in phone.dump()
    vars(fake).update(fault)
    with pytest.raises(DumpError):
        read_dump(phone.dump())
    assert "can't be read" in PhoneDesktop(phone, "look").observe().text


def test_the_agent_works_on_it(pair: tuple[FakePhone, AdbPhone]) -> None:
    fake, phone = pair
    number = read_dump(phone.dump()).elements[0].id
    replies = [
        f'{{"commands": [{{"name": "Tap", "args": {{"element": {number}}}}}]}}',
        '{"commands": [{"name": "Type", "args": {"text": "hello"}}]}',
        '{"commands": [{"name": "finish", "args": {"message": "typed"}}]}',
    ]
    desktop = PhoneDesktop(phone, "Open it and type hello.")
    episode = UIAgent(FakeModel(replies), OpenGate()).play(desktop)
    assert (episode.end, fake.text, desktop.message) == ("solved", "hello", "typed")
    assert [step.place for step in desktop.steps] == [(50, 25), None, None]


def test_a_phone_that_goes_away_in_the_middle_ends_the_episode_with_its_cause(pair: tuple[FakePhone, AdbPhone]) -> None:
    fake, phone = pair

    def leave(prompt: str) -> str:
        fake.gone = True
        return '{"commands": [{"name": "Home"}]}'

    episode = UIAgent(FakeModel(leave), OpenGate()).play(PhoneDesktop(phone, "Go home."))
    assert episode.end == "page"
    assert "the phone went away at input" in episode.detail


def test_no_phone_of_this_name() -> None:
    with fake_adb() as (_, port), pytest.raises(DeviceLost, match="no phone answers"):
        AdbPhone("other-9", host="127.0.0.1", port=port)
