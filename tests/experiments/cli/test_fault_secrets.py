"""A key is never kept: not in journals, transcripts, caches, reports or messages, even when the server repeats it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sdg.llm.model import ModelError
from sdg.llm.registry import ModelSettings, build

CANARY = "canary.4711/NOT-a+usual=shape"
"""No pattern of keys fits it: only who knows the key can take it out."""

GOALS = """GOAL: say {key}

```python
def check():
    return "{key}" == "x"
```
"""


class _Echo(BaseHTTPRequestHandler):
    """Repeats the key that it was shown: in good answers, and every third time in an error."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        key = self.headers["Authorization"].removeprefix("Bearer ")
        self.server.count += 1  # type: ignore[attr-defined]
        failed = self.server.count % 3 == 0  # type: ignore[attr-defined]
        good = {"choices": [{"message": {"role": "assistant", "content": GOALS.format(key=key)}}]}
        body = json.dumps({"error": {"message": f"bad key {key}"}} if failed else good).encode()
        self.send_response(400 if failed else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    server.count = 0  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_canary_key_is_nowhere_in_a_run(url: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    said = ""
    environment = {**os.environ, "OPENAI_API_KEY": CANARY, "SDG_DEBUG": "1"}
    options = ["--config", "tiny", "--llm", "openai:echo", "--set", f"model.base_url={url}", "--out", str(folder)]
    for command in (["hypothesize", *options], ["report", str(folder)]):
        line = [sys.executable, "-m", "sdg", *command]
        done = subprocess.run(line, capture_output=True, text=True, env=environment)
        said += done.stdout + done.stderr
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {"transcript.jsonl", "hypotheses.jsonl", "report.html", "run.json"} <= {path.name for path in files}
    assert "[key]" in (folder / "transcript.jsonl").read_text("utf-8"), "the server did repeat it"
    assert [path.name for path in files if CANARY.encode() in path.read_bytes()] == []
    assert "HTTP 400" in said
    assert CANARY not in said


def test_an_address_with_a_password_is_refused_without_repeating_it() -> None:
    with pytest.raises(ModelError, match="must not hold a password") as caught:
        build(ModelSettings(kind="openai", name="x", base_url="http://me:hunter2@localhost/v1"))
    assert "hunter2" not in str(caught.value)
