"""Presses are judged by what is pressed and by what hears of it, too, in a real Chromium: cards around buttons, scripts
that send on Enter, icons beside words, and words that only a style or a place makes."""

from __future__ import annotations

from typing import Any

import pytest

from sdg.envs.ui.browser import what_is_missing
from sdg.envs.ui.page import PageWorld
from sdg.gate.confirm import final_press
from tests.shared.screens.press_pages import AT, CLICK, FOCUS

pytestmark = pytest.mark.skipif(bool(what_is_missing()), reason=f"no browser: {what_is_missing()}")

ENTER = ("PRESS_KEY", "<Enter>")
MAIL = "Ann asks whether you can send her all the photos of the summer holiday"
ALL = "style='position:absolute;inset:0'"
CARD = "<style>*{{cursor:pointer}}</style><{} style='position:absolute;inset:0'>{}</{}>"
TRASH = f"<button aria-label='Delete mail' {AT}><i class='fa fa-trash'></i></button>"


def card(inner: str, tag: str = "div onclick=1", says: str = MAIL) -> str:
    """A page that is all a card, with a hand over it."""
    return CARD.format(tag, f"<p style='margin:150px 0 0'>{says}</p>{inner}", tag.split()[0])


def over(top: str, words: str = "Delete all") -> str:
    """Something without words at the place of words."""
    return f"<p {AT[:-1]};margin:0;text-align:center'>{words}</p>{top}"


LISTENS = f"<div id=g {AT}></div><script>g.addEventListener('click',()=>1)</script>"
CHAT = "<div><input id=i {}><button>Emoji</button><button>{}</button></div>" + FOCUS
NUMBERED = "@counter-style x{{system:cyclic;symbols:'Delete';suffix:' '}}{}{{{}}}"
ASKED = {
    "an icon in a card": (card(TRASH), *CLICK),
    "an icon in a card that is a link": (card(TRASH, "a href=/mail"), *CLICK),
    "an icon in a row of a list": (card(TRASH, "div role=option"), *CLICK),
    "a long button in a card": (card(f"<button {AT}>Delete this mail permanently</button>"), *CLICK),
    "what goes down in a card": (card(TRASH), "MOUSEDOWN_COORDS", "60,40"),
    "a part of a button": (f"<button {AT}>Pay now <i tabindex=0 {AT}></i></button>", *CLICK),
    "a name in a card that pays": (card(f"<span onclick=1 {AT}>Ann</span>", says="Pay now"), *CLICK),
    "a part of a long button": (
        f"<style>*{{cursor:pointer}}</style><button {AT}>All that you chose is yours: pay for it now "
        f"<i tabindex=0 {AT}></i></button>",
        *CLICK,
    ),
    "a named part of a button": (f"<button {AT}>Pay 30 EUR <i tabindex=0 {ALL}>Info</i></button>", *CLICK),
    "a part of a button that listens": (
        f"<button {AT}>Delete all of these old mails now <i onclick=1 {ALL}>Info</i></button>",
        *CLICK,
    ),
    "a named part of a link": (f"<a href=/x style=cursor:default>Delete all <i tabindex=0 {AT}>Info</i></a>", *CLICK),
    "a named part of a button's label": (
        f"<label for=b><i tabindex=0 {AT}>Info</i></label><button id=b>Pay 30 EUR</button>",
        *CLICK,
    ),
    "Enter in a chat": (CHAT.format("placeholder='Message Ann'", "Attach"), *ENTER),
    "a line break in a chat": (CHAT.format("placeholder='Message Ann'", "Attach"), "TYPE_TEXT", "hi\n"),
    "Enter in a field by its name": (CHAT.format("name=commentText", "Attach"), *ENTER),
    "Enter beside a button that replies": (CHAT.format("placeholder=Aa", "Reply"), *ENTER),
    "Enter beside a second icon": (CHAT.format("", "<i class='fa fa-paper-plane'></i>"), *ENTER),
    "Enter in a search that sends": (
        f"<form name=search><input id=i><div role=button>Send</div></form>{FOCUS}",
        *ENTER,
    ),
    "Enter where one finds whom to pay": (
        f"<form><input id=i placeholder='Find a person to pay'><button>Go</button></form>{FOCUS}",
        *ENTER,
    ),
    "a drawn icon beside a word": (f"<button {AT}><i class='fa fa-trash'></i> Selected</button>", *CLICK),
    "a plane beside a word": (f"<button {AT}><svg class=lucide-paper-plane></svg> Now</button>", *CLICK),
    "a drawing's address beside a word": (f"<button {AT}><img src='/icons/delete.svg'> Selected</button>", *CLICK),
    "a link over words": (over(f"<a href=/x {AT}></a>"), *CLICK),
    "what listens over words": (over(LISTENS, "Delete all of them"), *CLICK),
    "a link under words": (
        f"<a href=/x {AT}></a><p {AT[:-1]};margin:0;pointer-events:none'>Delete all</p>",
        *CLICK,
    ),
    "a marker's word": (
        f"<style>div::marker{{content:'Delete '}}</style><div role=button {AT[:-1]};display:list-item;"
        "list-style-position:inside'>all items</div>",
        *CLICK,
    ),
    "a word that counts": (
        f"<style>{NUMBERED.format('div', 'display:list-item;list-style:inside x')}</style>"
        f"<div role=button {AT[:-1]}'>all items</div>",
        *CLICK,
    ),
    "a word of a counter": (
        f"<style>{NUMBERED.format('b::before', 'content:counter(n,x)')}</style><button {AT}><b></b>all items</button>",
        *CLICK,
    ),
    "a word that is a quotation mark": (
        f"<style>b{{quotes:'Delete ' ''}}b::before{{content:open-quote}}</style><button {AT}><b></b>all items</button>",
        *CLICK,
    ),
    "a letter that fills": (f"<button {AT}>Del\u3164ete</button>", *CLICK),
    "letters struck out": (f"<a href=/x {AT}>D\u0336e\u0336lete</a>", *CLICK),
    "a selector of variants": (f"<a href=/x {AT}>Del\ufe0fete</a>", *CLICK),
}
NOT_ASKED = {
    "a button in a card about a verb": (card(f"<button {AT}>Star</button>"), *CLICK),
    "a link in a label of a button": (
        f"<label for=b><a href=/x {AT}>Info</a></label><button id=b>Pay 30 EUR</button>",
        *CLICK,
    ),
    "a named part of a field's label": (f"<label>Order number <i tabindex=0 {AT}>Info</i><input></label>", *CLICK),
    "a button in a button about a verb": (card(f"<button {AT}>Star</button>", "div role=button"), *CLICK),
    "a button beside another of a card": (
        card(f"<button {AT}>Star</button><button>Delete</button><button><i class=trash></i></button>", says="Ann"),
        *CLICK,
    ),
    "a card beside its buttons": (
        card("<button><i class=trash></i></button>", says="Ann Smith"),
        "CLICK_COORDS",
        "9,160",
    ),
    "Enter in a list of things to do": (CHAT.format("placeholder='What is to be done?'", "Sort"), *ENTER),
    "Enter in a search beside a chat": (CHAT.format("placeholder='Search messages'", "Reply"), *ENTER),
    "Enter in a search of orders": (
        f"<form><input id=i placeholder='Find an order'><button>Go</button></form>{FOCUS}",
        *ENTER,
    ),
    "Enter in a search with a cross": (
        f"<form role=search><input id=i><span role=button><svg></svg></span></form>{FOCUS}",
        *ENTER,
    ),
    "a harmless icon beside a word": (f"<button {AT}><i class='fa fa-plane'></i> Flights</button>", *CLICK),
    "a folder's icon": (f"<a href=/bin {AT}><i class='fa fa-trash'></i> Bin</a>", *CLICK),
    "a link over other words": (over(f"<a href=/x {AT}></a>", "Blue lamp"), *CLICK),
    "a number of a list": (f"<ol style=margin:0><li onclick=1 {AT}>Blue lamp</ol>", *CLICK),
}


