"""A real model's answers about frozen items, kept with them: the LLM-based guards' figures without a model.

items.jsonl       verb, question (the user's turn), label; 60 a guard, half of each label
transcript.jsonl.xz  `sdg.llm.transcript`
"""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from sdg.envs.domains import domain
from sdg.envs.files import has_lines
from sdg.experiments.bench.gate.rollouts import COMPLETENESS, FEASIBILITY, chance
from sdg.gate.llm import LlmGuard
from sdg.llm.model import LanguageModel
from sdg.llm.provider import ModelSettings
from sdg.privacy.protector import build_model

PLACE = Path(__file__).parent / "recorded"
ITEMS, TRANSCRIPT = "items.jsonl", "transcript.jsonl"
MAX_OUTSTANDING = 120
"""Questions asked at once, because the model may be slow."""


def replay_answers(place: Path = PLACE) -> dict[str, list[tuple[bool, float]]]:
    """For each guard, the labels and the chances that recorded answers give; nothing where nothing is recorded."""
    if not has_lines(place / TRANSCRIPT):
        return {}
    return judge_items(place, build_model(ModelSettings("replay", transcript=place / TRANSCRIPT)))


def judge_items(place: Path, model: LanguageModel) -> dict[str, list[tuple[bool, float]]]:
    """For each guard, the items' labels and the chances that a model gives; a malformed answer counts as no."""
    guard = LlmGuard(model, domain().texts["executor"])
    items = [json.loads(line) for line in (place / ITEMS).read_text(encoding="utf-8").splitlines()]
    with ThreadPoolExecutor(MAX_OUTSTANDING) as pool:
        judged = list(zip(items, pool.map(partial(_chance, guard), items), strict=True))
    return {
        verb: [(item["label"], chance_of_yes) for item, chance_of_yes in judged if item["verb"] == verb]
        for verb in (FEASIBILITY, COMPLETENESS)
    }


def _chance(guard: LlmGuard, item: Mapping[str, Any]) -> float:
    try:
        return chance(guard.judge(item["verb"], item["question"]))
    except ValueError:  # an answer of another form keeps the gate shut
        return 0.0
