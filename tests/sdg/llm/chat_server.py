"""A server on the loopback that speaks OpenAI's protocol by a script, and a question to it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sdg.llm.asking import RetryingModel
from sdg.llm.model import Message, ModelError, Sampling
from sdg.llm.openai.client import OpenAIModel
from sdg.llm.provider import ModelSettings

ASKED = (Message("user", "say something"),)
Answer = Callable[["Handler", dict[str, Any]], None]


class Handler(BaseHTTPRequestHandler):
    """Answers as the test's script says, the last answer again and again."""

    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, body, self.headers.get("Authorization", "")))
        script = self.server.script
        (script.pop(0) if len(script) > 1 else script[0])(self, body)

    def reply(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Silence."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Answer] = []
        self.requests: list[tuple[str, dict[str, Any], str]] = []
        self.released = threading.Event()

    def handle_error(self, *_: Any) -> None:
        """Clients that hang up are part of the tests."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


def chat(text: str | None = "hello", **usage: int) -> bytes:
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage}).encode()


def events(*pieces: dict[str, Any] | str) -> bytes:
    """Server-sent events; texts are sent as they stand."""
    lines = [piece if isinstance(piece, str) else f"data: {json.dumps(piece)}" for piece in pieces]
    return "\n\n".join([*lines, ""]).encode()


def piece(text: str = "", reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}]}


def ok(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(200, chat(prompt_tokens=7, completion_tokens=3))


def says(status: int, message: str = "no", **headers: str) -> Answer:
    error = json.dumps({"error": {"message": message}}).encode()
    return lambda handler, _: handler.reply(status, error, **headers)


def sends(body: bytes) -> Answer:
    return lambda handler, _: handler.reply(200, body)


def close(model: OpenAIModel) -> None:
    """Close a model's connections."""
    if model._client is not None:
        model._client.close()


def ask(
    server: Server, *script: Answer, sampling: Sampling = Sampling(), retries: int = 2, **settings: Any
) -> tuple[Any, list[float]]:
    """The completion or the error, and the pauses that were made."""
    server.script = list(script)
    pauses: list[float] = []
    model = OpenAIModel(ModelSettings(name="tiny", **({"base_url": server.url, "timeout_seconds": 5.0} | settings)))
    try:
        return RetryingModel(model, retries=retries, sleep=pauses.append).complete(ASKED, sampling=sampling), pauses
    except ModelError as error:
        return error, pauses
    finally:
        close(model)
