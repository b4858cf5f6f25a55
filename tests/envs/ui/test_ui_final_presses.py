"""Presses that can't be undone are told from the others on pages that hide it, in a real Chromium."""

from __future__ import annotations

from typing import Any

import pytest

from sdg.envs.ui.browser import what_is_missing
from sdg.envs.ui.page import PageWorld
from sdg.gate.confirm import final_press
from tests.shared.screens.press_pages import AT, CLICK, FOCUS

pytestmark = pytest.mark.skipif(bool(what_is_missing()), reason=f"no browser: {what_is_missing()}")

LIST = "style='position:absolute;left:20px;top:0;padding:20px 0'"
SENDS = "<form><input id=i><button>Send</button></form><script>i.focus()</script>"
HOST = "<div id=h></div><script>const r=h.attachShadow({mode:'closed'});r.innerHTML='<button>x</button>';"
WRITTEN = "<div id=i contenteditable aria-label=Message>hello</div>"
ACTIONS = "<select id=i><option>Actions<option>Delete all mail<option>Archive</select>"
TWO = (
    "<body style=margin:0><button style=position:fixed;top:0;width:200px;height:60px>Pay 12.50 EUR now</button>"
    "<button style=position:fixed;top:60px;width:200px;height:60px>Next</button>"
)
FRAME = "<iframe style='position:absolute;left:0;top:0;width:200px;height:120px;border:0;{}' srcdoc='{}'></iframe>"
DRAWN = 'url("data:image/svg+xml;base64,PHN2Zy8+")'
TERMS = "By pressing this you agree to our terms, our privacy policy and our returns policy, shown below" * 2
NESTED = FRAME.format("zoom:2", f'<body style=margin:0><iframe style=border:0;margin-top:30px srcdoc="{TWO}"></iframe>')


def component(tag: str, inner: str) -> str:
    """A script that defines an element with this in its open shadow root."""
    return (
        f"<script>customElements.get('{tag}')||customElements.define('{tag}',class extends HTMLElement{{constructor(){{"
        f"super();this.attachShadow({{mode:'open'}}).innerHTML=`{inner}`}}}})</script>"
    )


