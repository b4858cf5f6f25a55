"""What a page reaches, and how one that hangs or asks without end is held, in a real Chromium."""

from __future__ import annotations

import contextlib
import http.server
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from sdg.envs.ui import watch
from sdg.envs.ui.access import Access
from sdg.envs.ui.browser import NoBrowser, PageError, open_browser, page_error, what_is_missing
from sdg.envs.ui.page import PageWorld
from sdg.envs.ui.parser.screen import picture_of
from sdg.experiments.play.pages import open_page

pytestmark = pytest.mark.skipif(bool(what_is_missing()), reason=f"no browser: {what_is_missing()}")

AT = "style='position:absolute;left:20px;top:20px;width:200px;height:60px'"
CLICK = ("CLICK_COORDS", "60,40")


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
    ports = [server.server_address[1] for server in servers]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    access = Access(f"http://127.0.0.1:{ports[0]}/")
    with open_page(access) as page, PageWorld(page, "", access=access, owned=True) as world:
        world.open(access.start)
        page.wait_for_timeout(1000)
    for server in servers:
        server.shutdown()
        server.server_close()
    assert {f"{ports[0]}/", f"{ports[0]}/r"} <= set(reached)
    assert not [address for address in reached if address.startswith(str(ports[1]))]


def test_no_words_leave_the_browser_beside_its_requests(tmp_path: Path) -> None:
    heard: list[bytes] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
        ear.bind(("127.0.0.1", 0))
        ear.settimeout(3)
        (tmp_path / "page.html").write_text(
            "<iframe id=f></iframe><script>const P=window.RTCPeerConnection||f.contentWindow.RTCPeerConnection;"
            "document.title=typeof P;const p=new P();p.createDataChannel('x');p.createOffer().then(o=>p.setLocal"
            "Description(o)).then(()=>p.setRemoteDescription({type:'answer',sdp:p.localDescription.sdp.replace('a=setup:actpass',"
            "'a=setup:active')})).then(()=>p.addIceCandidate({candidate:'candidate:1 1 udp 2122260223 127.0.0.1 "
            f"{ear.getsockname()[1]} typ host',sdpMid:'0'}}))</script>"
        )
        access = Access((tmp_path / "page.html").as_uri())
        with open_page(access) as page:  # without the script that takes the connections away
            page.goto(access.start)
            with contextlib.suppress(TimeoutError):
                heard.append(ear.recv(2000))
            assert page.title() == "function"
            with PageWorld(page, "", access=access, owned=True) as world:
                world.open(access.start)
                assert page.title() == "undefined"
    assert not heard


def test_a_page_whose_font_never_comes_is_seen() -> None:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            if self.path == "/font.woff":
                over.wait(60)
            self.wfile.write(
                b"<style>@font-face{font-family:x;src:url(/font.woff)}</style><p style='font:40px x'>Hello"
            )

        def log_message(self, *_: Any) -> None:
            pass

    over = threading.Event()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    access = Access(f"http://127.0.0.1:{server.server_address[1]}/")
    with open_page(access) as page, PageWorld(page, "", access=access, owned=True) as world:
        world.open(access.start)
        assert picture_of(world.screenshot()).shape == (640, 1024, 3)
        assert picture_of(world.screenshot()).min() < 100
    over.set()
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("owned", [True, False])
def test_a_page_that_hangs_is_ended_and_somebody_else_s_broken_off(
    owned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "HANGS_SECONDS", 4.0)
    with open_page(Access("about:blank")) as page:
        page.set_content(f"<button {AT} onclick='for(;;);'>Next</button>")
        world = PageWorld(page, "", owned=owned)
        with pytest.raises(PageError, match="hung") if owned else contextlib.nullcontext():
            world.step(*CLICK)
        assert owned or "hung" in world.notices[-1]


def test_a_page_that_hangs_in_a_process_of_its_own_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            if self.path == "/on":
                self.send_header("Cross-Origin-Opener-Policy", "same-origin")
            self.end_headers()
            hangs = "<script>setTimeout(()=>{for(;;);},1000)</script>"
            self.wfile.write((hangs if self.path == "/on" else f"<a {AT} href=/on>On</a>").encode())

        def log_message(self, *_: Any) -> None:
            pass

    monkeypatch.setattr(watch, "HANGS_SECONDS", 4.0)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    access = Access(f"http://127.0.0.1:{server.server_address[1]}/")
    with open_page(access) as page, PageWorld(page, "", access=access, owned=True) as world:
        world.open(access.start)
        world.step(*CLICK)
        time.sleep(1.5)
        with pytest.raises(PageError, match="hung"):
            world.screenshot()
    server.shutdown()
    server.server_close()


def test_a_person_has_time_and_is_not_asked_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "HANGS_SECONDS", 4.0)
    questions: list[str] = []

    def agree_slowly(question: str) -> bool:
        questions.append(question)
        time.sleep(3)
        return True

    with open_page(Access("about:blank")) as page:
        page.set_content(
            f"<button {AT} onclick=\"let n=0;for(let i=0;i<9;i++)n+=confirm('Go?');document.title=n\">Next</button>"
        )
        with PageWorld(page, "", owned=True, agrees=agree_slowly) as world:
            world.step(*CLICK)
        assert (len(questions), page.title()) == (3, "3")


def test_a_long_command_on_a_page_that_answers_does_not_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "HANGS_SECONDS", 4.0)
    with open_page(Access("about:blank")) as page, PageWorld(page, "", owned=True) as world:
        page.set_content(
            "<textarea id=i oninput='for(const end=Date.now()+500;Date.now()<end;);'></textarea>"
            "<script>i.focus()</script>"
        )
        world.step("TYPE_TEXT", "x" * 12)
        assert (page.input_value("#i"), world.notices) == ("x" * 12, [])


def test_only_a_browser_that_does_not_start_counts_as_none() -> None:
    with pytest.raises(page_error()), open_browser() as browser:
        browser.new_page().evaluate("() => { throw new Error('a fault of the page') }")
    with pytest.raises(NoBrowser, match="doesn't answer"), open_browser(address="http://127.0.0.1:9"):
        pass
