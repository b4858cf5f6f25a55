"""The BabyAI paper's model: it sees the true view and nothing else, and plays as torch computes it."""

from __future__ import annotations

import numpy as np
import pytest

from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.practice import inputs
from sdg.envs.babyai.practice.inputs import MAP_INPUTS
from sdg.envs.babyai.world import BabyAIWorld
from sdg.experiments.baselines.paper_model import PaperNetwork, PaperPolicy
from sdg.skills.learners import policy_of
from sdg.skills.policy.network import BitsPolicy
from sdg.skills.practice.starts import Starts
from sdg.skills.subgoal import CheckFunction
from tests.shared.library_samples import random_bits

NEXT_TO = CheckFunction("check", "def check():\n    return any([t.facing for t in find_objects('ball')])\n")


def random_weights(rng: np.random.Generator, *, width: int = 8, words: int = 6) -> dict[str, np.ndarray]:
    arrays = PaperNetwork(width, words).state_dict().items()
    return {name: (rng.standard_normal(tuple(array.shape)) * 0.3).astype(np.float32) for name, array in arrays}


@pytest.mark.parametrize("level", ["BossLevel", "PutNextLocal", "UnblockPickup", "KeyInBox"])
def test_the_view_drawn_from_memory_is_the_view_that_was_given(level: str) -> None:
    rng = np.random.default_rng(0)
    world, out = BabyAIWorld(level, lift_time_limit=True), np.zeros((1, 7, 7), np.uint8)
    for seed in range(4):
        world.reset(seed)
        for _ in range(150):
            inputs.write_views(world.memory, out)
            assert (out[0] == world.view).all()
            if world.step(int(rng.choice(6, p=[0.2, 0.2, 0.3, 0.1, 0.05, 0.15]))).terminated:
                break


def test_what_is_only_remembered_is_not_seen() -> None:
    world = BabyAIWorld("GoToLocal")
    world.reset(3)
    out = np.zeros((2, 7, 7), np.uint8)
    inputs.write_views(world.memory, out[:1])
    unseen = world.memory.cells[0] == 0
    world.memory.cells[0][unseen] = 8  # balls wherever nothing was seen
    inputs.write_views(world.memory, out[1:])
    hidden = out[0] == 0
    assert (out[0][~hidden] == out[1][~hidden]).all()


def test_words_of_missions_have_numbers() -> None:
    for level in ("BossLevel", "SynthSeq", "PickupLoc"):
        for text in BABYAI.layouts(level, range(5)).missions:
            assert inputs.UNKNOWN not in inputs.numbers_of(text), text
    assert inputs.numbers_of("") == (inputs.UNKNOWN,)
    assert inputs.argument_text(BABYAI.language.row("the red ball on your left")) == "red ball on your left"
    assert inputs.argument_text(BABYAI.language.row("")) == ""


def test_a_learner_refuses_what_another_learned() -> None:
    rng = np.random.default_rng(0)
    paper, bits = random_weights(rng), random_bits(MAP_INPUTS, rng).weights
    assert isinstance(policy_of(paper, BABYAI, "paper-model"), PaperPolicy)
    assert isinstance(policy_of(bits, BABYAI), BitsPolicy)
    for weights, learner in ((bits, "paper-model"), (paper, "ppo")):
        with pytest.raises(ValueError, match="arrays"):
            policy_of(weights, BABYAI, learner)
    broken = random_weights(rng)
    broken["film1.conv1.weight"] = broken["film1.conv1.weight"][:4]
    with pytest.raises(ValueError, match=r"film1\.conv1\.weight"):
        policy_of(broken, BABYAI, "paper-model")
    with pytest.raises(ValueError, match="action"):
        policy_of({name: array for name, array in paper.items() if name != "action.bias"}, BABYAI, "paper-model")


def starts() -> Starts:
    rows = BABYAI.begin(BABYAI.layouts("GoToLocal", range(6)), np.arange(6))
    targets = np.stack(
        [BABYAI.language.row(text) for text in ("red ball", "key", "", "ball", "box on your left", "grey box")]
    )
    return Starts(rows, targets, (NEXT_TO,), np.zeros(6, np.int64))


def test_a_policy_plays_what_was_learned() -> None:
    import torch

    from sdg.experiments.baselines.paper_model import SPACE, PaperLearner, PaperPractice, PaperShape
    from sdg.skills.learning.ppo import PPOSettings
    from sdg.skills.learning.sb3 import SB3Rows
    from sdg.skills.learning.vec_env import PracticeVecEnv

    small = PPOSettings(n_steps=4, batch_size=24)
    practice = PaperPractice(starts(), 6, horizon=10, seed=0)
    practice.restore(np.arange(6), np.arange(6))
    rows = SB3Rows(PracticeVecEnv(practice), SPACE)
    learner = PaperLearner(rows, practice.texts, small, seed=0, shape=PaperShape(8, 6))
    policy = learner.policy()
    inner = learner.ppo.policy
    with torch.no_grad():
        wanted = inner.get_distribution(torch.as_tensor(practice.features()).float()).distribution.logits.numpy()
    views = np.zeros((6, 7, 7), np.uint8)
    inputs.write_views(practice.memory, views)
    logits = policy.logits_of(views, [inputs.argument_text(target) for target in practice.targets])
    logits = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    assert logits == pytest.approx(wanted, abs=1e-4)
    again = PaperLearner(rows, practice.texts, small, seed=5, shape=PaperShape(8, 6), init_policy=policy).policy()
    assert all((again.weights[name] == policy.weights[name]).all() for name in policy.weights)
    with pytest.raises(ValueError, match="go on from"):
        PaperLearner(rows, practice.texts, small, seed=5, shape=PaperShape(16, 6), init_policy=policy)


def test_it_acts_alike_alone_and_in_a_batch() -> None:
    policy, there = PaperPolicy(random_weights(np.random.default_rng(1))), starts()
    batch = policy.act_batch(there.memory, there.targets, np.random.default_rng(4))
    rng = np.random.default_rng(4)
    assert [policy.act(there.memory, row, there.targets[row], rng) for row in range(6)] == batch.tolist()
