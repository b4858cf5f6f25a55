"""The OpenAI client against a real server on the loopback that speaks the protocol and misbehaves."""

from __future__ import annotations

import contextlib
import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from sdg.llm.asking import Retried
from sdg.llm.model import Message, ModelError, Sampling
from sdg.llm.openai import client
from sdg.llm.openai.client import LARGE_BYTES, Endpoint, Flood, OpenAIModel, read_answer
from sdg.llm.openai.transport import MAX_BODY_BYTES, MAX_ERROR_BYTES

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


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def without_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def chat(text: str | None = "hello", **usage: int) -> bytes:
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage}).encode()


def streamed(*pieces: dict[str, Any] | str) -> bytes:
    """Server-sent events; texts are sent as they stand."""
    told = [piece if isinstance(piece, str) else f"data: {json.dumps(piece)}" for piece in pieces]
    return "\n\n".join([*told, ""]).encode()


def piece(text: str = "", reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}]}


def ok(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(200, chat(prompt_tokens=7, completion_tokens=3))


def says(status: int, message: str = "no", **headers: str) -> Answer:
    return lambda handler, body: handler.reply(status, json.dumps({"error": {"message": message}}).encode(), **headers)


def sends(body: bytes) -> Answer:
    return lambda handler, _: handler.reply(200, body)


def ask(
    server: Server, *script: Answer, sampling: Sampling = Sampling(), retries: int = 2, **settings: Any
) -> tuple[Any, list[float]]:
    """The completion or the error, and the pauses that were made."""
    server.script = list(script)
    pauses: list[float] = []
    model = OpenAIModel(Endpoint("tiny", base_url=server.url, **({"timeout_seconds": 5.0} | settings)))
    try:
        return Retried(model, retries=retries, sleep=pauses.append).complete(ASKED, sampling=sampling), pauses
    except ModelError as error:
        return error, pauses
    finally:
        model.close()


def test_a_completion_with_its_tokens_needs_no_key(server: Server) -> None:
    completion, pauses = ask(server, ok, sampling=Sampling(temperature=0.5, seed=9, max_tokens=11))
    assert (completion.text, completion.prompt_tokens, completion.completion_tokens) == ("hello", 7, 3)
    path, body, _ = server.requests[0]
    assert path == "/v1/chat/completions"
    assert body == {"model": "tiny", "messages": [{"role": "user", "content": "say something"}],
                    "max_completion_tokens": 11, "temperature": 0.5, "seed": 9, "stream": True,
                    "stream_options": {"include_usage": True}}  # fmt: skip
    assert pauses == []


def test_the_key_comes_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-environment")
    ask(server, ok)
    assert [request[2] for request in server.requests] == ["Bearer from-environment"]


def test_a_refused_key_is_not_tried_again_and_never_shown(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key-123")
    error, pauses = ask(server, says(401, "Incorrect API key: secret-key-123"))
    assert "HTTP 401" in str(error)
    assert "OPENAI_API_KEY" in str(error)
    assert "secret-key-123" not in str(error)
    assert len(server.requests) == 1
    assert pauses == []


def test_a_rate_limit_waits_as_long_as_the_server_asks(server: Server) -> None:
    completion, pauses = ask(server, says(429, Retry_After="3"), ok)
    assert completion.text == "hello"
    assert pauses == [3.0]
    error, pauses = ask(server, says(429, Retry_After="9999"))
    assert "quota" in str(error)
    assert pauses == []
    completion, pauses = ask(server, says(503, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"), ok)
    assert pauses == [0.0]


def test_faults_of_the_server_are_retried_with_growing_pauses(server: Server) -> None:
    error, pauses = ask(server, says(500, "boom"), retries=3)
    assert "HTTP 500 (boom)" in str(error)
    assert "Tried 4 times" in str(error)
    assert len(pauses) == 3
    assert pauses[0] < pauses[1] < pauses[2]
    completion, _ = ask(server, says(502), says(500), ok)
    assert completion.text == "hello"


def test_a_quota_that_is_used_up_is_not_tried_again(server: Server) -> None:
    error, _ = ask(server, says(429, "You exceeded your quota: insufficient_quota"))
    assert "raise the quota" in str(error)
    assert len(server.requests) == 1


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"choices": []}', b'{"choices": [{}]}', b"[" * 50_000])
def test_an_answer_without_a_choice_is_retried_and_then_an_error(server: Server, body: bytes) -> None:
    error, _ = ask(server, sends(body))
    assert isinstance(error, ModelError)
    assert "tiny" in str(error)
    assert len(server.requests) == 3
    completion, _ = ask(server, sends(body), ok)
    assert completion.text == "hello"


def test_an_empty_message_is_an_empty_reply(server: Server) -> None:
    completion, _ = ask(server, sends(chat(None)))
    assert completion.text == ""


def test_invalid_utf8_is_read_as_well_as_it_can_be(server: Server) -> None:
    completion, _ = ask(server, sends(chat("caf@").replace(b"@", b"\xff\xfe")))
    assert completion.text == "caf��"


def test_a_server_that_hangs_is_left_after_the_timeout(server: Server) -> None:
    began = time.monotonic()
    error, _ = ask(server, lambda handler, _: server.released.wait(20) and None, timeout_seconds=0.3, retries=1)
    assert "did not answer within 0.3 s" in str(error)
    assert time.monotonic() - began < 5


def test_a_body_that_trickles_is_left_after_the_timeout(server: Server) -> None:
    def trickle(handler: Handler, _: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        while not server.released.wait(0.05):
            handler.wfile.write(b" ")

    error, _ = ask(server, trickle, timeout_seconds=0.4, reply_seconds=0.4, retries=0)
    assert "did not finish within 0.4 s" in str(error)


def test_a_body_that_is_cut_off_is_retried(server: Server) -> None:
    def cut(handler: Handler, _: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"choices": [')
        handler.close_connection = True

    completion, _ = ask(server, cut, ok)
    assert completion.text == "hello"
    error, _ = ask(server, cut)
    assert "can't be reached" in str(error)


def test_a_huge_body_is_not_read_to_its_end(server: Server) -> None:
    error, _ = ask(server, sends(chat("x" * MAX_BODY_BYTES)))
    assert "longer than" in str(error)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_question_is_not_sent_on_to_another_address(
    server: Server, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    onward = {"Location": f"{server.url}/elsewhere".replace("127.0.0.1", "localhost")}
    error, _ = ask(server, lambda handler, _: handler.reply(status, b"", **onward), ok)
    assert "sends on to another address" in str(error)
    assert len(server.requests) == 1


def test_a_failure_that_never_ends_is_read_to_a_bound(server: Server) -> None:
    sent: list[int] = []

    def endless(handler: Handler, _: dict[str, Any]) -> None:
        handler.send_response(400)
        handler.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(1000):
                sent.append(handler.wfile.write(b"x" * MAX_ERROR_BYTES))
        handler.close_connection = True

    error, _ = ask(server, endless)
    assert "HTTP 400" in str(error)
    assert len(sent) < 500, "the connection is closed"


def test_a_failure_that_drips_ends_with_the_time_for_a_reply(server: Server) -> None:
    def drip(handler: Handler, _: dict[str, Any]) -> None:
        handler.send_response(400)
        handler.end_headers()
        with contextlib.suppress(OSError):
            while not server.released.wait(0.05):
                handler.wfile.write(b"x")
        handler.close_connection = True

    server.script = [drip]
    began = time.monotonic()
    with pytest.raises(ModelError, match="HTTP 400"):
        OpenAIModel(Endpoint("tiny", server.url, timeout_seconds=0.5, reply_seconds=0.5)).complete(ASKED)
    assert time.monotonic() - began < 5


def test_nothing_is_unpacked(server: Server) -> None:
    packed = gzip.compress(b" " * 2**24 + chat("hello"))
    error, _ = ask(server, lambda handler, _: handler.reply(200, packed, Content_Encoding="gzip"))
    assert isinstance(error, ModelError)


def test_nobody_at_the_address(server: Server) -> None:
    pauses: list[float] = []
    model = OpenAIModel(Endpoint("tiny", base_url="http://127.0.0.1:9/v1"))
    with pytest.raises(ModelError, match="is the server running"):
        Retried(model, retries=1, sleep=pauses.append).complete(ASKED)
    model.close()
    assert len(pauses) == 1


def test_a_wrong_name_says_what_to_check(server: Server) -> None:
    error, _ = ask(server, says(404, "model not found"))
    assert "model's name and base_url" in str(error)


def picky(*refused: str) -> Answer:
    def answer(handler: Handler, body: dict[str, Any]) -> None:
        bad = [name for name in refused if name in body]
        (says(400, f"Unsupported parameter: {bad[0]}") if bad else ok)(handler, body)

    return answer


def test_parameters_that_a_server_refuses_are_left_out_from_then_on(server: Server) -> None:
    server.script = [picky("stream_options", "stream", "max_completion_tokens", "max_tokens", "seed", "temperature")]
    model = OpenAIModel(Endpoint("tiny", base_url=server.url, timeout_seconds=5.0))
    model.complete(ASKED, sampling=Sampling(max_tokens=5))
    model.complete(ASKED, sampling=Sampling(max_tokens=5))
    model.close()
    assert len(server.requests) == 8
    assert set(server.requests[-1][1]) == {"model", "messages"}


def test_max_tokens_is_sent_where_its_new_name_is_refused(server: Server) -> None:
    completion, _ = ask(server, picky("max_completion_tokens"), sampling=Sampling(max_tokens=5))
    assert completion.text == "hello"
    assert server.requests[-1][1]["max_tokens"] == 5
    assert "max_completion_tokens" not in server.requests[-1][1]


def test_any_other_bad_request_is_an_error_at_once(server: Server) -> None:
    error, _ = ask(server, says(400, "context length exceeded"))
    assert "fits the model's context" in str(error)
    assert len(server.requests) == 1


USAGE = {
    "prompt_tokens": 900,
    "completion_tokens": 70,
    "prompt_tokens_details": {"cached_tokens": 800},
    "completion_tokens_details": {"reasoning_tokens": 64},
}


def test_a_stream_is_put_together_with_its_tokens(server: Server) -> None:
    body = streamed(
        ": ping", "event: x", piece("Goal"), piece(" 1:\nfind"), piece(" it", "stop"), {"choices": [], "usage": USAGE},
        "data: [DONE]", "data: after the end",
    )  # fmt: skip
    completion, pauses = ask(server, sends(body))
    assert completion.text == "Goal 1:\nfind it"
    assert (completion.prompt_tokens, completion.cached_tokens) == (900, 800)
    assert (completion.completion_tokens, completion.reasoning_tokens) == (70, 64)
    assert (completion.finish_reason, pauses) == ("stop", [])


def test_a_stream_may_last_longer_than_any_silence_in_it(server: Server) -> None:
    def slowly(handler: Handler, _: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("Connection", "close")
        handler.end_headers()
        for text in "abcdef":
            handler.wfile.write(streamed(piece(text)))
            server.released.wait(0.15)
        handler.wfile.write(streamed(piece(reason="stop")))
        handler.close_connection = True

    completion, _ = ask(server, slowly, timeout_seconds=0.5, reply_seconds=20.0, retries=0)
    assert completion.text == "abcdef"


def test_line_separators_in_a_text_break_no_event(server: Server) -> None:
    raw = json.dumps(piece("one\u2028two\x85", "stop"), ensure_ascii=False)
    completion, _ = ask(server, sends(f"data:{raw}\r\n\r\n".encode()))
    assert completion.text == "one\u2028two\x85"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (streamed(piece("half of it")), "broke off in the middle"),
        (streamed(piece("half"), 'data: {"choices": [{"del'), "broke off in the middle"),
        (streamed(piece("half"), {"error": {"message": "overloaded"}}), "broke off (overloaded)"),
        (streamed("data: [DONE]"), "without any choice"),
        (streamed(": only a ping"), "without any choice"),
    ],
)
def test_a_stream_that_breaks_off_is_asked_again(server: Server, body: bytes, told: str) -> None:
    error, pauses = ask(server, sends(body))
    assert told in str(error)
    assert len(pauses) == 2
    completion, _ = ask(server, sends(body), ok)
    assert completion.text == "hello"


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": None, "tool_calls": [{"function": {"name": "run", "arguments": "{}"}}]}, ""),
        ({"content": "", "refusal": "I won't."}, "I won't."),
        ({"content": [{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]}, "in parts"),
        ({"content": "said", "reasoning_content": "thought"}, "said"),
        ({"content": 7}, ""),
    ],
)
def test_what_stands_in_an_unusual_message(server: Server, message: dict[str, Any], text: str) -> None:
    whole = json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).encode()
    parts = streamed({"choices": [{"delta": message, "finish_reason": "tool_calls"}]})
    for body in (whole, parts):
        completion, _ = ask(server, sends(body))
        assert (completion.text, completion.finish_reason) == (text, "tool_calls")


FLOODS = {
    "newlines": (b"data:\n", b"\n"),
    "empty pieces": (b"", b"data: \n"),
    "comments": (b"", b":\n"),
    "a line of blanks": (b"data:", b" "),
    "blanks": (b"", b" "),
    "no pieces": (b"", b"data: 1\n"),
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_that_is_no_answer_is_read_in_a_moment_and_not_asked_for_again(server: Server, name: str) -> None:
    beginning, rest = FLOODS[name]
    body = beginning + rest * (MAX_BODY_BYTES // len(rest) - 9)
    began = time.process_time()
    with pytest.raises(Flood):
        read_answer(body)
    assert time.process_time() - began < 15.0, "32 MB of lines took minutes"
    error, pauses = ask(server, sends(body[: LARGE_BYTES + 1]))
    assert isinstance(error, ModelError)
    assert "tiny" in str(error)
    assert (len(server.requests), pauses) == (1, [])


def test_the_time_for_a_reply_covers_its_reading(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    read = client.json.loads

    def slowly(text: str) -> Any:
        time.sleep(0.1)
        return read(text)

    body = streamed(*[piece("x")] * 50, piece(reason="stop"))
    monkeypatch.setattr(client, "json", SimpleNamespace(loads=slowly, dumps=json.dumps))
    error, pauses = ask(server, sends(body), timeout_seconds=1.0, reply_seconds=1.0)
    assert "take too long" in str(error)
    assert (len(server.requests), pauses) == (1, [])


def test_tokens_of_hundreds_of_digits_are_not_told(server: Server) -> None:
    completion, _ = ask(server, sends(chat(prompt_tokens=10**400, completion_tokens=3)))
    assert (completion.text, completion.prompt_tokens, completion.completion_tokens) == ("hello", 0, 3)


def test_a_reply_that_was_cut_off_says_so(server: Server) -> None:
    completion, _ = ask(server, sends(streamed(piece("def program", "length"))))
    assert completion.finish_reason == "length"


def test_one_model_is_asked_from_many_threads(server: Server) -> None:
    from sdg.llm.asking import in_order

    together = threading.Barrier(16)

    def when_all_are_there(handler: Handler, body: dict[str, Any]) -> None:
        together.wait(20)
        handler.reply(200, chat(body["messages"][0]["content"]))

    server.script = [when_all_are_there]
    model = OpenAIModel(Endpoint("tiny", base_url=server.url, timeout_seconds=30.0))
    said = in_order(lambda n: model.complete((Message("user", str(n)),)).text, range(16), at_once=16)
    assert list(said) == [str(n) for n in range(16)]
    model.close()
