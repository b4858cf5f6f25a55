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
from sdg.envs.ui.commands import SCREEN
from sdg.envs.ui.page import PageWorld
from sdg.envs.ui.parser.screen import PAINT, Screen, ScreenElement, picture_of, png_of
from sdg.envs.ui.presses import Press
from sdg.envs.ui.texts import EVERYWHERE, MOST_TEXT, Placed
from sdg.envs.world import Observation, PlainObservation
from sdg.experiments.play.desktop import ProtectedDesktop, ScreenDesktop
from sdg.experiments.play.pages import PageDesktop, PageTaskSettings, do_task, open_page
from sdg.experiments.play.trace import PageTaskResult
from sdg.gate.confirm import ConfirmGuard
from sdg.gate.executor import Command, GatedExecutor, SkillResult
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
    texts: Sequence[Placed] = ()
    commands, command = str, Command

    def __init__(self, *elements: ScreenElement) -> None:
        self.elements = elements

    def observe(self) -> Observation:
        """The elements, with a notice."""
        notices = [f"(Notice: the page said '{words}')" for words in ("walrus or", "4711EUR")]
        text = "\n".join([*notices, "", str(Screen(self.elements))])
        return PlainObservation(text, np.zeros((100, 200, 3), np.uint8), self.elements)

    def perform(self, command: Command) -> SkillResult:
        """Does nothing."""
        return SkillResult(True, 1, 1)


def test_text_elements_and_picture_hide_the_same() -> None:
    texts_shown = ["Note", "alrus orchid pretzel nin", "a47l1b"]
    elements = [ScreenElement(n, "textbox", text, (50, 30 * n, 90, 30 * n + 10)) for n, text in enumerate(texts_shown)]
    desktop: Any = ProtectedDesktop(Fake(*elements), Protector([], Placeholders()))  # type: ignore[arg-type]
    for typed, texts in ((False, ["Note", "{note}", "a47l1b"]), (True, ["Note", "{note}", "{pin}"])):
        if typed:
            desktop.perform(Command("TYPE_TEXT", "a{pin}b"))
        observation = desktop.observe()
        assert [element.text for element in observation.elements] == texts
        notices = [f"(Notice: the page said '{words}')" for words in ("{note}", "{pin}EUR")]
        assert observation.text == "\n".join([*notices, "", str(Screen(observation.elements))])
        assert desktop.list_marks() == "\n".join(f"[{element.id}] {element}" for element in observation.elements)
        picture = picture_of(desktop.picture(marks=False))
        painted = [tuple(picture[30 * n + 5, 98]) == PAINT for n in range(3)]  # fields end farther right than they seem
        assert painted == [text.startswith("{") for text in texts]


def test_a_picture_that_says_to_whom_it_sends_is_asked_about() -> None:
    class Shows(Fake):
        instruction = "write to {name=Annalena Baerbock}"

        def press_of(self, command: Command) -> Press:
            return Press("a", picture=True, box=(0, 0, 90, 20))

    asked = list[str]()
    fake = Shows(ScreenElement(1, "text", "Send to Annalena", (0, 0, 90, 20)))
    desktop: Any = ProtectedDesktop(fake, Protector([], Placeholders()))  # type: ignore[arg-type]
    gate = ConfirmGuard(lambda question: bool(asked.append(question)), desktop.press_of)
    outcome = GatedExecutor(desktop, gate).execute(Command("CLICK_COORDS", "40,10"))
    assert len(asked) == 1
    assert "can't be undone" in outcome.error
    assert "Annal" not in f"{outcome}{desktop.observe()}"


class Moves:
    """A world that has other texts, or has them elsewhere, each time that it is asked."""

    done, mission, reward = False, f"write {{note={NOTE}}}", 0.0

    def __init__(self, *texts: list[Placed]) -> None:
        self._texts, self.asked = texts, 0

    def screenshot(self) -> bytes:
        """White."""
        return png_of(np.full((SCREEN, SCREEN, 3), 255, np.uint8))

    def texts(self) -> list[Placed]:
        """The next texts; the last stay."""
        self.asked += 1
        return self._texts[min(self.asked, len(self._texts)) - 1]


LONG = "lorem ipsum " * 1000
ROWS = [(n, (10, 30 * n, 60, 30 * n + 20)) for n in range(4)]


