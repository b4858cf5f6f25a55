"""What a skill is said to need and to bring about: facts that its members share, found by replaying them."""

from __future__ import annotations

from dataclasses import replace

from sdg.deduction.library_skills import Conditions, learn_needs
from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.world import BabyAIWorld
from sdg.skills.subgoal import CheckFunction, Experience, Subgoal

PICK = Subgoal("pick it up", CheckFunction("check", "def check():\n    return get_carried() is not None\n"))


def picked_up(seed: int) -> tuple[Experience, str] | None:
    """An episode's one experience: the thing ahead is picked up, where there is one."""
    world = BabyAIWorld("PickupLoc")
    world.reset(seed)
    for turns in range(4):
        faced = world.perception().get_facing()
        if faced is not None and faced.type != "door":
            begun = Experience("", "PickupLoc", seed, 0, PICK, restore_actions=[0] * turns, actions=[3], confirmed=True)
            return begun, f"{faced.name} #{faced.id}"
        world.step(0)
    return None


def test_conditions_are_what_members_share() -> None:
    picked = [picked_up(seed) for seed in range(60)]
    members = [member for member in picked if member is not None][:4]
    conditions = learn_needs(members, domain=BABYAI, takes_argument=True)[1]
    assert {"nothing is carried", "the robot faces it"} <= set(conditions.before)
    assert {"it is carried", "something is carried"} <= set(conditions.after)
    assert "nothing is carried" not in conditions.after
    assert learn_needs(members[:2], domain=BABYAI, takes_argument=True)[1] == Conditions(), (
        "two are too few to say anything"
    )
    idle = [(replace(experience, actions=[]), argument) for experience, argument in members]
    assert learn_needs(idle, domain=BABYAI, takes_argument=True)[1] == Conditions()
