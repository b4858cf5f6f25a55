"""A memory at its limits: too many things, too large a world, rows that mustn't touch each other, stale views."""

from __future__ import annotations

import numpy as np
import pytest

from sdg.envs.babyai.cells import (
    BALL,
    COLOUR_SHIFT,
    DOOR_CLOSED,
    DOOR_LOCKED,
    DOOR_OPEN,
    DROP,
    EMPTY,
    FORWARD,
    KEY,
    MAX_OBJECTS,
    PICKUP,
    RIGHT,
    TOGGLE,
    WALL,
)
from sdg.envs.babyai.perception import memory as memories
from sdg.envs.babyai.perception.snapshot import BabyAIPerception
from tests.shared.walks import copy_rows

EMPTY_VIEW = np.full((7, 7), EMPTY, np.uint8)


def start_memory(view: np.ndarray = EMPTY_VIEW, *, pose: tuple[int, int, int] = (10, 10, 0)) -> memories.Memory:
    memory = memories.create(1)
    memories.begin(memory, 0, view, pose, 22, 22, 22)
    return memory


def test_more_things_than_it_holds() -> None:
    """The 41st thing is on the map without an identity; picking it up and putting it down breaks nothing."""
    crowd = np.full((7, 7), BALL | 1 << COLOUR_SHIFT, np.uint8)
    crowd[3, 6] = EMPTY
    memory = start_memory(crowd)
    assert memory.n_objects[0] == MAX_OBJECTS
    memories.observe(memory, 0, crowd, 1, RIGHT)
    memories.observe(memory, 0, crowd, 2, RIGHT)
    perception = BabyAIPerception(memory, 0)
    assert len(perception.get_observed_objects()) == MAX_OBJECTS
    with_ball = crowd.copy()
    with_ball[3, 5], with_ball[3, 6] = EMPTY, BALL | 1 << COLOUR_SHIFT
    for view, action in ((with_ball, PICKUP), (with_ball, PICKUP), (crowd, DROP)):
        memories.observe(memory, 0, view, 2, action)
    assert memory.n_objects[0] == MAX_OBJECTS
    assert BabyAIPerception(memory, 0).get_carried() is None
    for x, y in np.argwhere(memory.ids[0] > 0):
        assert tuple(memory.at[0, memory.ids[0, x, y] - 1]) == (x, y)


@pytest.mark.parametrize(("room_size", "width", "height"), [(8, 23, 8), (8, 8, 23), (1, 8, 8), (4, 22, 22)])
def test_worlds_that_do_not_fit(room_size: int, width: int, height: int) -> None:
    with pytest.raises(ValueError, match="at most"):
        memories.begin(memories.create(1), 0, EMPTY_VIEW, (1, 1, 0), room_size, width, height)


def test_no_rows() -> None:
    with pytest.raises(ValueError, match="at least one row"):
        memories.create(0)


@pytest.mark.parametrize("pose", [(x, y, direction) for x in (0, 21) for y in (0, 21) for direction in range(4)])
def test_views_over_the_edge_write_nothing_outside(pose: tuple[int, int, int]) -> None:
    """Whatever a view shows beyond the 22 x 22 cells is left out, and the robot doesn't leave them."""
    memory = memories.create(3)
    for row in range(3):
        memories.begin(memory, row, EMPTY_VIEW, (10, 10, 0), 22, 22, 22)
    copies = [array.copy() for array in memory]
    view = np.full((7, 7), KEY, np.uint8)
    view[3, 5:] = EMPTY
    memories.begin(memory, 1, view, pose, 22, 22, 22)
    for _ in range(3):
        memories.observe(memory, 1, view, pose[2], FORWARD)
    for row in (0, 2):
        for before, after in zip(copies, memory, strict=True):
            np.testing.assert_array_equal(before[row], after[row])
    assert (memory.pose[1, :2] >= 0).all()
    assert (memory.pose[1, :2] < memories.MAX_SIZE).all()


def test_begin_forgets_everything() -> None:
    """A row that is begun again equals a fresh one in all that can be asked."""
    crowd = np.full((7, 7), KEY | 3 << COLOUR_SHIFT, np.uint8)
    crowd[3, 6] = EMPTY
    used = start_memory(crowd)
    with_key = crowd.copy()
    with_key[3, 5], with_key[3, 6] = EMPTY, KEY | 3 << COLOUR_SHIFT
    memories.observe(used, 0, with_key, 0, PICKUP)
    memories.begin_subgoal(used, 0)
    view = EMPTY_VIEW.copy()
    view[2, 3], view[5, 1] = BALL, WALL
    memories.begin(used, 0, view, (3, 4, 1), 8, 22, 22)
    fresh = memories.create(1)
    memories.begin(fresh, 0, view, (3, 4, 1), 8, 22, 22)
    assert BabyAIPerception(used, 0).describe() == BabyAIPerception(fresh, 0).describe()
    assert BabyAIPerception(used, 0).get_observed_objects() == BabyAIPerception(fresh, 0).get_observed_objects()
    for name in (
        "cells",
        "ids",
        "n_objects",
        "carried",
        "visited",
        "visited_before",
        "room_order",
        "steps",
        "began_at",
    ):
        np.testing.assert_array_equal(getattr(used, name), getattr(fresh, name))


