"""A page of a user's own as a world of screens: what is seen is its viewport, what is done is done as by a hand.

    with opened(*flags_for(access)) as browser, PageWorld(browser.new_page(), "find the price", access=access) as world:
        world.step("CLICK_COORDS", "120,44")

A page does as it likes: it may never rest, lead elsewhere, open dialogs, windows and downloads, hang or die. What it
did beside showing something is in `notices`, words of the page among them: data. A page that hangs or goes away is a
`PageError` within `HANGS_SECONDS`, where its browser was begun here.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from sdg.envs.ui.browser import LOAD_TIMEOUT_MS, PageError, page_error
from sdg.envs.ui.commands import ARGUMENTS, KEYS
from sdg.envs.ui.presses import BREAKS, CLICKS, ENTERS, SPACES, TYPES, pressed_on

PAGE_ARGUMENTS: Mapping[str, str] = {**ARGUMENTS, "GO_BACK": "", "WAIT": "", "FINISH": "text", "GIVE_UP": "text"}
"""Each command and the argument that it takes, "" for none. A page doesn't end a task: FINISH and GIVE_UP do."""
PAGE_KEYS: Mapping[str, str] = {
    **KEYS,
    "<Tab>": "Tab",
    "<Escape>": "Escape",
    "<Delete>": "Delete",
    "<Space>": "Space",
    "<Up>": "ArrowUp",
    "<Down>": "ArrowDown",
    "<Left>": "ArrowLeft",
    "<Right>": "ArrowRight",
}
_WAYS: Mapping[str, str] = {"<Enter>": ENTERS, "<Space>": SPACES, "<Delete>": TYPES, "<Backspace>": TYPES}
"""How keys press; others press nothing."""
POINTING = ("CLICK_COORDS", "DBLCLICK_COORDS", "MOUSEDOWN_COORDS", "MOUSEUP_COORDS")
SETTLE_MS, WAIT_MS, REST_MS = 1500, 2000, 120
SEEN_MS = 10_000
HANGS_SECONDS = 30.0
SCROLLED = 0.7
"""Share of the viewport's height that one command scrolls by."""
MOST_NOTICES, MOST_ENTRIES, TRIES = 8, 40, 3
_NO_UDP = "--force-webrtc-ip-handling-policy=disable_non_proxied_udp"
PARTS = ("stylesheet", "script", "image", "font", "media")
"""What a file may load from its own folder: parts of itself, no other pages."""

_RESTS = """() => document.readyState === 'complete' && document.getAnimations().every(each =>
    each.playState !== 'running' || each.effect?.getComputedTiming().iterations === Infinity)"""
_ENTRIES = """most => { const node = document.activeElement;
  return node && node.tagName === 'SELECT' ? [...node.options].slice(0, most).map(each => each.text.trim()) : []; }"""


@dataclass(frozen=True, slots=True)
class Access:
    """What a page may open: its own address `start`, all of the same origin, and what `others` name: an origin, a host
    (`*.example.org` for those below it, `*` for all) or a file or folder. A file opens parts of itself in its folder.
    """

    start: str
    others: tuple[str, ...] = ()

    def opens(self, address: str, *, part: bool = False) -> bool:
        """Whether an address may be opened; `part`: as a stylesheet, script, picture or font of the page."""
        at, own = urlsplit(address), urlsplit(self.start)
        if at.scheme in ("data", "blob", "about"):
            return True
        if at.scheme == "file":
            file, home = _file(address), _file(self.start) if own.scheme == "file" else None
            inside = home is not None and (file == home or (part and file.is_relative_to(home.parent)))
            return inside or any(file.is_relative_to(Path(each).resolve()) for each in self._places())
        named = any(fnmatch(name or "", each) for each in self.others for name in (at.hostname, _origin(address)))
        return named or (own.scheme != "file" and _origin(address) == _origin(self.start))

    def _places(self) -> list[str]:
        return [str(_file(each)) if each.startswith("file:") else each for each in self.others if "/" in each]


def _file(address: str) -> Path:
    return Path(unquote(urlsplit(address).path)).resolve()


def _origin(address: str) -> str:
    at = urlsplit(address)
    return f"{at.scheme.replace('ws', 'http')}://{at.netloc}"


