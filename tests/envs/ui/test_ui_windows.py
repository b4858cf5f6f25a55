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
        self.html, self.shown, self.requested = "", "<title>shown</title>", list[str]()
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(http.server.BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self.path not in ("/", "/favicon.ico"):
            self.server.requested.append(" ".join(filter(None, (self.command, self.path, body))))
        leads = self.path.removeprefix("/leads-to/") if "/leads-to/" in self.path else ""
        self.send_response(302 if leads else 200)
        self.send_header("Content-Type", "text/html")
        if leads:
            self.send_header("Location", leads)
        self.end_headers()
        self.wfile.write((self.server.html if self.path == "/" else self.server.shown).encode())

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
@pytest.mark.parametrize("to", ["{}", "javascript:location.replace('{}')"], ids=["a link", "a script that replaces"])
def test_what_may_not_be_opened_leaves_the_page_as_it_is(to: str, owned: bool, site: Site) -> None:
    site.html = f"<form action=/order method=post><button {AT}>Next</button></form>"
    address = to.format(f"http://localhost:{site.server_port}/other")
    link = f'<a style="position:fixed;top:150px" href="{address}">Out'
    site.shown = f"<title>shown</title><textarea {AT}></textarea>{link}"
    site.requested.clear()
    access = Access(f"http://127.0.0.1:{site.server_port}/")
    with open_page(access) as page, PageWorld(page, "", access=access, owned=owned) as world:
        world.open(access.start)
        for place in ("50,50", "50,50"):
            world.step("CLICK_COORDS", place)
        world.step("TYPE_TEXT", "a long letter")
        world.step("CLICK_COORDS", "10,160")
        assert "isn't permitted" in world.notices[0]
        assert (page.title(), page.input_value("textarea")) == ("shown", "a long letter")
        assert site.requested == ["POST /order"]


@pytest.mark.parametrize("owned", [True, False])
def test_a_page_that_leaves_by_itself_is_led_back(owned: bool, site: Site) -> None:
    address = f"http://localhost:{site.server_port}/other"
    site.html = f"<title>here</title><script>setTimeout(()=>location='/leads-to/{address}', 1500)</script>"
    access = Access(f"http://127.0.0.1:{site.server_port}/")
    with open_page(access) as page, PageWorld(page, "", access=access, owned=owned) as world:
        world.open(access.start)
        page.wait_for_timeout(3000)
        assert page.title() != "here"
        world.step("MOVE_COORDS", "50,50")
        assert (page.title(), page.url, "was led back" in world.notices[0]) == ("here", access.start, True)


@pytest.mark.parametrize(("owned", "bounded"), [(True, True), (False, False)])
def test_going_back_sends_no_form_again(owned: bool, bounded: bool, site: Site) -> None:
    site.html = f"<form action=/order method=post><button {AT}>Next</button></form>"
    site.shown = f"<title>shown</title><a {AT} href=\"javascript:location='/on'+history.length\">On</a>"
    site.requested.clear()
    access = Access(f"http://127.0.0.1:{site.server_port}/")
    with open_page(access) as page, PageWorld(page, "", access=access if bounded else None, owned=owned) as world:
        world.open(access.start)
        for _ in range(2):
            world.step("CLICK_COORDS", "50,50")
        there, first = page.url, list(site.requested)
        world.step("GO_BACK", "")
        assert (page.url, site.requested, "sent again" in world.notices[-1]) == (there, first, True)
        world.step("CLICK_COORDS", "50,50")
        world.step("GO_BACK", "")
        assert (page.url, world.notices, first[0]) == (there, [], "POST /order")


@pytest.mark.parametrize("owned", [True, False])
def test_a_window_of_another_origin_requests_nothing(owned: bool, site: Site) -> None:
    address = f"http://localhost:{site.server_port}/order"
    site.html = f"<form action={address} method=post target=_blank><button {AT}>Next</button></form>"
    site.requested.clear()
    access = Access(f"http://127.0.0.1:{site.server_port}/")
    with open_page(access) as page, PageWorld(page, "", access=access, owned=owned) as world:
        world.open(access.start)
        world.step("CLICK_COORDS", "50,50")
        assert not site.requested
        assert "it was closed" in world.notices[0]
