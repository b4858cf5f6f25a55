"""Private values on a phone: neither tree nor picture nor record holds them, on a device that is all script."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from sdg.envs.phone.actions import DeviceLost, IllegalCommand
from sdg.envs.ui.parser.screen import picture_of
from sdg.gate.confirm import ConfirmGuard
from sdg.gate.executor import Command, GatedExecutor, GuardChain, Verdict
from sdg.gate.phones import PhoneGuard
from sdg.llm.fakes import FakeModel
from sdg.phone_agent.desktop import PhoneDesktop
from sdg.phone_agent.privacy import PrivateDevice
from sdg.privacy.memory import Placeholders
from sdg.privacy.protector import Protector
from sdg.screen_agent.modes import MODES
from tests.sdg.screen_agent.ui_agent import UIAgent
from tests.shared.screens.phone_dumps import dump, node
from tests.shared.screens.scripted_phone import FIELD, ScriptedPhone, act, button


def test_values_are_masked_in_tree_picture_and_record_and_filled_when_they_are_typed() -> None:
    protector = Protector((), Placeholders({"code": "secret"}))
    phone = ScriptedPhone(dump(FIELD, button("Save")), dump(FIELD, button("Saved")))
    desktop = PhoneDesktop(PrivateDevice(phone, protector), protector.admit("Type secret."))
    model = FakeModel(
        [json.dumps({"commands": [act("Type", text="{code}")]}), json.dumps({"commands": [act("finish", message="x")]})]
    )
    UIAgent(model, GuardChain(rules=[PhoneGuard()]), mode=MODES["som-react"]).play(desktop)
    assert phone.done == [("type", "secret")]
    for messages in model.asked:
        assert all("secret" not in message.content for message in messages)
    for step in desktop.steps:
        assert "secret" not in step.screen.xml
        picture = step.screen.image
        assert (picture[100:150, 0:400] == 120).all()
        assert not (picture[0:50, 0:100] == 120).all()
    assert desktop.steps[0].action.text == "{code}"
    with pytest.raises(IllegalCommand, match="no value"):
        PrivateDevice(phone, protector).type_text("{nothing}")


@pytest.mark.parametrize("kind", [DeviceLost, IllegalCommand])
def test_a_phone_that_quotes_what_it_was_to_type_is_masked(kind: type[Exception]) -> None:
    phone = ScriptedPhone(dump(FIELD))

    def fail(text: str) -> None:
        raise kind(f"input text {text}: timeout")

    phone.type_text = fail  # type: ignore[method-assign]
    with pytest.raises(kind, match=r"^input text \{code\}: timeout$") as caught:
        PrivateDevice(phone, Protector((), Placeholders({"code": "secret"}))).type_text("{code}")
    assert caught.value.__context__ is None


NOTE, CARD = "walrus orchid pretzel ninety", "4929 7317 6052 8804"


@pytest.mark.parametrize(
    "nodes",
    [
        [button("walrus orchid pre...")],
        [button("walrus orchid"), button("pretzel ninety", 60)],
        [button("WALRUS-0RCHID pretzel")],
        [button("walrus&#10;orchid&#160;pretzel&#10;ninety")],
        [button("4929"), button("7317", 60), node("View", "[0,120][9,180]", desc="6052"), button("8804", 200)],
        [node("Button", "[0,0][100,50]", res="walrus_orchid_pretzel", flags="clickable")],
        [button("a").replace("index=", 'hint="walrus orchid pretzel ninety" index=')],
        [button("a").replace("/node>", "/node>walrus orchid pretzel ninety")],
    ],
)
def test_parts_of_values_reach_neither_tree_nor_picture_of_a_phone(nodes: list[str]) -> None:
    protector = Protector((), Placeholders({"note": NOTE, "card": CARD, "kind": "widget"}))
    desktop = PhoneDesktop(PrivateDevice(ScriptedPhone(dump(*nodes, button("Save", 700))), protector), "x")
    observation = desktop.observe()
    assert not any(
        part in observation.xml.lower() for part in ("walrus", "0rchid", "ninety", "4929", "6052", "8804", "widget")
    )
    assert [element.kind for element in observation.elements][-1] == "button"
    hidden = [element.box for element in observation.elements if "{" in element.text]
    assert all((observation.image[box[1] : box[3], box[0] : box[2]] == 120).all() for box in hidden)
    assert not (observation.image[700:750, 0:100] == 120).all()


@pytest.mark.parametrize(
    ("label", "asks", "task"),
    [
        ("Send to Annalena", "", "message {name=Annalena Baerbock}"),
        ("Pay DE89 3704 0044", "", "pay {iban=DE89370400440532013000}"),
        ("OK", "Delete chat with Annalena?", "message {name=Annalena Baerbock}"),
    ],
)
@pytest.mark.parametrize("by_number", [False, True])
def test_a_final_press_is_asked_about_where_a_label_shows_a_part_of_a_value(
    label: str, asks: str, task: str, by_number: bool
) -> None:
    phone, asked = ScriptedPhone(dump(button(label), node("TextView", "[0,60][400,90]", text=asks))), list[str]()
    protector = Protector((), Placeholders())
    desktop = PhoneDesktop(PrivateDevice(phone, protector), protector.admit(task))
    gate = GuardChain(rules=[PhoneGuard(), ConfirmGuard(lambda question: len(asked.__iadd__([question])) > 1)])
    element = desktop.observe().elements[0].id
    command = desktop.command({"name": "Tap", "args": {"element": element} if by_number else {"coords": [50, 25]}})
    outcome = GatedExecutor(desktop, gate).execute(command)
    assert (len(asked), phone.done) == (1, [])
    assert "can't be undone" in outcome.error
    told = f"{outcome}{command}{desktop.observe()!r}{desktop.list_marks()}"
    assert not any(part in told for part in ("Annal", "3704"))
    assert GatedExecutor(desktop, gate).execute(command).error == ""
    assert [act for act, *_ in phone.done] == ["tap"]


def test_what_is_typed_is_looked_for_with_its_value_and_models_are_shown_none() -> None:
    class Sees:
        kind, seen = "llm", ""

        def feasible(self, command: Command, observation: object) -> Verdict:
            return Verdict(True, "")

        def complete(self, command: Command, before: object, after: Any) -> Verdict:
            self.seen += f"{command}{after.text}{after!r}"
            return Verdict(False, "the page says secret and secre")

    phone, sees = ScriptedPhone(dump(FIELD), dump(FIELD)), Sees()
    desktop = PhoneDesktop(PrivateDevice(phone, Protector((), Placeholders({"code": "secret"}))), "x")
    outcome = GatedExecutor(desktop, GuardChain(rules=[PhoneGuard()], llm=[sees])).execute(Command("Type", "{code}"))
    assert phone.done == [("type", "secret")]
    assert "{code}" in sees.seen
    assert outcome.reason in ("nothing on the screen changed", "the page says {code} and {code}")
    assert "secre" not in f"{outcome}{sees.seen}"


def test_a_few_letters_are_enough_in_a_field_of_a_phone_that_a_value_was_typed_into() -> None:
    protector = Protector((), Placeholders({"code": "471108"}))
    phone = PrivateDevice(ScriptedPhone(dump(FIELD.replace("secret", "471"), button("471"))), protector)
    assert phone.dump().count('"471"') == 2
    phone.type_text("{code}")
    assert phone.dump().count('"471"') == 1


def test_a_sign_that_xml_can_t_hold_is_read_on_a_private_phone_too() -> None:
    phone = ScriptedPhone(dump(button("hello \x01 secret")))
    private = PrivateDevice(phone, Protector((), Placeholders({"code": "secret"})))
    assert [element.text for element in PhoneDesktop(private, "x").observe().elements] == ["hello {code}"]


@pytest.mark.parametrize("shown", [0, 1])
def test_a_value_that_comes_or_goes_while_the_picture_is_taken_isn_t_in_it(shown: int) -> None:
    screens = dump(button("secret")), dump(button("saved"))
    phone = ScriptedPhone(screens[shown])
    private = PrivateDevice(phone, Protector((), Placeholders({"code": "secret"})))
    private.dump()
    phone.dumps = (screens[1 - shown],)
    assert (picture_of(private.screenshot())[0:50, 0:100] == 120).all()
    assert (picture_of(private.screenshot())[0:50, 0:100] == 120).all() == bool(shown)


def test_a_text_without_end_is_cut_and_painted_over_on_a_private_phone() -> None:
    private = PrivateDevice(ScriptedPhone(dump(button("ab " * 2000))), Protector((), Placeholders({"code": "secret"})))
    assert len(private.dump()) < 5000
    assert (picture_of(private.screenshot())[0:50, 0:100] == 120).all()


def test_without_values_a_private_phone_is_the_phone() -> None:
    phone = ScriptedPhone("not xml")
    private = PrivateDevice(phone, Protector((), Placeholders()))
    assert (private.dump(), private.screenshot()) == (phone.dump(), phone.screenshot())


def test_a_private_screen_that_cannot_be_read_is_not_shown() -> None:
    private = PrivateDevice(ScriptedPhone("not xml"), Protector((), Placeholders({"code": "secret"})))
    assert private.dump() == ""
    assert np.all(picture_of(private.screenshot()) == 120)
