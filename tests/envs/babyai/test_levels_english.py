"""Missions in free English: other words for the same task, which the level's own verifier judges."""

from __future__ import annotations

import pytest

from sdg.envs.babyai.bot import bot_actions
from sdg.envs.babyai.domain import parse
from sdg.envs.babyai.language import paraphrase, said_by_hand
from sdg.envs.babyai.levels import PAPER_LEVELS, gym_id, level_name
from sdg.envs.babyai.world import instruction, instructions

SAID = [
    instruction.text
    for level in PAPER_LEVELS
    for instruction in instructions(level, split="evaluation", count=12, seed=777)
]


@pytest.mark.parametrize("mission", SAID)
def test_every_mission_is_said_in_words_that_are_no_baby_language(mission: str) -> None:
    words = paraphrase(mission, 1)
    assert words == paraphrase(mission, 1)
    assert len({paraphrase(mission, seed) for seed in range(20)}) > 5
    with pytest.raises(ValueError):  # noqa: PT011  the grammar's own
        parse(words)
    for colour in ("red", "green", "blue", "purple", "yellow"):
        assert words.lower().count(colour) == mission.count(colour)


def test_what_comes_first_is_told_first_or_told_to_come_first() -> None:
    for seed in range(60):
        words = paraphrase("go to the red ball after you open the blue door", seed).lower()
        assert (words.index("blue") < words.index("red")) != ("the last thing to do" in words)


def test_it_is_a_level_of_its_own_with_the_same_layouts_and_judge() -> None:
    assert level_name("BabyAI-GoToLocal-v0:english") == "GoToLocal:english"
    assert gym_id("GoToLocal:english") == "BabyAI-GoToLocal-v0"
    (plain,) = instructions("GoToLocal", split="evaluation", count=1, seed=777)
    free = instruction("GoToLocal:english", plain.seed, split="evaluation")
    assert free.text == paraphrase(plain.text, plain.seed) != plain.text
    assert bot_actions("GoToLocal:english", plain.seed) == bot_actions("GoToLocal", plain.seed) is not None
    assert paraphrase("fly to the moon", 1) == "fly to the moon"


def test_missions_of_the_published_set_were_said_by_hand_and_no_others() -> None:
    by_hand = instructions("BossLevel:by-hand", split="evaluation", count=30, seed=172)
    assert len({instruction.text for instruction in by_hand}) == 30
    assert bot_actions("BossLevel:by-hand", by_hand[0].seed) == bot_actions("BossLevel", by_hand[0].seed) is not None
    with pytest.raises(ValueError, match="nobody has said 'go to the moon'"):
        said_by_hand("go to the moon")
