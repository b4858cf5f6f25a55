"""What the robot's own map says of a command: out of reach, nothing left to see, locked, and whether it came about."""

from __future__ import annotations

from itertools import pairwise

import pytest

from sdg.envs.babyai.affordances import RoomAffordances, Surroundings
from sdg.envs.babyai.bot import bot_actions
from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.perception.snapshot import BabyAIPerception
from sdg.envs.babyai.world import BabyAIWorld

SEED = 3_000_777
GO, TAKE, FIND = frozenset({".facing"}), frozenset({".held", ".picked_up_at"}), frozenset({"find_objects()"})
FACTS = RoomAffordances()


@pytest.fixture(scope="module")
def walk() -> list[BabyAIPerception]:
    """Snapshots of the ways that minigrid's bot takes through three mazes."""
    snapshots = []
    for seed in range(SEED, SEED + 3):
        world = BabyAIWorld("BossLevel")
        world.reset(seed)
        snapshots.append(world.perception())
        for action in bot_actions("BossLevel", seed) or ():
            world.step(action)
            snapshots.append(world.perception())
    return snapshots


def test_a_door_of_another_room_is_out_of_reach_and_one_of_this_room_never(walk: list[BabyAIPerception]) -> None:
    refused = 0
    for snapshot in walk[::5]:
        place = Surroundings(snapshot)
        for door in snapshot.find_objects("door"):
            reason = FACTS.obstacle(GO, BABYAI.language.name_of(door), snapshot)
            assert bool(reason) is not (place.is_here(door) or place.steps_to(door) >= 0)
            if door.facing or (door.room == snapshot.get_current_room() and place.steps_to(door) >= 0):
                assert not reason
            if reason:
                refused += 1
                assert f"{door.name} #{door.id} is out of reach" in reason
                assert place.steps_to(door) == -1
    assert refused > 5


def test_things_of_the_robot_s_room_are_here_and_those_of_others_are_not(walk: list[BabyAIPerception]) -> None:
    for snapshot in walk[::3]:
        place, here = Surroundings(snapshot), snapshot.get_current_room()
        if not place.is_in_doorway:
            for thing in (record for record in snapshot.get_observed_objects() if record.type != "door"):
                assert place.is_here(thing) == (thing.room == here)


def test_a_search_is_refused_where_nothing_is_left_to_see(walk: list[BabyAIPerception]) -> None:
    reasons = set()
    for snapshot in walk:
        unknown = next(name for name in ("red box", "green box", "grey box") if not snapshot.find_objects(name))
        inside = not any(door.position == snapshot.get_position() for door in snapshot.find_objects("door"))
        reason = FACTS.obstacle(FIND, unknown, snapshot)
        if inside:
            assert bool(reason) == (snapshot.count_unseen_cells() == 0)
        reasons.add(bool(reason))
    assert reasons == {True, False}


def test_what_is_held_or_no_thing_to_carry_is_refused(walk: list[BabyAIPerception]) -> None:
    door = next(snapshot for snapshot in walk if snapshot.get_facing() and snapshot.get_facing().type == "door")  # type: ignore[union-attr]
    name = BABYAI.language.name_of(door.get_facing())
    assert "can't be carried" in FACTS.obstacle(TAKE, name, door)
    assert FACTS.obstacle(GO, name, door) == ""


def test_going_to_one_thing_is_not_going_to_another(walk: list[BabyAIPerception]) -> None:
    faced = [(a, b) for a, b in pairwise(walk) if b.get_facing() and not a.get_facing()]
    assert faced
    for before, after in faced[:40]:
        for thing in after.get_observed_objects():
            missing = FACTS.shortfall(GO, BABYAI.language.name_of(thing), before, after)
            assert (missing == "") is thing.facing
    assert FACTS.shortfall(frozenset(), "", walk[0], walk[1]) is None
