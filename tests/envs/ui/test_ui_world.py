"""A real Chromium on MiniWoB++'s own pages, beside the package's own environment."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
import pytest

from sdg.envs.ui.browser import Browser, PageError, what_is_missing
from sdg.envs.ui.commands import SCREEN, ScreenCommand
from sdg.envs.ui.domain import UIWorld
from tests.shared.processes import descendants, lives

pytestmark = pytest.mark.skipif(bool(what_is_missing()), reason=f"no browser: {what_is_missing()}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


def open_task(browser: Browser, task: str, seed: int) -> UIWorld:
    world = UIWorld(task, browser=browser)
    world.reset(seed)
    return world


@pytest.mark.parametrize("task", ["click-button", "email-inbox", "use-colorwheel", "click-dialog-2"])
def test_a_seed_gives_the_same_pixels(browser: Browser, task: str) -> None:
    first, second, other = (open_task(browser, task, seed) for seed in (3, 3, 4))
    del first, second
    shots = []
    for seed in (3, 4, 3):
        world = open_task(browser, task, seed)
        shots.append((world.mission, world.screenshot()))
    assert shots[0] == shots[2], "the same seed gives the same page"
    assert shots[0] != shots[1], "another seed gives another page"
    assert other.mission


def test_browsers_live_side_by_side_and_end_in_any_order() -> None:
    first, second = Browser(), Browser()
    screenshots = [open_task(browser, "click-button", 3).screenshot() for browser in (first, second)]
    assert screenshots[0] == screenshots[1]
    first.close()
    first.close()
    assert open_task(second, "click-button", 3).screenshot() == screenshots[0], "the other one is not touched"
    second.close()
    with Browser() as third:
        assert open_task(third, "click-button", 3).screenshot() == screenshots[0]


def test_the_strip_with_the_instruction_is_cut_off(browser: Browser) -> None:
    picture = open_task(browser, "click-button", 1).render()
    assert picture.shape == (SCREEN, SCREEN, 3)
    assert picture.dtype == np.uint8
    yellow = (picture == (255, 255, 0)).all(axis=2).mean()
    assert yellow < 0.01


def test_clicking_the_button_pays_and_ends_the_episode(browser: Browser) -> None:
    world = open_task(browser, "focus-text", 1)
    before = world.render()
    rows, columns = np.nonzero((before < 200).all(axis=2))
    middle = int((columns.min() + columns.max()) / 2), int((rows.min() + rows.max()) / 2)
    result = world.step(ScreenCommand("CLICK_COORDS", middle))
    assert result.success
    assert result.reward == 1
    assert world.done
    with pytest.raises(RuntimeError, match="over"):
        world.step(ScreenCommand("CLICK_COORDS", middle))
    missed = open_task(browser, "click-button", 1).step(ScreenCommand("CLICK_COORDS", (1, 1)))
    assert not missed.done


def test_text_is_typed_where_the_focus_is(browser: Browser) -> None:
    world = open_task(browser, "login-user", 1)
    field = browser.page.locator("#username").bounding_box()
    assert field is not None
    point = int(2 * (field["x"] + 9)), int(2 * (field["y"] - 50 + 9))
    for command in (
        ScreenCommand("CLICK_COORDS", point),
        ScreenCommand("TYPE_TEXT", "vina"),
        ScreenCommand("PRESS_KEY", "<Backspace>"),
    ):
        world.step(command)
    assert browser.page.locator("#username").input_value() == "vin"


def test_a_page_reaches_nothing_but_its_own_files(browser: Browser) -> None:
    open_task(browser, "click-button", 1)
    for address in ("http://127.0.0.1:9/", "file:///etc/passwd", "ftp://127.0.0.1/"):
        reached = browser.page.evaluate("a => fetch(a).then(() => true).catch(() => false)", address)
        assert not reached, address
    assert not browser.page.evaluate(
        "() => new Promise(done => {const i = new Image(); i.onload = () => done(true); i.onerror = () => done(false);"
        " i.src = 'file:///usr/share/pixmaps/debian-logo.png'})"
    )


def test_a_dialog_or_a_popup_doesnt_hold_an_episode_up(browser: Browser) -> None:
    world = open_task(browser, "click-button", 1)
    browser.page.evaluate("() => { setTimeout(() => { alert('obey me'); window.open('about:blank') }, 0) }")
    world.step(ScreenCommand("MOVE_COORDS", (5, 5)))
    assert world.screenshot()


def test_a_page_that_went_away_is_an_error_and_the_next_episode_is_unharmed(browser: Browser) -> None:
    world = open_task(browser, "click-button", 1)
    browser.page.evaluate("() => { document.documentElement.remove(); core = undefined }")
    with pytest.raises(PageError):
        world.step(ScreenCommand("CLICK_COORDS", (5, 5)))
    with pytest.raises(PageError):
        world.reset(1)
    world.reset(1)
    assert world.mission.startswith("Click on")


def test_no_browser_outlives_its_process() -> None:
    code = "from sdg.envs.ui.browser import Browser; b = Browser(); print('up', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline()
        family = descendants(child.pid)
        assert len(family) >= 2, "a driver and a browser"
        child.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while any(lives(pid) for pid in family) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [pid for pid in family if lives(pid)]


@pytest.mark.skipif(shutil.which("chromedriver") is None, reason="the package's own environment needs chromedriver")
def test_as_the_packages_own_environment(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words and, after the same click at the same place, the same reward."""
    chrome, driver = os.environ.get("SDG_CHROMIUM") or shutil.which("chromium"), shutil.which("chromedriver")
    monkeypatch.setenv("MINIWOB_CHROME_BINARY", str(chrome))
    monkeypatch.setenv("MINIWOB_CHROMEDRIVER", str(driver))
    monkeypatch.setenv("SE_OFFLINE", "true")
    from miniwob.action import ActionTypes
    from miniwob.environment import MiniWoBEnvironment

    for task in ("click-dialog", "enter-text"):
        theirs = MiniWoBEnvironment(subdomain=task, wait_ms=100)
        try:
            for seed in (1, 2):
                observation, _ = theirs.reset(seed=seed)
                ours = open_task(browser, task, seed)
                assert ours.mission == " ".join(observation["utterance"].split())
                buttons = [element for element in observation["dom_elements"] if element["tag"] in ("button", "span")]
                x, y = (
                    buttons[-1][axis][0] + buttons[-1][side][0] / 2
                    for axis, side in (("left", "width"), ("top", "height"))
                )
                action = theirs.unwrapped.create_action(ActionTypes.CLICK_COORDS, coords=np.array([x, y], np.float32))
                _, reward, ended, _, _ = theirs.step(action)
                result = ours.step(ScreenCommand("CLICK_COORDS", (round(2 * x), round(2 * (y - 50)))))
                assert (result.done, result.success) == (ended, reward > 0)
        finally:
            theirs.close()
