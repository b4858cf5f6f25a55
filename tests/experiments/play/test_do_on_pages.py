"""Tasks on pages of a user's own, in a real Chromium: what a task leaves, how it ends, the command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

import sdg
from sdg.console import ask_in_terminal
from sdg.envs.ui.access import Access
from sdg.envs.ui.browser import chromium, open_browser, what_is_missing
from sdg.errors import UserError
from sdg.experiments.cli.main import main
from sdg.experiments.play import pages
from sdg.experiments.play.pages import PageTaskSettings, do_task, open_page
from sdg.experiments.play.trace import empty_trace
from sdg.llm.model import Completion, Message, ModelError, Sampling
from sdg.storage import RunError
from tests.shared.screens.task_pages import BIG, CLICK, FINISH, FORM, INTO, PRESSED, Scripted, page_with, play_on_page

pytestmark = pytest.mark.skipif(bool(what_is_missing()), reason=f"no browser: {what_is_missing()}")


def test_a_task_is_done_and_leaves_a_film_and_a_trace(site: tuple[str, Path], tmp_path: Path) -> None:
    body = f"<button style='{BIG}' {PRESSED}>Show more</button>"
    outcome, title = play_on_page(site, body, Scripted([CLICK], [FINISH]), folder=tmp_path)
    assert (outcome.done, outcome.end, outcome.said, outcome.answers, title) == (True, "finished", "done it", 2, "t!")
    assert [step["outcome"] for step in outcome.steps] == ["done", "done"]
    assert (tmp_path / "film.gif").read_bytes().startswith(b"GIF89a")
    assert "CLICK_COORDS('120,70'): done" in (tmp_path / "trace.txt").read_text("utf-8")


def test_nothing_in_a_trace_steers_a_terminal(site: tuple[str, Path], tmp_path: Path) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2Jhi \u009b31m"
    play_on_page(site, "<p>hello", Scripted([("FINISH", {"text": hostile})]), folder=tmp_path)
    trace = (tmp_path / "trace.txt").read_text("utf-8")
    assert "hi \\x9b31m" in trace
    assert all(character == "\n" or character.isprintable() for character in trace)


def test_a_folder_that_takes_nothing_is_told_before_the_task_or_keeps_its_result(
    site: tuple[str, Path], tmp_path: Path
) -> None:
    body = f"<button style='{BIG}' {PRESSED}>Buy</button>"
    (tmp_path / "file").write_text("")
    model = Scripted([CLICK], [FINISH])
    with pytest.raises(RunError):
        play_on_page(site, body, model, folder=tmp_path / "file" / "out")
    assert not model.asked

    def fill(text: str) -> None:
        (tmp_path / "out" / "trace.json").mkdir(exist_ok=True)

    outcome, title = play_on_page(site, body, Scripted([CLICK], [FINISH], sees=fill), folder=tmp_path / "out")
    assert (outcome.done, title, "again" in outcome.detail) == (True, "t!", False)
    assert "keep what was done" in outcome.detail


@pytest.mark.parametrize("name", ["trace.txt", "trace.json", "film.gif"])
def test_a_folder_with_the_user_s_own_trace_is_left_alone(site: tuple[str, Path], tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("{} of mine")
    model = Scripted([FINISH])
    with pytest.raises(UserError, match=f"{name} wasn't written by sdg: name another folder"):
        play_on_page(site, "<p>hello", model, folder=tmp_path)
    assert not model.asked
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "{} of mine")]


@pytest.mark.parametrize("name", ["trace.txt", "trace.json"])
def test_a_folder_with_a_pipe_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "film.gif").write_text("GIF")
    os.mkfifo(tmp_path / name)
    with pytest.raises(UserError, match="wasn't written by sdg"):
        empty_trace(tmp_path)


def test_what_was_typed_before_a_question_does_not_answer_it(monkeypatch: pytest.MonkeyPatch) -> None:
    person, terminal = os.openpty()
    with os.fdopen(terminal) as typed:
        for early, late in (("y", "n"), ("n", "y")):
            os.write(person, f"{early}\n".encode())

            def write(text: str, late: str = late) -> None:
                if "[y/N]" in text:
                    os.write(person, f"{late}\n".encode())

            with monkeypatch.context() as patch:
                patch.setattr(sys, "stdin", typed)
                patch.setattr(sys, "stderr", SimpleNamespace(write=write, flush=lambda: None))
                assert ask_in_terminal("Delete it: go on?") is (late == "y")
    os.close(person)


def test_a_task_that_never_began_keeps_nothing_of_the_one_before(site: tuple[str, Path], tmp_path: Path) -> None:
    play_on_page(site, "<p>hello", Scripted([FINISH]), folder=tmp_path)
    assert (tmp_path / "film.gif").exists()
    with page_with(site, "<p>hello") as (page, _, access):
        outcome = do_task(page, "another", model=Scripted([FINISH]), agrees=lambda _: True, access=access, owned=True,
                        address="http://127.0.0.1:1/", settings=PageTaskSettings(folder=tmp_path))  # fmt: skip
    trace = json.loads((tmp_path / "trace.json").read_text("utf-8"))
    assert (outcome.end, outcome.folder, trace["task"], trace["end"]) == ("page", str(tmp_path), "another", "page")
    assert "End: page" in (tmp_path / "trace.txt").read_text("utf-8")
    assert not (tmp_path / "film.gif").exists()


class Broken:
    """A guard that can't be made."""

    def __init__(self) -> None:
        raise ValueError("no network")

    def feasible(self, *_: object) -> None: ...

    def complete(self, *_: object) -> None: ...