def flags_for(access: Access) -> Sequence[str]:
    """Flags of a browser that reaches no other origin: redirects and workers' sockets don't pass `opens`, so all but
    what is permitted goes to a proxy that doesn't exist."""
    if "*" in access.others:
        return (_NO_UDP,)
    named = [each for each in (access.start, *access.others) if "/" not in each or "//" in each]
    hosts = {urlsplit(each).hostname or each for each in named}
    kept = "".join(f", EXCLUDE {host}" for host in sorted(hosts) if host)
    places = ";".join(sorted({_place(each) for each in named} - {""}))
    return (
        f"--host-resolver-rules=MAP * ~NOTFOUND{kept}",
        "--proxy-server=http://none.invalid:9",
        f"--proxy-bypass-list=<-loopback>;{places}",
        _NO_UDP,
    )


def _place(named: str) -> str:
    """An origin as host:port, and a host, which has any port, as it stands; "" for a file."""
    at = urlsplit(named)
    if "//" not in named or not at.hostname:
        return "" if "//" in named else named
    host = f"[{at.hostname}]" if ":" in at.hostname else at.hostname
    return f"{host}:{at.port or (80 if at.scheme in ('http', 'ws') else 443)}"


@dataclass(frozen=True, slots=True)
class Press:
    """What a command presses: its `role` (button, control, or a tag), the words on it, the names of its icon, whether
    it shows a picture, whether it takes text; its `labels`, a line each, and the words of the `dialog` around it.

    `unseen`: the focus lies where nobody can see. `lines`: a line break is text there, in a field of many lines.
    """

    role: str = ""
    words: str = ""
    hints: str = ""
    picture: bool = False
    field: bool = False
    labels: str = ""
    dialog: str = ""
    unseen: bool = False
    lines: bool = False

    def is_still(self, now: Press) -> bool:
        """Whether this is what is pressed now; an icon without words goes by its names."""
        icons = self.words or self.labels or self.hints == now.hints
        return bool(icons) and (self.role, self.words, self.labels, self.dialog) == (
            now.role, now.words, now.labels, now.dialog,
        )  # fmt: skip


