"""Guards by key and by module:attribute; whatever is no guard is told before anything acts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from sdg.agents.agents import Task
from sdg.deduction.deduce import DeductionSettings
from sdg.envs.babyai.perception.snapshot import Object
from sdg.envs.registry import RegistryError
from sdg.envs.world import PlainObservation
from sdg.experiments.play.episodes import EpisodeJob, run_jobs
from sdg.experiments.play.players import PRIMITIVES, PlannerRecipe
from sdg.gate.executor import Command
from sdg.gate.registry import check_guards, gate_of
from sdg.gate.rules import Usage
from sdg.llm.provider import ModelSettings
from sdg.storage import Journal

OWN = """
from sdg.gate.executor import Verdict

class Timid:
    '''Refuses whatever isn't listed.'''
    source = "timid"
    def __init__(self, usages=None):
        self.usages = usages
    def feasible(self, command, observation):
        return Verdict(command.name == "pick", f"{command.name} is frightening", source="timid")
    def complete(self, command, before, after):
        return Verdict(True, "it is over", source="timid")

class Early(Timid):
    kind = "rules"

class Odd(Timid):
    kind = "first"

class Broken(Timid):
    def __init__(self, resolve):
        raise OSError("no\\nweights")

class Half:
    def feasible(self, command, observation):
        return Verdict(True, "fine")

timid = Timid()

class Model:
    network = False
    def complete(self, messages):
        return "```python\\ndef program():\\n    turn_left()\\n```"
"""


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A user's folder with a module of theirs, as the current one."""
    (tmp_path / "own_guards.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    sys.modules.pop("own_guards", None)


def nothing(argument: str, elements: Sequence[Object]) -> Sequence[Object]:
    return ()


def feasible(names: Sequence[str], command: Command) -> tuple[bool, str]:
    gate = gate_of(names, usages={"pick": Usage(), "go": Usage(takes_argument=False)}, resolve=nothing)
    verdict = gate.feasible(command, PlainObservation("a room"))
    return verdict.passed, verdict.source


def test_shipped_guards_are_named_by_their_keys() -> None:
    assert feasible(["rules"], Command("fly")) == (False, "rules")
    assert feasible(["rules"], Command("go")) == (True, "rules")
    assert feasible(["open"], Command("fly")) == (True, "open")


@pytest.mark.parametrize("name", ["own_guards:Timid", "own_guards:timid"])
def test_one_s_own_guard_joins_the_rules(name: str) -> None:
    assert feasible([name, "rules"], Command("go")) == (False, "timid")
    assert feasible([name, "rules"], Command("fly")) == (False, "rules"), "rules are asked first"
    assert feasible([name, "rules"], Command("pick", "it")) == (True, "rules")
    assert feasible(["own_guards:Early", "rules"], Command("fly")) == (False, "timid")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "a gate needs a guard; the guard 'open' lets every command through"),
        (
            ["rule"],
            "no guard 'rule'; there are rules, learned, screens, confirm, phone, phone-learned, llm, open, or one of"
            " your own",
        ),
        (["rules", "own_guards:Bold"], "own_guards has no 'Bold'"),
        (["own_guards:Half"], r"the guard 'own_guards:Half' \(type\) lacks complete"),
        (["own_guards:Odd"], "is of kind 'first'; kinds are rules, learned, llm"),
        (["own_guards:Broken"], "making the guard 'own_guards:Broken' raises OSError: no weights"),
    ],
)
def test_what_is_no_guard_is_one_line(names: list[str], message: str) -> None:
    with pytest.raises(RegistryError, match=message):
        feasible(names, Command("go"))
    if "making" not in message and "kind" not in message:
        with pytest.raises(RegistryError, match=message):
            check_guards(names)


def test_one_s_own_guard_stands_before_the_robot_in_the_workers(tmp_path: Path) -> None:
    recipe = PlannerRecipe(
        "own",
        None,
        skills=PRIMITIVES,
        model=ModelSettings("own_guards:Model"),
        settings=DeductionSettings(interactions=1),
        guards=("rules", "own_guards:Timid"),
    )
    with Journal(tmp_path / "episodes.jsonl") as journal:
        (row,) = run_jobs([EpisodeJob(recipe, Task("GoToLocal", 2_000_000))], journal=journal)
    assert row.steps == 0
    assert "turn_left is frightening" in row.error