NATIVE = component("x-native", "<button class=button-native style='width:100%;height:100%'><slot></slot></button>")
SLOTTED = component("x-slot", "<div role=dialog><p>Delete everything?</p><slot></slot></div>")
AROUND = component("x-around", f"<div role=dialog><slot></slot><button class=primary-action {AT}>Yes</button></div>")
LABEL = component("x-label", "<span>Pay 12.50 EUR now</span>")
RADIOS = "<label><input type=radio name=a id=i checked>Keep</label><label hidden><input type=radio name=a>File</label>"
DIGITS = "<input maxlength=1 value=7><input maxlength=1 id=i>"
SPACE = ("PRESS_KEY", "<Space>")
TRASH = "<form id=posts-filter><input type=search><button>Go</button><input id=i {}></form>" + FOCUS
SHUT = f"<x-buy id=i tabindex=0 {AT}>Item 7</x-buy><script>i.attachShadow({{mode:'closed'}}).innerHTML='Buy: <slot>'"
SHUT += f"</script>{FOCUS}"
SLOT = f"<x-buy id=i {AT}>{{}}</x-buy><script>s=i.attachShadow({{{{mode:'closed'}}}});s.innerHTML=`{{}}`</script>"
ITEM = "<span style='position:absolute;inset:0'>Item 7</span>"
PASSED = "</script><script>s.firstChild.attachShadow({mode:'closed'}).innerHTML="
OVER = "<button style='position:absolute;inset:0;width:100%;height:100%'></button>"
MAILS = (
    "<div id=i role=listbox tabindex=0 aria-activedescendant={}><div id=a role=option>Mail</div>"
    f"<div id=b role=option>Delete account</div></div>{FOCUS}"
)
ASKED = {
    "a padded frame": (FRAME.format("padding-top:60px", TWO), "CLICK_COORDS", "60,90"),
    "a scaled frame": (FRAME.format("transform:scale(2);transform-origin:0 0", TWO), "CLICK_COORDS", "60,90"),
    "a zoomed frame": (FRAME.format("zoom:2", TWO), "CLICK_COORDS", "60,90"),
    "a turned frame": (FRAME.format("transform:rotate(180deg)", TWO), "CLICK_COORDS", "60,90"),
    "a frame out of flat": (FRAME.format("transform:perspective(90px) rotateX(9deg)", TWO), "CLICK_COORDS", "60,90"),
    "a frame in a zoomed one": (NESTED, "CLICK_COORDS", "60,190"),
    "Enter on another button of a search": (TRASH.format("type=submit value='Empty Trash'"), "PRESS_KEY", "<Enter>"),
    "Enter on a picture of a search": (TRASH.format("type=image alt='Empty Trash'"), "PRESS_KEY", "<Enter>"),
    "a click on a picture that is a button": (f"<form><input type=image alt='Pay now' {AT}></form>", *CLICK),
    "letters and a line break": (f"<form>{ACTIONS}<button>Next</button></form>{FOCUS}", "TYPE_TEXT", "del\n"),
    "an entry by its label": (
        f"<select id=i><option>Sort<option label='Delete all mail'></select>{FOCUS}",
        "PRESS_KEY",
        "<Down>",
    ),
    "an entry of a group": (
        f"<select id=i><option>Sort<optgroup label=Delete><option>All</select>{FOCUS}",
        "TYPE_TEXT",
        "a",
    ),
    "a hidden entry between": (
        f"<select id=i><option>Sort<option hidden>File<option>Delete it</select>{FOCUS}",
        "PRESS_KEY",
        "<Down>",
    ),
    "a hidden radio button between": (
        f"{RADIOS}<label><input type=radio name=a>Delete it</label>{FOCUS}",
        "PRESS_KEY",
        "<Down>",
    ),
    "a slot in a button": (f"{NATIVE}<x-native {AT}>Pay 12.50 EUR now</x-native>", "CLICK_COORDS", "200,30"),
    "a question around a slot": (f"{SLOTTED}<x-slot><button {AT}>Yes</button></x-slot>", *CLICK),
    "a question in a slot": (f"{AROUND}<x-around><p>Delete everything?</p></x-around>", *CLICK),
    "words in a shadow root": (f"{LABEL}<button class=paybar {AT}><x-label></x-label></button>", *CLICK),
    "words of a style": (
        f"<style>b::after{{content:'Pay 12.50 EUR now'}}</style><button {AT}><b></b></button>",
        *CLICK,
    ),
    "a button without a name": (f"<p>Delete everything?<input type=submit class=form-row {AT}>", *CLICK),
    "a class that says nothing": (f"<button class=toolbar {AT}><svg></svg></button>", *CLICK),
    "a letter of an icon font": (f"<button class=toolbar {AT}>&#xe872;</button>", *CLICK),
    "fields that hide a form's own": (
        f"<form><p>Delete everything?<button {AT}>Yes</button><input type=hidden name=innerText>"
        "<input type=hidden name=parentElement><input type=hidden name=childNodes></form>",
        *CLICK,
    ),
    "Enter on a page": (
        "<div role=dialog><h2>Delete all of your files?</h2><button>Yes</button></div>",
        "PRESS_KEY",
        "<Enter>",
    ),
    "an entry that isn't open": (
        f"<form><input id=i aria-activedescendant=o><button>Send</button></form><div id=o>Blue</div>{FOCUS}",
        "PRESS_KEY",
        "<Enter>",
    ),
    "a slider by an arrow": (f"<p>Slide to pay 20 EUR<input type=range id=i>{FOCUS}", "PRESS_KEY", "<Right>"),
    "long": (f"<button {AT}>Delete my account and all of my data now</button>", "CLICK_COORDS", "60,40"),
    "words at a long text's end": (f"<button {AT}>{TERMS}: Place order and pay</button>", *CLICK),
    "a label's end": (f"<button aria-label='{TERMS}: Place order and pay' {AT}><svg></svg></button>", *CLICK),
    "a text too long to be read": (f"<button {AT}>Next {'page ' * 4000}</button>", *CLICK),
    "a canvas": (f"<canvas {AT} onclick=1></canvas>", *CLICK),
    "a button in a combobox": (f"<div role=combobox tabindex=0 {AT}><div>Delete account</div></div>", *CLICK),
    "a line of a listbox": (f"<ul role=listbox tabindex=0 {LIST}><li>Delete <b>it</b> all<li>Archive</ul>", *CLICK),
    "a line of what has a focus": (
        f"<div tabindex=-1 {LIST}><p style=position:absolute;top:60px>Read all of it, then keep it<p>Delete <b>it</b>"
        "</div>",
        *CLICK,
    ),
    "an icon in a combobox": (f"<div role=combobox tabindex=0 {AT}>Pay now <svg {AT}></svg></div>", *CLICK),
    "a button in a text": (f"<div contenteditable>Dear Ann<span onclick=1 {AT}>Delete it all</span></div>", *CLICK),
    "an editable button of a role": (f"<div role=button contenteditable {AT}>Send it now</div>", *CLICK),
    "a page that is all editable": (
        FRAME.format("", '<script>document.designMode="on"</script><div role=button tabindex=0>Delete it all</div>'),
        "CLICK_COORDS",
        "40,18",
    ),
    "a field that is only read": (f"<input readonly value='Delete it all' {AT}>", *CLICK),
    "what is only called a field": (f"<div role=textbox {AT}>Delete it all</div>", *CLICK),
    "what is called a search": (f"<div role=searchbox tabindex=0 {AT}>Delete it all</div>", *CLICK),
    "a part that is pressed": (f"<div onclick=1 {AT}>Delete all of my mails</div>", "CLICK_COORDS", "60,40"),
    "a label": (f"<button aria-label='Delete account' {AT}>OK</button>", "CLICK_COORDS", "60,40"),
    "a soft hyphen": (f"<button {AT}>De&shy;lete</button>", "CLICK_COORDS", "60,40"),
    "a nameless icon": (f"<button class=btn {AT}><svg></svg></button>", "CLICK_COORDS", "60,40"),
    "a dialog": (f"<p>Delete everything?<button {AT}>Yes</button>", "CLICK_COORDS", "60,40"),
    "another frame": (f'<iframe sandbox {AT} srcdoc="<button>Pay</button>"></iframe>', "CLICK_COORDS", "40,40"),
    "Enter in a frame": (f'<iframe srcdoc="{SENDS}"></iframe>', "PRESS_KEY", "<Enter>"),
    "Enter in another origin": (f'<iframe sandbox=allow-scripts srcdoc="{SENDS}"></iframe>', "PRESS_KEY", "<Enter>"),
    "Space in a closed root": (HOST + "r.firstChild.focus()</script>", "PRESS_KEY", "<Space>"),
    "a line break": (SENDS, "TYPE_TEXT", "hello\n"),
    "the second button": (
        f"<div><div><button>Emoji</button>{WRITTEN}<button>Send</button></div></div>{FOCUS}",
        "PRESS_KEY",
        "<Enter>",
    ),
    "no button": (f"<form><input id=i placeholder='Your message'></form>{FOCUS}", "PRESS_KEY", "<Enter>"),
    "no form": (f"{WRITTEN}{FOCUS}", "PRESS_KEY", "<Enter>"),
    "an entry by an arrow": (f"{ACTIONS}{FOCUS}", "PRESS_KEY", "<Down>"),
    "an entry by letters": (f"{ACTIONS}{FOCUS}", "TYPE_TEXT", "del"),
    "a radio button": (
        f"<label><input type=radio name=a id=i checked>Keep</label><label><input type=radio name=a>Delete"
        f"</label>{FOCUS}",
        "PRESS_KEY",
        "<Down>",
    ),
    "a checkbox": (f"<label><input type=checkbox id=i>Publish</label>{FOCUS}", "PRESS_KEY", "<Space>"),
    "a label's button": (f"<label for=b {AT}>Continue</label><button id=b>Delete account</button>", *CLICK),
    "the last digit": (f"<form><input id=i maxlength=4><button>Pay now</button></form>{FOCUS}", "TYPE_TEXT", "4711"),
    "the last digit without a form": (
        f"<input id=i maxlength=6><button>Pay now</button>{FOCUS}",
        "TYPE_TEXT",
        "471142",
    ),
    "the last of a few boxes": (f"<div>{DIGITS}<p>Pay 30 EUR to Ann: the code</div>{FOCUS}", "TYPE_TEXT", "2"),
    "another answer of a dialog": (f"<div role=dialog><p>Delete the account?<button {AT}>Do it</button></div>", *CLICK),
    "an answer under a heading": (
        f"<div role=dialog><h2>Delete the account</h2><p>Are you sure?<button {AT}>Got it</button></div>",
        *CLICK,
    ),
    "a long answer": (
        f"<div role=dialog><p>Delete the account?<button {AT}>Absolutely: that is what was meant all along, I am sure"
        "</button></div>",
        *CLICK,
    ),
    "a slider": (f"<input type=range {AT}><p>Slide to pay 20 EUR", "MOUSEDOWN_COORDS", "60,40"),
    "cut": ("<div id=i tabindex=0>Mail</div><script>i.focus()</script>", "PRESS_KEY", "C-x"),
    "a link that agrees": (f"<p>Delete your account?<a href='?yes' {AT}>Yes</a>", *CLICK),
    "a long yes": (f"<p>Delete your account?<button {AT}>Yes, I really want to go on</button>", *CLICK),
    "far below": (f"<p>Delete your account?<p>{'All of it is gone. ' * 30}<button {AT}>Yes</button>", *CLICK),
    "a long dialog": (
        f"<div role=dialog><p>{'Please read it. ' * 60}<p>Delete it?<button {AT}>Yes</button></div>",
        *CLICK,
    ),
    "a heading": (f"<h2>Transfer 500 EUR to Ann</h2><button {AT}>Submit</button>", *CLICK),
    "a word at the end": (f"<button {AT}>I accept the terms and buy it now</button>", *CLICK),
    "two blocks": (
        "<button id=i><div>De</div><div>lete</div></button><script>i.focus()</script>",
        "PRESS_KEY",
        "<Enter>",
    ),
    "a button drawn by a style": (f"<style>button{{background:{DRAWN}}}</style><button {AT}></button>", *CLICK),
    "a part drawn by a style": (f"<button {AT}><p style='height:20px;background:{DRAWN}'></p></button>", *CLICK),
    "a drawn zone": (f"<div {AT}><p style='height:50px;background:{DRAWN}'></p></div>", "MOUSEUP_COORDS", "60,50"),
    "a style's picture": (f"<style>button::before{{content:{DRAWN}}}</style><button {AT}></button>", *CLICK),
    "a group of a drawing": (f"<svg {AT}><g onclick=1><path d='M0 0H200V60H0z' /></g></svg>", *CLICK),
    "a line of a drawing": (f"<svg {AT}><path style=cursor:pointer d='M0 0H200V60H0z' /></svg>", *CLICK),
    "a part of a picture": (
        f"<img {AT} usemap=#m src='data:,'><map name=m><area coords=0,0,200,60 href='javascript:void 0'></map>",
        *CLICK,
    ),
    "a button under words": (f"<button {AT}></button><b {AT[:-1]};pointer-events:none'>Pay now</b>", *CLICK),
    "made-up classes": (f"<button class=css-1x2y3z {AT}><svg class=css-abq></svg></button>", *CLICK),
    "a picture": (f"<img onclick=1 src='data:image/gif;base64,R0lGODlhAQABAAAAACw=' {AT}>", *CLICK),
    "an icon's address": (f"<a href='?delete=7' {AT}><svg></svg></a>", *CLICK),
    "patched": (
        "<script>Object.defineProperty(HTMLElement.prototype,'innerText',{get(){return 'Next'}});"
        f"Document.prototype.querySelectorAll=()=>[]</script>{SENDS}",
        "PRESS_KEY",
        "<Enter>",
    ),
    "a field in a shadow root": (
        "<form><div id=h></div><button>Send</button></form><script>const r=h.attachShadow({mode:"
        "'open'});r.innerHTML='<input>';r.firstChild.focus()</script>",
        "PRESS_KEY",
        "<Enter>",
    ),
    "a link drawn as a button": (f"<a href=/x {AT[:-1]};background:#c00'>Delete my account permanently</a>", *CLICK),
    "a plain element": (f"<div {AT}>Delete this whole project</div>", *CLICK),
    "a drop zone": (f"<div {AT}>Drop here to delete for good</div>", "MOUSEUP_COORDS", "60,30"),
    "Enter on a closed shadow root": (SHUT, "PRESS_KEY", "<Enter>"),
    "Space on a closed shadow root": (SHUT, *SPACE),
    "a drop on a closed shadow root": (SHUT, "MOUSEUP_COORDS", "60,40"),
    "Enter on a canvas": (f"<p><canvas id=i tabindex=0></canvas><button>Help</button>{FOCUS}", "PRESS_KEY", "<Enter>"),
    "Space on a canvas": (f"<canvas id=i tabindex=0 aria-label=Board></canvas>{FOCUS}", *SPACE),
    "a button over words": (f"<div {AT}>{OVER}<b>Delete this project and all its data</b></div>", *CLICK),
    "a list marker's word": (f'<ul><li onclick=1 {AT[:-1]};list-style:inside "Delete "\'>my old files</ul>', *CLICK),
    "a slot in a closed button": (SLOT.format(ITEM, "<button onclick=1>Buy now: <slot></slot></button>"), *CLICK),
    "a slot in a closed link": (SLOT.format(ITEM, "<p><a href=/buy>Buy: <b><slot></slot></b></a>"), *CLICK),
    "a slot in what is called a button": (SLOT.format(ITEM, "<div role='Button'><slot></slot></div>"), *CLICK),
    "a slot that is passed on": (
        SLOT.format(ITEM, f"<div><slot></slot></div>`{PASSED}`<button>Buy: <slot></slot></button>"),
        *CLICK,
    ),
    "Space on what lies in a closed button": (
        SLOT.format("<b id=b tabindex=0>Item 7</b>", "<button>Buy: <slot></slot></button>")
        + "<script>b.focus()</script>",
        *SPACE,
    ),
    "a closed shadow root": (
        f"<x-pay {AT}></x-pay><script>document.querySelector('x-pay').attachShadow({{mode:'closed'}}).innerHTML="
        "'<button>Pay 500 EUR to ACME now</button>'</script>",
        *CLICK,
    ),
    "a chat": (
        "<div><div><div id=i contenteditable></div></div><button>Emoji</button></div><script>i.focus()</script>",
        "PRESS_KEY",
        "<Enter>",
    ),
    "a code that is pasted": (f"<form><input id=i maxlength=4><button>Pay</button></form>{FOCUS}", "PRESS_KEY", "C-v"),
    "Space on a button called a field": (f"<button id=i role=combobox>Delete account</button>{FOCUS}", *SPACE),
    "Enter on one": (f"<button id=i role=combobox>Delete account</button>{FOCUS}", "PRESS_KEY", "<Enter>"),
    "a typed space on one": (f"<button id=i role=listbox>Delete account</button>{FOCUS}", "TYPE_TEXT", " "),
    "Space on an editable button": (f"<button id=i contenteditable>Delete account</button>{FOCUS}", *SPACE),
    "Enter that ends a form by one": (
        f"<form><input id=i><button role=listbox>Delete account</button></form>{FOCUS}",
        "PRESS_KEY",
        "<Enter>",
    ),
    "Delete on a list": (MAILS.format("a"), "PRESS_KEY", "<Delete>"),
    "Delete on a canvas": (f"<canvas id=i tabindex=0></canvas>{FOCUS}", "PRESS_KEY", "<Delete>"),
    "Space on the entry of a list": (MAILS.format("b"), *SPACE),
    "a field of a library's name": (
        f"<input id=i class=jquery-chat placeholder='Write'>{FOCUS}",
        "PRESS_KEY",
        "<Enter>",
    ),
    "a form of a name that holds search": (f"<form id=research><input id=i></form>{FOCUS}", "PRESS_KEY", "<Enter>"),
    "a label that tells of finding": (
        f"<div id=i contenteditable aria-label='Write to Ann (find pictures by :)'></div>{FOCUS}",
        "PRESS_KEY",
        "<Enter>",
    ),
    "a long link drawn as a button": (
        f"<a href='#' {AT[:-1]};background:#ddd'>Click here to delete your account</a>",
        *CLICK,
    ),
    "a long yes of a plain element": (f"<div onclick=1 {AT}>Yes, close this and wipe the whole disk</div>", *CLICK),
    "three blocks": (f"<button {AT}><div>De</div><div>le</div><div>te</div></button>", *CLICK),
    "Delete on a row": ("<div id=i tabindex=0>Mail</div><script>i.focus()</script>", "PRESS_KEY", "<Delete>"),
}
NOT_ASKED = {
    "the other of a padded frame": (FRAME.format("padding-top:60px", TWO), "CLICK_COORDS", "60,150"),
    "Enter on a page of cookies": (
        "<div role=dialog>We use cookies.<button>Accept</button></div>", "PRESS_KEY", "<Enter>"),
    "a long harmless text": (f"<button {AT}>{TERMS}</button>", *CLICK),
    "into a draft": (f"<div contenteditable tabindex=0 onclick=1 {AT}>Delete it all</div>", *CLICK),
    "a line of a draft": (f"<div contenteditable {AT}><p>Delete it all, <b>or not</b></p></div>", *CLICK),
    "into a field": (f"<input value='Delete it all' {AT}>", *CLICK),
    "into a dropdown": (f"<select {AT}><option>Delete it all</select>", *CLICK),
    "another line of a listbox": (f"<ul role=listbox tabindex=0 {LIST}><li>Archive<li>Delete all</ul>", *CLICK),
    "leaving a dialog": (f"<div role=dialog><p>Delete the account?<button {AT}>Keep it</button></div>", *CLICK),
    "leaving it in Czech": (f"<div role=dialog><p>Smazat účet?<button {AT}>Zrušit</button></div>", *CLICK),
    "leaving it in Japanese": (f"<div role=dialog><p>削除しますか？<button {AT}>キャンセル</button></div>", *CLICK),
    "a dialog about nothing": (f"<div role=dialog><p>Which colour?<button {AT}>Blue</button></div>", *CLICK),
    "a first digit of boxes": (
        f"<div>{DIGITS}<input maxlength=1><p>Pay 30 EUR to Ann: the code</div>{FOCUS}", "TYPE_TEXT", "2"),
    "a code that signs in": (f"<p>Your code, please<input id=i maxlength=6>{FOCUS}", "TYPE_TEXT", "471142"),
    "Enter on an open shadow root": (SHUT.replace("closed", "open").replace("Buy", "See"), "PRESS_KEY", "<Enter>"),
    "a slot beside a closed button": (SLOT.format(ITEM, "<p><slot></slot></p><button>Buy</button>"), *CLICK),
    "a slot beside one that is passed on": (
        SLOT.format(ITEM, f"<div>Buy</div><slot></slot>`{PASSED}`<button><slot></slot></button>"), *CLICK),
    "a button over harmless words": (f"<div {AT}>{OVER}<b>See this project and all its data</b></div>", *CLICK),
    "a button over a part": (
        f"<div><button title=Next {AT}></button><p style=height:200px><p>Delete it all</div>", *CLICK),
    "a clear class": (f"<button class=search-toggle {AT}><svg></svg></button>", *CLICK),
    "a harmless sign": (f"<button class=like {AT}>★</button>", *CLICK),
    "a slotted word": (f"{NATIVE}<x-native {AT}>Next</x-native>", "CLICK_COORDS", "200,30"),
    "typing": (SENDS, "TYPE_TEXT", "hello"),
    "typing into a form": (f"<form id=i contenteditable>Dear<input name=tagName></form>{FOCUS}", "TYPE_TEXT", "Ann"),
    "Tab": (SENDS, "PRESS_KEY", "<Tab>"),
    "Delete in a field": (SENDS, "PRESS_KEY", "<Delete>"),
    "lines": ("<form><textarea id=i></textarea><button>Send</button></form><script>i.focus()</script>",
              "TYPE_TEXT", "a\nb"),
    "a search": (f"<input id=i type=search><button>Delete all</button>{FOCUS}", "PRESS_KEY", "<Enter>"),
    "Enter on the first button of a form": (
        f"<form><input><input type=submit id=i value=Back><button>Send</button></form>{FOCUS}", "PRESS_KEY", "<Enter>"),
    "a search form": (f"<form><input id=i name=q><button>Go</button></form>{FOCUS}", "TYPE_TEXT", "lamp\n"),
    "a field that is called to search": (f"<input id=i name=siteSearch>{FOCUS}", "PRESS_KEY", "<Enter>"),
    "a label that says so": (f"<input id=i placeholder='Artikel suchen'>{FOCUS}", "PRESS_KEY", "<Enter>"),
    "Space on a harmless entry of a list": (MAILS.format("a"), *SPACE),
    "letters on a canvas": (f"<canvas id=i tabindex=0></canvas>{FOCUS}", "TYPE_TEXT", "hello you"),
    "a harmless entry": (f"{ACTIONS}{FOCUS}", "TYPE_TEXT", "arch"),
    "an entry that is a name": (f"<select id=i><option>Sort<option>Order day</select>{FOCUS}", "PRESS_KEY", "<Down>"),
    "a tick": (f"<label {AT}><input type=checkbox>Send me a copy</label>", *CLICK),
    "agreeing to terms": (f"<p>Delete an account: help.<label {AT}><input type=checkbox>I agree</label>", *CLICK),
    "a banner": (f"<p>We use cookies.<button {AT}>OK</button><p>{'More of it. ' * 30}<p>See how to send it.", *CLICK),
    "a digit of many": (f"<form><input><input id=i maxlength=4><button>Pay</button></form>{FOCUS}", "TYPE_TEXT", "47"),
    "an empty part": (f"<p>Words<div {AT}></div>", *CLICK),
    "a cell that only gets the focus": (f"<table><td tabindex=0 {AT}></table>", *CLICK),
    "an empty list": (f"<ul role=listbox tabindex=0 {AT[:-1]};cursor:pointer'><li><li></ul>", *CLICK),
    "a field that opens a calendar": (f"<input readonly onclick=1 {AT}>", *CLICK),
    "a file": (f"<input type=file {AT[:-1]};cursor:pointer'>", *CLICK),
    "an empty part of a card": (f"<div style=cursor:pointer><p>Blue lamp<div {AT}></div></div>", *CLICK),
    "a switch with its label": (f"<label for=b>Dark</label><button role=switch id=b {AT}></button>", *CLICK),
    "a drawing with a title": (f"<svg {AT}><g onclick=1><title>Berlin</title><path d='M0 0H200V60H0z' /></g>", *CLICK),
    "a drop on an empty part": (f"<p>Words<div {AT}></div>", "MOUSEUP_COORDS", "60,50"),
    "a price": (f"<input type=range {AT}><p>Prices to buy at", "MOUSEDOWN_COORDS", "60,40"),
    "prose": (f"<a href=/x {AT}>Delete an account: how it works</a>", "CLICK_COORDS", "60,30"),
}  # fmt: skip


@pytest.mark.parametrize("name", [*ASKED, *NOT_ASKED])
def test_what_is_final_is_found_where_it_hides(page: Any, name: str) -> None:
    html, command, argument = (ASKED | NOT_ASKED)[name]
    page.set_content(html)
    page.wait_for_timeout(200)
    if name.startswith("Enter in"):
        page.frames[-1].focus("input")
    assert bool(final_press(PageWorld(page, "").press_of(command, argument))) is (name in ASKED)
