"""A fake adb server that speaks the wire protocol (length in four hex digits, OKAY or FAIL, a shell's output until the
connection closes), and a phone behind it with two screens."""

from __future__ import annotations

import io
import shlex
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import Image

NODE = (
    '<node index="0" text="{text}" resource-id="" class="android.widget.{kind}" package="fake.app" content-desc="" '
    'checkable="false" checked="false" clickable="true" enabled="true" focusable="true" focused="{focused}" '
    'scrollable="false" long-clickable="false" password="false" selected="false" bounds="{bounds}"/>'
)


class FakePhone:
    """What the shell of a phone does; `commands` keeps all that were asked. `gone`: it hangs up on everybody.

    `restless`: the app in front never comes to rest. `turned`: the screen lies on its side. `dumped`: what is said of a
    dump, which is written only once it is said to be, and as `full` says not even then.
    """

    def __init__(self) -> None:
        self.commands: list[list[str]] = []
        self.opened = self.gone = self.restless = self.turned = self.keyboard = self.full = False
        self.text, self.dumped, self.files = "", "UI hierchary dumped to: {}\n", dict[str, str]()

    def shell(self, command: list[str]) -> bytes:
        self.commands.append(command)
        match command:
            case ["screencap", "-p"]:
                out = io.BytesIO()
                size = (200, 100) if self.turned else (100, 200)
                Image.new("RGB", size, (0, 90, 0) if self.opened else (255, 255, 255)).save(out, "PNG")
                return out.getvalue()
            case ["uiautomator", "dump", path]:
                answer = "ERROR: could not get idle state.\n" if self.restless else self.dumped.format(path)
                self.files |= {path: self.dump()} if "dumped to" in answer and not self.full else {}
                return answer.encode()
            case ["rm", "-f", path]:
                self.files.pop(path, None)
            case ["cat", path]:
                return self.files.get(path, f"cat: {path}: No such file or directory\n").encode()
            case ["dumpsys", *_]:
                return b"  topResumedActivity=ActivityRecord{1a2 u0 fake.app/.Main t7}\n"
            case ["pm", *_]:
                return b"package:com.android.adbkeyboard\n" if self.keyboard else b""
            case ["input", "tap", *_]:
                self.opened = True
            case ["input", "text", text]:
                self.text = text.replace("%s", " ")
        return b""

    def dump(self) -> str:
        button = NODE.format(text="Open", kind="Button", bounds="[0,0][100,50]", focused="false")
        field = NODE.format(text=self.text, kind="EditText", bounds="[0,60][100,100]", focused="true")
        return f'<hierarchy rotation="{int(self.turned)}">{field if self.opened else button}</hierarchy>'


class _Connection(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        phone: FakePhone = self.server.phone  # type: ignore[attr-defined]
        while length := self.rfile.read(4):
            command = self.rfile.read(int(length, 16)).decode()
            if phone.gone:
                return
            if command == "host:version":
                self.wfile.write(b"OKAY00040029")
                return
            if command == "host:devices":
                listed = b"fake-1\tdevice\n"
                self.wfile.write(b"OKAY" + f"{len(listed):04x}".encode() + listed)
                return
            if command.startswith("host:t"):
                if not command.endswith(("fake-1", "any")):
                    error = b"device not found"
                    self.wfile.write(b"FAIL" + f"{len(error):04x}".encode() + error)
                    return
                self.wfile.write(b"OKAY" + bytes(8))
            elif command.startswith("shell:"):
                self.wfile.write(b"OKAY" + phone.shell(shlex.split(command.removeprefix("shell:"))))
                return


@contextmanager
def fake_adb() -> Iterator[tuple[FakePhone, int]]:
    """The phone, and the port of its server on this machine."""
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Connection)
    server.daemon_threads = True
    server.phone = FakePhone()  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield server.phone, server.server_address[1]  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()
