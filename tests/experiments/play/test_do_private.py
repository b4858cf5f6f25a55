"""Private values of a task on a page that shows parts of them: nobody but the page has any; no reply raises."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sdg.envs.ui.access import Access
from sdg.envs.ui.browser import what_is_missing
from sdg.envs.ui.page import PageWorld
from sdg.envs.ui.parser.screen import PAINT, Screen, ScreenElement, picture_of
from sdg.envs.world import Observation
from sdg.experiments.play.desktop import ProtectedDesktop
from sdg.experiments.play.pages import PageDesktop, TaskPlayed, do_task, open_page
from sdg.gate.executor import Command, SkillResult
from sdg.llm.model import Completion, Message, Sampling
from sdg.privacy.memory import Placeholders
from sdg.privacy.protector import Protector

browser = pytest.mark.skipif(bool(what_is_missing()), reason=f"no browser: {what_is_missing()}")
NOTE = "walrus orchid pretzel ninety"
FINISH = {"name": "FINISH", "args": {"text": "wrote {note}"}}


class Fake:
    """A screen desktop with these elements."""

    size, prompt, max_completions, ending = (200, 100), "screen", 5, None
    instruction = f"write {{note={NOTE}}} and {{pin=4711}}"

    def __init__(self, *elements: ScreenElement) -> None:
        self.elements = elements

    def observe(self) -> Observation:
        """The elements, with a notice."""
        said = [f"(Notice: the page said '{each}')" for each in ("walrus or", "4711EUR")]
        text = "\n".join([*said, "", str(Screen(self.elements))])
        return Observation(text, np.zeros((100, 200, 3), np.uint8), self.elements)

    def perform(self, command: Command) -> SkillResult:
        """Does nothing."""
        return SkillResult(True, 1, 1)


def test_text_elements_and_picture_hide_the_same() -> None:
    shown = ["Note", "alrus orchid pretzel nin", "a47l1b"]
    elements = [ScreenElement(n, "textbox", text, (50, 30 * n, 90, 30 * n + 10)) for n, text in enumerate(shown)]
    desktop: Any = ProtectedDesktop(Fake(*elements), Protector([], Placeholders()))  # type: ignore[arg-type]
    for typed, texts in ((False, ["Note", "{note}", "a47l1b"]), (True, ["Note", "{note}", "{pin}"])):
        if typed:
            desktop.perform(Command("TYPE_TEXT", "a{pin}b"))
        seen = desktop.observe()
        assert [each.text for each in seen.elements] == texts
        said = [f"(Notice: the page said '{each}')" for each in ("{note}", "{pin}EUR")]
        assert seen.text == "\n".join([*said, "", str(Screen(seen.elements))])
        assert desktop.list_marks() == "\n".join(f"[{each.id}] {each}" for each in seen.elements)
        picture = picture_of(desktop.picture(marks=False))
        painted = [tuple(picture[30 * n + 5, 98]) == PAINT for n in range(3)]  # fields end farther right than they seem
        assert painted == [each.startswith("{") for each in texts]


class Says:
    """A model that says these things, one after the other."""

    name = "says"

    def __init__(self, *replies: str) -> None:
        self._replies, self.asked = list(replies), ""

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        self.asked += "\n".join(each.content for each in messages)
        return Completion(self._replies.pop(0) if len(self._replies) > 1 else self._replies[0], self.name)


def done(body: str, task: str, *replies: Any, folder: Path, agrees: bool = True) -> tuple[TaskPlayed, str, str]:
    """What became of it, all that the model was asked, and the page's address."""
    (folder / "page.html").write_text(f"<!doctype html><body style='font:20px Arial'>{body}")
    access = Access((folder / "page.html").as_uri())
    said = [each if isinstance(each, str) else json.dumps({"commands": [each]}) for each in replies]
    model = Says(*said)
    with open_page(access) as page:
        page.set_viewport_size({"width": 500, "height": 300})
        found = do_task(page, task, model=model, agrees=lambda _: agrees, access=access, owned=True,
                        address=access.start, folder=folder / "out")  # fmt: skip
        return found, model.asked, str(page.url)


PRESS = {"name": "CLICK_COORDS", "args": {"coords": [60, 90]}}
TYPE = {"name": "TYPE_TEXT", "args": {"text": "{note}"}}
FORM = """<form><input id=a name=q autofocus
style='position:absolute;left:10px;top:10px;width:230px;height:36px;font:20px Arial'>
<button id=b style='position:absolute;left:10px;top:70px;height:40px;font:20px Arial'>Next</button></form>
<div id=w style='position:absolute;top:120px;width:150px'></div><script>a.oninput = event => {
w.textContent = event.target.value; b.textContent = 'Send ' + event.target.value.slice(0, 20)}</script>"""


