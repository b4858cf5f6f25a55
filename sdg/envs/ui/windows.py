"""What a page opens in new windows. Nothing loads in them: the page itself is led to what they were to show.

A window's first request is stopped before it is sent, and the page sends it in its place, so that one press orders
once. What a window shows without a request of its own, or opened while no command ran, is reported and closed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

from sdg.envs.ui.browser import LOAD_TIMEOUT_MS, page_error

ANY, LATE_MS = "**/*", 300


class Windows:
    """The windows of a page, and the requests that they were opened for; `watch` while commands run.

    In a browser of the user's own other pages must go on: their requests would wait for whoever is asked about them.
    """

    def __init__(self, page: Any, *, owned: bool) -> None:
        self.opened: list[Any] = []
        self._page, self._owned, self._error = page, owned, page_error()
        self._requests: list[Any] = []

    def watch(self) -> None:
        """Stop the first request of each new window from now on."""
        self._page.context.route(ANY, self._stop)

    def unwatch(self) -> None:
        """Let all requests pass again."""
        self._page.context.unroute(ANY, self._stop)

    def close(self) -> list[tuple[str, Callable[[], None] | None]]:
        """Close the windows. What they were to show: an address each, and what leads the page there, if anything."""
        if len(self._requests) > len(self.opened):  # a window may be told of later than its request
            self._page.wait_for_timeout(LATE_MS)
        shown: list[tuple[str, Callable[[], None] | None]] = []
        for request in self._requests:
            shown.append((request.url, partial(self._lead, request)))
        shown += [(window.url, None) for window in self.opened[len(shown) :]]
        for window in self.opened:
            with contextlib.suppress(self._error):
                window.close()
        self._requests.clear()
        self.opened.clear()
        return shown

    def _stop(self, route: Any) -> None:
        with contextlib.suppress(self._error):  # the page may be gone by now
            if route.request.is_navigation_request() and self._is_new(route.request):
                self._requests.append(route.request)
                route.abort()
            else:
                route.fallback()

    def _is_new(self, request: Any) -> bool:
        """Whether a request is of a window that the page opened."""
        try:
            page = request.frame.page
        except self._error:  # there is no frame yet
            return True
        return page is not self._page and (self._owned or page in self.opened or page.opener() is self._page)

    def _lead(self, request: Any) -> None:
        """Send a stopped request from the page: the form that was to be sent, too. Raises Playwright's errors."""
        kind = request.headers.get("content-type")
        form = {"method": request.method, "post_data": request.post_data_buffer} if request.method != "GET" else {}

        def send(route: Any) -> None:
            route.continue_(**form, headers={**route.request.headers, **({"content-type": kind} if kind else {})})

        if form:
            self._page.route(lambda url: url == request.url, send, times=1)
        self._page.goto(
            request.url, referer=request.headers.get("referer"), timeout=LOAD_TIMEOUT_MS, wait_until="domcontentloaded"
        )
