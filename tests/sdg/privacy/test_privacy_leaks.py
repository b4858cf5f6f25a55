"""No canary is found anywhere, placeholders cost nothing, worlds without secrets see not a byte of difference."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sdg.agents.agents import Task
from sdg.envs.babyai.domain import BABYAI
from sdg.envs.instructions import seeds
from sdg.errors import UserError
from sdg.experiments.bench.gate.privacy import LabelledText, count_hidden, read_sets
from sdg.experiments.play import solve as solve_module
from sdg.experiments.play.players import PlannerRecipe
from sdg.llm.provider import ModelSettings
from sdg.llm.registry import ModelAdapter
from sdg.privacy.memory import Placeholders
from sdg.privacy.protector import ProtectedModel, Protector, protector_of
from sdg.privacy.recognisers import Span, find, recognisers_of
from tests.adversarial import forms, leaks


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")


def test_no_canary_is_found_on_any_path(tmp_path: Path) -> None:
    leaks_by_path = {row["path"]: row["leaks"] for row in leaks.rows(tmp_path)}
    assert set(leaks_by_path.values()) == {0}
    paths = {"prompts", "logs", "tracebacks with locals", "file transcript.jsonl"}
    assert paths <= leaks_by_path.keys()


def test_the_same_paths_show_canaries_that_nobody_hides(tmp_path: Path) -> None:
    leaks_by_path = {row["path"]: row["leaks"] for row in leaks.rows(tmp_path, protect=False)}
    leaking = (
        "prompts",
        "commands and outcomes",
        "tracebacks with locals",
        "file transcript.jsonl",
    )
    assert all(leaks_by_path[path] == len(leaks.CANARIES) for path in leaking)
    assert leaks_by_path["logs"]


def test_the_shares_are_counted_by_characters() -> None:
    text = LabelledText("abcd efgh", (Span(0, 4, "x"),))
    counted = count_hidden([text], lambda text: [Span(2, 6, "y")])
    assert tuple(counted.values()) == (4, 2, 5, 2, 0, 1)


def test_rules_hold_on_the_set_that_they_were_made_from() -> None:
    recognisers = recognisers_of()
    counted = count_hidden(read_sets()["development"][:200], lambda text: find(text, recognisers))
    assert counted["hidden"] / counted["sensitive"] > 0.98
    assert counted["hidden_others"] / counted["others"] < 0.02


def test_placeholders_cost_neither_success_nor_steps() -> None:
    values = {**leaks.CANARIES, "size": "M", "gift wrap": "yes"}
    counted = []
    for protector in (None, Protector(recognisers_of(), Placeholders())):
        form, instruction = forms.Form(values), forms.instruction_for(values)
        model = ModelAdapter(forms.Coordinator())
        if protector:
            instruction, model = protector.admit(instruction), ProtectedModel(model, protector.mask)
        assert forms.play(instruction, form, model, body=forms.protected_body(form, protector))
        counted.append(form.steps)
    assert counted[0] == counted[1]


def test_missions_without_secrets_are_left_byte_for_byte() -> None:
    ours = Protector(recognisers_of(), Placeholders())
    for level in ("GoToLocal", "PutNextLocal", "Open", "BossLevel"):
        layouts = BABYAI.layouts(level, seeds("evaluation", count=20, seed=777))
        for number in range(20):
            assert ours.admit(layouts.mission(number)) == layouts.mission(number)
    prompt = "Go to the Red Ball. def program():\n    go_to('{x}')\n"
    assert ours.mask(prompt) is prompt or ours.mask(prompt) == prompt


def test_words_of_a_user_s_own_are_masked_before_anything_else_sees_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDG_MEMORY", str(tmp_path / "memory"))
    protector_of.cache_clear()
    heard: list[object] = []

    def refuse(task: Task) -> None:
        heard.append(task)
        raise ValueError(f"no world for {task}")

    monkeypatch.setattr(solve_module, "open_world", refuse)
    recipe = PlannerRecipe("sdg", None, model=ModelSettings(privacy="on"))
    for words in ("go to Zebulon Quackenbush, his password is cAn4ry!Tweet_88", "type {unknown}"):
        with pytest.raises(UserError) as caught:
            solve_module.solve("GoToObj", 1, instruction=words, recipe=recipe)
        heard.append(caught.value)
    protector_of.cache_clear()
    assert "go to {person_name}, his password is {password}" in str(heard[0])
    assert "no value is kept for the placeholder {unknown}" in str(heard[-1])
    assert not leaks.found_in(str(heard))


def test_nothing_is_fetched_and_nothing_is_kept_when_recognisers_are_made(tmp_path: Path) -> None:
    """tldextract, which Presidio asks about e-mail, fetches a list of domains by default and keeps it."""
    code = (
        "import socket; socket.socket.connect = lambda *each: print('connects to', each)\n"
        "from sdg.privacy.protector import find, recognisers_of\n"
        "print(len(find('mail a.b@c.example and zeb@canary.co.uk', recognisers_of())))"
    )
    environment = {
        **os.environ,
        "TLDEXTRACT_CACHE": str(tmp_path / "tld"),
        "PYTHONPATH": str(Path(__file__).parents[3]),
    }
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("2\n", "")
    assert list(tmp_path.iterdir()) == []
