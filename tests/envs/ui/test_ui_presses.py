"""What presses press on pages that hide it, and what a browser with a page's flags reaches, in a real Chromium."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from sdg.envs.ui.access import Access
from sdg.envs.ui.browser import what_is_missing
from sdg.envs.ui.page import PageWorld
from sdg.experiments.play.pages import open_page
from sdg.gate.confirm import final_press

pytestmark = pytest.mark.skipif(bool(what_is_missing()), reason=f"no browser: {what_is_missing()}")

AT = "style='position:absolute;left:20px;top:20px;width:200px;height:60px'"
SENDS = "<form><input id=i><button>Send</button></form><script>i.focus()</script>"
HOST = "<div id=h></div><script>const r=h.attachShadow({mode:'closed'});r.innerHTML='<button>x</button>';"
ASKED = {
    "long": (f"<button {AT}>Delete my account and all of my data now</button>", "CLICK_COORDS", "60,40"),
    "a part that is pressed": (f"<div onclick=1 {AT}>Delete all of my mails</div>", "CLICK_COORDS", "60,40"),
    "a label": (f"<button aria-label='Delete account' {AT}>OK</button>", "CLICK_COORDS", "60,40"),
    "a soft hyphen": (f"<button {AT}>De&shy;lete</button>", "CLICK_COORDS", "60,40"),
    "a nameless icon": (f"<button class=btn {AT}><svg></svg></button>", "CLICK_COORDS", "60,40"),
    "a dialog": (f"<p>Delete everything?<button {AT}>Yes</button>", "CLICK_COORDS", "60,40"),
    "another frame": (f'<iframe sandbox {AT} srcdoc="<button>Pay</button>"></iframe>', "CLICK_COORDS", "40,40"),
    "Enter in a frame": (f'<iframe srcdoc="{SENDS}"></iframe>', "PRESS_KEY", "<Enter>"),
    "Enter in another origin": (f'<iframe sandbox=allow-scripts srcdoc="{SENDS}"></iframe>', "PRESS_KEY", "<Enter>"),
    "Space in a closed root": (HOST + "r.firstChild.focus()</script>", "PRESS_KEY", "<Space>"),
    "a line break": (SENDS, "TYPE_TEXT", "hello\n"),
    "Delete on a row": ("<div id=i tabindex=0>Mail</div><script>i.focus()</script>", "PRESS_KEY", "<Delete>"),
}
NOT_ASKED = {
    "typing": (SENDS, "TYPE_TEXT", "hello"),
    "Tab": (SENDS, "PRESS_KEY", "<Tab>"),
    "Delete in a field": (SENDS, "PRESS_KEY", "<Delete>"),
    "lines": ("<form><textarea id=i></textarea><button>Send</button></form><script>i.focus()</script>",
              "TYPE_TEXT", "a\nb"),
    "prose": (f"<a href=/x {AT}>Delete an account: how it is done</a>", "CLICK_COORDS", "60,30"),
}  # fmt: skip


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    with open_page(Access("about:blank")) as page:
        yield page


@pytest.mark.parametrize("name", [*ASKED, *NOT_ASKED])
def test_what_is_final_is_found_where_it_hides(page: Any, name: str) -> None:
    html, command, argument = (ASKED | NOT_ASKED)[name]
    page.set_content(html)
    page.wait_for_timeout(200)
    if name.startswith("Enter in"):
        page.frames[-1].focus("input")
    assert bool(final_press(PageWorld(page, "").press_of(command, argument))) is (name in ASKED)


@pytest.mark.parametrize(
    ("event", "command"), [("onmouseover", "CLICK_COORDS"), ("onmousedown", "DBLCLICK_COORDS")], ids=["over", "double"]
)
def test_what_changes_under_the_mouse_is_not_pressed(page: Any, event: str, command: str) -> None:
    page.mouse.move(300, 300)
    page.set_content(
        f"<button {AT} onclick=\"if(textContent=='Delete'&&event.detail!=1)document.title='gone'\""
        f" {event}=\"textContent='Delete'\">Next</button>"
    )
    world = PageWorld(page, "")
    world.step(command, "60,40")
    assert "look again" in world.notices[0]
    assert page.title() != "gone"


def test_a_line_break_in_a_field_of_many_lines_is_no_key(page: Any) -> None:
    page.set_content("<textarea id=i onkeydown=\"if(event.key=='Enter')document.title='sent'\"></textarea>")
    page.focus("textarea")
    PageWorld(page, "").step("TYPE_TEXT", "a\nb")
    assert (page.input_value("textarea"), page.title()) == ("a\nb", "")


def test_redirects_and_workers_reach_no_other_port() -> None:
    reached: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            at = f"127.0.0.1:{ports[1]}"
            reached.append(f"{self.server.server_address[1]}{self.path}")
            self.send_response(307 if self.path == "/r" else 200)
            self.send_header("Location", f"http://{at}/r2")
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(
                f"<img src=/r><script>new Worker(URL.createObjectURL(new Blob([`new WebSocket('ws://{at}/ws')`])))"
                "</script>".encode()
            )

        def log_message(self, *_: Any) -> None:
            pass

    servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2)]
    ports = [each.server_address[1] for each in servers]
    for each in servers:
        threading.Thread(target=each.serve_forever, daemon=True).start()
    access = Access(f"http://127.0.0.1:{ports[0]}/")
    with open_page(access) as page, PageWorld(page, "", access=access, owned=True) as world:
        world.open(access.start)
        page.wait_for_timeout(1000)
    for each in servers:
        each.shutdown()
        each.server_close()
    assert {f"{ports[0]}/", f"{ports[0]}/r"} <= set(reached)
    assert not [each for each in reached if each.startswith(str(ports[1]))]
