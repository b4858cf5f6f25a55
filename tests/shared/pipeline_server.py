"""An HTTP server on loopback that speaks OpenAI's protocol; the rule-based planner answers behind it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from sdg.llm.babylang.model import BabyLang
from sdg.llm.model import Message, Sampling


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        messages = [Message(turn["role"], turn["content"]) for turn in request["messages"]]
        reply = BabyLang().complete(messages, sampling=Sampling(seed=request.get("seed", 0)))
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": reply.text}}
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        body = {"id": "x", "object": "chat.completion", "created": 0, "model": request["model"], "choices": [choice]}
        data = json.dumps(body | {"usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.server.requests += 1  # type: ignore[attr-defined]

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def openai_server() -> Iterator[ThreadingHTTPServer]:
    """The server, running; its base URL is http://127.0.0.1:PORT/v1 and `requests` counts what it answered."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.requests = 0  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
