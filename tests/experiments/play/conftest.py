"""A server of pages for tasks."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A folder of pages and the address of a server of it."""
    folder = tmp_path_factory.mktemp("site")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, directory=str(folder), **options)

        def do_GET(self) -> None:
            if self.path.startswith("/leads-to/"):
                self.send_response(302)
                self.send_header("Location", "http://" + self.path.removeprefix("/leads-to/"))
                self.end_headers()
                return
            super().do_GET()

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", folder
    server.shutdown()
    server.server_close()
