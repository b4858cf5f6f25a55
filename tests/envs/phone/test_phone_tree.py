"""UI trees: what is kept, numbers that stay, marks, and dumps that can't be read."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given, strategies as st

from sdg.envs.phone.actions import IllegalCommand, PhoneAction, place_of
from sdg.envs.phone.tree import MAX_TEXT_CHARS, DumpError, marked_elements, read_dump
from tests.shared.screens.phone_dumps import ROW, dump, node
from tests.shared.slowness import slowness


def test_what_says_nothing_goes_and_its_children_move_up() -> None:
    tree = read_dump(dump(node("FrameLayout", "[0,0][400,800]", node("View", "[0,0][400,100]",
        node("Button", "[0,0][100,50]", text="Save", flags="clickable"),
        node("Button", "[0,90][100,150]", text="Out", flags="clickable"),
        node("Button", "[50,50][50,90]", text="Thin", flags="clickable")))))  # fmt: skip
    (element,) = tree.elements
    assert (element.kind, element.text, element.box) == ("button", "Save", (0, 0, 100, 50))
    assert tree.package == "a.b"


def test_words_below_something_that_is_pressed_are_its_own() -> None:
    tree = read_dump(dump(ROW))
    assert str(tree).splitlines() == [
        f"[{tree.elements[0].id}] '7:30 | Gym & run' button: [0, 100, 400, 180]",
        f"  [{tree.elements[1].id}] 'on' checked checkbox: [300, 110, 390, 170]",
    ]


def test_rows_that_are_only_pressed_long_are_pressable() -> None:
    words = node("TextView", "[10,100][200,140]", text="Tokyo")
    (row,) = read_dump(dump(node("LinearLayout", "[0,100][400,180]", words, flags="long-clickable"))).elements
    assert (row.kind, row.text, row.look) == ("button", "Tokyo", "long-press")


def test_numbers_stay_when_things_move_and_others_come() -> None:
    field = node("EditText", "[0,0][400,90]", text="abc", res="name", flags="clickable focusable")
    before = {element.name: element.id for element in read_dump(dump(ROW)).elements}
    moved = ROW.replace("[0,100][400,180]", "[0,90][400,180]")
    after = read_dump(dump(node("Button", "[0,0][9,9]", text="New", flags="clickable"), moved)).elements
    assert before.items() <= {element.name: element.id for element in after}.items()
    typed = [read_dump(dump(field.replace("abc", text))).elements[0] for text in ("", "abc")]
    assert typed[0].id == typed[1].id
    assert [element.name for element in typed] == ["empty textbox", "textbox containing the text 'abc'"]
    twins = read_dump(dump(*(node("Button", f"[0,{y}][9,{y + 9}]", text="OK", flags="clickable") for y in (0, 20))))
    assert len({element.id for element in twins.elements}) == 2


def test_marks_leave_out_what_lies_on_another() -> None:
    tree = read_dump(dump(node("Button", "[0,0][100,50]", text="A", flags="clickable focusable"),
                          node("View", "[2,0][102,50]", flags="focusable"),
                          node("TextView", "[1,0][101,50]", text="near"),
                          node("EditText", "[0,100][100,150]", flags="focusable")))  # fmt: skip
    assert [mark.box for mark in marked_elements(tree)] == [(0, 0, 100, 50), (0, 100, 100, 150)]


def test_many_nodes_in_the_same_boxes_are_compared_once() -> None:
    boxes = [f"[{n * 20},0][{n * 20 + 9},9]" for n in range(300)] * 40
    tree = read_dump(dump(*(node("Button", box, text="a", flags="clickable focusable") for box in boxes)))
    began = time.process_time()
    assert len(marked_elements(tree)) == 300
    assert time.process_time() - began < slowness()


def test_words_below_many_that_are_pressed_are_gathered_once_and_cut() -> None:
    outer, inner = '<node clickable="true" bounds="[0,0][9,9]">', '<node text="ab" bounds="[0,0][9,9]"/>'
    xml = dump(outer * 150 + inner * 10_000 + "</node>" * 150)
    began = time.process_time()
    tree = read_dump(xml)
    assert time.process_time() - began < 2 * slowness()
    assert {len(element.text) for element in tree.elements} == {MAX_TEXT_CHARS}
    assert tree.elements[0].text.startswith("ab | ab | ab")
    assert sum(1 for _ in tree.walk()) == 10_150


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ("ERROR: could not get idle state.", "no XML"),
        ("<hierarchy><node></hierarchy>", "no XML"),
        ("<html/>", "not with <hierarchy>"),
        ('<!DOCTYPE h [<!ENTITY a "b">]><hierarchy/>', "document type"),
        ("<hierarchy>" + "<node>" * 300 + "</node>" * 300 + "</hierarchy>", "nested deeper"),
        ("<hierarchy>" + " " * 4_000_001 + "</hierarchy>", "at most"),
    ],
)
def test_dumps_that_cannot_be_read(xml: str, message: str) -> None:
    with pytest.raises(DumpError, match=message):
        read_dump(xml)


def test_unusual_screens_are_read() -> None:
    words = "שלום 🎉 你好 ‮evil"
    tree = read_dump(dump(node("TextView", "[0,0][100,50]", text=f"{words}&#10;line\x0b")))
    assert tree.elements[0].text == f"{words} line"
    assert read_dump(dump()).elements == ()
    assert str(read_dump(dump())) == "(an empty screen)"
    assert read_dump('<hierarchy rotation="x"><node bounds="[0,0][9,9]" text="a"/></hierarchy>').elements[0].text == "a"


def test_more_elements_than_numbers() -> None:
    many = dump(*(node("Button", f"[0,{y}][9,{y + 1}]", text=f"b{y}", flags="clickable") for y in range(1100)))
    assert len({element.id for element in read_dump(many).elements}) == 999


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for xml in (text, f"<hierarchy>{text}</hierarchy>"):
        with contextlib.suppress(DumpError):
            read_dump(xml)


def test_places_are_on_the_screen_or_refused() -> None:
    tree = read_dump(dump(ROW))
    assert place_of(PhoneAction("Tap", element=tree.elements[0].id), tree, (400, 800)) == (200, 140)
    assert place_of(PhoneAction("Swipe", direction="up"), tree, (400, 800)) == (200, 400)
    for action, message in (
        (PhoneAction("Tap", element=998), "no element 998"),
        (PhoneAction("Tap", at=(400, 1)), "outside"),
    ):
        with pytest.raises(IllegalCommand, match=message):
            place_of(action, tree, (400, 800))
