"""The table: what instructions mean and who judges them, pairs as arguments, held-out pairs, moments."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the extra `mujoco` isn't installed")

import mujoco

from sdg.envs.instructions import seeds
from sdg.envs.table.domain import TABLE
from sdg.envs.table.language import COLOURS, THINGS, TableGoal, actions_of, is_held_out
from sdg.envs.table.world import AWAY, BESIDE, ON, Table

STILL = np.zeros(7, np.float32)
TORQUES = np.random.default_rng(7).uniform(-2, 2, (20, 7)).astype(np.float32)


def open_table(level: str, seed: int = 5) -> Table:
    world = Table(level)
    world.reset(seed)
    return world


def put(world: Table, block: int, x: float, y: float) -> bool:
    """Lay a block there, let a step pass, and say whether the task is done."""
    place = world.own.blocks.index(block)
    world.data.qvel[:] = 0
    world.data.qpos[7 + 2 * place : 9 + 2 * place] = x, y
    mujoco.mj_forward(world.model, world.data)
    return world.step(STILL).success


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ("touch the red block", (TableGoal("touch", 0),)),
        ("push the red block to the red spot", (TableGoal("to", 0, 4),)),
        ("Push the green block next to the blue block", (TableGoal("next", 1, 2),)),
        ("push the blue block away from the red block", (TableGoal("away", 2, 0),)),
        ("touch the red block, then touch the blue block", (TableGoal("touch", 0), TableGoal("touch", 2))),
        (
            "touch the red block after you push the blue block to the red spot",
            (TableGoal("to", 2, 4), TableGoal("touch", 0)),
        ),
        ("push the red block next to the red block", ()),
        ("touch the red block, then dance", ()),
    ],
)
def test_instructions_are_actions_in_their_order(text: str, actions: tuple[TableGoal, ...]) -> None:
    assert actions_of(text) == actions
    assert all(actions_of(action.text) == (action,) for action in actions)


@pytest.mark.parametrize(("level", "limit"), [("PushToSpot", ON), ("PushNextTo", BESIDE), ("PushAway", AWAY)])
def test_pushes_are_judged_by_where_the_block_is(level: str, limit: float) -> None:
    for outside, done in ((0.01, False), (-0.01, True)):
        world = open_table(level)
        (action,) = world.own.goals
        x, y, _ = world.places()[action.other]
        gap = limit + (outside if level != "PushAway" else -outside)
        assert put(world, action.block, x - gap, y) is done


def test_what_comes_later_counts_only_after_what_comes_first() -> None:
    world = open_table("Sequence")
    touched_block, pushed_block = world.own.blocks
    (spot, x, y), _ = world.own.spots
    touched, pushed = f"touch the {THINGS[touched_block]}", f"push the {THINGS[pushed_block]} to the {THINGS[spot]}"
    world.set_instruction(f"{touched} after you {pushed}")
    tip = world.places()[-1]
    assert not put(world, touched_block, tip[0], tip[1])
    assert not put(world, pushed_block, x, y)
    assert not put(world, touched_block, x, y + 0.3)
    assert world.own.done == 1
    with pytest.raises(ValueError, match="can't judge"):
        open_table("Touch").set_instruction("touch the pink block")
    absent = next(c for n, c in enumerate(COLOURS) if n not in open_table("Touch").own.blocks)
    with pytest.raises(ValueError, match="can't judge"):
        open_table("Touch").set_instruction(f"touch the {absent} block")


@pytest.mark.parametrize("level", TABLE.levels())
def test_what_evaluation_combines_no_training_instruction_does(level: str) -> None:
    world = Table(level)
    for split, unseen in (("training", False), ("grounding", False), ("evaluation", True), ("validation", True)):
        for seed in seeds(split, count=25):
            world.reset(seed)
            assert actions_of(world.mission) == world.own.goals
            assert all(is_held_out(action) is unseen for action in world.own.goals if action.verb != "touch")
            assert not world.is_done()


def test_a_restored_moment_goes_on_as_the_first_did() -> None:
    world, restored = open_table("Sequence3"), open_table("Sequence3", seed=6)
    for torques in TORQUES[:5]:
        world.step(torques)
    snapshot = world.keep()
    first = [world.step(torques) and world.data.qpos.tolist() for torques in TORQUES]
    restored.restore(snapshot)
    assert [restored.step(torques) and restored.data.qpos.tolist() for torques in TORQUES] == first
    assert (restored.mission, restored.own, restored.steps) == (world.mission, world.own, world.steps)


def test_pairs_are_one_argument() -> None:
    world = open_table("PushToSpot")
    (action,) = world.own.goals
    pair = f"{THINGS[action.block]} to {THINGS[action.other]}"
    x, y, _ = world.places()[action.other]
    before = world.perception().distance(pair)
    put(world, action.block, x - 0.2, y)
    assert world.perception().progress(pair) == pytest.approx(before - 0.2, abs=1e-3)
    assert TABLE.language.description_of(TABLE.language.row(f"the {pair}")) == pair
    assert TABLE.persistence.is_possible(world.perception(), pair)
    put(world, action.block, 2, 2)
    assert not TABLE.persistence.is_possible(world.perception(), pair)
    assert not TABLE.persistence.is_possible(world.perception(), "")
    with pytest.raises(ValueError, match="isn't on the table"):
        world.perception().distance(next(name for n, name in enumerate(THINGS) if np.isnan(world.places()[n, 0])))


@pytest.mark.parametrize("level", TABLE.levels())
def test_no_task_is_done_before_it_begins(level: str) -> None:
    world = Table(level)
    for seed in seeds("evaluation", count=30, seed=185, level=level):
        world.reset(seed)
        assert not world.step(np.zeros(7, np.float32)).success
