"""Levels by name, and sets of instructions that share no seed."""

from __future__ import annotations

import itertools

import pytest

from sdg.envs.babyai.levels import PAPER_LEVELS, all_levels, gym_id, level_name
from sdg.envs.babyai.world import instruction, instructions
from sdg.envs.instructions import SPLITS, STRIDE, Instruction, check_seed, seeds
from sdg.experiments.bench.table1 import PUBLISHED_LEVELS


def test_all_registered_levels() -> None:
    import gymnasium

    assert len(all_levels()) == 96
    registered = {gym_name for gym_name in gymnasium.registry if gym_name[:7] == "BabyAI-"}
    assert {gym_id(level) for level in all_levels()} == registered
    assert set(PAPER_LEVELS) <= set(all_levels())


@pytest.mark.parametrize(
    "name", ["GoToLocal", "BabyAI-GoToLocal-v0", "BabyAI-GoToLocal", "GoToLocal-v0", " GoToLocal "]
)
def test_names(name: str) -> None:
    assert level_name(name) == "GoToLocal"
    assert gym_id(name) == "BabyAI-GoToLocal-v0"


def test_every_id_is_its_own() -> None:
    import gymnasium

    ids = [gym_id(level) for level in all_levels()]
    assert len(set(ids)) == len(ids)
    assert all(gym_name in gymnasium.registry for gym_name in ids)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("GotoLocal", "did you mean GoToLocal"),
        ("BossLvl", "did you mean BossLevel"),
        ("Xyzzy", "levels have names"),
        ("", "levels have names"),
        ("MiniGrid-Empty-5x5-v0", "there is no BabyAI level"),
        (None, "levels have names"),
    ],
)
def test_unknown_names(name: str, hint: str) -> None:
    with pytest.raises(ValueError, match=hint):
        level_name(name)


def test_sets_are_disjoint() -> None:
    for first, second in itertools.combinations(SPLITS.values(), 2):
        assert first.stop <= second.start or second.stop <= first.start


def test_seeds_stay_in_their_set_and_apart() -> None:
    for split in SPLITS:
        taken = [set(seeds(split, count=STRIDE, seed=user)) for user in (0, 1, 99)]
        for chosen in taken:
            assert len(chosen) == STRIDE
            assert all(seed in SPLITS[split] for seed in chosen)
        for first, second in itertools.combinations(taken, 2):
            assert not first & second
    assert seeds("validation", count=2, seed=3) == [1_030_000, 1_030_001]
    assert seeds("validation", count=2, seed=100) == [1_000_000, 1_000_001]


def test_no_two_levels_share_evaluation_seeds() -> None:
    """SynthSeq and BossLevel make the same mission of one seed in 19 of 20 cases."""
    taken = [set(seeds("evaluation", count=STRIDE, seed=3, level=level)) for level in PUBLISHED_LEVELS]
    assert sum(map(len, taken)) == len(set().union(*taken))


def test_whole_set_wraps_without_repeating() -> None:
    assert len(set(seeds("evaluation", count=1_000_000, seed=7))) == 1_000_000


@pytest.mark.parametrize(
    ("split", "count", "seed", "message"),
    [
        ("grounding", 1_000_001, 0, "has 1000000 seeds"),
        ("grounding", -1, 0, "can't be taken"),
        ("test", 1, 0, "no set of instructions 'test'"),
        ("grounding", 1, -1, "a seed is 0 or more"),
    ],
)
def test_impossible_seeds(split: str, count: int, seed: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        seeds(split, count=count, seed=seed)


@pytest.mark.parametrize(
    ("seed", "split"), [(1_000_000, "grounding"), (0, "evaluation"), (-1, "grounding"), (10**12, "training")]
)
def test_seed_outside_its_set(seed: int, split: str) -> None:
    for ask in (
        lambda: check_seed(seed, split),
        lambda: Instruction("GoToLocal", seed, split, "go to a ball"),
        lambda: instruction("GoToLocal", seed, split=split),
    ):
        with pytest.raises(ValueError, match=f"seed {seed} is outside {split}"):
            ask()


def test_the_message_names_the_set_it_belongs_to() -> None:
    with pytest.raises(ValueError, match="it belongs to validation"):
        check_seed(1_500_000, "grounding")


def test_instructions_are_minigrids(capsys: pytest.CaptureFixture[str]) -> None:
    import gymnasium

    missions = instructions("BossLevel", split="evaluation", count=5, seed=1)
    assert [mission.seed for mission in missions] == seeds("evaluation", count=5, seed=1, level="BossLevel")
    assert capsys.readouterr().out == ""
    env = gymnasium.make("BabyAI-BossLevel-v0", disable_env_checker=True)
    for mission in missions:
        assert mission == instruction("BossLevel", mission.seed, split="evaluation")
        assert env.reset(seed=mission.seed)[0]["mission"] == mission.text
