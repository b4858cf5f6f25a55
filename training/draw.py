"""Asking a real model about frozen items, 60 a guard, and keeping its answers.

python -m training.draw openai:NAME [BASE_URL]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sdg.envs.files import COMPRESSED_SUFFIX, compress_lines
from sdg.experiments.bench.gate.command import KINDS
from sdg.experiments.bench.gate.recorded import ITEMS, PLACE, TRANSCRIPT, judge_items
from sdg.experiments.bench.gate.rollouts import (
    COMPLETENESS,
    FEASIBILITY,
    Rollout,
    balance,
    plan_rollouts,
    rolled_out,
)
from sdg.experiments.results.comparison import cores, find_library
from sdg.llm.provider import ModelSettings
from sdg.llm.registry import parse_llm
from sdg.privacy.protector import build_model
from sdg.storage import atomic_write

PATIENCE_SECONDS = 3600.0


def freeze(plan: Sequence[Rollout], count: int, *, to: Path, processes: int) -> None:
    """Draw `count` items a guard, half of each label, unless the file of items is there."""
    to.mkdir(parents=True, exist_ok=True)
    if (to / ITEMS).exists():
        return
    rows = [row for rollout_rows in rolled_out(plan, processes=processes) for row in rollout_rows]
    chosen = []
    for verb in (FEASIBILITY, COMPLETENESS):
        balanced = balance([row for row in rows if row["verb"] == verb], seed=0)
        half = len(balanced) // 2
        order = np.random.default_rng(0).permutation(half)[: count // 2]
        chosen += [balanced[start + i] for i in order for start in (0, half)]
    lines = [json.dumps({key: row[key] for key in ("verb", "question", "label")}) for row in chosen]
    atomic_write(to / ITEMS, "\n".join(lines) + "\n")


def ask(place: Path, *, llm: str, base_url: str) -> None:
    """Ask a model about each frozen item and keep its answers in place of earlier ones."""
    for name in (TRANSCRIPT, TRANSCRIPT + COMPRESSED_SUFFIX):
        (place / name).unlink(missing_ok=True)
    choice = parse_llm(llm)
    settings = ModelSettings(
        choice["kind"],
        choice.get("name", ""),
        base_url=base_url or None,
        timeout_seconds=PATIENCE_SECONDS,
        record=place / TRANSCRIPT,
    )
    judge_items(place, build_model(settings))
    compress_lines(place / TRANSCRIPT)


if __name__ == "__main__":
    rollouts = plan_rollouts(find_library(""), 60, split="evaluation", seed=0, programs="P1", guards=KINDS, texts=True)
    freeze(rollouts, 60, to=PLACE, processes=cores())
    ask(PLACE, llm=sys.argv[1], base_url="".join(sys.argv[2:]))