@pytest.mark.parametrize(
    ("texts", "painted"),
    [
        ([[(NOTE, ROWS[0][1])], [(NOTE, ROWS[2][1])], []], [0, 2]),
        ([[(LONG[:MOST_TEXT], ROWS[1][1]), ("Hello", ROWS[2][1])]], [1]),
        ([[*((f"{n} {LONG}"[:3999], (70, 0, 90, 9)) for n in range(13)), ("Hello", ROWS[3][1])]], [3]),
    ],
)
def test_what_may_be_a_value_is_painted_over_where_it_stood_before_and_after_the_picture(
    texts: list[list[Placed]], painted: list[int]
) -> None:
    world: Any = Moves(*texts)
    private = ProtectedDesktop(ScreenDesktop(world, parser=lambda _: Screen(())), Protector([], Placeholders()))
    for _ in range(2):
        picture = picture_of(private.picture(marks=False))
        assert [n for n, (x0, y0, x1, y1) in ROWS if (picture[y0:y1, x0:x1] == PAINT).all()] == painted
        assert all((picture[y0:y1, x0:x1] == 255).all() for n, (x0, y0, x1, y1) in ROWS if n not in painted)
    assert world.asked == 2


def test_without_values_nobody_asks_for_texts() -> None:
    world: Any = Moves([])
    world.mission = "look"
    ProtectedDesktop(ScreenDesktop(world, parser=lambda _: Screen(())), Protector([], Placeholders())).observe()
    assert world.asked == 0
    memory, texts = Placeholders(), ["a" * 30_000_000]
    assert memory.mask_screen(texts) == memory.mask_lines(texts) == texts


class Says:
    """A model that says these things, one after the other."""

    name = "says"

    def __init__(self, *replies: str) -> None:
        self._replies, self.asked = list(replies), ""

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        self.asked += "\n".join(message.content for message in messages)
        return Completion(self._replies.pop(0) if len(self._replies) > 1 else self._replies[0], self.name)


def done(body: str, task: str, *replies: Any, folder: Path, agrees: bool = True) -> tuple[PageTaskResult, str, str]:
    """What became of it, all that the model was asked, and the page's address."""
    (folder / "page.html").write_text(f"<!doctype html><body style='font:20px Arial'>{body}")
    access = Access((folder / "page.html").as_uri())
    answers = [reply if isinstance(reply, str) else json.dumps({"commands": [reply]}) for reply in replies]
    model = Says(*answers)
    with open_page(access) as page:
        page.set_viewport_size({"width": 500, "height": 300})
        outcome = do_task(page, task, model=model, agrees=lambda _: agrees, access=access, owned=True,
                        address=access.start, settings=PageTaskSettings(folder=folder / "out"))  # fmt: skip
        return outcome, model.asked, str(page.url)


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
    outcome, asked, address = done(FORM, f"write {{note={NOTE}}}", TYPE, PRESS, FINISH, folder=tmp_path, agrees=agrees)
    files = "".join(path.read_text("utf-8") for path in (tmp_path / "out").glob("trace.*"))
    assert (outcome.end, address.endswith("?q=walrus+orchid+pretzel+ninety")) == (
        ("finished", True) if agrees else ("infeasible", False)
    )
    assert outcome.said == ("wrote {note}" if agrees else "")
    for part in (NOTE[n : n + 5] for n in range(len(NOTE) - 4)):
        assert part.strip() not in (asked + files + repr(outcome) + json.dumps(outcome.to_json())).lower()
    with Image.open(tmp_path / "out" / "film.gif") as film:
        film.seek(1)  # what is seen after typing
        frame = np.asarray(film.convert("RGB")).astype(int)
    for rows in (slice(16, 46), slice(78, 105)):  # the field and the button
        assert (np.abs(frame[rows, 80:250] - PAINT).max(axis=2) < 60).all()


