"""Configs: what is refused, where the message points, and that every config in the repository loads."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from sdg.experiments.config.config import ConfigError, dump, load
from sdg.experiments.config.docs import markdown
from sdg.experiments.config.yaml_file import parse

LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"b{n}: &b{n} [{','.join([f'*{before}'] * 9)}]\n" for n, before in enumerate(["a", "b0", "b1", "b2", "b3"])
)
"""Five lines that stand for half a million values."""

ROOT = Path(__file__).resolve().parents[3]
CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))


def write(folder: Path, text: str) -> Path:
    path = folder / "a.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_config_loads_and_comes_back(tmp_path: Path, path: Path) -> None:
    config = load(path)
    assert load(write(tmp_path, dump(config))) == config
    head = path.read_text().split("\n\n")[0]
    assert "command" in head, "a config is headed by what it does, the exact command, the machine and the aim"


def test_configs_are_named_as_their_files() -> None:
    assert [load(path).name for path in CONFIGS] == [path.stem for path in CONFIGS]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\nsed: 1\n", r"a\.yaml:2: there is no key 'sed'; did you mean seed\?"),
        (
            "name: a\nverify:\n  search:\n    horizn: 3\n",
            r":4: there is no key 'verify\.search\.horizn'; did you mean horizon",
        ),
        ("name: a\nseed: 1\nlevels: [Open]\nseed: 2\n", r":4: the key 'seed' is there twice \(first on line 2\)"),
        (
            "name: a\ninduce:\n  train:\n    target_success: 0.5\n    target_success: 0.6\n",
            r"a\.yaml:5: the key 'target_success' is there twice",
        ),
        ("seed: 1\n", r"the key 'name' is missing"),
        ("", r"a\.yaml: the key 'name' is missing"),
        ("name: a\nseed: one\n", r"a\.yaml:2: seed should be a valid integer .*\(it is 'one'\)"),
        ("name: a\nseed: -1\n", r"a\.yaml:2: seed should be greater than or equal to 0"),
        ("name: a\nprocesses: 70000\n", r"a\.yaml:2: processes should be less than or equal to 65536"),
        ("name: a\nverify:\n  t_verify: 10000000000000\n", "t_verify should be less than or equal to 1000000000"),
        ("name: a\nverify: {search: {learning_rate: .inf}}\n", r"a\.yaml:2: verify\.search\.learning_rate should be"),
        ("name: a\nverify: {t_verify: 1.5}\n", r"a\.yaml:2: verify\.t_verify should be a valid integer"),
        ("name: a\nverify: 3\n", r"a\.yaml:2: verify should be an object"),
        ("name: ../../etc/a\n", r"a\.yaml:1: name"),
        ("name: a\nlevels: [Open, GoToNowhere]\n", r"a\.yaml:2: there is no BabyAI level 'GoToNowhere'; did you mean"),
        ("name: a\nlevels:\n- Open\n- BabyAI-Open-v0\n", r"a\.yaml:4: the level Open is listed twice"),
        ("name: a\nlevels: []\n", r"a\.yaml:2: levels"),
        (
            "name: a\nmodel: {kind: openai}\n",
            r"a\.yaml:2: model: kind openai needs a name: --llm openai:NAME, or `name: ",
        ),
        ("name: a\nmodel: {kind: gpt}\n", r"a\.yaml:2: model: there is no model provider 'gpt'; there are babylang"),
        ("name: a\nmodel: {api_key: x}\n", r"a\.yaml:2: .*set OPENAI_API_KEY in the environment"),
        ("- name\n", r"a\.yaml:1: a config is a mapping"),
        ("name: a\n  b: [\n", r"a\.yaml:\d: this isn't YAML"),
        ("name: !!python/object/apply:os.system [ls]\n", r"a\.yaml:1: the tag .* has no meaning here"),
        ("name: a\n? [b]\n: c\n", r"a\.yaml:2: a key is a word"),
        ("a: &a [*a]\n", r"too large or too deeply nested"),
        ("a: " + "[" * 2000, r"a\.yaml"),
        (LAUGHS, "too large"),
        ("name: " + "a" * 300_000, "too many"),
        ("name: a\x00b\n", "isn't YAML"),
    ],
)
def test_faults_name_their_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(write(tmp_path, text))


def test_every_fault_is_listed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(write(tmp_path, "name: a\nsed: 1\nverify: {search: {horizon: 0}}\n"))
    assert [line.split(": ")[0].rpartition(":")[2] for line in str(caught.value).splitlines()] == ["3", "2"]


def test_a_file_of_strange_keys_is_refused_in_a_moment(tmp_path: Path) -> None:
    (path := tmp_path / "strange.yaml").write_text("\n".join(f"k{number}: 1" for number in range(19_000)))
    began = time.process_time()
    with pytest.raises(ConfigError, match="and 18971 more faults") as caught:
        load(path)
    assert time.process_time() - began < 20, "reading it takes two seconds, telling all its faults took minutes"
    assert len(str(caught.value)) < 20_000


def test_a_long_name_is_told_short(tmp_path: Path) -> None:
    for text in (f"name: a\n{'k' * 99_000}: 1", f"name: !<{'t' * 99_000}> a", f"? {'k' * 99} \n? {'k' * 99}"):
        (path := tmp_path / "long.yaml").write_text(text)
        with pytest.raises(ConfigError) as caught:
            load(path)
        assert len(str(caught.value)) < 1_000


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    write(tmp_path, "name: a\n")
    with pytest.raises(ConfigError, match=r"there is no config .*b\.yaml; shipped are ant, .*, or give a path"):
        load(tmp_path / "b.yaml")
    with pytest.raises(ConfigError, match="can't read"):
        load(tmp_path)
    (tmp_path / "c.yaml").write_bytes(b"name: \xff\xfe")
    with pytest.raises(ConfigError, match="can't read"):
        load(tmp_path / "c.yaml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 1e-4),
        ("1E5", 1e5),
        ("-.5", -0.5),
        ("1.", 1.0),
        ("20_000", 20_000),
        ("1__", "1__"),
        ("1_.5", "1_.5"),
        ("007", 7),
        ("+3", 3),
        ("true", True),
        ("no", "no"),
        ("off", "off"),
        ("1:30", "1:30"),
        ("2026-01-01", "2026-01-01"),
        ("e5", "e5"),
        (".", "."),
        ("", None),
        ("null", None),
        ("nan", "nan"),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_plain_words_mean_what_they_look_like(text: str, value: object) -> None:
    loaded = parse(f"word: {text}", source="config").value["word"]
    assert loaded == value
    assert type(loaded) is type(value)


def test_quotes_make_text_of_numbers() -> None:
    assert parse("a: '1e-4'\nb: \"true\"\nc: |\n  3\n", source="x").value == {"a": "1e-4", "b": "true", "c": "3\n"}


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(10**30), 10**30))
def test_numbers_come_back(number: float, integer: int) -> None:
    import yaml

    assert parse(yaml.safe_dump({"a": number, "b": integer}), source="x").value == {"a": number, "b": integer}


def test_overlay_and_seed(tmp_path: Path) -> None:
    path = write(tmp_path, "name: a\nverify: {search: {horizon: 7}}\n")
    config = load(
        path, overlay=["verify.search.learning_rate=1e-4", "levels=[Open, BabyAI-GoToLocal-v0]", "name=b"], seed=5
    )
    assert config.verify.search.learning_rate == 1e-4
    assert config.verify.search.horizon == 7
    assert config.levels == ("Open", "GoToLocal")
    assert (config.name, config.seed) == ("b", 5)
    assert load(path, overlay=["model.base_url=null"]).model.base_url is None
    assert load(path, overlay=["induce.train.ppo.gamma=0.9"]).induce.train.ppo == {"gamma": 0.9}
    with pytest.raises(ConfigError, match=r"there is no key 'induce.train.ppo.gama'; did you mean gamma"):
        load(path, overlay=["induce.train.ppo.gama=0.9"])


@pytest.mark.parametrize(
    ("overlay", "message"),
    [
        (
            "verify.search.horizn=3",
            "--set verify.search.horizn: there is no key 'verify.search.horizn'; did you mean",
        ),
        (
            "verify.horizon=3",
            "there is no key 'verify.horizon'; did you mean verify.search.horizon or",
        ),
        ("evaluate.instructions=0", "evaluate.instructions should be greater than or equal to 1"),
        ("verify.search", "write --set KEY=VALUE"),
        (".=3", "write --set KEY=VALUE"),
        ("name.x=3", "name is a value, it has no keys inside"),
        ("seed=[", "--set seed: this isn't YAML"),
        ("levels=[Opn]", "--set levels: there is no BabyAI level 'Opn'"),
        ("seed=0.5", "--set seed: seed should be a valid integer"),
    ],
)
def test_overlays_are_checked_as_files_are(tmp_path: Path, overlay: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(write(tmp_path, "name: a\n"), overlay=[overlay])
    assert message in str(caught.value)


def test_a_secret_on_the_command_line_is_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(write(tmp_path, "name: a\n"), overlay=["model.api_key=sk-secret"])
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["model: sk-secret", "model: {temperature: sk-secret}", "model: {name: [sk-secret]}", "seed: {key: sk-secret}"],
)
def test_a_secret_in_the_place_of_another_value_is_not_repeated(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"a\.yaml:2: (model|seed)") as caught:
        load(write(tmp_path, f"name: a\n{text}\n"))
    assert "sk-secret" not in str(caught.value)


def test_the_page_of_defaults_has_every_section() -> None:
    page = markdown()
    assert all(f"## `{section}`" in page for section in ("model", "verify.search", "induce.train.ppo"))
    assert "| `verify.t_verify` | `3000` |" in page


@pytest.mark.parametrize(
    ("domain", "level", "baselines"),
    [
        ("babyai", "Open", ("sdg-action", "random", "random-skills", "bot")),
        ("tests.envs.corridor:CORRIDOR", "Visit", ("sdg-action", "random", "random-skills")),
        ("ant", "AntMaze_UMaze-v5", ("random-skills",)),
    ],
)
def test_a_domain_is_compared_with_the_agents_that_it_can_have(
    tmp_path: Path, domain: str, level: str, baselines: tuple[str, ...]
) -> None:
    path = write(tmp_path, f"name: a\ndomain: {domain}\nlevels: [{level}]\n")
    config = load(path)
    assert config.evaluate.baselines == baselines
    assert load(write(tmp_path, dump(config))) == config
    for absent in {"sdg-action", "random", "random-skills", "bot"} - set(baselines):
        with pytest.raises(ConfigError, match=rf"--set evaluate\.baselines: .*{domain} .*{absent}"):
            load(path, overlay=[f"evaluate.baselines=[{absent}]"])