@pytest.mark.parametrize("name", [*ASKED, *NOT_ASKED])
def test_what_hears_of_a_press_is_judged_with_it(page: Any, name: str) -> None:
    html, command, argument = (ASKED | NOT_ASKED)[name]
    page.set_content(html)
    assert bool(final_press(PageWorld(page, "").press_of(command, argument))) is (name in ASKED)


SVG = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'><rect width='300' height='200' onclick='1'/>{}</svg>"


@pytest.mark.parametrize(("drawn", "is_asked"), [("Next", False), ("Delete all", True)])
def test_a_page_without_a_body_is_judged(page: Any, drawn: str, is_asked: bool) -> None:
    page.goto(SVG.format(f"<text x='30' y='40' pointer-events='none'>{drawn}</text>"))
    press = PageWorld(page, "").press_of(*CLICK)
    assert (press.labels, bool(final_press(press))) == (drawn, is_asked)
    page.goto("about:blank")


def test_what_lies_around_a_press_is_still_judged_when_it_changed(page: Any) -> None:
    page.set_content(card(f"<span onclick=1 {AT}>Ann</span>", says="Read on"))
    world = PageWorld(page, "")
    judged = world.press_of(*CLICK)
    assert judged.is_still(world.press_of(*CLICK))
    page.evaluate("document.querySelector('p').textContent = 'Pay now'")
    assert not judged.is_still(world.press_of(*CLICK))


def test_a_press_on_a_long_page_looks_at_what_is_near(page: Any) -> None:
    rows = "".join(f"<tr><td>Mail {n}<td><button>Delete</button>" for n in range(600))
    page.set_content(f"<button {AT}>Go</button><table style=margin-top:99px>{rows}</table>")
    press = PageWorld(page, "").press_of(*CLICK)
    assert (press.words, press.dialog) == ("Go", "")
    page.evaluate("document.querySelectorAll('td')[1000].textContent = 'Another'")
    assert PageWorld(page, "").press_of(*CLICK).row == press.row
