"""Whatever text comes, the parsers of replies, code, missions, configs and journals answer or refuse."""

from __future__ import annotations

import json
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, example, given, settings, strategies as st

from sdg.envs.babyai.language import parse as parse_mission
from sdg.experiments.config.config import RunConfig, check
from sdg.experiments.config.yaml_file import ConfigError, parse
from sdg.prompts.replies import MAX_REPLY_CHARS, code_blocks, extract_code, functions_in, tidy
from sdg.sandbox.guard import Guard, GuardError, Refused
from sdg.skills.strict_json import decode, loads
from sdg.skills.subgoal import Experience
from sdg.storage import Journal, RunFolderError, read_journal

FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
PIECES = st.sampled_from(
    [
        *(
            "```",
            "```python\n",
            "~~~",
            "\n",
            "    ",
            "def check():",
            "def program():\n    return True\n",
            "return",
            "> ",
        ),
        *("> ", "1. ", "* ", "<think>", "</think>", ">>> ", "... ", '{"code": "', "\r", "\x00", "\ufeff", "GOAL: "),
        *("get_steps()", "x = [1]", "import os", "lambda: 0", "'''", '"', "é", "\ud800", "for i in x:\n", "(", ")"),
    ]
)
REPLIES = st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=30).map("".join))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=10), inner, max_size=4)),
    max_leaves=12,
)
GUARD = Guard({"get_steps": lambda: 3}, returns=bool)


def outcome(act: Callable[[], Any], *refusals: type[Exception]) -> tuple[Any, str | None]:
    """What an act gives and None, or None and the message of its refusal; any other exception is a failure."""
    try:
        return act(), None
    except refusals as refusal:
        return None, str(refusal)


@given(REPLIES)
def test_any_reply_has_code_or_is_refused_with_a_word(reply: str) -> None:
    code, refused = outcome(lambda: extract_code(reply), Refused)
    assert refused is None or len(refused) > 15
    assert code is None or "\r" not in code


@FEW
@given(REPLIES)
def test_any_reply_loads_or_is_refused_and_runs_or_says_why(reply: str) -> None:
    answer, refused = outcome(lambda: GUARD.load(extract_code(reply))({"get_steps": lambda: 3}), GuardError)
    assert answer in (True, False) if refused is None else refused


@given(st.text(alphabet=string.printable, max_size=120))
def test_any_function_body_loads_or_is_refused(body: str) -> None:
    _, refused = outcome(lambda: GUARD.load(f"def check():\n    return {body}\n"), Refused)
    assert refused is None or refused


@given(REPLIES)
def test_blocks_lie_in_the_reply_one_behind_the_other(reply: str) -> None:
    clean = tidy(reply)
    assert len(clean) <= MAX_REPLY_CHARS
    end = 0
    for block in code_blocks(clean):
        assert end <= block.start <= block.end <= len(clean)
        end = block.end
        assert all(name.isidentifier() for name in functions_in(block.text))


WORDS = st.sampled_from(
    [
        *("go to", "open", "pick up", "put", "next to", "and", ", then", "after you", "the", "a", "red", "grey"),
        *("ball", "door", "box", "object", "on your left", "behind you", "#3", "moon", "", ".", "  ", "then"),
    ]
)


@given(st.one_of(st.text(max_size=120), st.lists(WORDS, max_size=14).map(" ".join)))
def test_any_mission_parses_or_is_refused(text: str) -> None:
    mission, refused = outcome(lambda: parse_mission(text), ValueError)
    if refused is None:
        assert type(parse_mission(f"  {text} ")) is type(mission)
    else:
        assert refused


@FEW
@given(st.one_of(st.text(max_size=200), JSON.map(lambda value: yaml.safe_dump(value, allow_unicode=True))))
def test_any_text_is_a_config_or_a_list_of_faults(text: str) -> None:
    config, refused = outcome(lambda: check(parse(text, source="a.yaml")), ConfigError)
    assert isinstance(config, RunConfig) if refused is None else "a.yaml" in refused


@FEW
@given(st.sampled_from(sorted(RunConfig.__dataclass_fields__)), JSON)
def test_any_value_under_any_key_is_accepted_or_named(key: str, value: Any) -> None:
    text = yaml.safe_dump({"name": "a", key: value}, allow_unicode=True)
    _, refused = outcome(lambda: check(parse(text, source="a.yaml")), ConfigError)
    assert refused is None or "a.yaml" in refused


@FEW
@example(content=b"\x0b")
@given(content=st.one_of(st.binary(max_size=200), st.lists(JSON, max_size=5).map(lambda v: json.dumps(v).encode())))
def test_any_bytes_are_a_journal_or_an_error_that_names_the_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "units.jsonl"
    path.write_bytes(content)
    rows, refused = outcome(lambda: read_journal(path), RunFolderError)
    if refused is not None:
        assert "line" in refused
        return
    with Journal(path) as journal:
        journal.append({"unit": "a unit of its own", "text": "\ud800\n"})
    assert [row["unit"] for row in read_journal(path)] == [*(row["unit"] for row in rows), "a unit of its own"]


@given(JSON)
def test_any_json_is_an_experience_or_is_refused(value: Any) -> None:
    decoded, refused = outcome(lambda: decode(Experience, loads(json.dumps(value))), ValueError)
    assert isinstance(decoded, Experience) if refused is None else refused
