"""`import sdg` and nothing else: a world, skills, a model of one's own, a run's tables; what is wrong is one line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sdg

SOLVED_BY_HAND = "def program():\n    walk_up_to({thing!r})\n"


class Mine:
    """A model of one's own that knows one program."""

    def __init__(self, thing: str) -> None:
        self.thing = thing
        self.asked = 0

    def complete(self, messages: Any) -> str:
        self.asked += 1
        assert {message.role for message in messages} <= {"system", "user", "assistant"}
        return f"```python\n{SOLVED_BY_HAND.format(thing=self.thing)}```"


def thing_of(world: sdg.World) -> str:
    return world.mission.removeprefix("go to ")


def test_a_skill_in_a_world(tmp_path: Path) -> None:
    world = sdg.World("GoToLocal", seed=7)
    assert repr(world) == f"World(GoToLocal, layout {world.seed}: {world.mission!r}, step 0 of 64)"
    done = world.do("walk_up_to", thing_of(world))
    assert done
    assert world.solved
    assert str(done) == f"walk_up_to({thing_of(world)!r}) -> True after {done.steps} steps"
    assert any(thing.facing for thing in world.see())  # type: ignore[attr-defined]
    assert world.render().shape[2] == 3
    assert world.save(tmp_path / "episode.gif").read_bytes().startswith(b"GIF89a")
    with pytest.raises(ValueError, match="the episode is over"):
        world.do("walk_up_to", "red ball")
    world.reset()
    assert not world.over


def test_a_model_object_solves_in_a_sealed_process() -> None:
    world = sdg.World("GoToLocal", seed=7)
    model = Mine(thing_of(world))
    solution = world.solve(model=model)
    assert solution
    assert (model.asked, world.solved, solution.program.split("(")[0]) == (1, True, "def program")
    assert solution.calls[0].startswith("line 2: walk_up_to")
    assert str(solution).startswith(f"{world.mission!r} solved in {solution.steps} steps, 1 calls, ")


def test_own_words_that_the_level_can_not_judge() -> None:
    world = sdg.World("GoToLocal", seed=7)
    own = world.mission
    solution = world.solve("dance round the room", model=Mine("object"))
    assert world.mission == "dance round the room"
    world.reset()
    assert world.mission == own
    assert (solution.success, bool(solution)) == (None, False)
    assert "not judged" in repr(solution)
    assert solution.reason


def test_skills_are_played_whatever_is_perceived_in_their_world() -> None:
    assert sdg.World("GoToLocal", domain="babyai-paper", seed=7, skills=sdg.load()).do("walk_up_to", "object").steps


class Silent:
    def complete(self, messages: Any) -> int:
        return 5


class Broken:
    def complete(self, messages: Any) -> str:
        raise KeyError("no such model")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda world: world.solve(model=object()), "give an object with a method complete"),
        (lambda world: world.solve(model=Silent()), r"returned 5 \(int\): complete\(messages\) returns text"),
        (lambda world: world.solve(model=Broken()), "Broken raised KeyError"),
        (lambda world: world.solve(model="nix"), "there is no model provider 'nix'; there are babylang"),
        (lambda world: world.solve("go to teh red ball"), "did you mean 'go to the red ball'"),
        (lambda world: world.do("go_nxt_to", "red ball"), "there is no skill 'go_nxt_to'; there are search_for"),
        (lambda world: world.do("walk_up_to", "red bal"), "'red bal' describes nothing: say"),
        (lambda world: world.do("walk_up_to"), "walk_up_to takes one argument"),
        (lambda world: world.save("episode.mp4"), "name it episode.gif"),
        (lambda world: sdg.World("GoToLocl"), "did you mean GoToLocal"),
        (lambda world: sdg.World("GoToLocal", layout=-1), "a seed is 0 to 2147483647, not -1"),
        (lambda world: sdg.World("GoToLocal", layout=2**31), "a seed is 0 to"),
        (lambda world: sdg.World("GoToLocal", skills=[world]), "give what sdg.load.. or sdg.train.. gave"),
        (
            lambda world: sdg.World("Visit", domain="tests.envs.corridor:CORRIDOR", skills=sdg.load()),
            "the skills are of babyai, not of tests.envs.corridor:CORRIDOR",
        ),
        (lambda world: sdg.load("/"), "there is no skill library in /: name the folder of a"),
        (lambda world: sdg.results("/"), "holds no run"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(ask: Callable[[sdg.World], object], message: str) -> None:
    world = sdg.World("GoToLocal", seed=7)
    with pytest.raises(sdg.SDGError, match=message) as caught:
        ask(world)
    assert "\n" not in str(caught.value)
    assert not world.over


def test_the_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(sdg)["_HOMES"], "World", "no_such_package")
    with pytest.raises(ModuleNotFoundError, match=r"sdg.World needs the package 'no_such_package', .* pip install --c"):
        _ = sdg.World


def test_the_names_are_few_and_their_import_is_lazy() -> None:
    assert set(sdg.__all__) <= set(dir(sdg))
    for name in sdg.__all__:
        assert getattr(sdg, name)
    code = "import sdg, sys; print([name for name in ('numpy', 'torch', 'gymnasium', 'typer') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("imports", ["import sdg, gymnasium", "import gymnasium, sdg"])
def test_gymnasium_knows_every_level_whoever_comes_first(imports: str) -> None:
    code = f"""{imports}
gymnasium.register_envs(sdg)
import minigrid
ours = {{name[4:] for name in gymnasium.registry if name.startswith("sdg/")}} - {{"BabyAI-v0"}}
theirs = {{name.removeprefix("BabyAI-") for name in gymnasium.registry if name.startswith("BabyAI-")}}
assert ours == theirs, ours ^ theirs
assert len(ours) == 96
env = gymnasium.make("sdg/GoToObjS6-v1")
assert env.reset(seed=0)[0]["mission"].startswith("go to")
many = gymnasium.make_vec("sdg/OpenDoorColor-v0", num_envs=3, layouts=2)
assert many.reset()[0]["image"].shape == (3, 7, 7, 3)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_another_world_is_opened_and_learned_in_by_name(tmp_path: Path) -> None:
    lamp = "def on(thing):\n    return any(lamp.is_on for lamp in find_lamps(thing))\n"
    skill = sdg.train(
        "Light", lamp, domain="tests.envs.corridor:CORRIDOR", name="light_up", layouts=100, timesteps=40_960
    )
    assert (skill.domain, skill.skill.learner) == ("tests.envs.corridor:CORRIDOR", "ppo")
    assert skill.skill.success_rate > 0.5
    world = sdg.World("Light", domain="tests.envs.corridor:CORRIDOR", skills=skill, seed=1)
    assert world.do(skill, world.mission.removeprefix("light the ")).steps
    assert world.save(tmp_path / "lamp.gif").read_bytes().startswith(b"GIF89a")
    solution = world.solve("do a dance", model=Mine("red lamp"))
    assert solution.success is None
    assert len(sdg.World("Visit", domain="tests.envs.corridor:CORRIDOR").library) == 0
