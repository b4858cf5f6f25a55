"""Retries, transcript and replay, cache, budget and faults."""

from __future__ import annotations

import json
import multiprocessing
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest

from sdg.envs import files
from sdg.envs.files import compress_lines
from sdg.llm import transcript
from sdg.llm.asking import Retried, in_order
from sdg.llm.budget import Budgeted, BudgetLimits, Prices, Spent
from sdg.llm.cache import Cached
from sdg.llm.exchange import IMAGE_CHARS, tokens_of
from sdg.llm.model import BudgetExceeded, Completion, LanguageModel, Message, ModelError, Sampling, Unavailable
from sdg.llm.provider import ModelSettings
from sdg.llm.registry import build
from sdg.llm.secrets import hider
from sdg.llm.transcript import Recorded, Replayed, RepliedInTurn, entries
from tests.sdg.llm.faulty import MISTAKES, Faulty


class Scripted:
    """Answers with its replies in turn; an exception among them is raised."""

    def __init__(self, *replies: str | ModelError) -> None:
        self.replies = list(replies)
        self.calls = 0

    @property
    def name(self) -> str:
        return "scripted"

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        reply = self.replies[min(self.calls, len(self.replies) - 1)]
        self.calls += 1
        if isinstance(reply, ModelError):
            raise reply
        return Completion(reply, self.name, prompt_tokens=100, completion_tokens=10)


def ask(model: LanguageModel, text: str = "hi", *, seed: int = 0) -> str:
    return model.complete((Message("user", text),), sampling=Sampling(seed=seed)).text