def test_one_of_two_like_things_is_carried() -> None:
    """Picked up beside its twin, dropped elsewhere: ids, homes and events stay with the right one."""
    ball = BALL | 4 << COLOUR_SHIFT
    view = EMPTY_VIEW.copy()
    view[3, 5] = view[4, 5] = ball
    memory = start_memory(view)
    near = {record.position: record.id for record in BabyAIPerception(memory, 0).get_observed_objects()}
    after = EMPTY_VIEW.copy()
    after[3, 6] = after[4, 5] = ball
    memories.observe(memory, 0, after, 0, PICKUP)
    carried = BabyAIPerception(memory, 0).get_carried()
    assert (carried.id, carried.picked_up_at, carried.start_position) == (near[0, 1], 1, (0, 1))
    away = EMPTY_VIEW.copy()
    away[3, 6] = away[2, 5] = ball
    memories.observe(memory, 0, away, 1, RIGHT)
    down = EMPTY_VIEW.copy()
    down[3, 5] = down[2, 5] = ball
    memories.observe(memory, 0, down, 1, DROP)
    dropped, twin = (BabyAIPerception(memory, 0).find_objects(f"ball #{k}")[0] for k in (near[0, 1], near[1, 1]))
    assert (dropped.position, dropped.start_position, dropped.dropped_at, dropped.facing) == ((1, 0), (0, 1), 3, True)
    assert (twin.position, twin.picked_up_at, twin.dropped_at) == ((1, 1), -1, -1)


def test_counters_do_not_overflow() -> None:
    memory = start_memory()
    memory.steps[0] = 32_766
    for _ in range(5):
        memories.observe(memory, 0, EMPTY_VIEW, 0, RIGHT)
    assert memory.steps[0] == 32_767


def test_copied_rows_are_equal_and_apart() -> None:
    source, target = start_memory(), memories.create(4)
    copy_rows(source, [0, 0], target, np.array([1, 3]))
    for there, here in zip(target, source, strict=True):
        np.testing.assert_array_equal(there[1], here[0])
        np.testing.assert_array_equal(there[3], here[0])
    memories.observe(target, 1, EMPTY_VIEW, 1, RIGHT)
    assert target.steps.tolist() == [0, 1, 0, 0]
    assert source.steps.tolist() == [0]


def seeing(*things: tuple[int, int, int], hand: int = EMPTY) -> np.ndarray:
    """An empty view with codes at (i, j) and in the hand."""
    view = EMPTY_VIEW.copy()
    for i, j, code in things:
        view[i, j] = code
    view[3, 6] = hand
    return view


BALL_3 = BALL | 3 << COLOUR_SHIFT


def test_held_before_the_first_step() -> None:
    """PutNext*Carrying shows in the first view, in its cell, what the robot holds already: it is that very thing."""
    memory = start_memory(seeing((3, 2, BALL_3)))
    memories.observe(memory, 0, seeing(hand=BALL_3), 1, RIGHT)
    [record] = BabyAIPerception(memory, 0).get_observed_objects()
    assert (record.id, record.held, record.start_position, record.picked_up_at) == (0, True, (0, 4), -1)
    assert BabyAIPerception(memory, 0).is_free((0, 4))


def test_step_onto_where_the_held_thing_was_shown() -> None:
    memory = start_memory(seeing((3, 5, BALL_3)))
    memories.observe(memory, 0, seeing(hand=BALL_3), 0, FORWARD)
    assert BabyAIPerception(memory, 0).get_position() == (0, 1)


def test_its_twin_ahead_stops_the_robot() -> None:
    memory = start_memory(seeing((3, 5, BALL_3), (3, 2, BALL_3)))
    memories.observe(memory, 0, seeing((3, 5, BALL_3), hand=BALL_3), 0, FORWARD)
    assert BabyAIPerception(memory, 0).get_position() == (0, 0)


def test_twins_are_not_guessed_between() -> None:
    """Which of two like things the robot holds can't be told from one view: it counts as a third one."""
    memory = start_memory(seeing((3, 2, BALL_3), (1, 2, BALL_3)))
    memories.observe(memory, 0, seeing(hand=BALL_3), 1, RIGHT)
    carried = BabyAIPerception(memory, 0).get_carried()
    assert (carried.id, carried.start_position) == (2, (0, 0))
    assert not BabyAIPerception(memory, 0).is_free((0, 4))


def test_a_door_opened_closed_and_unlocked() -> None:
    """`opened_at` is the step at which the robot last made a door open; closing and unlocking in two leave it."""
    color = 2 << COLOUR_SHIFT
    memory = start_memory(seeing((3, 5, DOOR_LOCKED | color)))
    states = []
    for state in (DOOR_LOCKED, DOOR_OPEN, DOOR_CLOSED, DOOR_CLOSED, DOOR_OPEN):
        memories.observe(memory, 0, seeing((3, 5, state | color)), 0, TOGGLE)
        [record] = BabyAIPerception(memory, 0).get_observed_objects()
        states.append((record.status, record.opened_at))
    assert states == [("locked", -1), ("open", 2), ("closed", 2), ("closed", 2), ("open", 5)]


def test_a_door_first_seen_open_was_not_opened_by_the_robot() -> None:
    memory = start_memory(seeing((3, 5, DOOR_OPEN)))
    [record] = BabyAIPerception(memory, 0).get_observed_objects()
    assert (record.status, record.opened_at) == ("open", -1)
