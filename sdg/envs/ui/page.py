"""A user's own page as a world of screens: its viewport is seen, and commands act on it as a hand would.

    with open_browser(*flags_for(access)) as browser, PageWorld(browser.new_page(), "find it", access=access) as world:
        world.step("CLICK_COORDS", "120,44")

A page does as it likes: it may never rest, lead elsewhere, open dialogs, windows and downloads, hang or die. What it
did beside showing something is in `notices`, words of the page among them: data. A page that hangs is
ended or broken off by `sdg.envs.ui.watch.Watch`, and one that goes away is a `PageError`.
"""

import base64
import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Self

from sdg.envs.ui.access import NO_PEERS, Access, origin_of
from sdg.envs.ui.browser import LOAD_TIMEOUT_MS, PageError, page_error, timeout_error
from sdg.envs.ui.commands import ARGUMENTS, AT_POINTS, ScreenCommand
from sdg.envs.ui.keys import KEY_LETTERS, PAGE_KEYS, key_event
from sdg.envs.ui.presses import BREAKS, CLICKS, COPIES, DROPS, TYPES, WAYS, Frame, Press, pressed_on
from sdg.envs.ui.texts import Placed, texts_of
from sdg.envs.ui.watch import Watch
from sdg.envs.ui.windows import Windows

PAGE_ARGUMENTS: Mapping[str, str] = {**ARGUMENTS, "GO_BACK": "", "WAIT": "", "FINISH": "text", "GIVE_UP": "text"}
"""Each command and the argument that it takes, "" for none. A page doesn't end a task: FINISH and GIVE_UP do."""
SETTLE_MS, WAIT_MS, REST_MS, SEEN_MS = 1500, 2000, 120, 10_000
SCROLLED = 0.7
"""Share of the viewport's height that one command scrolls by."""
MAX_NOTICES, MAX_ENTRIES, MAX_QUESTIONS, MAX_TRIES = 8, 40, 3, 3
OFF_PAGE = (-9, -9)
"""Where the mouse button is let go when what lies under it isn't to be pressed any more, or a task ends."""
PARTS = ("stylesheet", "script", "image", "font", "media")
"""What a file may load from its own folder: parts of itself, no other pages."""

_RESTS = """() => document.readyState === 'complete' && document.getAnimations().every(each =>
    each.playState !== 'running' || each.effect?.getComputedTiming().iterations === Infinity)"""
_ENTRIES = """most => { const node = document.activeElement;
  return node && node.tagName === 'SELECT' ? [...node.options].slice(0, most).map(each => each.text.trim()) : []; }"""


