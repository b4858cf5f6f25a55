"""A key is never kept: not in journals, transcripts, caches, reports or messages, even when the server repeats it."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sdg.agents.agents import Task
from sdg.experiments.config.assembly import model_settings
from sdg.experiments.config.config import ConfigError, load
from sdg.experiments.play.episodes import EpisodeJob, run_jobs
from sdg.experiments.play.parent_model import answer
from sdg.experiments.play.players import ChatRecipe
from sdg.llm.model import ModelError
from sdg.llm.provider import ModelSettings
from sdg.llm.transcript import entries
from sdg.privacy.protector import build_model
from sdg.storage import Journal

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
    printed = ""
    environment = {**os.environ, "OPENAI_API_KEY": CANARY, "SDG_DEBUG": "1"}
    options = ["--config", "tiny", "--llm", "openai:echo", "--set", f"model.base_url={url}", "--out", str(folder)]
    for command in (["hypothesize", *options], ["report", str(folder)]):
        line = [sys.executable, "-m", "sdg", *command]
        done = subprocess.run(line, capture_output=True, text=True, env=environment)
        printed += done.stdout + done.stderr
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {"transcript.jsonl", "hypotheses.jsonl", "report.html", "run.json"} <= {path.name for path in files}
    assert "[key]" in (folder / "transcript.jsonl").read_text("utf-8"), "the server did repeat it"
    assert [path.name for path in files if CANARY.encode() in path.read_bytes()] == []
    assert "HTTP 400" in printed
    assert CANARY not in printed


SECRET_ADDRESSES = [
    "http://me:hunter2@localhost/v1",
    "https://gateway.example/v1?api_key=hunter2",
    "https://gateway.example/v1#hunter2",
    "https://gateway.example/sk-hunter2hunter2/v1",
    "https://gateway.example/hunter2hunter2hunter2hunter2/v1",
    "https://gateway.example/v1;key=sk-hunter2hunter2",
    "https://gateway.example/%73k-hunter2hunter2/v1",
]


@pytest.mark.parametrize("address", SECRET_ADDRESSES)
def test_an_address_with_a_key_is_refused_without_repeating_it(address: str, tmp_path: Path) -> None:
    config = tmp_path / "a.yaml"
    config.write_text(f"name: a\nmodel: {{kind: openai, name: x, base_url: '{address}'}}\n")
    plain = tmp_path / "b.yaml"
    plain.write_text("name: a\nmodel: {kind: openai, name: x}\n")
    for read in (
        lambda: build_model(ModelSettings(kind="openai", name="x", base_url=address)),
        lambda: load(config),
        lambda: load(plain, overlay=[f"model.base_url={address}"]),
    ):
        with pytest.raises((ModelError, ConfigError), match="set OPENAI_API_KEY") as caught:
            read()
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "address", ["localhost:8000", "file:///etc/passwd", "http://", "http://[1", "http://a/\x1b[2J"]
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ModelError, match="base_url is an address such as"):
        build_model(ModelSettings(kind="openai", name="x", base_url=address))


ELSEWHERE = "https://elsewhere.example/v1"


def settings_of(tmp_path: Path, address: str, *, overlay: tuple[str, ...] = ()) -> ModelSettings:
    config = tmp_path / "a.yaml"
    config.write_text(f"name: a\nmodel: {{kind: openai, name: x, base_url: '{address}'}}\n")
    return model_settings(load(config, overlay=overlay), tmp_path)


def test_a_key_goes_to_no_address_that_a_config_file_alone_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.delenv("SDG_TRUST_URL", raising=False)
    with pytest.raises(ModelError, match=r"SDG_TRUST_URL=https://elsewhere.example/v1") as caught:
        build_model(settings_of(tmp_path, ELSEWHERE))
    assert CANARY not in str(caught.value)
    for address in ("http://localhost.elsewhere.example/v1", "http://127.0.0.1.elsewhere.example/v1"):
        assert not settings_of(tmp_path, address).trusted
    for address in ("http://localhost:1/v1", "http://127.0.0.1:1/v1", "http://[::1]/v1"):
        assert settings_of(tmp_path, address).trusted


def test_the_user_s_own_word_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    build_model(settings_of(tmp_path, "http://other.example/v1", overlay=(f"model.base_url={ELSEWHERE}",)))
    monkeypatch.setenv("SDG_TRUST_URL", f"http://a.example {ELSEWHERE}")
    build_model(settings_of(tmp_path, ELSEWHERE))
    monkeypatch.delenv("SDG_TRUST_URL")
    monkeypatch.delenv("OPENAI_API_KEY")
    build_model(settings_of(tmp_path, ELSEWHERE))  # there is nothing to send


def test_no_job_holds_the_key_and_its_worker_asks_the_parent(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is reached and the transcript written although the process that plays has neither network nor key."""
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    recipe = ChatRecipe(replace(settings_of(tmp_path, url), retries=0))
    job = EpisodeJob(recipe, Task("GoToObj", 1))
    assert CANARY.encode() not in pickle.dumps(job)
    with pytest.raises(ModelError, match="HTTP 400"):  # the third answer
        run_jobs([job], journal=Journal(tmp_path / "episodes.jsonl"))
    assert len(list(entries(tmp_path / "transcript.jsonl"))) == 3
    assert CANARY not in (tmp_path / "transcript.jsonl").read_text()


@pytest.mark.parametrize(
    "request_",
    [
        None,
        1,
        {},
        {"messages": [], "sampling": {}, "model": "x"},
        {"messages": [{"role": "tool", "content": ""}], "sampling": {}},
        {"messages": [{"role": "user", "content": 1}], "sampling": {}},
        {"messages": [], "sampling": {"seed": "x"}},
        {"messages": 7, "sampling": {}},
        {"messages": [{}], "sampling": {}},
    ],
)
def test_what_is_no_conversation_is_no_question(request_: Any) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        answer(ModelSettings(), request_)