class PageWorld:
    """A task on a page of Playwright's; a context manager, which leaves the page as it is.

    `agrees` is asked in words before a question of the page's is answered with yes. With `access` the page opens
    nothing else: every request of a page that was begun here (`owned`), pages and frames alone of any other.
    """

    def __init__(
        self,
        page: Any,
        task: str,
        *,
        access: Access | None = None,
        agrees: Callable[[str], bool] = lambda question: False,
        owned: bool = False,
    ) -> None:
        self.page, self.mission, self.said = page, " ".join(task.split()), ""
        self.done, self.reward = False, 0.0
        self.notices: list[str] = []
        self.error, self._access, self._agrees, self._owned = page_error(), access, agrees, owned
        self._windows: list[Any] = []
        self._session: Any = None
        self._listeners = {
            "dialog": self._on_dialog,
            "popup": lambda window: self._windows.append(window),
            "download": self._on_download,
            "filechooser": lambda chooser: self._note("the page asked for a file; none was given"),
        }

    def __enter__(self) -> PageWorld:
        for event, listener in self._listeners.items():
            self.page.on(event, listener)
        if self._access is not None:  # windows that it opens are held to it, too, where the browser is ours
            (self.page.context if self._owned else self.page).route("**/*", self._let_through)
        if self._access is not None and self._owned:
            self.page.context.route_web_socket("**/*", self._let_socket_through)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(self.error):  # it may be gone already
            for event, listener in self._listeners.items():
                self.page.remove_listener(event, listener)
            if self._access is not None:
                (self.page.context if self._owned else self.page).unroute("**/*", self._let_through)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the viewport, which the screenshot shows, in pixels. Raises PageError."""
        with self._watched("can't be measured"):
            known = self.page.viewport_size or self.page.evaluate("({width: innerWidth, height: innerHeight})")
            return int(known["width"]), int(known["height"])

    def open(self, address: str) -> None:
        """Lead the page to an address. Raises PageError where it doesn't come up or may not be opened."""
        if self._access is not None and not self._access.opens(address):
            raise PageError(f"{address[:200]} isn't permitted")
        with self._watched("doesn't come up"):
            self.page.goto(address, timeout=LOAD_TIMEOUT_MS, wait_until="domcontentloaded")
            self._settle()

    def screenshot(self) -> bytes:
        """The viewport as PNG, a pixel of the page to a pixel. Raises PageError."""
        with self._watched("can't be seen"):
            return bytes(self._tried(lambda: self.page.screenshot(scale="css", timeout=SEEN_MS // 2)))

    def press_of(self, name: str, argument: str) -> Press:
        """What a command of this name presses, as the page itself has it. Raises PageError."""
        way = CLICKS if name in POINTING else _WAYS.get(argument, "") if name == "PRESS_KEY" else ""
        if name == "TYPE_TEXT":
            way = BREAKS if {"\n", "\r"} & set(argument) else TYPES
        if not way:
            return Press()
        with self._watched("can't be asked"):
            found = self._pressed(argument if name in POINTING else "", way)
        if name == "PRESS_KEY" and way == TYPES:  # beside a field, the key deletes what is chosen
            return Press() if found.field else Press("button", "Delete")
        return found

    def _pressed(self, place: str, way: str = CLICKS) -> Press:
        x, _, y = place.partition(",")
        point = (float(x), float(y)) if place else None
        return Press(**self._tried(lambda: pressed_on(self.page, point, way)))

    def step(self, name: str, argument: str) -> None:
        """Carry out one command. RuntimeError after the end, PageError when the page breaks under it."""
        if self.done:
            raise RuntimeError("the task is over")
        if name in ("FINISH", "GIVE_UP"):
            self.done, self.reward, self.said = True, float(name == "FINISH"), argument
            return
        self.notices.clear()
        with self._watched(f"broke under {name}"):
            here = self.page.url
            self._act(name, argument)
            self._settle()
            for window in [self._windows.pop(0) for _ in list(self._windows)]:
                self._take_over(window)
            if self._access is not None and not self._access.opens(self.page.url):
                self._note(f"the page led to {_origin(self.page.url)}, which isn't permitted, and was led back")
                self.page.goto(here, timeout=LOAD_TIMEOUT_MS, wait_until="domcontentloaded")
            if entries := self._tried(lambda: self.page.evaluate(_ENTRIES, MOST_ENTRIES)):
                self._note(f"the dropdown with the focus has the entries: {'; '.join(map(str, entries))}")

    def _act(self, name: str, argument: str) -> None:
        mouse, keyboard = self.page.mouse, self.page.keyboard
        if name == "PRESS_KEY":
            keyboard.press(PAGE_KEYS[argument])
        elif name == "TYPE_TEXT":
            self._type(argument)
        elif name == "GO_BACK":
            self.page.go_back(timeout=LOAD_TIMEOUT_MS, wait_until="domcontentloaded")
        elif name == "WAIT":
            self.page.wait_for_timeout(WAIT_MS)
        else:
            x, y = map(int, argument.split(","))
            before = self._pressed(argument) if name in POINTING[:-1] else None
            mouse.move(x, y, steps=5 if name == "MOUSEUP_COORDS" else 1)
            if before and not self._is_still(before, argument):
                return
            far = SCROLLED * self.size[1]
            acts = {
                "CLICK_COORDS": lambda: mouse.click(x, y),
                "DBLCLICK_COORDS": lambda: self._click_twice(argument),
                "MOUSEDOWN_COORDS": mouse.down,
                "MOUSEUP_COORDS": mouse.up,
                "SCROLL_DOWN_COORDS": lambda: mouse.wheel(0, far),
                "SCROLL_UP_COORDS": lambda: mouse.wheel(0, -far),
            }
            acts.get(name, lambda: None)()

    def _is_still(self, before: Press, place: str) -> bool:
        """Whether a place still presses what it did; tells of it where the mouse, or a first click, changed that."""
        if still := before.is_still(self._pressed(place)):
            return still
        self._note(f"what lies at [{place}] changed under the mouse and wasn't pressed: look again")
        return False

    def _click_twice(self, place: str) -> None:
        """Click, and a second time only what the first click left as it was."""
        before = self._pressed(place)
        self.page.mouse.down()
        self.page.mouse.up()
        if self._is_still(before, place):
            self.page.mouse.down(click_count=2)
            self.page.mouse.up(click_count=2)

    def _type(self, text: str) -> None:
        """Type as by hand; in a field of many lines, a line break is put in and isn't Enter, which may send."""
        parts = re.split(r"(\r\n|\r|\n)", text)
        lines = len(parts) > 1 and self._pressed("", BREAKS).lines
        for each in parts if lines else (text,):
            (self.page.keyboard.insert_text if each in ("\r\n", "\r", "\n") else self.page.keyboard.type)(each)

    def _tried(self, act: Callable[[], Any]) -> Any:
        """What the act gives; tried again where the page led elsewhere, or was loaded again, in the middle."""
        for _ in range(TRIES - 1):
            with contextlib.suppress(self.error):
                return act()
            self.page.wait_for_load_state("domcontentloaded", timeout=LOAD_TIMEOUT_MS)
        return act()

    def _settle(self) -> None:
        """Wait until nothing moves any more, at most `SETTLE_MS`: a page that never rests is shown as it is."""
        self.page.wait_for_timeout(REST_MS)
        try:
            self.page.wait_for_function(_RESTS, timeout=SETTLE_MS, polling=50)
        except self.error as error:
            if "Timeout" not in str(error):  # it led elsewhere in the middle
                self.page.wait_for_load_state("domcontentloaded", timeout=LOAD_TIMEOUT_MS)

    def _take_over(self, window: Any) -> None:
        """A new window's address is opened in the page itself: there is one page, and it is what is seen."""
        with contextlib.suppress(self.error):
            window.wait_for_load_state("domcontentloaded", timeout=SEEN_MS)
        address = str(window.url)
        with contextlib.suppress(self.error):
            window.close()
        led = urlsplit(address).scheme in ("http", "https", "file") and (
            self._access is None or self._access.opens(address)
        )
        self._note(f"the page opened a window, {address[:200]}: {'it is shown here' if led else 'it was closed'}")
        if led:
            self.page.goto(address, timeout=LOAD_TIMEOUT_MS, wait_until="domcontentloaded")
            self._settle()

    def _on_dialog(self, dialog: Any) -> None:
        """What only tells is read; what asks is answered with no, unless the user agrees."""
        told = " ".join(str(dialog.message).split())[:300]
        yes = dialog.type == "alert" or self._agrees(f"the page asks {told!r}: answer yes?") is True
        with contextlib.suppress(self.error):
            dialog.accept() if yes else dialog.dismiss()
        said = "" if dialog.type == "alert" else f" and was answered {'yes' if yes else 'no'}"
        self._note(f"the page said {told!r}{said}")

    def _on_download(self, download: Any) -> None:
        self._note(f"the page began a download, {str(download.suggested_filename)[:100]!r}: it was stopped")
        with contextlib.suppress(self.error):
            download.cancel()

    def _let_through(self, route: Any) -> None:
        assert self._access is not None
        kind = route.request.resource_type
        free = not self._owned and kind != "document"
        if free or self._access.opens(route.request.url, part=kind in PARTS):
            route.fallback()
            return
        if kind == "document":
            self._note(f"{route.request.url[:200]} isn't permitted and wasn't opened")
        route.abort()

    def _let_socket_through(self, socket: Any) -> None:
        assert self._access is not None
        if self._access.opens(socket.url):
            socket.connect_to_server()

    def _note(self, words: str) -> None:
        if len(self.notices) < MOST_NOTICES:
            self.notices.append(words)

    @contextlib.contextmanager
    def _watched(self, what: str) -> Iterator[None]:
        """Playwright's errors as PageError. A page of a browser that was begun here and hangs is ended."""
        watch = threading.Timer(HANGS_SECONDS, _end_all, [self._pages_processes() if self._owned else ()])
        watch.daemon = True
        began = time.monotonic()
        watch.start()
        try:
            yield
        except self.error as error:
            hung = ": it hung" if time.monotonic() - began >= HANGS_SECONDS else ""
            raise PageError(f"the page {what}{hung}: {str(error).splitlines()[0]:.200}") from None
        finally:
            watch.cancel()

    def _pages_processes(self) -> Sequence[int]:
        """The processes that pages of this browser run in; a page that leads elsewhere may get another."""
        try:
            if self._session is None:
                self._session = self.page.context.browser.new_browser_cdp_session()
            found = self._session.send("SystemInfo.getProcessInfo")["processInfo"]
        except self.error:
            return ()
        return [int(each["id"]) for each in found if each["type"] == "renderer"]


def _end_all(processes: Sequence[int]) -> None:
    for each in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
