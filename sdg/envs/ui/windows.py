"""What a page opens in new windows. Nothing loads in them: the page itself is led to what they were to show.

A window's first request is stopped before it is sent, and the page sends it in its place, so that one press orders
once. What a window shows without a request of its own, or opened while no command ran, is reported and closed.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from sdg.envs.ui.browser import LOAD_TIMEOUT_MS, page_error

ANY, LATE_MS = "**/*", 300


class Windows:
    """The windows of a page, and the requests that they were opened for. A browser that is `owned` is watched all the
    time, a user's own only while commands run, because requests of its other pages would wait for the model.
    """

    def __init__(self, page: Any, *, owned: bool) -> None:
        self.opened: list[Any] = []
        self._page, self._owned, self._error = page, owned, page_error()
        self._requests: list[Any] = []
        self._goes_back = False

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """The first request of each new window is stopped while the `with` block runs."""
        self._page.context.route(ANY, self._stop)
        try:
            yield
        finally:
            self._page.context.unroute(ANY, self._stop)

    def back(self) -> bool:
        """Lead the page to the one before, unless a form would be sent again; whether it may. Raises Playwright's
        errors."""
        self._goes_back = True
        try:
            self._page.go_back(timeout=LOAD_TIMEOUT_MS, wait_until="domcontentloaded")
        except self._error as error:
            if "ERR_ABORTED" not in str(error):
                raise
            return False
        finally:
            self._goes_back = False
        return True

    def close(self) -> Sequence[tuple[str, Callable[[], None] | None]]:
        """Close the windows. What they were to show: an address each, and what leads the page there, if anything."""
        if len(self._requests) > len(self.opened):  # a window may be told of later than its request
            self._page.wait_for_timeout(LATE_MS)
        shown = [
            *((request.url, partial(self._lead, request)) for request in self._requests),
            *((window.url, None) for window in self.opened[len(self._requests) :]),  # silent ones
        ]
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
            elif self._goes_back and route.request.is_navigation_request() and route.request.method != "GET":
                route.abort("aborted")
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
