"""What presses press on pages that hide it, in a real Chromium."""

from __future__ import annotations

from typing import Any

import pytest

from sdg.envs.ui.browser import what_is_missing
from sdg.envs.ui.page import PageWorld
from sdg.gate.confirm import final_press
from tests.shared.screens.press_pages import AT, CLICK, FOCUS

pytestmark = pytest.mark.skipif(bool(what_is_missing()), reason=f"no browser: {what_is_missing()}")

SWAPS = "textContent='Delete'"
DELETED = "if(textContent=='Delete')document.title='gone'"
GONE = "if(textContent=='Delete'&&event.detail!=1)document.title='gone'"
CHANGES = {
    "over": (f"<button {AT} onclick=\"{DELETED}\" onmouseover=\"{SWAPS}\">Next</button>", *CLICK),
    "down": (f"<button {AT} onclick=\"{DELETED}\" onmousedown=\"{SWAPS}\">Next</button>", *CLICK),
    "double": (f"<button {AT} onclick=\"{GONE};{SWAPS}\">Next</button>", "DBLCLICK_COORDS", "60,40"),
    "a key moves the focus": (
        "<button id=a onkeydown='b.focus()'>Next</button><button id=b onclick=\"document.title='gone'\">Erase</button>"
        "<script>a.focus()</script>", "PRESS_KEY", "<Enter>"),
    "a letter moves the focus": (
        "<input id=a oninput='b.focus()'><button id=b onclick=\"document.title='gone'\">Erase</button>"
        "<script>a.focus()</script>", "TYPE_TEXT", "a b c"),
    "a line break moves the focus": (
        "<form onsubmit='return false'><input id=a name=q onkeydown=\"if(event.key=='Enter')b.focus()\"></form>"
        "<button id=b onclick=\"document.title='gone'\">Erase</button><script>a.focus()</script>", "TYPE_TEXT", "a\n"),
    "a letter's key moves the focus": (
        "<input id=a onkeydown='b.focus()'><select id=b onchange=\"document.title='gone'\"><option>Sort<option>Delete"
        "</select><script>a.focus()</script>", "TYPE_TEXT", "d"),
    "Space changes as it goes down": (
        f"<button id=a onkeydown=\"{SWAPS}\" onclick=\"{DELETED}\">Next</button><script>a.focus()</script>",
        "PRESS_KEY", "<Space>"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_changes_under_a_hand_is_not_pressed(page: Any, name: str) -> None:
    html, command, argument = CHANGES[name]
    page.mouse.move(300, 300)
    page.set_content(html)
    world = PageWorld(page, "")
    world.step(command, argument)
    assert "look again" in world.notices[0]
    assert page.title() != "gone"


@pytest.mark.parametrize(("command", "argument"), [("CLICK_COORDS", "60,40"), ("PRESS_KEY", "<Enter>")])
def test_what_changes_after_it_was_judged_is_not_pressed(page: Any, command: str, argument: str) -> None:
    page.set_content(
        f"<button id=b {AT} onclick=\"document.title='gone'\">Delete draft</button><script>b.focus()</script>"
    )
    world = PageWorld(page, "")
    judged = world.press_of(command, argument)
    page.evaluate("b.textContent = 'Delete account'")
    world.step(command, argument, judged)
    assert (page.title(), "look again" in world.notices[0]) == ("", True)
    world.step(command, argument, world.press_of(command, argument))
    assert page.title() == "gone"


def test_a_drag_ends_where_it_was_judged_to_end(page: Any) -> None:
    page.set_content(
        "<div draggable=true style='position:absolute;top:150px;width:80px;height:40px'>Mail</div>"
        f"<div id=z {AT}>Inbox</div><script>z.ondragover=e=>{{e.preventDefault();z.textContent='Delete forever'}};"
        "z.ondrop=()=>document.title='gone'</script>"
    )
    world = PageWorld(page, "")
    world.step("MOUSEDOWN_COORDS", "40,170")
    world.step("MOUSEUP_COORDS", "60,40")
    assert "look again" in world.notices[0]
    assert page.title() != "gone"
    assert final_press(world.press_of("MOUSEUP_COORDS", "60,40"))
    page.mouse.move(300, 300)
    page.mouse.up()


DRAGGED = (
    "<div draggable=true style='position:absolute;top:150px;width:80px;height:40px'>Mail</div><script>"
    "z.ondragover=e=>e.preventDefault();z.ondrop=()=>document.title='gone'</script>"
)
BY_HAND = (
    "<div id=i style='position:absolute;top:150px;width:80px;height:40px'>Mail</div><script>window.down=0;"
    "i.onmousedown=e=>{down=1;e.preventDefault()};document.onmouseup=e=>{if(down&&z.contains(e.target))"
    "document.title='gone';down=0}</script>"
)


@pytest.mark.parametrize("drag", [DRAGGED, BY_HAND], ids=["draggable", "by its own script"])
@pytest.mark.parametrize("command", ["CLICK_COORDS", "DBLCLICK_COORDS", "MOUSEDOWN_COORDS", "MOUSEUP_COORDS"])
def test_whatever_presses_lets_go_of_what_is_dragged(page: Any, command: str, drag: str) -> None:
    page.set_content(f"<div id=z {AT}>Drop files here to send them to all of your customers now</div>{drag}")
    with PageWorld(page, "") as world:
        for _ in range(2):  # until what lies there is looked at, nothing is dropped
            world.step("MOUSEDOWN_COORDS", "40,170")
            judged = world.press_of(command, "60,40")
            assert (final_press(judged), judged.role) == (repr(judged.words[:60]), "drop")
            assert page.title() != "gone"
            world.step(command, "60,40", judged)
            assert (page.title(), world.notices) == ("gone", [])
            page.evaluate("document.title = ''")
            world.step("CLICK_COORDS", "60,40")  # the button is up again
            assert page.title() != "gone"


@pytest.mark.parametrize("drag", [DRAGGED, BY_HAND], ids=["draggable", "by its own script"])
def test_a_task_that_ends_in_a_drag_drops_nothing_in_the_next(page: Any, drag: str) -> None:
    page.set_content(f"<div id=z {AT}>Drop files here to delete them</div>{drag}")
    with PageWorld(page, "") as world:
        world.step("MOUSEDOWN_COORDS", "40,170")
        world.step("MOVE_COORDS", "60,50")
    with PageWorld(page, "") as world:
        world.step("CLICK_COORDS", "60,40")
    assert page.title() != "gone"


@pytest.mark.parametrize("moves", ["MOVE_COORDS", "SCROLL_UP_COORDS", "SCROLL_DOWN_COORDS"])
def test_what_moves_with_the_button_down_is_judged_as_a_drop(page: Any, moves: str) -> None:
    page.set_content(
        f"<div {AT}>Slide to pay 20 EUR<div style='position:absolute;left:0;top:0;width:60px;height:60px'></div></div>"
    )
    with PageWorld(page, "") as world:
        assert not final_press(world.press_of(moves, "200,50"))
        world.step("MOUSEDOWN_COORDS", "50,50")
        assert final_press(world.press_of(moves, "200,50"))
        assert not final_press(world.press_of(moves, "55,50"))


def test_only_what_the_task_copied_is_pasted(page: Any) -> None:
    page.set_content("<input id=u value=secret><input id=p type=password value=hidden><textarea id=i></textarea>")
    for field, pasted in (("u", ""), ("p", ""), ("u", "secret")):
        page.focus(f"#{field}")
        page.keyboard.press("Control+a")
        page.keyboard.press("Control+c")  # the user's own
        with PageWorld(page, "") as world:
            if pasted or field == "p":
                world.step("PRESS_KEY", "C-c")
            page.focus("#i")
            world.step("PRESS_KEY", "C-v")
            assert page.input_value("#i") == pasted
            assert world.notices == [] if pasted else "nothing was pasted" in world.notices[0]
    page.set_content("<iframe srcdoc='<p>A lamp</p><textarea></textarea>'></iframe>")
    page.wait_for_timeout(200)
    page.frames[-1].evaluate("getSelection().selectAllChildren(document.querySelector('p'));window.focus()")
    with PageWorld(page, "") as world:
        world.step("PRESS_KEY", "C-c")
        page.frames[-1].focus("textarea")
        world.step("PRESS_KEY", "C-c")  # of nothing
        world.step("PRESS_KEY", "C-v")
        assert page.frames[-1].input_value("textarea") == "A lamp"


def test_common_keys_do_what_they_do_by_hand(page: Any) -> None:
    page.set_content('<form onsubmit="document.title=i.value;return false"><input id=i name=q></form>' + FOCUS)
    world = PageWorld(page, "")
    world.step("TYPE_TEXT", "lamp")
    world.step("PRESS_KEY", "<Enter>")
    assert (page.title(), world.notices) == ("lamp", [])
    page.set_content('<form onsubmit="document.title+=i.value;return false"><input id=i name=q></form>' + FOCUS)
    world.step("TYPE_TEXT", "Lamp, ü!\r\n")
    assert (page.title(), world.notices) == ("Lamp, ü!", [])
    page.set_content(
        "<input id=i maxlength=1 oninput='j.focus()'><input id=j maxlength=1>"
        "<input type=checkbox id=k onchange=\"document.title='ticked'\">" + FOCUS
    )
    world.step("TYPE_TEXT", "47")
    assert (page.input_value("#i"), page.input_value("#j")) == ("4", "7")
    page.focus("#k")
    world.step("PRESS_KEY", "<Space>")
    assert (page.title(), world.notices) == ("ticked", [])


def test_a_line_break_in_a_field_of_many_lines_is_no_key(page: Any) -> None:
    page.set_content("<textarea id=i onkeydown=\"if(event.key=='Enter')document.title='sent'\"></textarea>")
    page.focus("textarea")
    PageWorld(page, "").step("TYPE_TEXT", "a\nb")
    assert (page.input_value("textarea"), page.title()) == ("a\nb", "")
