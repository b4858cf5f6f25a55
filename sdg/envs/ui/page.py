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
POINTING = ("CLICK_COORDS", "DBLCLICK_COORDS", "MOUSEDOWN_COORDS", "MOUSEUP_COORDS")
SETTLE_MS, WAIT_MS, REST_MS = 1500, 2000, 120
SEEN_MS = 10_000
HANGS_SECONDS = 30.0
SCROLLED = 0.7
"""Share of the viewport's height that one command scrolls by."""
MOST_NOTICES, MOST_ENTRIES, TRIES = 8, 40, 3
PARTS = ("stylesheet", "script", "image", "font", "media")
"""What a file may load from its own folder: parts of itself, no other pages."""

_RESTS = """() => document.readyState === 'complete' && document.getAnimations().every(each =>
    each.playState !== 'running' || each.effect?.getComputedTiming().iterations === Infinity)"""
_NAMES = """([x, y]) => {
  const clean = words => (words || '').replace(/\\s+/g, ' ').trim().slice(0, 120);
  const at = (root, x, y) => {
    const node = root.elementFromPoint(x, y);
    if (node && node.shadowRoot && root !== node.shadowRoot) return at(node.shadowRoot, x, y) || node;
    if (node && node.tagName === 'IFRAME') try {
      const box = node.getBoundingClientRect();
      return at(node.contentDocument, x - box.left, y - box.top) || node;
    } catch { return node; }
    return node;
  };
  const pressed = 'button, a, input, select, textarea, summary, label, [role=button], [role=link], [role=menuitem], ' +
    '[role=tab], [onclick], [tabindex]';
  const field = node => node.matches?.('textarea, select, [contenteditable=""], [contenteditable=true], ' +
    '[role=textbox], [role=combobox], [role=listbox], [role=searchbox], iframe, canvas, embed, object') ||
    node.matches?.('input') && !/^(button|submit|reset|image|checkbox|radio|file|color)$/.test(node.type);
  let node = x === null ? document.activeElement : at(document, x, y);
  while (node && node.shadowRoot && node.shadowRoot.activeElement) node = node.shadowRoot.activeElement;
  if (!node) return {role: '', words: '', hints: '', picture: false, field: false};
  const types = field(node);
  if (x !== null) {
    node = node.closest(pressed) || node;
    for (let up = node; up && up !== document.body && getComputedStyle(up).cursor === 'pointer'; up = up.parentElement)
      node = up.matches(pressed) ? up : node;
  } else if (types) {  // Enter in a field presses the button that ends its form
    const ends = 'button:not([type=button]):not([type=reset]), input[type=submit], input[type=image]';
    node = (node.form || node.closest('form') || node.parentElement?.parentElement || node).querySelector(
      node.form ? ends : 'button, input[type=submit]') || node;
  }
  const button = node.matches('button, input[type=submit], input[type=image], input[type=button], [role=button]');
  const inner = [node, ...node.querySelectorAll('*')].slice(0, 40);
  const told = each => ['aria-label', 'title', 'alt', 'value', 'data-icon', 'href', 'src', 'xlink:href', 'class', 'id']
    .filter(name => !(name === 'value' && field(each)) && !(name === 'href' && each.matches('a')))
    .map(name => each.getAttribute?.(name) || '').map(text => text.startsWith('data:') ? '' : text).join(' ');
  const shown = clean(node.matches('input') ? (button ? node.value : '') : field(node) ? '' : node.innerText);
  return {role: button ? 'button' : node.tagName.toLowerCase(), words: shown, hints: clean(inner.map(told).join(' ')),
    picture: inner.some(each => each.matches('svg, img, i, canvas, input[type=image]')) ||
      !shown && getComputedStyle(node, '::before').content.length > 2, field: types};
}"""
"""What lies at a point, or has the focus (x is null): what is pressed there, in words and by the names of its icon."""
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
    """Flags of a browser that reaches no other host: redirects, sockets and look-ups of names don't pass `opens`."""
    hosts = {
        urlsplit(each).hostname or each for each in (access.start, *access.others) if "/" not in each or "//" in each
    }
    kept = "".join(f", EXCLUDE {host}" for host in sorted(hosts) if host)
    rules = () if "*" in access.others else (f"--host-resolver-rules=MAP * ~NOTFOUND{kept}",)
    return (*rules, "--force-webrtc-ip-handling-policy=disable_non_proxied_udp")


@dataclass(frozen=True, slots=True)
class Press:
    """What a command presses: its `role` (button, or a tag), the words on it, the names of its icon, whether it shows a
    picture, whether it takes text."""

    role: str = ""
    words: str = ""
    hints: str = ""
    picture: bool = False
    field: bool = False


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
        if name not in (*POINTING, "PRESS_KEY", "TYPE_TEXT"):
            return Press()
        point = [int(part) for part in argument.split(",")] if name in POINTING else [None, None]
        with self._watched("can't be asked"):
            return Press(**self._tried(lambda: self.page.evaluate(_NAMES, point)))

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
            keyboard.type(argument)
        elif name == "GO_BACK":
            self.page.go_back(timeout=LOAD_TIMEOUT_MS, wait_until="domcontentloaded")
        elif name == "WAIT":
            self.page.wait_for_timeout(WAIT_MS)
        else:
            x, y = map(int, argument.split(","))
            mouse.move(x, y, steps=5 if name == "MOUSEUP_COORDS" else 1)
            far = SCROLLED * self.size[1]
            acts = {
                "CLICK_COORDS": lambda: mouse.click(x, y),
                "DBLCLICK_COORDS": lambda: mouse.dblclick(x, y),
                "MOUSEDOWN_COORDS": mouse.down,
                "MOUSEUP_COORDS": mouse.up,
                "SCROLL_DOWN_COORDS": lambda: mouse.wheel(0, far),
                "SCROLL_UP_COORDS": lambda: mouse.wheel(0, -far),
            }
            acts.get(name, lambda: None)()

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
