"""The playground in a real Chromium, at two widths: instruct, make a skill of a check, browse; and who may ask it."""

from __future__ import annotations

import http.client
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sdg.agents.agents import ReplayAgent, Task, play_task
from sdg.envs.babyai.bot import bot_actions
from sdg.envs.ui.browser import open_browser, what_is_missing
from sdg.errors import UserError
from sdg.experiments.app.server import Playground, serve
from sdg.experiments.results.comparison import SHIPPED
from sdg.storage import RunFolder, RunSettings

pytestmark = pytest.mark.long
CHECK = "def facing(thing):\n    return get_facing() in find_objects(thing)"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    run = tmp_path_factory.mktemp("runs") / "mine"
    with RunFolder.start(run, RunSettings({}, "", 0)) as folder:
        folder.journal("episodes").append(play_task(ReplayAgent("bot", bot_actions), Task("GoToLocal", 3)))
    with serve(Playground(SHIPPED, run)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def post(address: str, path: str, body: str = "{}", **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.request("POST", path, body, {"Origin": f"http://{address}"} | headers)
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    return reply.status, json.loads(text) if reply.status == 200 else text


@pytest.mark.browser
def test_the_three_ways_in_a_browser(address: str, tmp_path: Path) -> None:
    if missing := what_is_missing():
        pytest.skip(missing)
    shots = Path(os.environ.get("SDG_SHOTS", tmp_path))
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(f"http://{address}/")
        page.locator("[name=instruction][placeholder='go to a purple ball']").wait_for(timeout=60_000)
        page.locator("#film[src^='data:image/png']").wait_for()
        page.get_by_label("Instruction, in your own words").fill("go to a ball")
        page.get_by_role("button", name="Solve").click()
        page.locator("#outcome", has_text="after").wait_for(timeout=60_000)
        assert "go to a ball" in page.locator("#outcome").inner_text()
        assert "def program" in page.locator("#program").inner_text()
        assert "yes (rules)" in page.locator("#calls tr").first.inner_text()
        page.locator("#film[src^='data:image/gif']").wait_for()
        assert page.evaluate("document.getElementById('film').naturalWidth") > 300
        page.get_by_label("Instruction, in your own words").fill("make me a coffee")
        page.get_by_role("button", name="Solve").click()
        page.locator("#outcome", has_text="say go to D").wait_for(timeout=60_000)
        page.locator("summary", has_text="can ask").click()
        assert "find_objects(" in page.locator("#functions").inner_text()
        page.locator("textarea").fill(CHECK)
        page.get_by_role("button", name="Learn").click()
        page.locator("#learned", has_text="LearnedSkill(").wait_for(timeout=120_000)
        assert "L" in str(page.locator("#curve path").get_attribute("d"))
        page.locator("summary", has_text="collect").click()
        assert "def check" in page.locator("details[open] pre").first.inner_text()
        assert "GoToLocal" in page.locator("#episodes").inner_text()
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing hangs over the side"
            page.screenshot(path=str(shots / f"app-{width}.png"), full_page=True)
        assert not faults


def test_what_can_not_be_is_said_in_words(address: str) -> None:
    request = json.dumps({"level": "Nowhere", "seed": 1})
    status, answer = post(address, "/instruct", request)
    assert status == 200
    assert "Nowhere" in answer["fault"]
    assert post(address, "/instruct", "no JSON")[1]["fault"]
    half = json.dumps({"level": "GoToLocal", "seed": 1, "instruction": "\ud800"})
    assert "half of a letter" in post(address, "/instruct", half)[1]["fault"]
    status, answer = post(address, "/train", json.dumps({"level": "GoToLocal", "seed": 0, "check": "import os"}))
    while not answer["done"]:
        answer = post(address, "/curve")[1]
    assert answer["fault"]


def test_one_skill_is_learned_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    monkeypatch.setattr("sdg.train", lambda *args, **settings: go_on.wait())
    playground, request = Playground(SHIPPED), {"level": "GoToLocal", "seed": 0, "check": "return True"}
    progress = playground.train(request)
    with pytest.raises(UserError, match="another skill is being learned"):
        playground.train(request)
    assert playground.curve({}) is progress
    go_on.set()


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Host": "evil.example:80", "Origin": "http://evil.example:80"},
        {"Origin": "null"},
    ],
)
def test_no_other_site_can_ask(address: str, headers: dict[str, str]) -> None:
    assert post(address, "/about", **headers)[0] == 403


STRANGERS = {"evil.example", "evil.example:80", "["}


@pytest.mark.parametrize("host", ["127.0.0.2", "localhost", "0.0.0.0"])
def test_a_server_answers_to_addresses_and_its_own_name_alone(host: str) -> None:
    with serve(Playground(SHIPPED), host=host) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        bound, port = server.server_address[:2]
        address = f"{bound!s}:{port}"
        asked = {f"{host}:{port}", host, address, f"localhost:{port}", f"192.0.2.7:{port}", *STRANGERS}
        answers = {name: post(address, "/about", Host=name, Origin=f"http://{name}")[0] for name in sorted(asked)}
        server.shutdown()
    others = {name for name, status in answers.items() if status == 403}
    assert others == STRANGERS


def test_a_browser_that_leaves_the_port_out_is_ours(address: str) -> None:
    """Port 80 is in no Host header."""
    assert post(address, "/about", Host="127.0.0.1", Origin="http://127.0.0.1")[0] == 200


def test_a_browser_that_goes_away_is_no_fault(address: str, capfd: pytest.CaptureFixture[str]) -> None:
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port))) as going:
        going.sendall(f"POST /about HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\n"
                      "Content-Length: 2\r\n\r\n".encode())  # fmt: skip
        time.sleep(0.2)
        going.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert post(address, "/about")[0] == 200
    assert "Traceback" not in capfd.readouterr().err


def test_files_beside_the_page_are_not_served(address: str) -> None:
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.request("GET", "/../server.py")
    assert connection.getresponse().status == 404
    connection.close()
    assert post(address, "/secrets")[0] == 403
