"""What a config says of its model: settings that travel, and what a run will cost before it begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from sdg.envs.registry import RegistryError
from sdg.errors import UserError
from sdg.experiments.bench.options import budget
from sdg.experiments.config.assembly import expected_cost, model_settings, plan_of
from sdg.experiments.config.config import RunConfig
from sdg.experiments.results.comparison import named_model
from sdg.llm.budget import BudgetSettings
from sdg.skills.strict_json import validate


def config(**sections: object) -> RunConfig:
    return validate(RunConfig, {"name": "a", "levels": ["Open", "GoToLocal"], **sections})


def test_a_server_s_replies_are_remembered_and_it_is_asked_many_at_a_time(tmp_path: Path) -> None:
    remote, local = config(model={"kind": "openai", "name": "x", "concurrency": 5}), config()
    assert (model_settings(remote, tmp_path).cache, model_settings(local, tmp_path).cache) == (True, False)
    assert not model_settings(config(model={"kind": "openai", "name": "x", "cache": False}), tmp_path).cache
    assert (plan_of(remote).concurrency, plan_of(local).concurrency) == (5, 1)


def test_a_run_s_cost_is_told_for_what_it_will_do() -> None:
    settings = config(
        model={"kind": "openai", "name": "x"},
        budget={"prompt_price": 2.0, "completion_price": 8.0},
        instructions_per_level=10,
        induce={"rehearsals": 5},
        evaluate={"instructions": 50, "baselines": ["random"]},
    )
    assert expected_cost(config(), until="run") == ""
    questions = {until: int(expected_cost(settings, until=until).split()[6]) for until in ("verify", "induce", "run")}
    assert questions == {"verify": 30, "induce": 30 + 6 + 13, "run": 30 + 6 + 13 + 130}
    assert " in money; " in expected_cost(settings, until="run")


def test_a_benchmark_keeps_a_budget_and_a_ledger(tmp_path: Path) -> None:
    spendable = budget("tokens=7,prompt_price=1,completion_price=2")
    settings = named_model("openai:x", folder=tmp_path, budget=spendable)
    assert settings.budget == BudgetSettings(tokens=7, prompt_price=1.0, completion_price=2.0)
    assert settings.ledger == tmp_path / "spent.json"
    assert named_model("replay:a/t.jsonl", folder=tmp_path).transcript == Path("a/t.jsonl")
    for wrong in ("tokens", "tokens=x", "hours=3", "money=-1"):
        with pytest.raises(UserError, match="write --budget"):
            budget(wrong)
    with pytest.raises(RegistryError, match="there is no model provider 'gpt'"):
        named_model("gpt", folder=tmp_path)


def test_a_recording_is_found_beside_the_shipped_configs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdg.experiments.config.assembly.CONFIGS", tmp_path)
    monkeypatch.chdir(tmp_path.parent)
    replayed = config(model={"kind": "replay", "transcript": "words.jsonl"})
    assert model_settings(replayed, None).transcript == Path("words.jsonl")
    (tmp_path / "words.jsonl.xz").write_bytes(b"")
    assert model_settings(replayed, None).transcript == tmp_path / "words.jsonl"
    (tmp_path.parent / "words.jsonl").write_text("")
    assert model_settings(replayed, None).transcript == Path("words.jsonl")
    (tmp_path.parent / "words.jsonl").unlink()
