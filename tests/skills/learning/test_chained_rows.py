"""Chained practice for a learner: what losing the body costs, and that doing the task by it costs nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("gymnasium_robotics", reason="the extra `mujoco` isn't installed")

import mujoco

from sdg.envs.ant.world import stages_of
from sdg.envs.domains import domain
from sdg.skills.learning.by_hand import check_that
from sdg.skills.learning.vec_env import ChainedVecEnv
from sdg.skills.practice.env import ChainedPractice
from sdg.skills.practice.starts import Starts

ANT = domain("ant")


def practice(lost_cost: float) -> ChainedVecEnv:
    """Two rows that are to walk east."""
    rows = ANT.begin(ANT.layouts("Spots_UMaze", [5]), np.array([0]))
    rows.begin_subgoals()
    east = ANT.language.row("east")[None]
    starts = Starts(rows, east, (check_that('moved("east") >= 0.25'),), np.zeros(1, np.int64))
    chained = ChainedPractice(starts, 2, horizon=60, seed=0, redraw=0.0)
    practised = ChainedVecEnv(chained, most=500, lost_cost=lost_cost)
    practised.reset()
    return practised


@pytest.mark.parametrize("cost", [0.0, 10.0])
def test_the_body_that_fell_pays_and_begins_anew(cost: float) -> None:
    practised = practice(cost)
    fallen, still = practised.env.rows.world(0), np.zeros((2, 8), np.float32)
    fallen.data.qpos[3:7] = (0, 1, 0, 0)
    mujoco.mj_forward(fallen.model, fallen.data)
    _, rewards, dones, infos = practised.step(still)
    assert rewards.tolist() == [-cost, 0.0]
    assert dones.tolist() == [True, False]
    assert infos[0]["TimeLimit.truncated"] is False
    assert practised.env.rows.perception(0).is_upright()


def test_a_task_that_is_done_on_the_back_costs_nothing() -> None:
    practised = practice(10.0)
    world = practised.env.rows.world(0)
    visits = tuple(spot for stage in stages_of(world.mission) for spot in stage)
    world.own = replace(world.own, visits=visits)
    world.data.qpos[3:7] = (0, 1, 0, 0)
    mujoco.mj_forward(world.model, world.data)
    _, rewards, dones, _ = practised.step(np.zeros((2, 8), np.float32))
    assert rewards[0] == 0.0
    assert dones[0]
