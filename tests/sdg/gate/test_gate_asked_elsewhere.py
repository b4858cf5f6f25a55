"""A question is heard wherever it stands, in a real Chromium: in another frame, in a dialog's name, in a field, under a
picture; and a press on a picture is judged by the words that are drawn on it."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from sdg.envs.ui.access import Access
from sdg.envs.ui.browser import what_is_missing
from sdg.envs.ui.page import PageWorld
from sdg.experiments.play.pages import PageDesktop, open_page
from sdg.gate.confirm import ConfirmGuard, final_press
from sdg.gate.executor import Command
from tests.shared.screens.press_pages import AT, CLICK, FOCUS

pytestmark = pytest.mark.skipif(bool(what_is_missing()), reason=f"no browser: {what_is_missing()}")


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    with open_page(Access("about:blank")) as page:
        yield page


QUESTION = "Delete all files?"
FAR = f"<h2 id=q>{QUESTION}</h2><p>{'word ' * 700}</p>"
ENTER = ("PRESS_KEY", "<Enter>")


def dialog(inner: str, about: str = "", answer: str = "Yes") -> str:
    """A dialog with this in it, or about it, and a button."""
    return f"<div role=dialog {about}>{inner}<button {AT}>{answer}</button></div>"


def framed(inner: str, more: str = "") -> str:
    """A frame of this at the place of a press, or elsewhere."""
    return f"<iframe {more or AT} srcdoc=\"<body style='margin:0'>{inner}\"></iframe>"


OK = "<button style='position:fixed;inset:0;width:100%'>OK</button>"
INNER = (
    "<iframe style=width:100%;height:90% srcdoc='<button style=position:fixed;inset:0;width:100%>OK</button>'></iframe>"
)
BELOW = "sandbox style='margin-top:90px'"
ASKED = {
    "a dialog's name": (dialog("<p>This removes 3 files.</p>", f"aria-label='{QUESTION}'"), *CLICK),
    "a name that lies elsewhere": (FAR + dialog("", "aria-labelledby=q").replace("absolute", "fixed"), *CLICK),
    "a note that lies elsewhere": (FAR + dialog("", "aria-describedby=q").replace("absolute", "fixed"), *CLICK),
    "a button's own note": (f"<p id=q hidden>{QUESTION}</p><button aria-describedby=q {AT}>OK</button>", *CLICK),
    "a field that is only read": (dialog(f"<input readonly value='{QUESTION}'>"), *CLICK),
    "a text that is only read": (dialog(f"<textarea readonly>{QUESTION}</textarea>"), *CLICK),
    "what an empty field shows": (dialog(f"<input placeholder='{QUESTION}'>"), *CLICK),
    "a picture's words": (dialog(f"<img alt='{QUESTION}'>"), *CLICK),
    "a drawing's title": (dialog(f"<svg width=9 height=9><title>{QUESTION}</title></svg>"), *CLICK),
    "a chosen entry": (f"<select><option>Delete permanently<option>Star</select><button {AT}>Apply</button>", *CLICK),
    "a chosen entry far above": (
        f"<form><select><option>Delete permanently</select><p>{'word ' * 700}"
        f"<button {AT.replace('absolute', 'fixed')}>OK</button></form>",
        *CLICK,
    ),
    "the page around a frame": (f"<p style='margin-top:90px'>{QUESTION}</p>{framed(OK)}", *CLICK),
    "a dialog around a frame": (f"<div role=dialog><p>{QUESTION}</p>{framed(OK)}</div>", *CLICK),
    "a page around two frames": (
        f"<p style='margin-top:90px'>{QUESTION}</p>{framed(INNER)}",
        *CLICK,
    ),
    "a frame in the dialog": (dialog(framed(QUESTION, BELOW)), *CLICK),
    "a frame beside the button": (f"{framed(QUESTION, BELOW)}<button {AT}>OK</button>", *CLICK),
    "a frame beside the button's frame": (framed(QUESTION, BELOW) + framed(OK), *CLICK),
    "a field of a frame in the dialog": (dialog(framed(f"<input readonly value='{QUESTION}'>", BELOW)), *CLICK),
    "Enter on a page": (f"<div role=dialog aria-label='{QUESTION}'><button>Yes</button></div>", *ENTER),
    "a text that is pressed": (f"<textarea readonly onclick=1 {AT}>Delete all</textarea>", *CLICK),
}
NOT_ASKED = {
    "another picture that is pressed": (
        f"<button {AT}>OK</button><a href=/x style='margin-top:90px'><img alt='Delete it'></a>",
        *CLICK,
    ),
    "an entry that isn't chosen": (
        f"<select><option>Star<option>Delete permanently</select><button {AT}>Apply</button>",
        *CLICK,
    ),
    "a draft": (dialog(f"<textarea>{QUESTION}</textarea>", answer="OK"), *CLICK),
    "a text that is written": (f"<textarea {AT}>Delete all</textarea>", *CLICK),
    "a frame that asks nothing": (framed("We use cookies.", BELOW) + framed(OK), *CLICK),
    "a frame that isn't shown": (framed(QUESTION, "hidden") + framed(OK), *CLICK),
    "another button in a frame": (dialog(framed(QUESTION, BELOW), answer="Cancel"), *CLICK),
}


@pytest.mark.parametrize("name", [*ASKED, *NOT_ASKED])
def test_a_question_is_heard_wherever_it_stands(page: Any, name: str) -> None:
    html, command, argument = (ASKED | NOT_ASKED)[name]
    page.set_content(html)
    page.wait_for_timeout(200)
    assert bool(final_press(PageWorld(page, "").press_of(command, argument))) is (name in ASKED)


def test_a_question_of_another_frame_that_changed_is_another(page: Any) -> None:
    page.set_content(f"<p id=q style='margin-top:90px'>Save it?</p><i id=t>10:31:02</i>{framed(OK)}")
    page.wait_for_timeout(200)
    world = PageWorld(page, "")
    judged = world.press_of(*CLICK)
    page.evaluate("t.textContent = '10:31:03'")
    assert judged.is_still(world.press_of(*CLICK))
    page.evaluate(f"q.textContent = '{QUESTION}'")
    assert not judged.is_still(world.press_of(*CLICK))


def picture(*lines: str) -> str:
    """The address of a picture that shows these lines of words."""
    texts = "".join(f"<text x='10' y='{40 + 50 * n}'>{line}</text>" for n, line in enumerate(lines))
    drawn = (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='460' height='{10 + 50 * len(lines)}' font-family='Arial' "
        f"font-size='28' fill='white'><rect width='100%' height='100%' fill='#c00'/>{texts}</svg>"
    )
    return "data:image/svg+xml;base64," + base64.b64encode(drawn.encode()).decode()


YES, PLACE = picture("Yes, delete my account"), "style='position:absolute;left:20px;top:20px'"
LISTENS = "<script>x.addEventListener('click',()=>1)</script>"
DRAWN = {
    "a picture that listens": (f"<img id=x src='{YES}' {PLACE}>{LISTENS}", *CLICK, True),
    "a picture of a style": (
        f"<div id=x style='position:absolute;left:20px;top:20px;width:460px;height:60px;background:url({YES})'></div>",
        *CLICK,
        True,
    ),
    "a link": (f"<a href='#y'><img src='{YES}' {PLACE}></a>", *CLICK, True),
    "a link whose name lies": (f"<a href='#y'><img alt='See more' src='{YES}' {PLACE}></a>", *CLICK, True),
    "a link of two lines": (
        f"<a href='#y'><img src='{picture('Delete all', 'of my mails')}' {PLACE}></a>", "CLICK_COORDS", "60,85", True,
    ),
    "Enter on a link": (f"<a id=i href='#y'><img alt='' src='{YES}'></a>{FOCUS}", *ENTER, True),
    "Enter on a link in a frame": (framed(f"<a id=i href='#y'><img src='{YES}'></a>"), *ENTER, True),
    "a link in a frame": (framed(f"<a href='#y'><img src='{YES}'></a>"), *CLICK, True),
    "yes to a question": (
        f"<p style='margin-top:90px'>{QUESTION}</p><img id=x src='{picture('Yes')}' {PLACE}>{LISTENS}", *CLICK, True),
    "another picture": (f"<a href='#y'><img src='{picture('See all of my mails')}' {PLACE}></a>", *CLICK, False),
    "Enter on another link": (
        f"<a id=i href='#y'><img src='{picture('See all of my mails')}'></a>{FOCUS}", *ENTER, False),
    "a picture about it": (f"<img src='{picture('Ann asks whether to send it')}' {PLACE}>", *CLICK, False),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWN)
def test_words_that_are_drawn_are_judged_as_words(page: Any, name: str) -> None:
    html, command, argument, is_asked = DRAWN[name]
    page.set_content(html)
    page.wait_for_timeout(200)
    if name.endswith("in a frame") and command == "PRESS_KEY":
        page.frames[-1].focus("a")
    desktop = PageDesktop(PageWorld(page, ""))
    guard = ConfirmGuard(lambda _: False, desktop.press_of)
    assert guard.feasible(Command(command, argument), desktop.observe()).passed is not is_asked