def test_a_transcript_replays_what_was_said_in_order(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    recorded = Recorded(Scripted("one", "two", ModelError("down"), "four"), path)
    assert [ask(recorded), ask(recorded)] == ["one", "two"]
    with pytest.raises(ModelError, match="down"):
        ask(recorded, "other")
    ask(recorded, "hi", seed=5)
    replayed = Replayed(path)
    assert replayed.name == "scripted"
    assert [ask(replayed), ask(replayed), ask(replayed)] == ["one", "two", "two"]
    with pytest.raises(ModelError, match="down"):
        ask(replayed, "other")
    assert ask(replayed, "hi", seed=5) == "four"
    with pytest.raises(ModelError, match="has no reply"):
        ask(replayed, "never asked")


def test_replies_can_be_given_in_turn_whatever_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    recorded = Recorded(Scripted("one", "two", ModelError("down"), "four"), path)
    for seed in (0, 5, 0, 0):
        with suppress(ModelError):
            ask(recorded, f"hi {seed}", seed=seed)
    in_turn = RepliedInTurn(path)
    assert [ask(in_turn, "other words"), ask(in_turn, "more", seed=5)] == ["one", "two"]
    with pytest.raises(ModelError, match="down"):
        ask(in_turn, "other")
    assert ask(in_turn) == "four"
    with pytest.raises(ModelError, match="has 3 replies"):
        ask(in_turn)
    with pytest.raises(ModelError, match="has 0 replies"):
        ask(in_turn, seed=6)


def test_a_torn_last_line_is_passed_over_and_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    ask(Recorded(Scripted("one"), path))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    assert len(list(entries(path))) == 1
    ask(Recorded(Scripted("two"), path), "again")
    assert [entry["reply"]["text"] for entry in entries(path)] == ["one", "two"]
    assert path.read_bytes().startswith(whole)


def append_many(path: Path, who: int) -> None:
    recorded = Recorded(Scripted("reply " * 20_000), path)
    for number in range(20):
        ask(recorded, f"{who}/{number}", seed=who)


def test_processes_that_write_at_once_tear_no_line(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=append_many, args=(path, who)) for who in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    asked = [entry["messages"][0]["content"] for entry in entries(path)]
    assert sorted(asked) == sorted(f"{who}/{number}" for who in range(4) for number in range(20))
    for who in range(4):
        own = [each for each in asked if each.startswith(f"{who}/")]
        assert own == [f"{who}/{number}" for number in range(20)]


def test_who_asked_is_told_and_is_no_part_of_the_question(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    recorded = Recorded(Cached(Scripted("one", "two"), tmp_path / "replies.sqlite"), path)
    message = (Message("user", "hi"),)
    for stage in ("hypothesize", "solve"):
        assert recorded.complete(message, sampling=Sampling(stage=stage)).text == "one"
    assert [entry["stage"] for entry in entries(path)] == ["hypothesize", "solve"]
    assert len({entry["key"] for entry in entries(path)}) == 1
    assert ask(Replayed(path)) == "one"


HOSTILE = "go to the blue \ud800 key\u2028\n"


def test_a_compressed_transcript_is_read_and_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    texts = [f"{HOSTILE}{number}" for number in range(3)]
    ask(Recorded(Scripted("one"), path), texts[0])
    path.write_bytes(path.read_bytes() + b'{"schema":3,"torn')
    compress_lines(path)
    assert not path.exists()
    ask(Recorded(Scripted("two"), path), texts[1])
    assert [entry["messages"][0]["content"] for entry in entries(path)] == texts[:2]
    plain = path.read_bytes()
    compress_lines(path)
    path.write_bytes(plain)  # as a kill leaves it that came before the file was removed
    compress_lines(path)
    ask(Recorded(Scripted("three"), path), texts[2])
    for place in (path, path.with_name("transcript.jsonl.xz")):
        replayed = Replayed(place)
        assert [ask(replayed, text) for text in texts[:2]] == ["one", "two"]
    assert ask(Replayed(path), texts[2]) == "three"


def test_a_damaged_archive_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "transcript.jsonl"
    ask(Recorded(Scripted("one"), path))
    compress_lines(path)
    packed = tmp_path / "transcript.jsonl.xz"
    whole = packed.read_bytes()
    for data in (whole[:-9], b"no archive", whole[:40] + b"?" + whole[41:]):
        packed.write_bytes(data)
        with pytest.raises(ModelError, match="can't be read: it is a damaged archive"):
            Replayed(path)
    packed.write_bytes(whole)
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 200)
    with pytest.raises(ModelError, match=r"can't be read: it (unpacks to more|is too large)"):
        Replayed(path)


def test_lines_have_a_maximal_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "transcript.jsonl"
    ask(Recorded(Scripted("one" * 500), path))
    monkeypatch.setattr(transcript, "MAX_LINE_BYTES", 1000)
    with pytest.raises(ModelError, match=r"Line 1 of .* at most 1000 are read"):
        Replayed(path)
    before = path.read_bytes()
    with pytest.raises(ModelError, match="isn't recorded: at most 1000"):
        ask(Recorded(Scripted("two" * 500), path))
    assert path.read_bytes() == before


def test_a_transcript_of_another_schema_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    path.write_text('{"schema": 1, "key": "abc", "messages": [], "reply": {"text": "hi"}}\n')
    before = path.read_bytes()
    for use in (lambda: Replayed(path), lambda: ask(Recorded(Scripted("one"), path))):
        with pytest.raises(ModelError, match="has schema 1, this version's is 3: replay it with the version"):
            use()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "line",
    [
        '{"schema": 3}',
        '{"schema":3,"key":"k","messages":[{"role":"user","content":["x"]}],"reply":{"text":"x"}}',
        '{"schema":3,"key":"k","messages":[7],"reply":{"text":"x"}}',
        '{"schema":3,"key":"k","messages":[],"reply":{"text":[7]}}',
        "[7]",
        "[" * 50_000,
    ],
)
def test_a_broken_line_in_the_middle_is_an_error(tmp_path: Path, line: str) -> None:
    path = tmp_path / "transcript.jsonl"
    ask(Recorded(Scripted("one"), path))
    path.write_bytes(line.encode() + b"\n" + path.read_bytes())
    with pytest.raises(ModelError, match="Line 1"):
        Replayed(path)
    with pytest.raises(ModelError, match="can't be read"):
        Replayed(tmp_path / "missing.jsonl")