@pytest.mark.parametrize("settings", [{"guards": ("none",)}, {"guards": (f"{__name__}:Broken",)}, {"mode": "none"}],
                         ids=["an unknown guard", "a guard that fails", "an unknown mode"])  # fmt: skip
def test_what_can_not_be_begun_leaves_the_trace_of_the_task_before(settings: dict[str, Any], tmp_path: Path) -> None:
    before = {"trace.txt": "Task: one\n", "trace.json": '{\n "task": "one"}\n', "film.gif": "GIF"}
    for name, text in before.items():
        (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(UserError):
        do_task(None, "another", model=Scripted([FINISH]), agrees=lambda _: True,
                settings=PageTaskSettings(folder=tmp_path, **settings))  # fmt: skip
    assert {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()} == before


def test_a_browser_that_dies_and_a_model_that_fails_are_ends(site: tuple[str, Path]) -> None:
    def end_renderers(text: str) -> None:
        session = page.context.browser.new_browser_cdp_session()
        for process in session.send("SystemInfo.getProcessInfo")["processInfo"]:
            if process["type"] == "browser":
                os.kill(process["id"], signal.SIGKILL)

    with page_with(site, "<p>hello") as (page, address, access):
        model = Scripted([CLICK], sees=end_renderers)
        outcome = do_task(page, "do it", model=model, agrees=lambda _: True, access=access, owned=True,
                        address=address, settings=PageTaskSettings(guards=("open",), private=False))  # fmt: skip
    assert (outcome.done, outcome.end) == (False, "page")

    class Slow(Scripted):
        def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
            raise ModelError("no answer in 600 s")

    outcome, _ = play_on_page(site, "<p>hello", Slow([]))
    assert (outcome.end, outcome.detail) == ("model", "no answer in 600 s")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore:coroutine:RuntimeWarning")
def test_a_driver_that_dies_is_an_end_that_is_kept(site: tuple[str, Path], tmp_path: Path) -> None:
    """A page can use up its memory."""

    def end_driver(text: str) -> None:
        children = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
        (driver,) = [child for child in children if b"run-driver" in Path(f"/proc/{child}/cmdline").read_bytes()]
        os.kill(int(driver), signal.SIGKILL)

    def play() -> None:
        model = Scripted([CLICK], sees=end_driver)
        with page_with(site, "<p>hello") as (page, address, access):
            for folder in (tmp_path, None):  # the second task finds it dead
                settings = PageTaskSettings(guards=("open",), private=False, folder=folder)
                outcome = do_task(page, "do it", model=model, agrees=lambda _: True, access=access, owned=True,
                                address=address, settings=settings)  # fmt: skip
                assert (outcome.end, outcome.detail[:8]) == ("page", "the page")
        assert len(model.asked) == 1
        assert "End: page" in (tmp_path / "trace.txt").read_text()
        assert play_on_page(site, "<p>hello", Scripted([FINISH]))[0].end == "finished"

    with ThreadPoolExecutor(1) as thread:  # which has a driver of its own: other tests may have a browser open
        thread.submit(play).result()


def test_a_huge_address_is_told_by_its_origin_and_a_film_has_an_end(
    site: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MAX_FRAMES", 2)
    body = "<script>history.replaceState(0,'','#'+'ab1 '.repeat(2e5))</script><p>hello"
    move = ("MOVE_COORDS", {"coords": [5, 5]})
    outcome, _ = play_on_page(site, body, Scripted([move, move, move], [FINISH]), folder=tmp_path)
    assert (outcome.done, outcome.address) == (True, site[0])
    with Image.open(tmp_path / "film.gif") as film:
        assert film.n_frames <= 2


def test_refusals_end_a_task_with_what_was_done(site: tuple[str, Path]) -> None:
    typed = ("TYPE_TEXT", {"text": "words"})
    outcome, _ = play_on_page(site, f"<button style='{BIG}'>More</button>", Scripted([CLICK], [typed]))
    assert outcome.end == "infeasible"
    assert [step["outcome"][:7] for step in outcome.steps] == ["done"] + ["refused"] * (pages.REPLANS + 1)
    assert "click into a field first" in outcome.detail


def test_values_of_a_task_reach_the_page_and_nobody_else(site: tuple[str, Path], tmp_path: Path) -> None:
    way = [INTO, ("TYPE_TEXT", {"text": "{card}"}), FINISH]
    model = Scripted(way)
    with page_with(site, FORM) as (page, address, access):
        outcome = do_task(page, "type {card=4111 1111 1111 1111} into the field", model=model, agrees=lambda _: False,
                        access=access, owned=True, address=address,
                        settings=PageTaskSettings(guards=("open",), folder=tmp_path))  # fmt: skip
        assert page.evaluate("document.querySelector('input').value") == "4111 1111 1111 1111"
    assert outcome.done
    everything = "".join([*model.asked, *(path.read_text("utf-8") for path in tmp_path.glob("trace.*")), repr(outcome)])
    assert "4111" not in everything


def test_the_command_prints_one_object(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.html").write_text("<h2>Books</h2><p>All of them<p><button style='font:20px Arial'>Search</button>")
    (tmp_path / "b.html").write_text("<p>secret")
    out = ["--out", str(tmp_path / "out"), "--llm", "webrules"]
    code = main(["do", 'Click the "Search" button', "--url", (tmp_path / "a.html").as_uri(), "--yes", "--json", *out])
    (row,) = map(json.loads, capfd.readouterr().out.splitlines())
    assert (code, row["done"], row["end"], row["answers"]) == (0, True, "finished", 2)
    assert {"command", "outcome"} <= set(row["steps"][0])
    assert main(["do", "x", "--url", str(tmp_path / "none.html"), *out]) == 2
    assert main(["do", "x", *out]) == 2


def test_an_interrupted_task_is_not_said_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sdg.experiments.cli.do.do_task", interrupt)
    (tmp_path / "page.html").write_text("<p>hello")
    assert main(["do", "say hello", "--url", str(tmp_path / "page.html"), "--llm", "webrules"]) == 130
    assert "what was done on the page stays done, and the same command does it again" in capsys.readouterr().err


@pytest.mark.parametrize("was_asked", [False, True], ids=["a question to the model", "a question to a person"])
def test_an_interrupt_is_raised_again_and_the_trace_has_what_was_done(
    site: tuple[str, Path], tmp_path: Path, was_asked: bool
) -> None:
    def interrupt() -> bool:
        raise KeyboardInterrupt

    model = Scripted([CLICK], [FINISH], sees=lambda _: len(model.asked) == 2 and not was_asked and interrupt())
    body = f"<button style='{BIG}' {PRESSED}>Delete</button>"
    with page_with(site, body) as (page, address, access), pytest.raises(KeyboardInterrupt):
        do_task(page, "do it", model=model, agrees=lambda _: not was_asked or interrupt(), access=access, owned=True,
                address=address, settings=PageTaskSettings(guards=("confirm",), folder=tmp_path))  # fmt: skip
    trace = json.loads((tmp_path / "trace.json").read_text("utf-8"))
    [step] = trace["steps"]
    assert (trace["end"], step["command"], len(trace["asked"])) == ("interrupted", "CLICK_COORDS('120,70')", 1)
    assert step["outcome"] == ("interrupted while it was asked about or carried out" if was_asked else "done")
    assert "End: interrupted after 1 answer" in (tmp_path / "trace.txt").read_text("utf-8")
    assert (tmp_path / "film.gif").exists()


def test_a_running_browser_is_worked_in_and_goes_on(
    site: tuple[str, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (site[1] / "index.html").write_text("<h2>Books</h2><p>All<p><button style='font:20px Arial'>Search</button>")
    flags = ["--headless", "--no-sandbox", "--remote-debugging-port=0", f"--user-data-dir={tmp_path / 'user'}"]
    with subprocess.Popen(
        [str(chromium()), *flags, f"{site[0]}/index.html"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as running:
        try:
            port = tmp_path / "user" / "DevToolsActivePort"
            while not port.exists():
                time.sleep(0.2)
            at = f"http://127.0.0.1:{port.read_text().split()[0]}"
            code = main(["do", 'Click the "Search" button', "--browser", at, "--yes", "--json", "--llm", "webrules",
                         "--out", str(tmp_path / "out")])  # fmt: skip
            (row,) = map(json.loads, capfd.readouterr().out.splitlines())
            assert (code, row["done"], row["address"]) == (0, True, f"{site[0]}/index.html")
            with open_browser(address=at) as browser:
                first = browser.contexts[0].pages[0]
                browser.contexts[0].new_page().goto(f"{site[0]}/index.html?draft")
                first.bring_to_front()
            with open_page(Access(""), running=at) as page:
                assert page.url == f"{site[0]}/index.html"
            with open_page(Access(site[0]), running=at) as page:
                assert page.url == "about:blank"
                assert {each.url.removeprefix(site[0]) for each in page.context.pages} == {
                    "/index.html", "/index.html?draft", "about:blank"
                }  # fmt: skip
            assert running.poll() is None
        finally:
            running.terminate()


def test_a_page_of_playwright_s_own_is_worked_on_and_left_as_it_is(site: tuple[str, Path]) -> None:
    with page_with(site, f"<a href='http://example.org/' style='{BIG};background:#ddd'>Out</a>") as (page, address, _):
        page.goto(address)
        outcome = sdg.Desktop(page).do("look", model=Scripted([CLICK], [FINISH]), guards=("open",), private=False)
        assert (outcome.done, page.url) == (True, address)
        with pytest.raises(UserError, match="mode 'html' is none of"):
            sdg.Desktop(page).do("look", model=Scripted([FINISH]), mode="html")
