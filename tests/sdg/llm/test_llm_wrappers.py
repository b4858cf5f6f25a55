"""Retries, remembered replies, budget and faults."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sdg.llm.asking import RetryingModel, in_order
from sdg.llm.budget import BudgetedModel, BudgetSettings, Spent
from sdg.llm.exchange import IMAGE_CHARS, reply_of, tokens_of
from sdg.llm.model import BudgetExceeded, Completion, Message, ModelError, Sampling, Unavailable
from sdg.llm.provider import ModelSettings
from sdg.llm.registry import build_unprotected
from sdg.llm.transcript import RecordingModel, entries
from tests.sdg.llm.faulty import MISTAKES, Faulty
from tests.sdg.llm.scripted import Scripted, ask


def test_the_transcript_answers_equal_questions_and_only_those(tmp_path: Path) -> None:
    inner, path = Scripted("one", "two", "three"), tmp_path / "transcript.jsonl"
    knowing = RecordingModel(inner, path, answers=True)
    first = knowing.complete((Message("user", "hi"),))
    for model in (knowing, RecordingModel(inner, path, answers=True)):
        again = model.complete((Message("user", "hi"),))
        assert (first.text, first.cached, again.text, again.cached) == ("one", False, "one", True)
        assert again.prompt_tokens == first.prompt_tokens
    assert ask(knowing, "hi", seed=1) == "two"
    assert ask(knowing, "ho") == "three"
    assert inner.calls == 3
    assert [entry["reply"]["cached"] for entry in entries(path)] == [False, True, True, False, False]
    assert ask(RecordingModel(inner, path)) == "three", "without answers it asks"


def test_failures_are_not_remembered(tmp_path: Path) -> None:
    inner, path = Scripted(ModelError("down"), ModelError("down"), "up"), tmp_path / "transcript.jsonl"
    for _ in range(2):
        with pytest.raises(ModelError, match="down"):
            ask(RecordingModel(inner, path, answers=True))
    assert ask(RecordingModel(inner, path, answers=True)) == "up"


def test_a_reply_with_a_key_is_remembered_without_it(tmp_path: Path) -> None:
    knowing = RecordingModel(Scripted("it is my-own-key"), tmp_path / "t.jsonl", secrets=["my-own-key"], answers=True)
    assert ask(knowing) == ask(knowing) == "it is [redacted]"


def test_the_budget_stops_before_the_call_that_would_overdraw_it_further(tmp_path: Path) -> None:
    inner = Scripted("one")
    model = BudgetedModel(inner, BudgetSettings(tokens=200))
    ask(model)
    ask(model)
    with pytest.raises(BudgetExceeded, match="200 tokens"):
        ask(model)
    assert inner.calls == 2
    assert model.spending == Spent(220, 0.0)


def test_the_budget_of_time_stops_what_is_asked_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("sdg.llm.budget.time.monotonic", lambda: now[0])
    model = BudgetedModel(Scripted("one"), BudgetSettings(minutes=2))
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
        model = BudgetedModel(inner, BudgetSettings(tokens=5000), ledger=tmp_path / f"{max_tokens}.json")
        sampling = Sampling(max_tokens=max_tokens)
        questions = [(Message("user", f"question {n}"),) for n in range(64)]
        with pytest.raises(BudgetExceeded):
            list(in_order(lambda question: model.complete(question, sampling=sampling), questions, at_once=16))
        return model.spending.tokens

    careful, bold = Slow("one"), Slow("one")
    assert 5000 <= spend(careful, max_tokens=16_000) < 5000 + 110
    assert careful.most == 1
    assert 5000 <= spend(bold, max_tokens=110) < 5000 + 110
    assert bold.most > 8, "16 where the machine is quiet"


def test_money_is_counted_by_the_price_table(tmp_path: Path) -> None:
    model = BudgetedModel(Scripted("one"), BudgetSettings(money=0.0005, prompt_price=3.0, completion_price=15.0))
    ask(model)
    assert model.spending.money == pytest.approx(0.00045)
    ask(model)
    with pytest.raises(BudgetExceeded, match=r"budget\.money"):
        ask(model)


def test_tokens_of_the_server_s_cache_have_a_price_of_their_own() -> None:
    plain, cheaper = BudgetSettings(prompt_price=10.0), BudgetSettings(prompt_price=10.0, cached_price=1.0)
    assert plain.price(1000, 5, cached_tokens=900) == pytest.approx(0.01)
    assert cheaper.price(1000, 5, cached_tokens=900) == pytest.approx(0.0019)


def test_tokens_are_a_quarter_of_the_characters_where_the_server_does_not_count() -> None:
    messages = (Message("user", "x" * 400), Message("user", "x" * 400, images=(b"png",)))
    assert tokens_of(messages, Completion("y" * 40, "")) == (200 + IMAGE_CHARS // 4 + 1, 11)
    assert tokens_of(messages, Completion("y" * 40, "", prompt_tokens=7, completion_tokens=3)) == (7, 3)


@pytest.mark.parametrize("plain", [None, [], {}, {"text": None}, {"text": 7}, "text"])
def test_what_holds_no_reply_is_refused(plain: object) -> None:
    with pytest.raises(ValueError, match="no reply is stored here"):
        reply_of(plain)


NO_COUNTS = (10**400, 10**9 + 1, -5, float("nan"), float("inf"), "7", True, None)


@pytest.mark.parametrize("count", NO_COUNTS, ids="{!r:.9}".format)
def test_what_is_no_plausible_count_is_estimated_and_nothing_stays_under_way(count: Any) -> None:
    completion = Completion("y" * 40, "", count, count, count, count)
    assert (completion.prompt_tokens, completion.completion_tokens) == (0, 0)
    assert (completion.cached_tokens, completion.reasoning_tokens) == (0, 0)
    assert reply_of({"text": "y", "prompt_tokens": count}).prompt_tokens == 0
    assert Completion("", "", 10**9).prompt_tokens == 10**9

    class Telling(Scripted):
        def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
            return completion

    model = BudgetedModel(Telling(), BudgetSettings(tokens=10**6, money=5.0, prompt_price=3.0, completion_price=15.0))
    assert ask(model) == completion.text
    assert model.spending.tokens == sum(tokens_of((Message("user", "hi"),), completion)) == 12
    assert model._under_way == 0


def test_a_question_whose_reply_cant_be_counted_is_no_longer_under_way() -> None:
    inner: Any = SimpleNamespace(name="uncounted", complete=lambda *_, sampling: None)
    model = BudgetedModel(inner, BudgetSettings(tokens=10**6))
    with pytest.raises(AttributeError):
        ask(model)
    assert model._under_way == 0


def test_a_ledger_outlives_the_process_and_a_torn_line(tmp_path: Path) -> None:
    ledger = tmp_path / "spent.jsonl"
    ask(BudgetedModel(Scripted("one"), BudgetSettings(tokens=500), ledger=ledger))
    with ledger.open("a") as file:
        file.write('{"tok')
    model = BudgetedModel(Scripted("one"), BudgetSettings(tokens=110), ledger=ledger)
    assert model.spending.tokens == 110
    with pytest.raises(BudgetExceeded):
        ask(model)


@pytest.mark.parametrize(
    "entry", ['{"tokens": -1000000, "money": 0}', '{"tokens": 0, "money": NaN}', '{"tokens": 0, "money": -9}']
)
def test_a_ledger_pays_nothing_back(entry: str, tmp_path: Path) -> None:
    ledger = tmp_path / "spent.jsonl"
    ledger.write_text(f'{entry}\n{{"tokens": 120, "money": 3.5}}\n')
    model = BudgetedModel(Scripted("one"), BudgetSettings(tokens=110, money=1.0), ledger=ledger)
    assert (model.spending.tokens, model.spending.money) == (120, 3.5)
    with pytest.raises(BudgetExceeded):
        ask(model)


def test_a_ledger_of_any_size_is_refused_at_once(tmp_path: Path) -> None:
    ledger = tmp_path / "spent.jsonl"
    with ledger.open("wb") as file:
        file.truncate(400 << 30)  # takes no room on the disk
    model = BudgetedModel(Scripted("one"), BudgetSettings(tokens=110), ledger=ledger)
    with pytest.raises(ModelError, match="too large"):
        ask(model)
    with ledger.open("wb") as file:
        file.truncate(40 << 20)
    with pytest.raises(ModelError, match="last line"):
        ask(model)
    ledger.write_bytes(b"\n" * 600_000)
    with pytest.raises(ModelError, match="at most 500000 questions"):
        ask(model)


def test_a_ledger_is_read_on_from_where_it_was_left(tmp_path: Path) -> None:
    ledger = tmp_path / "spent.jsonl"
    first, second = (BudgetedModel(Scripted("a"), BudgetSettings(), ledger=ledger) for _ in range(2))
    for model in (first, second, first, first, second):
        ask(model)
    assert first.spending == second.spending
    assert first.spending.tokens == 5 * json.loads(ledger.read_text().splitlines()[0])["tokens"]
    ledger.write_text("")
    assert first.spending == second.spending == Spent()


def test_cached_replies_cost_nothing(tmp_path: Path) -> None:
    settings = ModelSettings(record=tmp_path / "t.jsonl", cache=True, budget=BudgetSettings(tokens=1))
    model = build_unprotected(settings)
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


def test_what_is_unavailable_is_asked_again_with_growing_pauses() -> None:
    pauses: list[float] = []
    down = Unavailable("down")
    model = RetryingModel(Scripted(down, down, down, "up"), retries=3, sleep=pauses.append)
    assert ask(model) == "up"
    assert 0.5 <= pauses[0] < 1.0 <= pauses[1] < 2.0 <= pauses[2] < 4.0
    again: list[float] = []
    with pytest.raises(ModelError, match=r"down Tried 3 times\."):
        ask(RetryingModel(Scripted(down), retries=2, sleep=again.append))
    assert again == pauses[:2], "the jitter is the seed's"


def test_a_server_s_own_pause_is_kept_and_a_long_one_is_a_no() -> None:
    pauses: list[float] = []
    assert ask(RetryingModel(Scripted(Unavailable("busy", 3.0), "up"), retries=1, sleep=pauses.append)) == "up"
    for error in (Unavailable("busy", 61.0), ModelError("no key"), BudgetExceeded("spent")):
        with pytest.raises(ModelError, match=str(error)):
            ask(RetryingModel(Scripted(error), retries=9, sleep=pauses.append))
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
    results = in_order(work, range(100), at_once=4)
    assert [next(results) for _ in range(7)] == list(range(7))
    with pytest.raises(ValueError, match="seven"):
        next(results)
    assert len(begun) < 60