def test_files_that_are_links_are_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("my own last line")
    link = tmp_path / "link"
    link.symlink_to(victim)
    with pytest.raises(ModelError, match="it is a link"):
        ask(Recorded(Scripted("one"), link))
    with pytest.raises(ModelError, match="it is a link"):
        ask(Budgeted(Scripted("one"), BudgetLimits(tokens=9), prices=Prices(), ledger=link))
    assert victim.read_text() == "my own last line"


def test_keys_never_reach_the_transcript(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    recorded = Recorded(Scripted("my-own-key and sk-abcdefghijklmnop1234"), path, secrets=["my-own-key"])
    ask(recorded, "Bearer abcdefgh12345678 is what I send")
    said = path.read_text()
    assert "my-own-key" not in said
    assert "sk-abc" not in said
    assert "abcdefgh12345678" not in said
    assert said.count("[redacted]") == 3


KEY = "Canary/4711+not=usual"
DISGUISES = {
    "itself": KEY,
    "upper case": KEY.upper(),
    "cut short": KEY[:-1],
    "backwards": KEY[::-1],
    "spaced": " ".join(KEY),
    "percent": quote(KEY, safe=""),
    "hex": KEY.encode().hex(),
    **{f"base64 after {n}": b64encode(b"x" * n + KEY.encode() + b"y").decode() for n in range(4)},
    "urlsafe base64": urlsafe_b64encode(KEY.encode()).decode(),
}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_key_in_disguise_is_hidden_too(disguise: str) -> None:
    hidden = hider([KEY, ""], mark="[]")(f"before {DISGUISES[disguise]} after")
    assert "[]" in hidden
    assert len(hidden) <= len("before xxxx[]xxxx after")
    assert hider(["abc", ""], mark="[]")("abcdef") == "abcdef"


def test_a_transcript_that_cant_be_written_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="can't be written"):
        ask(Recorded(Scripted("one"), tmp_path / "no" / "such" / "folder.jsonl"))


def test_the_cache_answers_equal_questions_and_only_those(tmp_path: Path) -> None:
    inner = Scripted("one", "two", "three")
    cached = Cached(inner, tmp_path / "cache.sqlite")
    first = cached.complete((Message("user", "hi"),))
    second = Cached(inner, tmp_path / "cache.sqlite").complete((Message("user", "hi"),))
    assert (first.text, first.cached, second.text, second.cached) == ("one", False, "one", True)
    assert ask(cached, "hi", seed=1) == "two"
    assert ask(cached, "ho") == "three"
    assert inner.calls == 3


def test_failures_are_not_cached(tmp_path: Path) -> None:
    cached = Cached(Scripted(ModelError("down"), "up"), tmp_path / "cache.sqlite")
    with pytest.raises(ModelError, match="down"):
        ask(cached)
    assert ask(cached) == "up"


def test_a_damaged_cache_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "cache.sqlite").write_bytes(b"this is no database" * 100)
    with pytest.raises(ModelError, match="delete it"):
        Cached(Scripted("one"), tmp_path / "cache.sqlite")


