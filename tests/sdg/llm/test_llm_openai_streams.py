"""Streams, floods and counts of tokens, read by the OpenAI client from a real server on the loopback."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sdg.llm.budget import BudgetedModel, BudgetSettings, Spent
from sdg.llm.model import BudgetExceeded, Message, ModelError, Unavailable
from sdg.llm.openai import client
from sdg.llm.openai.client import LARGE_BYTES, Flood, OpenAIModel, read_completion
from sdg.llm.openai.transport import MAX_BODY_BYTES
from sdg.llm.provider import ModelSettings
from sdg.llm.registry import build_unprotected
from tests.sdg.llm.chat_server import ASKED, Answer, Handler, Server, ask, chat, close, events, ok, piece, says, sends

USAGE = {
    "prompt_tokens": 900,
    "completion_tokens": 70,
    "prompt_tokens_details": {"cached_tokens": 800},
    "completion_tokens_details": {"reasoning_tokens": 64},
}


def test_a_stream_is_put_together_with_its_tokens(server: Server) -> None:
    body = events(
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
            handler.wfile.write(events(piece(text)))
            server.released.wait(0.15)
        handler.wfile.write(events(piece(reason="stop")))
        handler.close_connection = True

    completion, _ = ask(server, slowly, timeout_seconds=0.5, reply_seconds=20.0, retries=0)
    assert completion.text == "abcdef"


def test_line_separators_in_a_text_break_no_event(server: Server) -> None:
    raw = json.dumps(piece("one\u2028two\x85", "stop"), ensure_ascii=False)
    completion, _ = ask(server, sends(f"data:{raw}\r\n\r\n".encode()))
    assert completion.text == "one\u2028two\x85"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (events(piece("half of it")), "broke off in the middle"),
        (events(piece("half"), 'data: {"choices": [{"del'), "broke off in the middle"),
        (events(piece("half"), {"error": {"message": "overloaded"}}), "broke off: overloaded"),
        (events("data: [DONE]"), "without any choice"),
        (events(": only a ping"), "without any choice"),
    ],
)
def test_a_stream_that_breaks_off_is_asked_again(server: Server, body: bytes, message: str) -> None:
    error, pauses = ask(server, sends(body))
    assert message in str(error)
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
    parts = events({"choices": [{"delta": message, "finish_reason": "tool_calls"}]})
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
        read_completion(body)
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

    body = events(*[piece("x")] * 50, piece(reason="stop"))
    monkeypatch.setattr(client, "json", SimpleNamespace(loads=slowly, dumps=json.dumps))
    error, pauses = ask(server, sends(body), timeout_seconds=1.0, reply_seconds=1.0)
    assert "take too long" in str(error)
    assert (len(server.requests), pauses) == (1, [])


def hangs_up(body: bytes) -> Answer:
    def answer(handler: Handler, _: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body) + 9))
        handler.end_headers()
        handler.wfile.write(body)
        handler.close_connection = True

    return answer


HALF = (piece("def program"), {"choices": [], "usage": {"prompt_tokens": 4000, "completion_tokens": 1000}})
THOUGHTS = [{"choices": [{"delta": {"reasoning_content": "hm"}}]}] * 5000


@pytest.mark.parametrize("answer", [sends(events(*HALF)), hangs_up(events(*HALF)), sends(events(*THOUGHTS))])
def test_answers_that_break_off_are_charged_each(server: Server, answer: Answer, tmp_path: Path) -> None:
    server.script = [answer]
    place: dict[str, Any] = {"name": "tiny", "base_url": server.url, "timeout_seconds": 5.0, "ledger": tmp_path / "l"}
    model = build_unprotected(ModelSettings("openai", **place, budget=BudgetSettings(tokens=10_000), retries=5))
    with pytest.raises(BudgetExceeded):
        model.complete(ASKED)
    assert len(server.requests) == 2
    assert sum(json.loads(line)["tokens"] for line in (tmp_path / "l").read_text().splitlines()) >= 10_000


def test_a_question_may_not_take_longer_to_be_read_than_a_reply() -> None:
    picture = Message("user", "what is this?", (b"a" * 20_000_000,))
    done = threading.Event()

    def sip(listener: socket.socket) -> None:
        with listener.accept()[0] as connection, suppress(OSError):
            while connection.recv(100_000) and not done.wait(0.1):
                pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        reader = threading.Thread(target=sip, args=(listener,))
        reader.start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        model = OpenAIModel(ModelSettings(name="tiny", base_url=address, timeout_seconds=1.0, reply_seconds=1.0))
        began = time.monotonic()
        with pytest.raises(Unavailable, match=r"did not finish within 1 s"):
            model.complete([picture])
        assert time.monotonic() - began < 10
        done.set()
        close(model)
        reader.join()


def test_what_a_server_refuses_costs_nothing(server: Server) -> None:
    server.script = [says(429), says(503), ok]
    model = OpenAIModel(ModelSettings(name="tiny", base_url=server.url, timeout_seconds=5.0))
    counted = BudgetedModel(model, BudgetSettings(tokens=100))
    for _ in range(2):
        with pytest.raises(Unavailable):
            counted.complete(ASKED)
    assert counted.spending == Spent()
    assert counted.complete(ASKED).text == "hello"
    assert counted.spending.tokens == 10
    close(model)


def test_tokens_of_hundreds_of_digits_are_not_told(server: Server) -> None:
    completion, _ = ask(server, sends(chat(prompt_tokens=10**400, completion_tokens=3)))
    assert (completion.text, completion.prompt_tokens, completion.completion_tokens) == ("hello", 0, 3)


def test_a_reply_that_was_cut_off_says_so(server: Server) -> None:
    completion, _ = ask(server, sends(events(piece("def program", "length"))))
    assert completion.finish_reason == "length"


def test_one_model_is_asked_from_many_threads(server: Server) -> None:
    from sdg.llm.asking import in_order

    together = threading.Barrier(16)

    def when_all_are_there(handler: Handler, body: dict[str, Any]) -> None:
        together.wait(20)
        handler.reply(200, chat(body["messages"][0]["content"]))

    server.script = [when_all_are_there]
    model = OpenAIModel(ModelSettings(name="tiny", base_url=server.url, timeout_seconds=30.0))
    replies = in_order(lambda n: model.complete((Message("user", str(n)),)).text, range(16), at_once=16)
    assert list(replies) == [str(n) for n in range(16)]
    close(model)


def test_an_answer_of_millions_of_values_is_not_parsed() -> None:
    body = b'{"choices": [' + b"[]," * (1 << 20) + b'{"message": {"content": "hi"}}]}'
    with pytest.raises(Flood, match="too many values"):
        read_completion(body)


def test_a_long_answer_in_ordinary_pieces_is_no_flood() -> None:
    chunk = {"id": "c", "object": "chunk", "created": 1, "model": "m", "system_fingerprint": "f"} | piece("a ")
    body = events(*[chunk] * 64_000, piece(reason="stop"))
    assert read_completion(body).text == "a " * 64_000
    beside = events(piece("a"), 'data: {"choices": [' + "[]," * (1 << 20) + '{"delta": {}}]}', piece(reason="stop"))
    with pytest.raises(Flood, match="too many values"):
        read_completion(beside)
