"""Words by hand for the worlds of torques, asked by the prompts that a language model would get."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gymnasium_robotics", reason="the extra `mujoco` isn't installed")

from examples.worlds import by_hand
from sdg.deduction.deduce import ProgramLimits
from sdg.deduction.planner import Prompts
from sdg.deduction.program import program_guard
from sdg.envs.domains import domain
from sdg.envs.instructions import seeds
from sdg.experiments.cli.main import main
from sdg.experiments.config.config import find_config, load
from sdg.hypothesis.hypothesize import hypothesize, prompt
from sdg.induction.translate import translate
from sdg.llm.registry import ModelAdapter
from sdg.prompts.replies import extract_code
from sdg.storage import read_journal

NAMES = {"ant": ("get_nearer", "reach"), "table": ("approach", "touch", "push_a_little", "push_all_the_way")}
MODELS = {"ant": by_hand.ANT, "table": by_hand.TABLE}


@pytest.mark.parametrize("name", list(MODELS))
def test_every_instruction_has_goals_names_and_a_program(name: str) -> None:
    kind, model = domain(name), ModelAdapter(MODELS[name])
    prompts = Prompts(kind)
    for level in kind.levels():
        for seed in seeds("grounding", count=4):
            world = kind.open(level)
            world.reset(seed)
            hypothesis = hypothesize(world.mission, model=model, domain=kind)
            calls = translate([goal.description for goal in hypothesis.subgoals], domain=kind, model=model)
            assert all(kind.language.parse(call.argument) for call in calls)
            messages = prompts.ask(
                world.mission, skills=(), limits=ProgramLimits(9, 1, 9, 1, world.perception().describe())
            )
            functions: dict[str, Any] = dict(world.perception().functions())
            skills: Any = dict.fromkeys(NAMES[name], _Named())
            assert {call.api for call in calls} <= set(skills)
            program_guard(skills, kind, functions, budget=1000).load(
                extract_code(model.complete(messages).text), entry="program"
            )


class _Named:
    """A skill with an argument."""

    takes_argument = True


CORRIDOR = "tests.envs.corridor:CORRIDOR"


def test_only_worlds_of_torques_are_told_what_makes_a_check_learnable() -> None:
    prompts_of = {
        name: prompt("x", domain=domain(name))[2].content for name in ("ant", "table", "tests.envs.corridor:CORRIDOR")
    }
    assert "kettle" in prompts_of["ant"]
    assert "kettle" in prompts_of["table"]
    assert "kettle" not in prompts_of[CORRIDOR]


@pytest.mark.parametrize("name", list(MODELS))
def test_the_configs_are_for_these_worlds(name: str) -> None:
    config = load(find_config(name))
    assert config.domain == name
    assert config.verify.method == "ppo"


@pytest.mark.parametrize(("config", "hypotheses"), [("ant", 4), ("table", 8)])
def test_a_real_model_s_words_are_said_again_without_it(config: str, hypotheses: int, tmp_path: Path) -> None:
    assert main(["hypothesize", "--config", config, "--out", str(tmp_path / "run"), "--quiet"]) == 0
    assert sum(bool(row["subgoals"]) for row in read_journal(tmp_path / "run" / "hypotheses.jsonl")) == hypotheses
    other = ["hypothesize", "--config", config, "--set", "seed=7", "--out", str(tmp_path / "other"), "--quiet"]
    assert main(other) != 0, "nothing is made up where nothing was recorded"