@browser
@pytest.mark.parametrize("agrees", [False, True])
def test_parts_of_a_value_reach_no_question_and_no_file(tmp_path: Path, agrees: bool) -> None:
    told, asked, address = done(FORM, f"write {{note={NOTE}}}", TYPE, PRESS, FINISH, folder=tmp_path, agrees=agrees)
    files = "".join(each.read_text("utf-8") for each in (tmp_path / "out").glob("trace.*"))
    assert (told.end, address.endswith("?q=walrus+orchid+pretzel+ninety")) == (
        ("finished", True) if agrees else ("infeasible", False)
    )
    assert told.said == ("wrote {note}" if agrees else "")
    for part in (NOTE[n : n + 5] for n in range(len(NOTE) - 4)):
        assert part.strip() not in (asked + files + repr(told) + json.dumps(told.to_json())).lower()
    with Image.open(tmp_path / "out" / "film.gif") as film:
        film.seek(1)  # what is seen after typing
        frame = np.asarray(film.convert("RGB")).astype(int)
    for rows in (slice(16, 46), slice(78, 105)):  # the field and the button
        assert (np.abs(frame[rows, 80:250] - PAINT).max(axis=2) < 60).all()


HIDDEN = {
    "faint": "color:#e4e4e4;left:40px;top:40px",
    "turned": "font-size:16px;transform:rotate(90deg);left:100px;top:140px;width:200px",
    "mirrored": "transform:scaleX(-1);left:40px;top:40px",
}


@browser
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the parser's, of lines that stand on end
@pytest.mark.parametrize("style", HIDDEN.values(), ids=HIDDEN)
@pytest.mark.parametrize("around", ["{}", "<iframe srcdoc=\"{}\" style='width:460px;height:280px;border:0'></iframe>"])
def test_a_value_that_nobody_can_read_is_painted_over_where_the_page_says_it_stands(
    tmp_path: Path, style: str, around: str
) -> None:
    body = f"<div style='position:absolute;font:26px Arial;white-space:nowrap;{style}'>%s</div>"
    (tmp_path / "page.html").write_text(f"<!doctype html><body style='margin:0'>{around.format(body % NOTE)}")
    access = Access((tmp_path / "page.html").as_uri())
    with open_page(access) as page:
        page.set_viewport_size({"width": 500, "height": 300})
        with PageWorld(page, f"write {{note={NOTE}}}", access=access, owned=True) as world:
            world.open(access.start)
            private = ProtectedDesktop(PageDesktop(world), Protector([], Placeholders()))
            picture = picture_of(private.picture(marks=False)).astype(int)
            inked = np.abs(picture - 255).max(axis=2) > 15
            painted = np.abs(picture - PAINT).max(axis=2) < 3
            assert (painted == inked).all()
            assert painted.sum() > 3000


@browser
def test_an_address_that_encodes_a_value_is_told_with_its_placeholder(tmp_path: Path) -> None:
    ways = 'location.hash = [encodeURIComponent(v), v.replace(/ /g, "+"), escape(v + "!")].join("&")'
    body = f"<input autofocus style='font:20px Arial;width:400px' oninput='const v = event.target.value; {ways}'>"
    told, _, _ = done(body, f"write {{note={NOTE}}}", TYPE, FINISH, folder=tmp_path)
    assert told.address.rpartition("#")[2] == "{note}&{note}&{note}!"


@browser
def test_a_page_that_does_not_come_up_tells_no_value(tmp_path: Path) -> None:
    with open_page(Access("http://127.0.0.1:9/")) as page:
        told = do_task(page, f"write {{note={NOTE}}}", model=Says(""), agrees=lambda _: True, owned=True,
                       access=Access("http://127.0.0.1:9/"), address="http://127.0.0.1:9/walrus+orchid")  # fmt: skip
    assert (told.end, told.task) == ("page", "write {note}")
    assert "walrus" not in repr(told)


HALVES = r'{"thoughts": {"plan": "a\ud800"}, "commands": [{"name": "%s", "args": {"%s": %s}}]}'


@browser
@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (HALVES % ("FINISH", "text", r'"a\ud800b"'), "a\ufffdb"),
        (HALVES % ("FINISH", "text", '"a\udfffb"'), "a?b"),
        (HALVES % ("FINISH", "text", r'"\ud83d\ude00 \\ud800 \udc00"'), "\U0001f600 \\ud800 \ufffd"),
        (HALVES % (r"\ud800", "text", "null"), ""),
        (HALVES % ("TYPE_TEXT", "text", r'"\u0000\ud800"'), ""),
        (HALVES % ("CLICK_COORDS", "mark", "999"), ""),
        (HALVES % ("CLICK_COORDS", "coords", "[1e999, NaN]"), ""),
    ],
)
def test_no_reply_of_a_model_raises(tmp_path: Path, reply: str, said: str) -> None:
    told, asked, _ = done("<p>Hello<p>you", "look", reply, FINISH, folder=tmp_path)
    (asked + (tmp_path / "out" / "trace.json").read_text("utf-8") + repr(told)).encode()
    if said:
        assert told.said == said
    else:
        assert told.steps[0]["outcome"].startswith("refused")
