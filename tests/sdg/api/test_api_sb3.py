"""stable-baselines3 on a level, and its policy as a skill: stored, loaded and played with the same logits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
import torch
from stable_baselines3 import PPO

import sdg
from sdg.envs.babyai.domain import BABYAI
from sdg.errors import UserError
from sdg.experiments.baselines.sb3_policy import SB3_POLICY

FACING = "def facing(thing):\n    return get_facing() in find_objects(thing)\n"


def test_a_policy_of_theirs_is_a_skill(tmp_path: Path) -> None:
    env = sdg.sb3_env("GoToLocal", 4, layouts=20)
    model = PPO("MultiInputPolicy", env, n_steps=8, batch_size=16, n_epochs=1, device="cpu", seed=0)
    model.learn(32)
    skill = sdg.sb3_skill(model, FACING, name="go_to", mission="go to the {}")
    library = sdg.load(skill.save(tmp_path / "library"))
    played = SB3_POLICY.policy(library.weights["go_to"], BABYAI)
    observed = env.reset()
    rows = [row for row, mission in enumerate(env.missions()) if mission.startswith("go to the")]
    assert rows
    wanted = model.policy.get_distribution({k: torch.as_tensor(v) for k, v in observed.items()}).distribution.logits  # type: ignore[union-attr]
    for row in rows:
        target = BABYAI.language.row(env.missions()[row].removeprefix("go to "))
        out = np.zeros(played.inputs.size, np.uint8)  # type: ignore[attr-defined]
        played.inputs.write_row(env.rows.memory, row, target, out)  # type: ignore[attr-defined]
        logits = played.outputs(out)  # type: ignore[attr-defined]
        logits -= np.log(np.exp(logits).sum())
        np.testing.assert_allclose(logits, wanted[row].detach().numpy(), atol=1e-5)
    assert sdg.World("GoToLocal", seed=3, skills=library).do("go_to", "object").steps >= 0


def test_an_observation_has_the_mission_also_where_an_episode_ends() -> None:
    env = sdg.sb3_env("PutNextLocal", 3, layouts=5)
    observed = env.reset()
    assert env.observation_space.contains({name: values[0] for name, values in observed.items()})
    rng, ended = np.random.default_rng(0), 0
    for _ in range(300):
        env.step_async(rng.integers(6, size=3))
        observed, _, dones, infos = env.step_wait()
        for row in np.flatnonzero(dones):
            assert env.observation_space.contains(infos[row]["terminal_observation"])
            ended += 1
    assert ended


def test_what_learned_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = PPO("MlpPolicy", "CartPole-v1", device="cpu")
    with pytest.raises(ValueError, match=r"only what learned on an environment of sdg\.sb3_env"):
        sdg.sb3_skill(foreign, FACING, name="go_to", mission="go to the {}")
    model = PPO("MultiInputPolicy", sdg.sb3_env("GoToLocal", 2, layouts=3), n_steps=2, batch_size=2, device="cpu")
    with pytest.raises(ValueError, match="exactly if the check has a parameter"):
        sdg.sb3_skill(model, FACING, name="go_to", mission="go to the red ball")
    monkeypatch.setattr("sdg.api.sb3.measure_skill", lambda *_, **__: pytest.fail("it is measured"))
    for senseless, message in (
        ({"mission": "put the {} next to the {}"}, "exactly if the check has a parameter"),
        ({"mission": "{} {x}"}, "exactly if the check has a parameter"),
        ({"mission": "go to the {0}"}, "exactly if the check has a parameter"),
        ({"name": "program"}, "can't be a skill's name"),
        ({"horizon": 0}, "a horizon is 1 to"),
    ):
        with pytest.raises(UserError, match=message):
            sdg.sb3_skill(model, FACING, **({"name": "go_to", "mission": "go to the {}"} | senseless))  # type: ignore[arg-type]
    monkeypatch.undo()
    with pytest.raises(UserError, match="sees can't be measured: no held-out layout is left"):
        sdg.sb3_skill(model, "def f(): return True", name="sees", mission="look")
    with pytest.raises(ValueError, match="at least 1 environment"):
        sdg.sb3_env("GoToLocal", 0)


def test_other_worlds_are_rows_of_what_their_policies_see() -> None:
    pytest.importorskip("gymnasium_robotics")
    env = sdg.sb3_env("AntMaze_UMaze-v5", 2, domain="ant", layouts=4)
    observed = env.reset()
    assert env.observation_space.contains(observed[0])  # type: ignore[index]
    env.step_async(np.stack([env.action_space.sample() for _ in range(2)]))
    assert env.step_wait()[1].tolist() == [0, 0]
    model = PPO(
        "MlpPolicy",
        sdg.sb3_env("Visit", 2, domain="tests.envs.corridor:CORRIDOR"),
        n_steps=4,
        batch_size=8,
        device="cpu",
    )
    with pytest.raises(ValueError, match=r"elsewhere sdg\.train"):
        sdg.sb3_skill(model.learn(8), FACING, name="go_to", mission="go to the {}")
    with pytest.raises(ValueError, match="no level"):
        sdg.sb3_env("Nowhere", 2, domain="tests.envs.corridor:CORRIDOR")
