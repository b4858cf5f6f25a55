"""What a real model said about frozen items, kept with them: the LLM-based guards' figures without a model.

items.jsonl       verb, question (the user's turn), label; 60 a guard, half of each label
transcript.jsonl.xz  `sdg.llm.transcript`
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sdg.envs.domains import domain
from sdg.envs.files import COMPRESSED_SUFFIX, compress_lines, has_lines
from sdg.experiments.gate_training.rollouts import COMPLETENESS, FEASIBILITY, Rollout, balance, chance
from sdg.experiments.gate_training.training import rolled_out
from sdg.gate.llm import LlmGuard
from sdg.llm.model import LanguageModel
from sdg.llm.provider import ModelSettings
from sdg.llm.registry import build, settings_of
from sdg.storage import atomic_write

PLACE = Path(__file__).parent / "recorded"
ITEMS, TRANSCRIPT = "items.jsonl", "transcript.jsonl"
PATIENCE_SECONDS = 3600.0
OUTSTANDING = 120
"""Questions asked at once: a slow model isn't waited for one by one."""


def freeze(plan: Sequence[Rollout], count: int, *, to: Path, processes: int) -> None:
    """Draw `count` items a guard, half of each label; those there are stay."""
    to.mkdir(parents=True, exist_ok=True)
    if (to / ITEMS).exists():
        return
    rows = [row for part in rolled_out(plan, processes=processes) for row in part]
    chosen = []
    for verb in (FEASIBILITY, COMPLETENESS):
        held = balance([row for row in rows if row["verb"] == verb], seed=0)
        half = len(held) // 2
        order = np.random.default_rng(0).permutation(half)[: count // 2]
        chosen += [held[start + i] for i in order for start in (0, half)]
    lines = [json.dumps({key: row[key] for key in ("verb", "question", "label")}) for row in chosen]
    atomic_write(to / ITEMS, "\n".join(lines) + "\n")


def ask(place: Path, *, llm: str, base_url: str) -> None:
    """Ask a model about each frozen item and keep what it says, in the place of what was said before."""
    for name in (TRANSCRIPT, TRANSCRIPT + COMPRESSED_SUFFIX):
        (place / name).unlink(missing_ok=True)
    asked = settings_of(llm)
    model = ModelSettings(
        asked["kind"],
        asked.get("name", ""),
        base_url=base_url or None,
        timeout_seconds=PATIENCE_SECONDS,
        record=place / TRANSCRIPT,
    )
    judge_items(place, build(model))
    compress_lines(place / TRANSCRIPT)


def replay_answers(place: Path = PLACE) -> dict[str, list[tuple[bool, float]]]:
    """Of each guard the labels and the chances that the recorded answers give; nothing where nothing is recorded."""
    if not has_lines(place / TRANSCRIPT):
        return {}
    return judge_items(place, build(ModelSettings("replay", transcript=place / TRANSCRIPT)))


def judge_items(place: Path, model: LanguageModel) -> dict[str, list[tuple[bool, float]]]:
    """Of each guard the labels of the items and the chances that a model gives; an answer of another form is a no."""
    guard = LlmGuard(model, domain().texts["executor"])
    items = [json.loads(line) for line in (place / ITEMS).read_text(encoding="utf-8").splitlines()]
    with ThreadPoolExecutor(OUTSTANDING) as pool:
        said = list(pool.map(partial(_chance, guard), items))
    found: dict[str, list[tuple[bool, float]]] = {FEASIBILITY: [], COMPLETENESS: []}
    for item, one in zip(items, said, strict=True):
        found[item["verb"]].append((item["label"], one))
    return found


def _chance(guard: LlmGuard, item: Mapping[str, Any]) -> float:
    try:
        return chance(guard.judge(item["verb"], item["question"]))
    except ValueError:  # an answer of another form keeps the gate shut
        return 0.0
