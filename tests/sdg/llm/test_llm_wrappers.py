"""Transcript and replay, cache, budget, faults and the registry."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Sequence
from pathlib import Path

import pytest

from sdg.llm.budget import Budgeted, Limits, Prices, Spent
from sdg.llm.cache import Cached
from sdg.llm.faulty import MISTAKES, Faulty
from sdg.llm.model import BudgetExceeded, Completion, LanguageModel, Message, ModelError, Sampling
from sdg.llm.registry import FACTORIES, ModelSettings, build
from sdg.llm.transcript import Recorded, Replayed, entries


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


def test_a_broken_line_in_the_middle_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    ask(Recorded(Scripted("one"), path))
    path.write_bytes(b'{"schema": 1}\n' + path.read_bytes())
    with pytest.raises(ModelError, match="Line 1"):
        Replayed(path)
    with pytest.raises(ModelError, match="can't be read"):
        Replayed(tmp_path / "missing.jsonl")


def test_keys_never_reach_the_transcript(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    recorded = Recorded(Scripted("my-own-key and sk-abcdefghijklmnop1234"), path, secrets=["my-own-key"])
    ask(recorded, "Bearer abcdefgh12345678 is what I send")
    said = path.read_text()
    assert "my-own-key" not in said
    assert "sk-abc" not in said
    assert "abcdefgh12345678" not in said
    assert said.count("[redacted]") == 3


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
    model = Budgeted(inner, Limits(tokens=200), prices=Prices())
    ask(model)
    ask(model)
    with pytest.raises(BudgetExceeded, match="200 tokens"):
        ask(model)
    assert inner.calls == 2
    assert model.spent == Spent(220, 0.0)


def test_money_is_counted_by_the_price_table(tmp_path: Path) -> None:
    model = Budgeted(Scripted("one"), Limits(money=0.0005), prices=Prices(prompt=3.0, completion=15.0))
    ask(model)
    assert model.spent.money == pytest.approx(0.00045)
    ask(model)
    with pytest.raises(BudgetExceeded, match=r"budget\.money"):
        ask(model)


def test_a_ledger_outlives_the_process_and_a_torn_line(tmp_path: Path) -> None:
    ledger = tmp_path / "spent.jsonl"
    ask(Budgeted(Scripted("one"), Limits(tokens=500), prices=Prices(), ledger=ledger))
    with ledger.open("a") as file:
        file.write('{"tok\n')
    model = Budgeted(Scripted("one"), Limits(tokens=110), prices=Prices(), ledger=ledger)
    assert model.spent.tokens == 110
    with pytest.raises(BudgetExceeded):
        ask(model)


def test_cached_replies_cost_nothing(tmp_path: Path) -> None:
    settings = ModelSettings(cache=tmp_path / "c.sqlite", limits=Limits(tokens=1))
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


@pytest.mark.parametrize("kind", FACTORIES)
def test_every_kind_can_be_built_or_says_what_it_needs(kind: str, tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    ask(build(ModelSettings(record=transcript)))
    settings = ModelSettings(kind, name="tiny", base_url="http://127.0.0.1:9/v1", transcript=transcript)
    assert build(settings).name
    if kind in ("openai", "replay"):
        with pytest.raises(ModelError, match=r"set model\."):
            build(ModelSettings(kind))


def test_an_unknown_kind_lists_those_there_are() -> None:
    with pytest.raises(ModelError, match="babylang, faulty, openai, replay"):
        build(ModelSettings("gpt"))


def test_a_recorded_run_is_replayed_word_for_word(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    recorded = build(ModelSettings(record=path, fault_rate=0.5, cache=tmp_path / "c.sqlite"))
    texts = [ask(recorded, f"## Subgoals to translate\n```\n1. find the red ball number {n}\n```") for n in range(10)]
    replayed = build(ModelSettings("replay", transcript=path))
    assert [
        ask(replayed, f"## Subgoals to translate\n```\n1. find the red ball number {n}\n```") for n in range(10)
    ] == texts
    assert json.loads(path.read_text().splitlines()[0])["model"].startswith("babylang (rule-based)")


def test_settings_never_show_the_key() -> None:
    assert "very-secret" not in repr(ModelSettings(api_key="very-secret"))
