"""One world: quiet, reproducible, its limit lifted on request, and open to one's own instructions."""

from __future__ import annotations

import numpy as np
import pytest

from sdg.envs.babyai.bot import bot_actions
from sdg.envs.babyai.levels import PAPER_LEVELS
from sdg.envs.babyai.world import BabyAIWorld


def test_reset_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    world = BabyAIWorld("PutNextLocalS6N4")  # most of its layouts are rejected, and minigrid says so
    for seed in range(20):
        world.reset(seed)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("level", PAPER_LEVELS)
def test_the_bots_path_succeeds_and_replays(level: str) -> None:
    actions = bot_actions(level, 1)
    assert actions is not None
    descriptions = []
    for lifted in (False, True):
        world = BabyAIWorld(level, lift_time_limit=lifted)
        world.reset(1)
        results = [world.step(action) for action in actions]
        assert [result.done for result in results] == [False] * (len(actions) - 1) + [True]
        assert results[-1].success
        assert world.steps == len(actions) <= world.max_steps
        descriptions.append(world.perception().describe())
    assert descriptions[0] == descriptions[1]


def test_the_bot_gives_up_quietly() -> None:
    assert bot_actions("PutNextS5N2Carrying", 0) is None


def test_time_limit_and_lifting_it() -> None:
    short, long = BabyAIWorld("GoToLocal"), BabyAIWorld("GoToLocal", lift_time_limit=True)
    for world in (short, long):
        world.reset(8)
        assert world.max_steps == 64
    spins = [(short.step(0), long.step(0)) for _ in range(64)]
    assert [step.truncated for step, _ in spins] == [False] * 63 + [True]
    assert not any(step.truncated for _, step in spins)
    actions = bot_actions("GoToLocal", 8)
    assert actions is not None
    results = [long.step(action) for action in actions]
    assert results[-1].success, "64 turns lead back to the start, and success counts however late"
    assert results[-1].reward > 0.99


def test_refusals() -> None:
    world = BabyAIWorld("GoToLocal")
    with pytest.raises(RuntimeError, match="reset the world"):
        world.step(0)
    world.reset(0)
    for action in (-1, 6, 99):
        with pytest.raises(ValueError, match="actions are 0 to 5"):
            world.step(action)
    assert world.steps == 0
    with pytest.raises(ValueError, match="no BabyAI level"):
        BabyAIWorld("GoToNowhere")


def test_subgoals_and_forgetting() -> None:
    actions = bot_actions("Open", 1)
    assert actions is not None
    world = BabyAIWorld("Open")
    world.reset(1)
    for action in actions:
        world.step(action)
    rooms = world.perception().get_visited_rooms()
    assert len(rooms) > 1
    assert world.perception().get_rooms_visited_before() == [0]
    assert world.perception().get_start_steps() == 0
    world.begin_subgoal()
    assert world.perception().get_rooms_visited_before() == rooms
    assert world.perception().get_start_steps() == len(actions)
    assert any(record.explored for record in world.perception().find_objects("door"))
    world.forget()
    assert world.perception().get_visited_rooms() == [world.perception().get_current_room()]
    assert world.perception().get_rooms_visited_before() == rooms
    assert not any(record.explored for record in world.perception().find_objects("door"))


def test_render() -> None:
    world = BabyAIWorld("PickupLoc")
    world.reset(0)
    frame = world.render()
    assert frame.dtype == np.uint8
    assert frame.shape == (128, 128, 3)
    world.step(0)
    assert (world.render() != frame).any()


MISSIONS = [(level, seed) for level in (*PAPER_LEVELS, "GoToSeq", "PickupAbove", "ActionObjDoor") for seed in range(12)]


@pytest.mark.parametrize(("level", "seed"), MISSIONS)
def test_minigrids_own_missions_parse_to_themselves(level: str, seed: int) -> None:
    """What minigrid says, read back, is said in the same words, tracks the same things and has the same time."""
    world = BabyAIWorld(level)
    world.reset(seed)
    words, limit, tracked = world.mission, world.max_steps, _tracked(world.inner.instrs)
    world.set_instruction(words)
    assert world.mission == words
    assert world.max_steps == limit
    assert _tracked(world.inner.instrs) == tracked


def _tracked(instruction: object) -> list[object]:
    """The verifier's tree: its kinds, and the things that each clause speaks of."""
    parts: list[object] = [type(instruction).__name__]
    for name in ("desc", "desc_move", "desc_fixed"):
        if hasattr(instruction, name):
            parts.append([id(thing) for thing in getattr(instruction, name).obj_set])
    for name in ("instr_a", "instr_b"):
        if hasattr(instruction, name):
            parts.append(_tracked(getattr(instruction, name)))
    return parts


def test_own_instruction_is_verified() -> None:
    """ "Go to" the thing straight ahead, set by hand, succeeds when the robot stands before it."""
    for seed in range(40):
        world = BabyAIWorld("GoToLocal")
        world.reset(seed)
        ahead = [thing for thing in world.perception().find_objects("object in front of you") if thing.position[0] == 0]
        if not ahead or ahead[0].position[1] < 3:
            continue
        world.set_instruction(f"Go to a {ahead[0].name}.")
        results = [world.step(2) for _ in range(ahead[0].position[1] - 1)]
        assert results[-1].success
        assert not any(result.done for result in results[:-1])
        return
    pytest.fail("no thing straight ahead in forty seeds")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no instruction"),
        ("dance", "is no instruction"),
        ("go to the moon", "describes nothing"),
        ("open the red ball", "open takes a door"),
        ("open a object", "open takes a door"),
        ("pick up a door", "take no door"),
        ("put a door next to a ball", "take no door"),
        ("put a ball beside a key", "is no instruction"),
        ("go to a ball #3", "by its number"),
        ("go to a ball and go to a key and go to a box", "more than two clauses"),
        ("go to a ball, then go to a key, then go to a box", "more than two parts"),
        ("go to a ball, then go to a key after you go to a box", "more than two parts"),
        ("go to a ball" + " and go to a ball" * 100, "at most 500 characters"),
        ("open a door", "this world has nothing"),
    ],
)
def test_what_is_no_instruction(text: str, message: str) -> None:
    world = BabyAIWorld("GoToLocal")
    world.reset(0)
    before, limit = world.mission, world.max_steps
    with pytest.raises(ValueError, match=message):
        world.set_instruction(text)
    assert (world.mission, world.max_steps) == (before, limit)
    assert bot_actions("GoToLocal", 0)


def test_instructions_are_set_at_the_start_only() -> None:
    world = BabyAIWorld("GoToLocal")
    with pytest.raises(ValueError, match="right after reset"):
        world.set_instruction("go to a ball")
    world.reset(0)
    world.step(0)
    with pytest.raises(ValueError, match="right after reset"):
        world.set_instruction("go to a ball")