class PageCommand(ScreenCommand):
    """A command on a page."""

    takes, keys = PAGE_ARGUMENTS, PAGE_KEYS


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
        self.page, self.mission = page, " ".join(task.split())
        self.said = self._address = self._clipboard = ""
        self.done, self.reward = False, 0.0
        self.notices: list[str] = []
        self.error, self._agrees = page_error(), agrees
        self._owned, self._bounded = owned, access is not None
        self._permits = access.permits if access else lambda address, part=False: True
        self._routes = page.context if owned else page
        self._windows, self._all_the_time = Windows(page, owned=owned), contextlib.ExitStack()
        self._session: Any = None
        self._watch: Watch | None = None
        self._held_press, self._question_count = Press(), 0
        self._skips_fonts = False
        self._listeners = {
            "dialog": self._on_dialog,
            "popup": lambda window: self._windows.opened.append(window),
            "download": self._on_download,
            "filechooser": lambda chooser: self._note("the page asked for a file; none was given"),
        }

    def __enter__(self) -> Self:
        with self._watch_for("can't be worked on"):
            for event, listener in self._listeners.items():
                self.page.on(event, listener)
            if self._bounded:
                self._routes.route("**/*", self._let_through)
            if self._owned:
                self._all_the_time.enter_context(self._windows.watched())
                self.page.context.add_init_script(NO_PEERS)
            if self._bounded and self._owned:
                self.page.context.route_web_socket("**/*", self._let_socket_through)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Exception), self._watch_for("can't be left"), self._all_the_time as stack:  # gone?
            if self._bounded:
                stack.callback(self._routes.unroute, "**/*", self._let_through)
            for event, listener in self._listeners.items():
                stack.callback(self.page.remove_listener, event, listener)
            if self._held_press.role:
                stack.callback(self.page.mouse.up)
                stack.callback(self.page.mouse.move, *OFF_PAGE)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the viewport, which the screenshot shows, in pixels. Raises PageError."""
        with self._watch_for("can't be measured"):
            size = self.page.viewport_size or self._ask("() => ({width: innerWidth, height: innerHeight})")
            return int(size["width"]), int(size["height"])

    def open(self, address: str) -> None:
        """Lead the page to an address. Raises PageError where it doesn't come up or leads to what may not be opened."""
        if not self._permits(address):
            raise PageError(f"{address[:200]} isn't permitted")
        self._address = address
        led: list[str] = []

        def note(request: Any) -> None:
            if request.redirected_from and not self._permits(request.url):
                led.append(f"{address[:200]} leads to {request.url[:200]}, which isn't permitted")

        self.page.on("request", note)
        try:
            with self._watch_for("doesn't come up"):
                self.page.goto(address, timeout=LOAD_TIMEOUT_MS, wait_until="domcontentloaded")
                self._settle()
        except PageError as error:
            raise PageError(led[0] if led else str(error)) from None
        finally:
            self.page.remove_listener("request", note)

    def screenshot(self) -> bytes:
        """The viewport as PNG, a pixel of the page to a pixel. Raises PageError."""
        with self._watch_for("can't be seen"):
            return bytes(self._retry(self._shot))

    def _shot(self) -> bytes:
        """A screenshot; one without the page's fonts where they don't come, and from then on."""
        if not self._skips_fonts:
            try:
                return bytes(self.page.screenshot(scale="css", timeout=SEEN_MS // 2))
            except timeout_error():
                self._skips_fonts = True
        view = self._session.send("Page.getLayoutMetrics")["cssVisualViewport"]
        clip = {"x": view["pageX"], "y": view["pageY"], "width": view["clientWidth"], "height": view["clientHeight"],
                "scale": 1 / self._ask("() => devicePixelRatio")}  # fmt: skip
        return base64.b64decode(self._session.send("Page.captureScreenshot", {"clip": clip})["data"])

    def texts(self) -> list[Placed]:
        """The texts on the page with their places, as Chromium lays them out. Raises PageError."""
        with self._watch_for("can't be read"):
            return texts_of(self.page)

    def press_of(self, name: str, argument: str) -> Press:
        """What a command of this name presses, as the page itself has it. Raises PageError."""
        with self._watch_for("can't be asked"):
            drags = self._held_press.role and ARGUMENTS.get(name) == "coords"  # which may act before it is let go
            return self._press("MOUSEUP_COORDS" if drags else name, argument)

    def _done_as(self, name: str) -> str:
        """What a command does while the mouse button is down: whatever presses at a point lets go of what is held."""
        return "MOUSEUP_COORDS" if self._held_press.role and name in AT_POINTS else name

    def _press(self, name: str, argument: str) -> Press:
        ways = {"TYPE_TEXT": TYPES, "PRESS_KEY": WAYS.get(argument), **dict.fromkeys(AT_POINTS, CLICKS)}
        way = ways.get(name)
        if way is None:
            return Press()
        press = self._look(way, argument)
        if name == "TYPE_TEXT" and {"\n", "\r"} & set(argument):  # its letters press, too
            ends = self._look(BREAKS, argument)
            return replace(ends, labels="\n".join(filter(None, (ends.labels, press.words, press.labels))))
        if name == "MOUSEUP_COORDS" and not press.is_still(self._held_press):
            return self._look(DROPS, argument)
        return press

    def _look(self, way: str, argument: str) -> Press:
        x, _, y = argument.partition(",")
        point = (float(x), float(y)) if way in (CLICKS, DROPS) else None
        return self._retry(lambda: pressed_on(self.page, self._session, point, way, PAGE_KEYS.get(argument, argument)))

    def _ask(self, script: str, *arguments: object) -> Any:
        return self._retry(lambda: Frame(self.page, self._session).ask(script, *arguments))

    def step(self, name: str, argument: str, judged: Press | None = None) -> None:
        """Carry out one command, which presses nothing but what was `judged`, where that is given, or what lies there
        now. RuntimeError after the end, PageError when the page breaks under it."""
        if self.done:
            raise RuntimeError("the task is over")
        if name in ("FINISH", "GIVE_UP"):
            self.done, self.reward, self.said = True, float(name == "FINISH"), argument
            return
        self.notices.clear()
        self._question_count, name = 0, self._done_as(name)
        with self._watch_for(f"broke under {name}"):
            judged = judged or self._press(name, argument)
            with contextlib.nullcontext() if self._owned else self._windows.watched():
                self._act(name, argument, judged)
                self._settle()
            self._take_over()
            if self._permits(self.page.url):
                self._address = self.page.url
            else:
                self._note(f"the page led to {origin_of(self.page.url)}, which isn't permitted, and was led back")
                self.page.goto(self._address, timeout=LOAD_TIMEOUT_MS, wait_until="domcontentloaded")
            if entries := self._ask(_ENTRIES, MAX_ENTRIES):
                some = "; ".join(map(str, entries))
                self._note(f"the dropdown with the focus has these entries, to be chosen by typing: {some}")

    def _act(self, name: str, argument: str, judged: Press) -> None:
        mouse = self.page.mouse
        if name == "PRESS_KEY":
            self._press_key(argument, judged)
        elif name == "TYPE_TEXT":
            self._type(argument, judged)
        elif name == "GO_BACK":
            if not self._windows.back():
                self._note("the page before isn't permitted, or would have a form sent again: it wasn't gone back to")
        elif name == "WAIT":
            self.page.wait_for_timeout(WAIT_MS)
        else:
            x, y = map(int, argument.split(","))
            mouse.move(x, y, steps=5 if name == "MOUSEUP_COORDS" else 1)
            if name in AT_POINTS and self._is_still(judged, name, argument):
                self._point(name, argument, judged)
            elif name.startswith("SCROLL"):
                mouse.wheel(0, SCROLLED * self.size[1] * (1 if name == "SCROLL_DOWN_COORDS" else -1))

    def _is_still(self, judged: Press, name: str, argument: str) -> bool:
        """Whether a command still presses what was judged, or a drag ends where it began; tells of it where not."""
        now = self._press(name, argument)
        if judged.is_still(now) or (name == "MOUSEUP_COORDS" and self._held_press.is_still(now)):
            return True
        place = f"what lies at [{argument}]" if name in AT_POINTS else "what has the focus"
        self._note(f"{place} changed and wasn't pressed: look again")
        return False

    def _point(self, name: str, place: str, judged: Press) -> None:
        """The mouse button goes down, and up again; what the page changed in between isn't pressed."""
        mouse = self.page.mouse
        if name == "MOUSEUP_COORDS":
            mouse.up()
            self._held_press = Press()
        elif name == "MOUSEDOWN_COORDS":
            mouse.down()
            self._held_press = judged
        else:
            clicks = 2 if name == "DBLCLICK_COORDS" else 1
            for count in range(1, clicks + 1):
                mouse.down(click_count=count)
                is_still = self._is_still(judged, name, place)
                if not is_still:
                    mouse.move(*OFF_PAGE)
                mouse.up(click_count=count)
                if not is_still or (count < clicks and not self._is_still(judged, name, place)):
                    return

    def _press_key(self, key: str, judged: Press) -> None:
        """Press a key on what was judged. Only what was copied by such a key is pasted, because the clipboard is the
        user's."""
        if key in ("C-c", "C-x"):
            self._clipboard = self._look(COPIES, key).words or self._clipboard
        if key in KEY_LETTERS:
            self._strike(KEY_LETTERS[key], lambda: self._is_still(judged, "PRESS_KEY", key))
        elif key not in WAYS or self._is_still(judged, "PRESS_KEY", key):
            if key != "C-v":
                self.page.keyboard.press(PAGE_KEYS[key])
            elif self._clipboard:
                self.page.keyboard.insert_text(self._clipboard)
            else:
                self._note("no text was copied in this task: nothing was pasted")

    def _strike(self, letter: str, still: Callable[[], bool]) -> bool:
        """A key goes down, its letter comes, and it goes up, as long as nothing changed; Space acts as it goes up."""
        key = key_event(letter)
        for event in ({"type": "rawKeyDown"}, {"type": "char", "text": letter}, {"type": "keyUp"}):
            if (event["type"] != "keyUp" or letter == " ") and not still():
                return False
            self._session.send("Input.dispatchKeyEvent", key | event)
        return True

    def _type(self, text: str, judged: Press) -> None:
        """Type as by hand, as long as the focus is in such a field; in one of many lines, a line break is put in and
        isn't Enter, which may send."""
        first = self._look(TYPES, text)

        def is_still(ends: bool) -> bool:
            return judged.is_still(self._press("TYPE_TEXT", text)) if ends else first.is_still(self._look(TYPES, text))

        still = is_still(ends=True)
        for character in text.replace("\r\n", "\r").replace("\n", "\r"):
            check = partial(is_still, character == "\r")
            has_key = not judged.lines if character == "\r" else " " <= character <= "~"
            if has_key:
                still = still and self._strike(character, check)
            elif still := still and check():
                self.page.keyboard.insert_text(character.replace("\r", "\n"))
        if not still:
            self._note("what has the focus changed while the text was typed, and the rest wasn't typed: look again")

    def _retry(self, act: Callable[[], Any]) -> Any:
        """What the act gives; tried again where the page led elsewhere, or was loaded again, in the middle."""
        for _ in range(MAX_TRIES - 1):
            with contextlib.suppress(self.error):
                return self._begin_watch().heard(act())
            self.page.wait_for_load_state("domcontentloaded", timeout=LOAD_TIMEOUT_MS)
        return act()

    def _settle(self) -> None:
        """Wait until nothing moves any more, at most `SETTLE_MS`: a page that never rests is shown as it is."""
        self.page.wait_for_timeout(REST_MS)
        try:
            self.page.wait_for_function(_RESTS, timeout=SETTLE_MS, polling=50)
        except timeout_error():
            return
        except self.error:  # it led elsewhere in the middle
            self.page.wait_for_load_state("domcontentloaded", timeout=LOAD_TIMEOUT_MS)

    def _take_over(self) -> None:
        """Show a new window's address in the page itself, because the agent sees only this page."""
        is_shown = False
        for address, show in self._windows.close():
            takes = show and not is_shown and self._permits(address)
            self._note(f"the page opened a window, {address[:200]}: {'it is shown here' if takes else 'it was closed'}")
            if show and takes:
                is_shown = True
                show()
                self._settle()

    def _on_dialog(self, dialog: Any) -> None:
        """Close an alert; answer another dialog with no, unless the user agrees."""
        question = " ".join(str(dialog.message).split())[:300] or "whether to leave it"
        yes, answer = True, ""
        if dialog.type != "alert":
            self._question_count += 1
            watch = self._begin_watch()
            watch.stopped = True
            is_asked = self._question_count <= MAX_QUESTIONS
            try:
                yes = is_asked and self._agrees(f"the page asks {question!r}: answer yes?") is True
            finally:
                watch.stopped = False
            answer = f" and was answered {'yes' if yes else 'no'}"
        close = dialog.accept if yes else dialog.dismiss
        with contextlib.suppress(self.error):
            close()
        self._note(f"the page said {question!r}{answer}")

    def _on_download(self, download: Any) -> None:
        self._note(f"the page began a download, {str(download.suggested_filename)[:100]!r}: it was stopped")
        with contextlib.suppress(self.error):
            download.cancel()

    def _let_through(self, route: Any) -> None:
        kind = route.request.resource_type
        is_free = not self._owned and kind != "document"
        with contextlib.suppress(self.error):  # the page may be gone by now
            passes = is_free or self._permits(route.request.url, part=kind in PARTS)
            if kind == "document" and not passes:
                self._note(f"{route.request.url[:200]} isn't permitted and wasn't opened")
            if passes:
                route.fallback()
            else:
                route.abort("aborted")  # and the page stays as it is

    def _let_socket_through(self, socket: Any) -> None:
        with contextlib.suppress(self.error):
            if self._permits(socket.url):
                socket.connect_to_server()

    def _note(self, words: str) -> None:
        if len(self.notices) < MAX_NOTICES:
            self.notices.append(words)

    @contextlib.contextmanager
    def _watch_for(self, failure: str) -> Iterator[None]:
        """Playwright's errors as PageError; a page that hangs is ended (`Watch`)."""
        try:
            with (watch := self._begin_watch()).limit():
                yield
        except self.error as error:
            hung = ": it hung" if self._watch and self._watch.fired else ""
            raise PageError(f"the page {failure}{hung}: {str(error).splitlines()[0]:.200}") from None
        if watch.fired:
            self._note("the page hung, and what it did was broken off")

    def _begin_watch(self) -> Watch:
        if self._watch is None:
            self._session = self.page.context.new_cdp_session(self.page)
            browser = self.page.context.browser.new_browser_cdp_session() if self._owned else None
            self._watch = Watch(self._session, browser)
        return self._watch
