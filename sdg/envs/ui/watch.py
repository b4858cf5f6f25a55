"""A watch over pages that hang: it ends them, because Playwright waits for such a page without end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

HANGS_SECONDS, AGAIN_SECONDS, LOOK_SECONDS = 30.0, 3.0, 0.25
"""How long a page may take, how long it is waited for after an attempt to end it, how often the clock is looked at."""
TRIES = 3
"""Attempts, of which the last ends the whole browser, where it was begun here."""


class Watch:
    """Ends what hangs within `limit`: in a browser that was begun here all pages, in another's the page's script, at
    last the page."""

    def __init__(self, session: Any, browser: Any = None) -> None:
        self._session, self._browser = session, browser
        self._known = browser.send("SystemInfo.getProcessInfo")["processInfo"] if browser else []
        self._stopped = self.fired = False

    @contextlib.contextmanager
    def limit(self) -> Iterator[None]:
        """Watch what is done within."""
        over, self.fired = threading.Event(), False
        threading.Thread(target=self._look, args=(over,), daemon=True).start()
        try:
            yield
        finally:
            over.set()

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """Stop the watch, because a person is asked, who takes as long as it takes."""
        self._stopped = True
        try:
            yield
        finally:
            self._stopped = False

    def _look(self, over: threading.Event) -> None:
        left, tries = HANGS_SECONDS, 0
        while not over.wait(LOOK_SECONDS):
            left -= 0 if self._stopped else LOOK_SECONDS
            if left <= 0:
                self.fired, left, tries = True, AGAIN_SECONDS, tries + 1
                with contextlib.suppress(Exception):  # what can't be asked, or is gone, can't be ended that way
                    self._end(last=tries >= TRIES)

    def _end(self, *, last: bool) -> None:
        if self._browser is None:
            self._send(self._session, "Page.crash" if last else "Runtime.terminateExecution")
            return
        for each in self._known if last else self._send(self._browser, "SystemInfo.getProcessInfo")["processInfo"]:
            if each["type"] == ("browser" if last else "renderer"):
                os.kill(each["id"], signal.SIGKILL)

    def _send(self, session: Any, method: str) -> Any:
        """Ask from this thread what the page's own, which waits in the session's loop, can't ask."""
        return asyncio.run_coroutine_threadsafe(session._impl_obj.send(method), session._loop).result(AGAIN_SECONDS)
