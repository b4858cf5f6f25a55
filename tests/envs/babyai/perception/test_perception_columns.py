"""The accessors, as Python, say what the compiled snapshot's records say, field by field, on busy walks."""

from __future__ import annotations

import numpy as np
import pytest

from sdg.envs.babyai.cells import COLOURS, TOGGLE, TYPES
from sdg.envs.babyai.perception import columns as tables, memory as memories
from sdg.envs.babyai.perception.description import LOCATIONS, Target, matches, text
from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.babyai.perception.snapshot import BabyAIPerception, Object
from tests.shared.walks import copy_rows, walk

LEVELS = ("GoToLocal", "PutNextLocal", "BossLevel", "KeyInBox", "PutNextS5N2Carrying")


def snapshots(level: str):
    """(memory, row, snapshot) along a walk; row 1 of two, so that rows can't be mixed up."""
    two = memories.create(2)
    for world, _ in walk(level, seed=9, steps=80):
        if world.steps == 30:
            world.begin_subgoal()
        if world.steps == 50:
            world.forget()
        copy_rows(world.memory, [0], two, [1])
        yield two, 1, BabyAIPerception(two, 1)


@pytest.mark.parametrize("level", LEVELS)
def test_accessors_equal_records(level: str) -> None:
    for memory, i, perception in snapshots(level):
        for record in perception.get_observed_objects():
            check_record(memory, i, record)
        check_robot(memory, i, perception)


def check_record(memory: Memory, i: int, record: Object) -> None:
    row = np.zeros(len(tables.FIELDS), np.int16)
    tables.fill_row(memory, i, record.id, row)
    fields = dict(zip(tables.FIELDS, row.tolist(), strict=True))
    assert (TYPES[fields["type"]], COLOURS[fields["color"]]) == (record.type, record.color)
    assert (fields["x"], fields["y"]) == record.position
    assert (fields["start_x"], fields["start_y"]) == record.start_position
    assert (fields["one_room"], fields["other_room"]) == record.rooms
    assert tables.STATUSES[fields["status"]] == record.status
    for field in ("id", "distance", "facing", "visible", "held", "room", "explored", "passed_at"):
        assert fields[field] == getattr(record, field)
    for event in ("picked_up_at", "dropped_at", "opened_at"):
        assert fields[event] == getattr(memory, event)[i, record.id] == getattr(record, event)


def check_robot(memory: Memory, i: int, perception: BabyAIPerception) -> None:
    facts = np.zeros(len(tables.FACTS), np.int32)
    tables.fill_facts(memory, i, facts)
    facts_by_name = dict(zip(tables.FACTS, facts.tolist(), strict=True))
    carried, faced = perception.get_carried(), perception.get_facing()
    assert facts_by_name["carried"] == (carried.id if carried else -1)
    assert facts_by_name["facing"] == (faced.id if faced else -1)
    assert (facts_by_name["x"], facts_by_name["y"]) == perception.get_position()
    assert (facts_by_name["front_x"], facts_by_name["front_y"]) == perception.get_front_position()
    assert facts_by_name["room"] == perception.get_current_room()
    assert facts_by_name["unseen"] == perception.count_unseen_cells()
    assert facts_by_name["visited"] == sum(1 << room for room in perception.get_visited_rooms())
    assert facts_by_name["visited_before"] == sum(1 << room for room in perception.get_rooms_visited_before())
    assert (facts_by_name["steps"], facts_by_name["began_at"]) == (perception.get_steps(), perception.get_start_steps())
    for cell in ((0, 0), (1, 0), (0, 1), (-2, 3), (30, 30), (-30, 5)):
        assert tables.is_free_cell.py_func(memory.cells[i], memory.start[i], *cell) == perception.is_free(cell)


TARGETS = [
    Target(type=kind, color=color, location=location)
    for kind in range(-1, len(TYPES))
    for color in (-1, 0, 2, 4)
    for location in range(len(LOCATIONS))
] + [Target(id=k) for k in range(4)]


@pytest.mark.parametrize("level", LEVELS)
def test_matches_equal_find_objects(level: str) -> None:
    for step, (memory, i, perception) in enumerate(snapshots(level)):
        if step % 10:
            continue
        for target in TARGETS:
            ids_found = [record.id for record in perception.find_objects(text(target))]
            ids = range(-1, memories.MAX_OBJECTS + 1)
            assert {k for k in ids if matches(memory, i, k, np.array(target, np.int16))} == set(ids_found)


def test_gone_things_are_nowhere() -> None:
    """An opened box is out of records and accessors, and what it held is a thing of its own."""
    memory = memories.create(1)
    view = np.ones((7, 7), np.uint8)
    view[3, 5] = box = 9 | 2 << 4
    memories.begin(memory, 0, view, (3, 3, 0), 8, 8, 8)
    assert BabyAIPerception(memory, 0).get_facing().name == f"{COLOURS[2]} box"
    view[3, 5] = 7 | 1 << 4
    memories.observe(memory, 0, view, 0, TOGGLE)
    assert box != view[3, 5]
    [record] = BabyAIPerception(memory, 0).get_observed_objects()
    assert (record.id, record.name, record.position) == (1, f"{COLOURS[1]} key", (0, 1))
    assert not matches(memory, 0, 0, np.array(Target(), np.int16))