STYLE = "border:0;outline:0;background:#fff;color:#e4e4e4;font:26px Arial;width:450px"
FAINT = f"<body style='margin:0'><div style='position:absolute;font:26px Arial;color:#e4e4e4;left:20px'>{NOTE}</div>"
UNTOLD = {
    **{
        style: f'<iframe srcdoc="{FAINT}" style="width:460px;height:60px;border:0;{style}"></iframe>'
        for style in ("padding:90px 0 0 0", "transform:scale(.6) translate(50px,150px)", "zoom:.6;margin-top:150px")
    },
    **{
        f"of another process, {style}": f'<iframe sandbox srcdoc="{FAINT}" '
        f'style="width:460px;height:60px;border:0;margin-top:50px;{style}"></iframe>'
        for style in ("padding:90px 0 0 0", "transform:scale(.6)")
    },
    "of a process in another": (
        '<iframe sandbox style="border:0;width:500px;height:200px;padding:20px" srcdoc="<iframe sandbox '
        f"style='border:0;width:460px;height:60px;padding:30px 0' srcdoc='{FAINT.replace(chr(39), '&quot;')}'>"
        '</iframe>"></iframe>'
    ),
    "scrolled": f'<iframe srcdoc="{FAINT}" style="border:0;width:460px;height:60px;margin:700px 0 1000px">'
    "</iframe><script>onload = () => scrollTo(0, 600)</script>",
    "placeholder": f"<style>input::placeholder{{color:#e4e4e4}}</style><input style='{STYLE}' placeholder='{NOTE}'>",
    "select": f"<select style='appearance:none;{STYLE}'><option>{NOTE}</select>",
    "alt": f"<img src='x.png' alt='{NOTE}' style='{STYLE};height:60px'>",
}


@browser
@pytest.mark.parametrize("body", UNTOLD.values(), ids=UNTOLD)
def test_what_only_the_layout_tells_of_is_covered_in_frames_and_fields(tmp_path: Path, body: str) -> None:
    (tmp_path / "page.html").write_text(f"<!doctype html><body style='margin:0'>{body}")
    access = Access((tmp_path / "page.html").as_uri())
    with open_page(access) as page:
        page.set_viewport_size({"width": 500, "height": 300})
        with PageWorld(page, "look", access=access, owned=True) as world:
            world.open(access.start)
            inked = np.argwhere((picture_of(world.screenshot()) < 240).any(axis=2))
            boxes = [box for text, box in world.texts() if text == NOTE]
    assert len(inked) > 300
    assert len(boxes) == 1
    x0, y0, x1, y1 = boxes[0]
    assert [point for point in inked.tolist() if not (y0 <= point[0] < y1 and x0 <= point[1] < x1)] == []


HUGE = {
    "title": "<script>document.title = 'x'.repeat(3e4)</script>",
    "text": "<p id=p><script>p.textContent = 'x'.repeat(3e4)</script>",
    "attribute": "<p id=p><script>p.dataset.more = 'x'.repeat(3e4)</script>",
    "field": "<textarea id=p></textarea><script>p.value = 'x'.repeat(3e4)</script>",
    "nodes": "<p id=p><script>p.innerHTML = '<i></i>'.repeat(300)</script>",
    "shadow": "<p id=p><script>p.attachShadow({mode: 'open'}).innerHTML = '<i></i>'.repeat(300)</script>",
    "frame": f"<iframe srcdoc='{'<i></i>' * 300}'></iframe>",
    "clobbered": "<form id=p><input name=attributes><input name=nodeValue><input name=nodeType><input name=localName>"
    "<input name=shadowRoot></form><img name=createTreeWalker><script>p.title = 'x'.repeat(3e4)</script>",
}


@browser
@pytest.mark.parametrize("body", [*HUGE.values(), "<svg><iframe></iframe></svg><p>hello"], ids=[*HUGE, "small"])
def test_a_page_too_large_to_be_laid_out_is_painted_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    monkeypatch.setattr("sdg.envs.ui.texts.MOST_SIZE", 20_000)
    (tmp_path / "page.html").write_text(f"<!doctype html><body>{body}")
    access = Access((tmp_path / "page.html").as_uri())
    with open_page(access) as page, PageWorld(page, "look", access=access, owned=True) as world:
        world.open(access.start)
        placed = world.texts()
    assert (placed == [("?" * MOST_TEXT, EVERYWHERE)]) == (body in HUGE.values())
    if body in HUGE.values():
        desktop = Fake()
        desktop.texts = placed  # type: ignore[attr-defined]
        protected = ProtectedDesktop(desktop, Protector((), Placeholders()))  # type: ignore[arg-type]
        assert (np.asarray(protected.observe().image) == PAINT).all()


