"""Descriptions: the grammar both ways, and messages for what isn't one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sdg.envs.babyai.bot import bot_actions
from sdg.envs.babyai.cells import COLOURS, TYPES
from sdg.envs.babyai.perception.description import LOCATIONS, Target, matches, parse, text
from tests.shared.walks import walk

LEFT, RIGHT, FRONT, BEHIND = range(1, 5)


@pytest.mark.parametrize(
    ("description", "target"),
    [
        ("red ball", Target(type=2, color=0)),
        ("the red ball", Target(type=2, color=0)),
        ("A Box", Target(type=3)),
        ("an object", Target()),
        ("object", Target()),
        ("grey doors", Target(type=0, color=COLOURS.index("grey"))),
        ("gray door", Target(type=0, color=COLOURS.index("grey"))),
        ("boxes", Target(type=3)),
        ("keys behind you", Target(type=1, location=BEHIND)),
        ("the ball on your left", Target(type=2, location=LEFT)),
        ("the yellow key on your right", Target(type=1, color=COLOURS.index("yellow"), location=RIGHT)),
        ("  a   door\tin front of you ", Target(type=0, location=FRONT)),
        ("blue key #12", Target(type=1, color=COLOURS.index("blue"), id=12)),
        ("object#3", Target(id=3)),
        ("red ball on your left #0", Target(type=2, color=0, location=LEFT, id=0)),
    ],
)
def test_parse(description: str, target: Target) -> None:
    assert parse(description) == target


def test_every_target_is_what_its_text_parses_to() -> None:
    kinds, colors, locations = range(-1, len(TYPES)), range(-1, len(COLOURS)), range(len(LOCATIONS))
    for fields in itertools.product(kinds, colors, locations, (-1, 0, 7, 39)):
        target = Target(*fields)
        for article in ("", "a ", "the "):
            assert parse(article + text(target)) == target


@pytest.mark.parametrize(
    ("nonsense", "message"),
    [
        ("", "describes nothing"),
        ("ball red", "describes nothing"),
        ("the pink ball", "describes nothing"),
        ("red", "describes nothing"),
        ("red ball and blue key", "describes nothing"),
        ("red ball #-1", "describes nothing"),
        ("red ball #40", "ids go from 0 to 39"),
        ("red ball" * 100, "at most 120 characters"),
        (None, "not NoneType"),
        (7, "not int"),
        (["red ball"], "not list"),
    ],
)
def test_what_is_no_description(nonsense: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(nonsense)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_any_text_parses_or_is_refused(nasty: str) -> None:
    try:
        target = parse(nasty)
    except ValueError:
        return
    assert parse(text(target)) == target


@pytest.mark.parametrize("level", ["PickupLoc", "BossLevel", "Pickup"])
def test_location_words_are_the_verifiers(level: str) -> None:
    """What is found "on your left" and so on is what minigrid's verifier means, wherever the robot goes."""
    from minigrid.envs.babyai.core.verifier import ObjDesc

    compared = 0
    for seed in range(6):
        meant: dict[str, set[int]] = {}
        actions = bot_actions(level, seed) or []  # which leads out of the start room
        for world, _ in walk(level, seed=seed, steps=max(60, len(actions)), actions=actions):
            if not meant:
                for word in ("left", "right", "front", "behind"):
                    things, _ = ObjDesc(None, None, word).find_matching_objs(world.inner)
                    meant[word] = {id(thing) for thing in things if thing.type != "wall"}
        snapshot, inner = world.perception(), world.inner
        for record in snapshot.get_observed_objects():
            thing = inner.carrying if record.held else _at(world, record.id)
            for location, word in enumerate(("left", "right", "front", "behind"), 1):
                target = Target(location=location, id=record.id)
                is_found = bool(snapshot.find_objects(text(target)))
                assert is_found == (id(thing) in meant[word])
                assert matches(world.memory, 0, record.id, np.array(target, np.int16)) == is_found
                compared += is_found
    assert compared > 20


def _at(world: Any, k: int) -> Any:
    x, y = world.memory.at[0, k]
    return world.inner.grid.get(int(x), int(y))


def test_ids_tell_like_things_apart() -> None:
    for seed in range(30):
        world, _ = next(walk("GoToLocal", seed=seed))
        names = [record.name for record in world.perception().get_observed_objects()]
        twins = {name for name in names if names.count(name) > 1}
        for name in twins:
            records = world.perception().find_objects(f"the {name}")
            assert [record.distance for record in records] == sorted(record.distance for record in records)
            for record in records:
                assert world.perception().find_objects(f"{record.name} #{record.id}") == [record]
        if twins:
            return
    pytest.fail("no level with two like things in thirty seeds")
