"""The model's exchanges in a report: tokens and money by stage, and an example of each kind."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sdg.envs.files import has_lines
from sdg.llm.budget import BudgetSettings
from sdg.llm.model import ModelError, token_count
from sdg.llm.transcript import entries

Row = Mapping[str, Any]

MAX_NAMES = 100
"""Stages, and kinds of questions, that a report tells apart; a run has about ten."""

REPAIRS = ("## Program that failed", "## Your answer could not be used", "## What was tried before")
"""Headings of repair prompts (`sdg/prompts/debug.md`, `hypothesis_repair.md`, `hypothesis_feedback.md`)."""


def exchanges(run: Path, gaps: list[str]) -> Iterator[Row]:
    """The exchanges of a run's transcript, one at a time; an unreadable transcript is a gap, reported once."""
    path = run / "transcript.jsonl"
    try:
        yield from entries(path) if has_lines(path) else ()
    except ModelError as error:
        gaps.extend({str(error)}.difference(gaps))


def spending(rows: Iterable[Row], budget: BudgetSettings) -> list[dict[str, Any]]:
    """Questions, tokens and money by stage, as they were answered; cached replies cost nothing."""
    stages: dict[str, Any] = {}
    for row in rows:
        name = str(row.get("stage") or "other")
        name = name if name in stages or len(stages) < MAX_NAMES else "other"
        reply = row.get("reply") or {}
        kinds = ("prompt_tokens", "completion_tokens", "cached_tokens")
        prompt, completion, cached = (token_count(reply.get(kind)) for kind in kinds)
        money = 0.0 if reply.get("cached") else budget.price(prompt, completion, cached_tokens=cached)
        stages.setdefault(name, Counter()).update(calls=1, prompt=prompt, completion=completion, money=money)
    return [{"stage": name, **counts} for name, counts in stages.items()]


def samples(rows: Iterable[Row]) -> list[dict[str, str]]:
    """The first exchange of each stage and the first repair: its last question, and the reply."""
    by_name: dict[str, dict[str, str]] = {}
    for row in rows:
        contents = [str(message["content"]) for message in row["messages"]]
        kind = "repair" if any(mark in contents[-1] for mark in REPAIRS) else "prompt"
        name = f"{row.get('stage') or 'other'}: the first {kind}"
        if name not in by_name and len(by_name) < MAX_NAMES:
            reply = row["reply"]["text"] if "reply" in row else f"(no reply: {row.get('error')})"
            by_name[name] = {"name": name, "prompt": contents[-1], "reply": str(reply)}
    return list(by_name.values())
