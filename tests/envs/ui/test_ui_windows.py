"""What a page opens in a new window: it is requested once, by the page itself, and never where that isn't permitted."""

import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from sdg.envs.ui.access import Access
from sdg.envs.ui.browser import what_is_missing
from sdg.envs.ui.page import PageWorld
from sdg.experiments.play.pages import open_page

pytestmark = pytest.mark.skipif(bool(what_is_missing()), reason=f"no browser: {what_is_missing()}")
AT = "style='position:fixed;left:0;top:0;width:200px;height:100px'"
FORM = "<form action=/order method={} target=_blank><input type=hidden name=q value=1><button {}>Next</button></form>"
OPENED = {
    "a link": (f"<a href=/on target=_blank {AT}>On</a>", "GET /on"),
    "a link without an opener": (f"<a href=/on target=_blank rel=noopener {AT}>On</a>", "GET /on"),
    "a script": (f"<button {AT} onclick=\"window.open('/on')\">Show</button>", "GET /on"),
    "a script that leads it later": (
        f"<button {AT} onclick=\"w=window.open('about:blank');setTimeout(()=>w.location='/on',20)\">Show</button>",
        "GET /on",
    ),
    "a form that gets": (FORM.format("get", AT), "GET /order?q=1"),
    "a form that posts": (FORM.format("post", AT), "POST /order q=1"),
}


class Site(http.server.ThreadingHTTPServer):
    """A server of one page, which keeps what was requested."""

    def __init__(self) -> None:
        self.html, self.requested = "", list[str]()
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(http.server.BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self.path not in ("/", "/favicon.ico"):
            self.server.requested.append(" ".join(filter(None, (self.command, self.path, body))))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write((self.server.html if self.path == "/" else "<title>shown</title>").encode())

    do_POST = do_GET

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    server = Site()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("owned", [True, False])
@pytest.mark.parametrize("name", OPENED)
def test_what_a_window_was_to_show_is_requested_once(name: str, owned: bool, site: Site) -> None:
    site.html, expected = OPENED[name]
    site.requested.clear()
    access = Access(f"http://127.0.0.1:{site.server_port}/")
    with open_page(access) as page, PageWorld(page, "", access=access, owned=owned) as world:
        world.open(access.start)
        world.step("CLICK_COORDS", "50,50")
        assert (site.requested, page.title()) == ([expected], "shown")
        assert "it is shown here" in world.notices[0]


@pytest.mark.parametrize("owned", [True, False])
def test_a_window_of_another_origin_requests_nothing(owned: bool, site: Site) -> None:
    other = f"http://localhost:{site.server_port}/order"
    site.html = f"<form action={other} method=post target=_blank><button {AT}>Next</button></form>"
    site.requested.clear()
    access = Access(f"http://127.0.0.1:{site.server_port}/")
    with open_page(access) as page, PageWorld(page, "", access=access, owned=owned) as world:
        world.open(access.start)
        world.step("CLICK_COORDS", "50,50")
        assert not site.requested
        assert "it was closed" in world.notices[0]
