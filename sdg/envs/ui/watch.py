"""A watch over pages that hang: it ends them, because Playwright waits for such a page without end."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

HANGS_SECONDS, AGAIN_SECONDS, LOOK_SECONDS = 30.0, 3.0, 0.25
"""How long a page may be silent, how long it is waited for after an attempt to end it, how often the clock is read."""
MAX_TRIES = 3
"""Attempts, of which the last ends the whole browser, where it was begun here."""


class Watch:
    """Ends what hangs within `limit`, as nothing is `heard`: in a browser that was begun here all pages, in another's
    the page's script, at last the page. It is `stopped` while a person is asked, who takes as long as it takes."""

    def __init__(self, session: Any, browser: Any = None) -> None:
        self._session, self._browser, self._fiber = session, browser, type(session._dispatcher_fiber)
        self._known = browser.send("SystemInfo.getProcessInfo")["processInfo"] if browser else []
        self.stopped = self.fired = False
        self._left = HANGS_SECONDS

    @contextlib.contextmanager
    def limit(self) -> Iterator[None]:
        """Watch the page while the `with` block runs."""
        over = threading.Event()
        self.fired, self._left = False, HANGS_SECONDS
        threading.Thread(target=self._look, args=(over,), daemon=True).start()
        try:
            yield
        finally:
            over.set()

    def heard(self, answer: Any) -> Any:
        """An answer of the page, which has all its time again for the next."""
        self._left = HANGS_SECONDS
        return answer

    def _look(self, over: threading.Event) -> None:
        tries = 0
        while not over.wait(LOOK_SECONDS):
            self._left -= 0 if self.stopped else LOOK_SECONDS
            if self._left <= 0:
                self.fired, self._left, tries = True, AGAIN_SECONDS, tries + 1
                if tries >= MAX_TRIES and self._browser:
                    _kill(self._known, "browser")
                else:  # nobody but the waiting thread may ask, in the loop that it waits in
                    self._session._loop.call_soon_threadsafe(
                        lambda act=partial(self._end, tries): self._fiber(act).switch()
                    )

    def _end(self, tries: int) -> None:
        with contextlib.suppress(Exception):  # what can't be asked any more is asked again
            if self._browser:
                _kill(self._browser.send("SystemInfo.getProcessInfo")["processInfo"], "renderer")
            else:
                self._session.send("Runtime.terminateExecution" if tries < MAX_TRIES else "Page.crash")


def _kill(processes: Sequence[Mapping[str, Any]], kind: str) -> None:
    for process in processes:
        if process["type"] == kind:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process["id"], signal.SIGKILL)