class Gone(PageDesktop):
    """A page that fails as nobody foresaw."""

    def perform(self, command: Command) -> SkillResult:
        """Fails."""
        raise KeyError("walrus orchid")


@browser
@pytest.mark.parametrize("fails", ["nothing", "model", "page"])
def test_whatever_raises_is_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    def nobody(question: str) -> bool:
        raise EOFError

    if fails == "page":
        monkeypatch.setattr("sdg.experiments.play.pages.PageDesktop", Gone)
    body = "<p>Hello<img src='%00.png'><button onclick='confirm(1)' style='position:fixed;inset:0'>Go</button>"
    (tmp_path / "page.html").write_text(f"<!doctype html>{body}")
    access = Access((tmp_path / "page.html").as_uri())
    commands = () if fails == "model" else (PRESS, FINISH)
    model = Says(*(json.dumps({"commands": [command]}) for command in commands))
    with open_page(access) as page:
        outcome = do_task(page, f"write {{note={NOTE}}}", model=model, agrees=nobody, access=access, owned=True,
                       address=access.start,
                       settings=PageTaskSettings(guards=("open",), folder=tmp_path / "out"))  # fmt: skip
    assert outcome.end == {"nothing": "finished"}.get(fails, fails)
    assert "walrus" not in (tmp_path / "out" / "trace.txt").read_text("utf-8")


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
    outcome, _, _ = done(body, f"write {{note={NOTE}}}", TYPE, FINISH, folder=tmp_path)
    assert outcome.address.rpartition("#")[2] == "{note}&{note}&{note}!"


@browser
def test_a_page_that_does_not_come_up_tells_no_value(tmp_path: Path) -> None:
    with open_page(Access("http://127.0.0.1:9/")) as page:
        outcome = do_task(page, f"write {{note={NOTE}}}", model=Says(""), agrees=lambda _: True, owned=True,
                       access=Access("http://127.0.0.1:9/"), address="http://127.0.0.1:9/walrus+orchid")  # fmt: skip
    assert (outcome.end, outcome.task) == ("page", "write {note}")
    assert "walrus" not in repr(outcome)


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
    outcome, asked, _ = done("<p>Hello<p>you", "look", reply, FINISH, folder=tmp_path)
    (asked + (tmp_path / "out" / "trace.json").read_text("utf-8") + repr(outcome)).encode()
    if said:
        assert outcome.said == said
    else:
        assert outcome.steps[0]["outcome"].startswith("refused")


LIKE = "<input id=p type=password oninput='if(value.length==3){}'><input id=q><script>p.focus()</script>"


@browser
@pytest.mark.parametrize("moves", ["q.focus()", "{this.replaceWith(q);q.focus()}"])
def test_the_rest_of_a_value_goes_into_no_other_field(tmp_path: Path, moves: str) -> None:
    (tmp_path / "page.html").write_text(LIKE.format(moves))
    access = Access((tmp_path / "page.html").as_uri())
    with open_page(access) as page, PageWorld(page, "x", access=access, owned=True) as world:
        world.open(access.start)
        world.step("TYPE_TEXT", "walrus orchid")
        assert page.input_value("#q") == ""
        assert "the rest wasn't typed" in world.notices[0]
        world.step("TYPE_TEXT", "a new text")  # a new look, a new field
        assert (page.input_value("#q"), world.notices) == ("a new text", [])


@browser
def test_a_private_entry_is_chosen_by_its_value(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        "<!doctype html><select autofocus><option>Choose<option>Canada<option>Poland</select>"
    )
    access, typed = Access((tmp_path / "page.html").as_uri()), {"name": "TYPE_TEXT", "args": {"text": "{country}"}}
    with open_page(access) as page:
        says = Says(*(json.dumps({"commands": [command]}) for command in (typed, FINISH)))
        do_task(page, "choose {country=Poland}", model=says, agrees=lambda _: False, access=access, owned=True,
                address=access.start, settings=PageTaskSettings(guards=("open",)))  # fmt: skip
        assert page.evaluate("document.querySelector('select').value") == "Poland"
