"""The guards of screens: shipped, fast, shut where they can't tell; a person's yes before what is final."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sdg.envs.ui.parser.screen import ScreenElement
from sdg.envs.ui.presses import Press
from sdg.envs.ui.tasks import UNSEEN
from sdg.envs.world import Observation, PlainObservation
from sdg.gate.confirm import ConfirmGuard, final_press
from sdg.gate.executor import Command, GuardChain
from sdg.gate.registry import gate_of
from sdg.gate.screens import PLACE, ScreenGuard

ELEMENTS = (
    ScreenElement(1, "text", "Name", (4, 10, 60, 30)),
    ScreenElement(2, "textbox", "", (70, 8, 200, 34)),
    ScreenElement(3, "checkbox", "", (4, 80, 30, 106)),
    ScreenElement(4, "text", "apples", (40, 82, 100, 104)),
    ScreenElement(5, "trash icon", "", (250, 10, 270, 34)),
    ScreenElement(6, "button", "Send", (4, 200, 100, 240)),
    ScreenElement(7, "button", "Cancel", (120, 200, 220, 240)),
)
BLANK = np.full((320, 320, 3), 255, np.uint8)
NOW = PlainObservation("", BLANK, ELEMENTS)


FORM = (
    *(ScreenElement(n, "radio", "", (6, 20 * n, 24, 20 * n + 18)) for n in (1, 2, 3)),
    ScreenElement(4, "text", "oats", (32, 20, 90, 38)),
    ScreenElement(5, "text", "rye", (32, 40, 90, 58)),
    ScreenElement(6, "text", "corn", (32, 60, 90, 78)),
    ScreenElement(7, "textbox", "", (70, 120, 200, 146)),
    ScreenElement(8, "text", "Town", (8, 122, 60, 144)),
    ScreenElement(9, "textbox", "", (70, 160, 200, 186)),
    ScreenElement(10, "text", "Street", (8, 162, 60, 184)),
)
ASKED = {
    1: ("click", "the radio button beside 'oats'"),
    2: ("click", "the radio button beside 'rye'"),
    3: ("click", "the radio button beside 'corn'"),
    7: ("type", "'lake' into the textbox beside 'Town'"),
    9: ("type", "'lake' into the textbox beside 'Street'"),
}
"""A command on each of these elements of `FORM`."""


def form_after(number: int) -> Observation:
    """The form after an element of it was chosen, or typed into."""
    picture, element = BLANK.copy(), FORM[number - 1]
    acted = replace(element, text="lake", focused=True) if element.kind == "textbox" else replace(element, checked=True)
    elements = tuple(acted if field is element else field for field in FORM)
    x0, y0, x1, y1 = element.box
    if x1 - x0 > 40:
        picture[y0 - 2 : y1 + 2, x0 - 2 : x1 + 2] = 0
        picture[y0:y1, x0:x1] = 255
        picture[y0 + 6 : y1 - 6, x0 + 6 : x0 + 40] = 90
    else:
        picture[y0 + 4 : y1 - 4, x0 + 4 : x1 - 4] = (20, 90, 200)
    return PlainObservation("", picture, elements)


def screen_after(number: int, **changes: Any) -> Observation:
    """The screen with an element changed, in pixels too."""
    picture, element = BLANK.copy(), ELEMENTS[number - 1]
    x0, y0, x1, y1 = element.box
    picture[y0 + 4 : y1 - 4, x0 + 4 : x1 - 4] = 60
    elements = [*ELEMENTS]
    elements[number - 1] = replace(element, **changes)
    return PlainObservation("", picture, tuple(elements))


def test_what_is_there_is_feasible_and_what_is_not_is_refused() -> None:
    guard = ScreenGuard()
    for argument in ("the 'Cancel' button", "the checkbox beside 'apples'"):
        assert guard.feasible(Command("click", argument), NOW).passed
    for argument in ("the 'Checkout' button", "the link 'Previous page'"):
        assert not guard.feasible(Command("click", argument), NOW).passed


def test_an_effect_at_the_target_is_complete_and_one_elsewhere_is_not() -> None:
    guard, command = ScreenGuard(), Command("click", "the checkbox beside 'apples'")
    assert guard.complete(command, NOW, screen_after(3, checked=True)).passed
    assert not guard.complete(command, NOW, screen_after(7)).passed
    typed = Command("type", "'abc' into the textbox beside 'Name'")
    assert guard.complete(typed, NOW, screen_after(2, text="abc", focused=True)).passed


def test_each_effect_is_put_down_to_what_was_acted_on_and_to_nothing_else() -> None:
    guard, before = ScreenGuard(), PlainObservation("", BLANK, FORM)
    wrong = []
    for number, words in ASKED.items():
        command = Command(*words)
        wrong += [
            (number, acted) for acted in ASKED
            if guard.complete(command, before, form_after(acted)).passed is not (number == acted)
        ]  # fmt: skip
        assert not guard.complete(command, before, before).passed, "nothing happened"
    assert len(wrong) <= 2, wrong


def test_coordinates_pass_and_what_nothing_was_learned_of_too() -> None:
    guard = ScreenGuard()
    assert guard.feasible(Command("CLICK_COORDS", "50,220"), NOW).passed
    assert guard.feasible(Command("CLICK_COORDS", "300,300"), NOW).passed, "bare ground may be what is meant"
    assert guard.complete(Command("CLICK_COORDS", "16,92"), NOW, screen_after(3, checked=True)).passed
    assert guard.feasible(Command("PRESS_KEY", "<Enter>"), NOW).passed


def test_at_coordinates_of_pages_nothing_like_those_learned_only_what_is_certain_is_doubted() -> None:
    guard, wide = ScreenGuard(), np.full((480, 760, 3), 255, np.uint8)
    later = wide.copy()
    later[400:440, 600:700] = 0
    then, now = PlainObservation("", wide, ELEMENTS), PlainObservation("", later, ELEMENTS)
    for words in (("CLICK_COORDS", "50,220"), ("TYPE_TEXT", "abc"), ("SCROLL_DOWN_COORDS", "9,9")):
        command = Command(*words)
        assert guard.complete(command, then, now).passed, "the change lies far away, and may be its effect"
        still = guard.complete(command, then, PlainObservation("", wide.copy(), ELEMENTS))
        assert (still.passed, still.reason) == (False, "nothing on the screen changed")
    assert guard.complete(Command("PRESS_KEY", "C-c"), then, then).passed, "a copy shows nothing"
    unpressed = guard.complete(Command("click", "the 'Cancel' button"), then, then)
    assert (unpressed.passed, unpressed.reason) == (False, "nothing on the screen changed")


def test_a_verdict_takes_less_than_50_milliseconds() -> None:
    guard, command, after = ScreenGuard(), Command("click", "the 'Cancel' button"), screen_after(7)
    took = []
    for _ in range(20):
        began = time.process_time()
        guard.feasible(command, NOW)
        guard.complete(command, NOW, after)
        took.append(time.process_time() - began)
    assert sorted(took)[5] < 0.1, "two verdicts"


@pytest.mark.parametrize("argument", ["", "17", "a,b", "1,2,3"])
def test_what_it_cannot_judge_is_refused(argument: str) -> None:
    guard = GuardChain(rules=[ScreenGuard()])
    assert not guard.feasible(Command("CLICK_COORDS", argument), NOW).passed
    assert not guard.feasible(Command("click", "the 'Cancel' button"), PlainObservation("a text alone")).passed


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("click", "the 'Send' button"),
        *((name, "50,220") for name in ("CLICK_COORDS", "MOUSEDOWN_COORDS", "MOUSEUP_COORDS")),
        ("click", "the trash icon"),
        ("click", "'Buy now'"),
    ],
)
def test_final_presses_need_a_yes(name: str, argument: str) -> None:
    command = Command(name, argument)
    assert not ConfirmGuard().feasible(command, NOW).passed
    questions: list[str] = []
    yes = ConfirmGuard(lambda question: bool(questions.append(question)) or True)
    assert yes.feasible(command, NOW).passed
    assert len(questions) == 1
    assert str(command) in questions[0]
    assert not ConfirmGuard(lambda question: "yes").feasible(command, NOW).passed  # type: ignore[arg-type,return-value]


FINAL_LABELS = (
    "Make payment;Make a payment;Complete payment;Release payment;Complete booking;Complete your booking;Charge card;"
    "Subscribe;Start subscription;Top up €50;Wire $500;Bet €5;€9.99;Get Premium - €9.99/month;Pick 12,50 EUR;9.99元;"
    "Place bet;Cast vote;Sign document;Apply now;Hire Ann;Move to bin;Empty folder;Drop table;Kill process;Clear all;"
    "Clear history;Reset all data;Rotate key;Log out all devices;Log out of all devices;Unlock door;Shut down;"
    "提交;投票;投注;拨打;拨打 112;제출;応募する;Postuler;Votar;Wetten;100 kr"
)
HARMLESS_LABELS = (
    "Start;Sign in;Sign up;Clear;Apply;Complete;Reset;Payment;Payments;Complete profile;Start course;Log out;Unlock;"
    "5 results;Top 10;Page 3 of 20;Euro 2024;Rotate image;Cast to TV;Move to inbox;Apply filters;提交记录;Charge;Wire"
)


@pytest.mark.parametrize(
    ("label", "final"),
    [
        ("Cancel my subscription", True), ("Close account", True), ("Empty the trash", True), ("Konto kündigen", True),
        ("Cancel", False), ("Close menu", False), ("Your account", False), ("Leave a comment", False),
        ("Absenden", True), ("Zahlungspflichtig buchen", True), ("Usuń konto", True), ("Удалить", True),
        ("Place bid: 500 EUR", True), ("Satın al", True), ("حذف الحساب", True), ("계정 삭제", True), ("हटाएं", True),
        ("KALDIR", True), ("SİPARİŞ VER", True), ("SATIN AL", True), ("Satin sheets", False), ("D̲e̲l̲e̲t̲e̲", True),
        ("حَذْف", True), ("Smazat účet", True), ("Видалити обліковий запис", True), ("Ta bort", True), ("Köp nu", True),
        ("Slet konto", True), ("Kjøp nå", True), ("Poista tili", True), ("Fiók törlése", True), ("Törlés", True),
        ("Șterge contul", True), ("ΔΙΑΓΡΑΦΗ", True), ("Διαγραφή λογαριασμού", True), ("מחק חשבון", True),
        ("ลบ", True), ("ลบบัญชี", True), ("ข้อมูลบัญชี", False), ("ส่ง", True), ("การจัดส่ง", False),
        ("Zrušit předplatné", True), ("Zrušit", False), ("➤", True), ("★", False),
        ("How to write a letter to a bank in time", False), ("Meine Bestellungen", False),
        ("Factory reset", True), ("Format disk", True), ("Drop database", True),
        ("Release funds", True), ("Overwrite", True), ("Force push", True), ("Clear filters", False),
        ("Reset zoom", False), ("Release notes", False), ("Später", False),
        *((label, True) for label in FINAL_LABELS.split(";")),
        *((label, False) for label in HARMLESS_LABELS.split(";")),
    ],
)  # fmt: skip
def test_what_ends_something_of_the_user_s_is_final(label: str, final: bool) -> None:
    assert bool(final_press(Press(words=label, role="button"))) is final


@pytest.mark.parametrize(
    ("role", "label", "final"),
    [
        ("button", "Transfer 500 EUR from Giro account to Ann Smith now", True),
        ("button", "Continue and place your order for 12,50 EUR today", True),
        ("button", "Book flight LH123 from Munich to Oslo now", True),
        ("button", "Accept the terms and transfer $500 to Ann Smith now", True),
        ("button", "Order of the Phoenix: a review of the film", False),
        ("control", "Transfer $500 to Ann now", True), ("row", "Order this again for Ann and all of us", True),
        ("control", "Book reviews of the week", False), ("row", "Order 7 was shipped to you today", False),
        ("a", "Delete this post forever", True), ("a", "Click here to delete your account", True),
        ("a", "Log out and close your account", True), ("a", "Book flight LH123 to Oslo now", True),
        ("a", "Order of the Phoenix: a review of the film", False), ("a", "Book reviews of the week", False),
        ("a", "How to find and remove malware", False), ("a", "Format of the course and its exam", False),
        ("a", "Purchase order policy of the company", False), ("p", "Delete this post forever if it is yours", False),
    ],
)  # fmt: skip
def test_a_label_of_any_length_that_tells_to_act_is_final_and_a_headline_is_not(
    role: str, label: str, final: bool
) -> None:
    assert bool(final_press(Press(role, label))) is final


@pytest.mark.parametrize(
    ("label", "dialog", "asks"),
    [
        ("Yes, renew", "Renew your card?\nWe take 148 from your card", True),
        ("Ja", "Angebot annehmen?", True),
        ("Unmatch", "Unmatch Priyanka?\nNever mind Unmatch", True),
        ("That's me done", "Hand in paper 2?\nYou can't come back to it.", True),
        ("Weiter", "Das kann nicht rückgängig gemacht werden.", True),
        ("Keep working", "Hand in paper 2?\nYou can't come back to it.", False),
        ("Never mind", "Unmatch Priyanka?\nNever mind Unmatch", False),
        ("OK", "Your settings were kept.", False),
        ("Show results", "What do you look for?", False),
    ],
)
def test_an_answer_to_a_question_and_what_has_no_way_back_are_asked_about(label: str, dialog: str, asks: bool) -> None:
    assert bool(final_press(Press("button", label, dialog=dialog))) is asks


@pytest.mark.parametrize(
    ("press", "shown"),
    [
        (
            Press("button", f"I have read the order rules of this shop{' and its terms' * 9} and buy it"),
            "buy it",
        ),
        (Press("button", "OK", dialog=f"我已阅读{'并同意所有条款' * 30}支付？"), "支付"),
        (Press("button", "OK", dialog=f"{'We are glad that you are here. ' * 5}Delete the account?"), "Delete the acc"),
        (Press("slider", dialog=f"{'More of our offers. ' * 9}Slide to pay"), "Slide to pay"),
    ],
)
def test_a_question_shows_what_makes_a_press_final(press: Press, shown: str) -> None:
    assert shown in final_press(press)
    assert len(final_press(press)) < 100


def test_a_question_shows_both_ends_of_a_long_command() -> None:
    questions: list[str] = []
    guard = ConfirmGuard(lambda question: bool(questions.append(question)), lambda command: Press("button", "Send"))
    guard.feasible(Command("TYPE_TEXT", f"to Ann {'x' * 100_000} and Bob"), NOW)
    assert "to Ann" in questions[0]
    assert "and Bob" in questions[0]
    assert len(questions[0]) < 300


def test_nobody_is_asked_about_the_rest() -> None:
    guard = ConfirmGuard()
    for command in (
        Command("click", "the 'Cancel' button"),
        Command("CLICK_COORDS", "16,92"),
        Command("TYPE_TEXT", "send"),
    ):
        assert guard.feasible(command, NOW).reason == "nothing final"
    broken = GuardChain(rules=[ConfirmGuard(lambda question: 1 / 0 > 0)])
    assert not broken.feasible(Command("click", "the 'Send' button"), NOW).passed


def test_they_are_named_and_their_card_says_what_they_never_saw() -> None:
    gate = gate_of(["screens", "confirm"], usages={}, resolve=lambda argument, elements: ())
    assert gate.feasible(Command("click", "the 'Cancel' button"), NOW).passed
    assert not gate.feasible(Command("click", "the 'Send' button"), NOW).passed
    card = json.loads(PLACE.read_text(encoding="utf-8"))["card"]
    assert not set(card["tasks"]) & {*UNSEEN, *card["held_out"]}


def test_a_fields_label_counts_however_far_its_middle_is_from_it() -> None:
    label = ScreenElement(1, "text", "Street", (20, 20, 70, 40))
    field = ScreenElement(2, "textbox", "", (80, 15, 700, 45))
    page = PlainObservation("", np.full((480, 760, 3), 255, np.uint8), (label, field))
    assert ScreenGuard().feasible(Command("type", "'Quay 9' into the field beside 'Street'"), page).passed
    assert not ScreenGuard().feasible(Command("type", "'Quay 9' into the field beside 'Country'"), page).passed
