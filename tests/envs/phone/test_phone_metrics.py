"""AndroidLab's metrics against cases worked by hand from its authors' code."""

from __future__ import annotations

import numpy as np
import pytest

from sdg.envs.phone.metrics import TaskScore, same_screen, score_steps, summarise


def never(one: int, other: int) -> bool:
    return False


def flags(*values: bool, complete: bool = False, page: bool = True) -> dict[str, bool]:
    return {"judge_page": page, **{str(n): value for n, value in enumerate(values, 1)}, "complete": complete}


def test_the_last_judged_page_counts() -> None:
    steps = [flags(True, False), flags(True, True, complete=True), flags(False, False, page=False)]
    score = score_steps(steps, ["a", "b", "c"], never, shortest=2)
    assert score.complete
    assert score.steps == 3
    assert score.reversed_redundancy == pytest.approx(2 / 3)
    undone = score_steps([*steps, flags(True, False)], ["a", "b", "c", "d"], never, shortest=2)
    assert not undone.complete
    assert undone.sub_goals == 0.5
    assert undone.reversed_redundancy is None


def test_the_sixth_repetition_ends_what_is_scored() -> None:
    steps = [flags(False)] * 6 + [flags(True, complete=True)]
    assert not score_steps(steps, ["tap"] * 7, never).complete
    assert score_steps(steps, ["tap"] * 7, never).steps == 6
    assert score_steps(steps, ["tap"] * 5 + ["back", "tap"], never).complete


def test_unjudged_steps_are_no_steps() -> None:
    score = score_steps([flags(False), None, flags(False), flags(True, complete=True)], list("abcd"), never, shortest=3)
    assert (score.steps, score.reversed_redundancy) == (3, 1.0)


def test_reasonable_operations_leave_the_last_screen_out() -> None:
    screens = [0, 0, 1, 1, 1]
    same = lambda one, other: screens[one] == screens[other]  # noqa: E731
    score = score_steps([flags(False)] * 5, list("abcde"), same)
    assert score.unchanged == 2  # 0-1 and 2-3; 3-4 is never compared
    assert score.reasonable_operations == pytest.approx(1 - 2 / 4)
    assert score_steps([flags(False)] * 2, ["a", "b"], lambda *_: True).reasonable_operations == 1.0
    assert score_steps([flags(False)], ["a"], lambda *_: True).reasonable_operations == 1.0
    assert score_steps([], [], never).reasonable_operations == 1.0


def test_white_pixels_and_shapes() -> None:
    page = np.full((100, 100, 3), 255, np.uint8)
    page[:40, :50] = 10  # 6,000 inked values
    nearly = page.copy()
    nearly[0, 0] = 11  # 3 of 6,000 differ: 0.9995
    changed = page.copy()
    changed[0, :3] = 11  # 9 of 6,000 differ: 0.9985
    assert same_screen(page, page)
    assert same_screen(page, nearly)
    assert not same_screen(page, changed)
    assert not same_screen(page, page[:, :99])
    blank = np.full((4, 4, 3), 255, np.uint8)
    assert not same_screen(blank, blank)  # 0 / 0 in the authors' code, which counts it as different


def test_rates_go_over_all_tasks_and_redundancy_over_complete_ones() -> None:
    scores = [
        TaskScore(flags(True, complete=True), steps=4, unchanged=1, shortest=3),
        TaskScore(flags(True, complete=True), steps=5, unchanged=0, shortest=0),  # its path isn't known
        TaskScore(flags(True, False, False), steps=3, unchanged=1),
    ]
    summary = summarise(scores, 4)
    assert summary["success_rate"] == 0.5
    assert summary["sub_goal_success_rate"] == pytest.approx((1 + 1 + 1 / 3) / 4)
    assert summary["reversed_redundancy_ratio"] == pytest.approx(0.75 / 2)
    assert summary["reasonable_operation_ratio"] == pytest.approx(((1 - 1 / 3) + 1 + (1 - 1 / 2)) / 4)
    rare = summarise(scores[:1], 21)
    assert rare["success_rate"] == pytest.approx(1 / 21)
    assert rare["reversed_redundancy_ratio"] is None
    with pytest.raises(ValueError, match="can't be all"):
        summarise(scores, 2)