def test_a_damaged_entry_is_asked_again(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "cache.sqlite"
    ask(Cached(Scripted("one"), path))
    connection = sqlite3.connect(path)
    connection.execute("UPDATE replies SET reply = '[1'")
    connection.commit()
    connection.close()
    assert ask(Cached(Scripted("two"), path)) == "two"


def test_the_budget_stops_before_the_call_that_would_overdraw_it_further(tmp_path: Path) -> None:
    inner = Scripted("one")
    model = Budgeted(inner, BudgetLimits(tokens=200), prices=Prices())
    ask(model)
    ask(model)
    with pytest.raises(BudgetExceeded, match="200 tokens"):
        ask(model)
    assert inner.calls == 2
    assert model.spent == Spent(220, 0.0)


def test_the_budget_of_time_stops_what_is_asked_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("sdg.llm.budget.time.monotonic", lambda: now[0])
    model = Budgeted(Scripted("one"), BudgetLimits(minutes=2), prices=Prices())
    ask(model)
    now[0] += 121
    with pytest.raises(BudgetExceeded, match="2 minutes"):
        ask(model)


def test_questions_under_way_wait_near_the_limit_and_not_before(tmp_path: Path) -> None:
    class Slow(Scripted):
        under_way, most = 0, 0

        def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            time.sleep(0.02)
            self.under_way -= 1
            return super().complete(messages, sampling=sampling)

    def spend(inner: Scripted, *, max_tokens: int) -> int:
        model = Budgeted(inner, BudgetLimits(tokens=5000), prices=Prices(), ledger=tmp_path / f"{max_tokens}.json")
        sampling = Sampling(max_tokens=max_tokens)
        questions = [(Message("user", f"question {n}"),) for n in range(64)]
        with pytest.raises(BudgetExceeded):
            list(in_order(lambda each: model.complete(each, sampling=sampling), questions, at_once=16))
        return model.spent.tokens

    careful, bold = Slow("one"), Slow("one")
    assert 5000 <= spend(careful, max_tokens=16_000) < 5000 + 110
    assert careful.most == 1
    assert 5000 <= spend(bold, max_tokens=110) < 5000 + 110
    assert bold.most > 8, "16 where the machine is quiet"


def test_money_is_counted_by_the_price_table(tmp_path: Path) -> None:
    model = Budgeted(Scripted("one"), BudgetLimits(money=0.0005), prices=Prices(prompt=3.0, completion=15.0))
    ask(model)
    assert model.spent.money == pytest.approx(0.00045)
    ask(model)
    with pytest.raises(BudgetExceeded, match=r"budget\.money"):
        ask(model)


def test_tokens_of_the_server_s_cache_have_a_price_of_their_own() -> None:
    assert Prices(prompt=10.0, completion=0.0).of(1000, 5, cached_tokens=900) == pytest.approx(0.01)
    assert Prices(prompt=10.0, completion=0.0, cached=1.0).of(1000, 5, cached_tokens=900) == pytest.approx(0.0019)


def test_tokens_are_a_quarter_of_the_characters_where_the_server_does_not_count() -> None:
    asked = (Message("user", "x" * 400), Message("user", "x" * 400, images=(b"png",)))
    assert tokens_of(asked, Completion("y" * 40, "")) == (200 + IMAGE_CHARS // 4 + 1, 11)
    assert tokens_of(asked, Completion("y" * 40, "", prompt_tokens=7, completion_tokens=3)) == (7, 3)


def test_a_ledger_outlives_the_process_and_a_torn_line(tmp_path: Path) -> None:
    ledger = tmp_path / "spent.jsonl"
    ask(Budgeted(Scripted("one"), BudgetLimits(tokens=500), prices=Prices(), ledger=ledger))
    with ledger.open("a") as file:
        file.write('{"tok')
    model = Budgeted(Scripted("one"), BudgetLimits(tokens=110), prices=Prices(), ledger=ledger)
    assert model.spent.tokens == 110
    with pytest.raises(BudgetExceeded):
        ask(model)


def test_cached_replies_cost_nothing(tmp_path: Path) -> None:
    settings = ModelSettings(cache=tmp_path / "c.sqlite", limits=BudgetLimits(tokens=1))
    model = build(settings)
    ask(model)
    ask(model)
    with pytest.raises(BudgetExceeded):
        ask(model, "something new")


GOALS = """\
Goal 1: find the red ball
```python
def check_1():
    return len(find_objects("red ball")) > 0
```
Goal 2: go to the red ball
```python
def check_2():
    return any(thing.facing for thing in find_objects("red ball"))
```"""
PROGRAM = """\
```python
def look_twice(thing):
    return find_thing(thing) or find_thing(thing)


def program():
    look_twice("red ball")
    go_next_to("red ball")
    pick_up("red ball")
```"""


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("text", [GOALS, PROGRAM])
def test_every_mistake_spoils_goals_and_programs(mistake: str, text: str) -> None:
    from random import Random

    spoilt = {MISTAKES[mistake](text, Random(seed)) for seed in range(8)}
    assert text not in spoilt
    assert MISTAKES[mistake]("", Random(0)) == "" or mistake == "prose around"


def test_mistakes_come_at_the_rate_and_are_repeatable() -> None:
    model = Faulty(Scripted(GOALS), rate=0.3, seed=4)
    texts = [ask(model, f"question {n}") for n in range(300)]
    assert 60 <= sum(text != GOALS for text in texts) <= 120
    again = Faulty(Scripted(GOALS), rate=0.3, seed=4)
    assert [ask(again, f"question {n}") for n in range(300)] == texts
    assert ask(Faulty(Scripted(GOALS), rate=0.0)) == GOALS
    assert "faults" in model.name
    with pytest.raises(ValueError, match="between 0 and 1"):
        Faulty(Scripted(GOALS), rate=1.5)


def test_the_fault_is_named_in_the_completion() -> None:
    completion = Faulty(Scripted(GOALS), rate=1.0).complete((Message("user", "hi"),))
    assert completion.extra["fault"] in MISTAKES


def test_a_recorded_run_is_replayed_word_for_word(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    recorded = Recorded(Faulty(build(ModelSettings(cache=tmp_path / "c.sqlite")), rate=0.5), path)
    texts = [ask(recorded, f"## Subgoals to translate\n```\n1. find the red ball number {n}\n```") for n in range(10)]
    replayed = build(ModelSettings("replay", transcript=path))
    assert [
        ask(replayed, f"## Subgoals to translate\n```\n1. find the red ball number {n}\n```") for n in range(10)
    ] == texts
    assert json.loads(path.read_text().splitlines()[-1])["model"].startswith("babylang (rule-based")


def test_what_is_unavailable_is_asked_again_with_growing_pauses() -> None:
    pauses: list[float] = []
    down = Unavailable("down")
    model = Retried(Scripted(down, down, down, "up"), retries=3, sleep=pauses.append)
    assert ask(model) == "up"
    assert 0.5 <= pauses[0] < 1.0 <= pauses[1] < 2.0 <= pauses[2] < 4.0
    again: list[float] = []
    with pytest.raises(ModelError, match=r"down Tried 3 times\."):
        ask(Retried(Scripted(down), retries=2, sleep=again.append))
    assert again == pauses[:2], "the jitter is the seed's"


def test_a_server_s_own_pause_is_kept_and_a_long_one_is_a_no() -> None:
    pauses: list[float] = []
    assert ask(Retried(Scripted(Unavailable("busy", 3.0), "up"), retries=1, sleep=pauses.append)) == "up"
    for error in (Unavailable("busy", 61.0), ModelError("no key"), BudgetExceeded("spent")):
        with pytest.raises(ModelError, match=str(error)):
            ask(Retried(Scripted(error), retries=9, sleep=pauses.append))
    assert pauses == [3.0]


def test_results_keep_their_order_and_errors_end_the_rest() -> None:
    begun: list[int] = []

    def work(number: int) -> int:
        begun.append(number)
        time.sleep(0.01 * (5 - number % 5))
        if number == 7:
            raise ValueError("seven")
        return number

    assert list(in_order(work, range(7), at_once=4)) == list(range(7))
    begun.clear()
    found = in_order(work, range(100), at_once=4)
    assert [next(found) for _ in range(7)] == list(range(7))
    with pytest.raises(ValueError, match="seven"):
        next(found)
    assert len(begun) < 20
