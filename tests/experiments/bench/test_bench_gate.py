"""The gate's figures, the rollouts that they come from, and what a recorded model said."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sdg.experiments.bench.gate import recorded, tasks
from sdg.experiments.bench.gate.figures import calibration_error, figures
from sdg.experiments.bench.gate.rollouts import Rollout, balance, plan_rollouts, play, real_programs
from sdg.experiments.results.comparison import SHIPPED


def test_figures_count_no_as_the_positive_class() -> None:
    labels = np.array([False, False, True, True])
    row = figures(labels, np.array([0.1, 0.7, 0.8, 0.9]), np.arange(4), against=None)
    assert (row["accuracy"], row["f1"], row["n"]) == (0.75, 0.6667, 4)
    assert row["average_precision"] == 1.0
    assert row["low"] < 0.75 < row["high"]


def test_calibration_is_how_far_chances_are_from_shares() -> None:
    labels = np.array([True] * 8 + [False] * 2)
    assert calibration_error(labels, np.full(10, 0.8)) == pytest.approx(0)
    assert calibration_error(labels, np.full(10, 0.3)) == pytest.approx(0.5)


def test_a_rollout_keeps_calls_and_mistakes_with_what_came_of_them() -> None:
    rollout = Rollout(SHIPPED, "PutNextLocal", 3_000_778, mistakes=0.7, guards=("rules", "learned"), texts=True)
    rows = play(rollout)
    assert rows == play(rollout)
    assert {row["verb"] for row in rows} == {"feasibility", "completeness"}
    assert {row["source"] for row in rows} > {"stand-in", "swapped"}
    assert all(0 <= row["chances"]["learned"] <= 1 and "## Command" in row["question"] for row in rows)
    even = balance(rows, seed=0)
    assert 2 * sum(row["label"] for row in even) == len(even) > 0


def test_mistakes_are_the_draw_s_whatever_the_gate_and_an_expert_makes_none() -> None:
    expert = tasks.play(tasks.TaskTrial(SHIPPED, "PutNextLocal", 2_000_777, draw=0, arm="expert"))
    assert expert["success"]
    assert expert["valid"] == expert["executed"] > 1
    gated = tasks.TaskTrial(SHIPPED, "PutNextLocal", 2_000_777, draw=1, arm="feasibility + completeness")
    assert tasks.play(gated) == tasks.play(gated)


def test_held_out_rollouts_share_no_layout_and_no_program_with_training() -> None:
    training = plan_rollouts(SHIPPED, 60, split="training", seed=0, programs="S1")
    held_out = plan_rollouts(SHIPPED, 60, split="evaluation", seed=0, programs="P1")
    assert not {rollout.seed for rollout in training} & {rollout.seed for rollout in held_out}
    replies = {rollout.reply for rollout in training} & {rollout.reply for rollout in held_out}
    assert replies <= {""}
    assert len(real_programs("S1")) > 10 < len(real_programs("P1"))


def test_what_a_model_said_is_replayed_and_nonsense_counts_as_no(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Model:
        name = "canned"

        def complete(self, messages: Sequence[object], *, sampling: object = None) -> object:
            text = messages[-1].content  # type: ignore[attr-defined]
            key = "Feasible" if "Observed now" in text else "Completeness"
            return type("Reply", (), {"text": f'{{"Thought": "", "{key}": "Yes"}}' if "good" in text else "perhaps"})()

    (tmp_path / recorded.ITEMS).write_text(
        "".join(
            json.dumps({"verb": "feasibility", "question": f"Observed now {word}", "label": word == "good"}) + "\n"
            for word in ("good", "bad")
        )
    )
    assert recorded.judge_items(tmp_path, Model())["feasibility"] == [(True, 1.0), (False, 0.0)]  # type: ignore[arg-type]
    assert recorded.replay_answers(tmp_path) == {}
