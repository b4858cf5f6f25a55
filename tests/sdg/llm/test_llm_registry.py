"""Providers by key and by module:attribute, and model objects of a user's own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sdg.envs.registry import RegistryError
from sdg.llm.budget import EPISODE, BudgetSettings, describe_cost
from sdg.llm.model import Completion, Message, ModelError, Unavailable
from sdg.llm.provider import ModelSettings, Provider
from sdg.llm.registry import (
    PROVIDERS,
    ModelAdapter,
    build_unprotected,
    concurrency_of,
    is_rule_based,
    parse_llm,
    provider_of,
)
from tests.sdg.llm.scripted import ask

OWN = """
from sdg.llm.model import Completion
from sdg.llm.registry import Provider

class Parrot:
    def complete(self, messages):
        return messages[-1].content.upper()

class Local(Parrot):
    network = False

class Broken:
    def __init__(self):
        raise OSError("no\\nweights")

class Silent:
    pass

parrot = Parrot()
number = 7

def make_parrot():
    return Parrot()

class Named:
    def __init__(self, name):
        self.name = name
    def complete(self, messages, *, sampling):
        return Completion(f"{self.name} {sampling.seed}", self.name, 3, 4)

PROVIDER = Provider(lambda settings: Named(settings.name), needs=("name",), network=True, key_variable="MY_KEY")
"""


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A user's folder with a module of theirs, as the current one."""
    (tmp_path / "own_models.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("own_models", None)


@pytest.mark.parametrize("kind", list(PROVIDERS))
def test_every_kind_can_be_built_or_says_what_it_needs(kind: str, tmp_path: Path) -> None:
    ask(build_unprotected(ModelSettings(record=tmp_path / "transcript.jsonl")))
    settings = ModelSettings(kind, name="tiny", base_url="http://127.0.0.1:9/v1", transcript=tmp_path)
    assert build_unprotected(settings).name
    assert isinstance(provider_of(kind), Provider)
    for need in provider_of(kind).needs:
        with pytest.raises(ModelError, match=rf"kind {kind} needs a {need}: set model\.{need}"):
            build_unprotected(ModelSettings(kind))


def test_what_each_kind_declares() -> None:
    assert [kind for kind in PROVIDERS if is_rule_based(kind)] == [
        "babylang",
        "phoneclumsy",
        "phonerandom",
        "phonerules",
        "webrules",
    ]
    assert [kind for kind in PROVIDERS if provider_of(kind).network] == ["openai"]
    assert not is_rule_based("own_models:Parrot")
    assert "own_models" not in sys.modules, "nothing is imported to find out"
    assert (concurrency_of(ModelSettings("openai")), concurrency_of(ModelSettings())) == (16, 1)
    assert concurrency_of(ModelSettings("own_models:Local")) == 1


@pytest.mark.parametrize("name", ["Parrot", "parrot", "make_parrot", "Local"])
def test_a_class_an_object_or_a_function_of_one_s_own_is_a_model(name: str, tmp_path: Path) -> None:
    model = build_unprotected(ModelSettings(f"own_models:{name}", record=tmp_path / "t.jsonl", cache=True))
    assert ask(model) == "HI"
    assert ask(build_unprotected(ModelSettings("replay", transcript=tmp_path / "t.jsonl"))) == "HI"
    assert provider_of(f"own_models:{name}").network == (name != "Local")


def test_a_provider_of_one_s_own_declares_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "4711-canary")
    settings = ModelSettings("own_models:PROVIDER", name="4711-canary", record=tmp_path / "t.jsonl")
    assert ask(build_unprotected(settings), seed=3) == "[redacted] 3", (
        "a run goes by what is recorded, as its replay does"
    )
    assert "4711-canary" not in (tmp_path / "t.jsonl").read_text()
    with pytest.raises(ModelError, match="needs a name"):
        build_unprotected(ModelSettings("own_models:PROVIDER"))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            "gpt",
            "no model provider 'gpt'; there are babylang, openai, phoneclumsy, phonerandom, phonerules, replay,"
            " webrules, or one of your own",
        ),
        ("own_models:Parot", "own_models has no 'Parot'; it has"),
        ("own_model:Parrot", "there is no module 'own_model' in"),
        ("own_models:number", "(int) has no method complete(messages)"),
        ("own_models:Silent", "can't be a model: give an object with a method complete(messages)"),
        ("own_models:Broken", "Making the model own_models:Broken raises OSError: no weights"),
    ],
)
def test_what_is_no_provider_is_one_line(kind: str, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        build_unprotected(ModelSettings(kind))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_option_llm_in_all_its_forms() -> None:
    assert parse_llm("babylang") == {"kind": "babylang"}
    assert parse_llm("openai:gpt-9:turbo") == {"kind": "openai", "name": "gpt-9:turbo"}
    assert parse_llm("replay:runs/a/transcript.jsonl") == {"kind": "replay", "transcript": "runs/a/transcript.jsonl"}
    assert parse_llm("own_models:Parrot") == {"kind": "own_models:Parrot"}
    assert parse_llm("own_models:PROVIDER:big") == {"kind": "own_models:PROVIDER", "name": "big"}
    for wrong in ("", "gpt", "gpt-9:turbo", ":x"):
        with pytest.raises(RegistryError, match="there is no model provider"):
            parse_llm(wrong)


class Says:
    """Returns or raises what it was made with."""

    def __init__(self, said: object) -> None:
        self.said = said

    def complete(self, messages: object) -> object:
        if isinstance(self.said, BaseException):
            raise self.said
        return self.said


@pytest.mark.parametrize("said", ["text", Completion("text", ""), type("Reply", (), {"text": "text"})()])
def test_text_and_replies_are_understood(said: object) -> None:
    completion = ModelAdapter(Says(said)).complete((Message("user", "hi"),))
    assert (completion.text, completion.model) == ("text", "Says")


@pytest.mark.parametrize("said", [7, None, b"text", ["text"], {"text": "x"}, Completion(7, "")])  # type: ignore[arg-type]
def test_replies_that_are_no_text_are_told(said: object) -> None:
    with pytest.raises(ModelError, match=r"The model Says returned .* \(\w+\): complete\(messages\) returns text"):
        ask(ModelAdapter(Says(said)))


def test_what_an_object_raises_is_told_and_a_lost_connection_is_asked_again() -> None:
    with pytest.raises(ModelError, match="The model Says raised KeyError: 'choices'") as caught:
        ask(ModelAdapter(Says(KeyError("choices"))))
    assert not isinstance(caught.value, Unavailable)
    with pytest.raises(Unavailable, match="raised ConnectionResetError: gone"):
        ask(ModelAdapter(Says(ConnectionResetError("gone"))))
    with pytest.raises(KeyboardInterrupt):
        ask(ModelAdapter(Says(KeyboardInterrupt())))


@pytest.mark.parametrize("nothing", [None, 7, "gpt", object(), Says, len, type("X", (), {"complete": 7})()])
def test_what_can_t_complete_is_no_model(nothing: object) -> None:
    with pytest.raises(ModelError, match="can't be a model: give an object with a method complete"):
        ModelAdapter(nothing)


def test_an_estimate_is_a_line_about_questions_tokens_money_and_time() -> None:
    work = [(EPISODE, 100)]
    line = describe_cost(work, BudgetSettings(prompt_price=2.0, completion_price=8.0), concurrency=16)
    assert line.startswith("the model will be asked some 130 questions, 0.75 M tokens; 2.91 in money; about 4 minutes")
    assert f"; {130 * EPISODE.prompt_tokens}.00 in money; " in describe_cost(
        work, BudgetSettings(prompt_price=1e6), concurrency=1
    )
    dear = BudgetSettings(completion_price=1e6)
    assert f"; {130 * EPISODE.completion_tokens}.00 in money; " in describe_cost(work, dear, concurrency=1)
    assert "no prices are set" in describe_cost(work, BudgetSettings(), concurrency=1)


def test_limits_hold_for_a_model_of_one_s_own() -> None:
    model = build_unprotected(ModelSettings("own_models:Parrot", budget=BudgetSettings(tokens=1)))
    ask(model)
    with pytest.raises(ModelError, match="budget of 1 tokens is spent"):
        ask(model)
