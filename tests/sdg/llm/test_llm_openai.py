"""The OpenAI client against a real server on the loopback that speaks the protocol and misbehaves."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import time
from collections.abc import Callable
from typing import Any

import pytest

from sdg.llm.asking import RetryingModel
from sdg.llm.model import Message, ModelError, Sampling
from sdg.llm.openai import client
from sdg.llm.openai.client import OpenAIModel
from sdg.llm.openai.transport import MAX_BODY_BYTES, MAX_ERROR_BYTES
from sdg.llm.provider import ModelSettings
from sdg.llm.registry import build_unprotected
from tests.sdg.llm.chat_server import ASKED, Answer, Handler, Server, ask, chat, close, ok, says, sends


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


@pytest.mark.parametrize("around", ["{}\r\n", "\n{}\n\n", " {} "])
def test_a_key_may_have_line_breaks_around_it(server: Server, monkeypatch: pytest.MonkeyPatch, around: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", around.format("from-environment"))
    ask(server, ok)
    assert [request[2] for request in server.requests] == ["Bearer from-environment"]


@pytest.mark.parametrize("key", ["gsk-abcdefgh #comment", "gsk-abcd\r\nefgh", "gsk-abcdefgh\x00", "gsk-äbcdefgh"])
def test_a_key_that_no_request_can_carry_is_refused_without_it(
    server: Server, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr(os, "environ", {**os.environ, "OPENAI_API_KEY": key})  # which could hold no NUL
    with pytest.raises(ModelError, match="OPENAI_API_KEY has a blank, a line break or a letter") as error:
        ask(server, ok)
    assert "gsk" not in str(error.value)
    assert server.requests == []


@pytest.mark.parametrize("form", ["bad {}", '{{"detail": "{}"}}', "<html>{}</html>"])
@pytest.mark.parametrize("escape", ["\\u{:04x}", "&#{};", "&#x{:x};"])
def test_a_key_that_a_server_escapes_is_hidden(
    server: Server, monkeypatch: pytest.MonkeyPatch, form: str, escape: str
) -> None:
    key = "AIzaSy" + "x1" * 11
    monkeypatch.setenv("OPENAI_API_KEY", key)
    body = form.format("".join(escape.format(ord(letter)) for letter in key)).encode()
    error, _ = ask(server, lambda handler, _: handler.reply(401, body))
    assert "[key]" in str(error)


@pytest.mark.parametrize("key", ["", "sk-own-1234567890"])
@pytest.mark.parametrize("name", ["Authorization", "authorization", "X-Secret"])
def test_nothing_else_of_the_environment_is_sent(
    server: Server, monkeypatch: pytest.MonkeyPatch, key: str, name: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"{name}: Bearer token-4711-token")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-4711")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-4711")
    sent: list[str] = []

    def keep_headers(handler: Handler, body: dict[str, Any]) -> None:
        sent.append(str(handler.headers))
        ok(handler, body)

    ask(server, keep_headers)
    assert "4711" not in sent[0]
    assert [request[2] for request in server.requests] == [f"Bearer {key or 'none'}"]
    if not key:  # then OpenAI itself isn't asked at all, see below
        return
    monkeypatch.setattr(client, "OWN_ADDRESS", server.url)
    ask(server, keep_headers, base_url=None)
    assert "token" not in sent[1]
    assert ("org-4711" in sent[1], "proj-4711" in sent[1]) == (True, True), "OpenAI is told whose account it is"


def test_an_address_of_the_environment_s_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1?key=hunter2")
    with pytest.raises(ModelError, match=r"--set model\.base_url=") as caught:
        build_unprotected(ModelSettings(kind="openai", name="x"))
    assert "hunter2" not in str(caught.value)
    build_unprotected(ModelSettings(kind="openai", name="x", base_url="http://127.0.0.1:9/v1"))


def test_openai_itself_is_not_asked_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdg.llm.openai.client.OWN_ADDRESS", "http://127.0.0.1:9/v1")
    model = build_unprotected(ModelSettings(kind="openai", name="x", retries=0))
    with pytest.raises(ModelError, match=r"needs a key: set OPENAI_API_KEY, or model\.base_url for another server"):
        model.complete((Message("user", "hi"),))


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


@pytest.mark.parametrize(
    "date", ["01 Jan 99999999999 00:00:00 GMT", "01 Jan 9999 00:00:00 -0000", "01 Jan 1 0:0:0 +2400", "9 9 9", "Mon,"]
)
def test_a_date_that_no_calendar_has_is_no_date(server: Server, date: str) -> None:
    completion, pauses = ask(server, says(503, Retry_After=date), ok)
    assert completion.text == "hello"
    assert len(pauses) == 1


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


@pytest.mark.parametrize(
    ("first", "more"),
    [
        (b"HTTP/1.1 200 OK\r\nX-A: ", b"a"),
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X-A: b\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"a"),
    ],
    ids=["headers", "hints", "trailers", "extensions"],
)
def test_what_surrounds_a_body_may_not_last_longer_than_a_reply(server: Server, first: bytes, more: bytes) -> None:
    def drip(handler: Handler, _: dict[str, Any]) -> None:
        handler.wfile.write(first)
        while not server.released.wait(0.05):
            handler.wfile.write(more)

    began = time.monotonic()
    error, _ = ask(server, drip, timeout_seconds=0.6, reply_seconds=0.6, retries=0)
    assert "did not finish within 0.6 s" in str(error)
    assert time.monotonic() - began < 10


def test_a_silence_that_outlasts_the_reply_s_time_ends_with_it(server: Server) -> None:
    def drip(handler: Handler, _: dict[str, Any]) -> None:
        server.released.wait(0.5)
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-A: ")
        server.released.wait(20)

    began = time.monotonic()
    error, _ = ask(server, drip, timeout_seconds=1.0, reply_seconds=1.0, retries=0)
    assert "did not finish within 1 s" in str(error)
    assert time.monotonic() - began < 10


def test_half_letters_of_a_reply_are_no_fault_of_the_next_question(server: Server) -> None:
    body = b'{"choices": [{"message": {"content": "a\\ud800b"}, "finish_reason": "stop"}]}'
    completion, _ = ask(server, sends(body))
    assert completion.text == "a?b"


def test_a_key_is_hidden_in_the_reason_before_that_is_cut(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "AIzaSy" + "x1" * 22
    monkeypatch.setenv("OPENAI_API_KEY", key)
    answer = {"choices": [{"message": {"content": "x"}, "finish_reason": key}]}
    completion, _ = ask(server, sends(json.dumps(answer).encode()))
    assert completion.finish_reason == "[key]"


@pytest.mark.parametrize("status", [500, 200])
@pytest.mark.parametrize("disguise", [str, str.upper, " ".join, lambda key: key.encode().hex()])
def test_a_key_is_hidden_where_an_error_is_cut_within_it(
    server: Server, monkeypatch: pytest.MonkeyPatch, status: int, disguise: Callable[[str], str]
) -> None:
    key = "AIzaSy" + "x1" * 22
    monkeypatch.setenv("OPENAI_API_KEY", key)
    message = "-" * 270 + disguise(key)
    body = json.dumps({"error": {"message": message}}).encode()
    error, _ = ask(server, sends(b"data: " + body + b"\n\n") if status == 200 else says(500, message), retries=0)
    assert "[key]" in str(error)
    assert disguise(key)[:8] not in str(error)


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
    settings = ModelSettings(name="tiny", base_url=server.url, timeout_seconds=0.5, reply_seconds=0.5)
    began = time.monotonic()
    with pytest.raises(ModelError, match="HTTP 400"):
        OpenAIModel(settings).complete(ASKED)
    assert time.monotonic() - began < 5


def test_nothing_is_unpacked(server: Server) -> None:
    packed = gzip.compress(b" " * 2**24 + chat("hello"))
    error, _ = ask(server, lambda handler, _: handler.reply(200, packed, Content_Encoding="gzip"))
    assert isinstance(error, ModelError)


def test_nobody_at_the_address(server: Server) -> None:
    pauses: list[float] = []
    model = OpenAIModel(ModelSettings(name="tiny", base_url="http://127.0.0.1:9/v1"))
    with pytest.raises(ModelError, match="is the server running"):
        RetryingModel(model, retries=1, sleep=pauses.append).complete(ASKED)
    close(model)
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
    server.script = [picky("stream_options", "stream", "max_completion_tokens", "seed", "temperature")]
    model = OpenAIModel(ModelSettings(name="tiny", base_url=server.url, timeout_seconds=5.0))
    with pytest.warns(UserWarning, match="refuses seed, temperature: its replies are drawn in its own way"):
        model.complete(ASKED, sampling=Sampling(max_tokens=5))
    assert model.complete(ASKED, sampling=Sampling(max_tokens=5)).extra == {"left_out": "seed, temperature"}
    close(model)
    assert len(server.requests) == 7
    assert set(server.requests[-1][1]) == {"model", "messages", "max_tokens"}


@pytest.mark.parametrize("status", [400, 422])
def test_a_question_that_is_refused_for_itself_changes_no_other(server: Server, status: int) -> None:
    refusal = says(status, "Too long, max_tokens or max_completion_tokens is too large. You asked: temperature, seed?")

    def refuse_long(handler: Handler, body: dict[str, Any]) -> None:
        answer = refusal if body["messages"][0]["content"] == "long" else ok
        answer(handler, body)

    server.script = [refuse_long]
    model = OpenAIModel(ModelSettings(name="tiny", base_url=server.url, timeout_seconds=5.0))
    with pytest.raises(ModelError, match="Too long"):
        model.complete([Message("user", "long")])
    assert all(body.keys() & {"max_tokens", "max_completion_tokens"} for _, body, _ in server.requests)
    assert model.complete(ASKED).extra == {}
    close(model)
    assert {"max_completion_tokens", "temperature", "seed", "stream"} <= server.requests[-1][1].keys()


def test_max_tokens_is_sent_where_its_new_name_is_refused(server: Server) -> None:
    completion, _ = ask(server, picky("max_completion_tokens"), sampling=Sampling(max_tokens=5))
    assert completion.text == "hello"
    assert server.requests[-1][1]["max_tokens"] == 5
    assert "max_completion_tokens" not in server.requests[-1][1]


def test_any_other_bad_request_is_an_error_at_once(server: Server) -> None:
    error, _ = ask(server, says(400, "context length exceeded"))
    assert "fits the model's context" in str(error)
    assert len(server.requests) == 1


@pytest.mark.parametrize("error", [{"param": "temperature"}, {"message": "temperature is fixed", "param": None}])
def test_of_a_question_that_is_echoed_only_what_is_refused_is_left_out(server: Server, error: dict[str, Any]) -> None:
    def refuse(handler: Handler, body: dict[str, Any]) -> None:
        said = json.dumps({"error": {"message": "No."} | error, "asked": body}).encode()
        handler.reply(400, said) if "temperature" in body else ok(handler, body)

    server.script = [refuse]
    model = OpenAIModel(ModelSettings(name="tiny", base_url=server.url, timeout_seconds=5.0))
    with pytest.warns(UserWarning, match="refuses temperature: "):
        assert model.complete(ASKED).extra == {"left_out": "temperature"}
    close(model)
    assert {"max_completion_tokens", "seed", "stream", "stream_options"} <= server.requests[-1][1].keys()


def test_what_is_refused_for_something_else_is_asked_once(server: Server) -> None:
    said = json.dumps({"error": {"message": "stream or seed them", "param": "messages"}}).encode()
    error, _ = ask(server, lambda handler, body: handler.reply(400, said))
    assert "stream or seed them" in str(error)
    assert len(server.requests) == 1
