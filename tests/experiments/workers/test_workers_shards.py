"""Shards of a run: each does its units alone, and merged they are the run that one process makes."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sdg.envs.files import read_lines
from sdg.errors import UserError
from sdg.experiments.bench.scale.units import Nap, sleep
from sdg.experiments.cli.commands import workers_of
from sdg.experiments.cli.main import main
from sdg.experiments.config.config import find_config, load
from sdg.experiments.run.runs import library_costs
from sdg.experiments.workers.shards import JOURNALS, merge, parse_shard
from sdg.experiments.workers.workers import ShardFinished, Workers, ask_own, require_own, use_workers
from sdg.llm.budget import BudgetedModel, BudgetSettings
from sdg.llm.model import Completion, Message, Sampling
from sdg.storage import RunError, RunFolder, RunFolderError, RunSettings, folder as folder_module, lock, read_journal
from sdg.storage.files import line

SETTINGS = RunSettings({"name": "x", "seed": 1}, "name: x\nseed: 1\n", 1)


def make(place: Path, units: Mapping[str, int], *, shard: str, settings: RunSettings = SETTINGS) -> Path:
    with workers_of("local", shard=shard, folder=place), RunFolder.start(place, settings) as folder:
        for unit, value in units.items():
            folder.journal("episodes").append({"unit": unit, "value": value})
    return place


def units(run: Path) -> dict[str, Any]:
    return {row["unit"]: row["value"] for row in read_journal(run / "episodes.jsonl")}


def test_shards_are_disjoint_and_leave_nothing_out() -> None:
    done: list[int] = []
    for part in (1, 2, 3):
        with use_workers(shard=(part, 3)), pytest.raises(ShardFinished):
            done.extend(result for _, result in Workers(1)(sleep, [Nap(number) for number in range(40)]))
    assert sorted(done) == list(range(40))


def test_shards_ask_disjoint_questions_in_order_and_leave_none_out() -> None:
    asked: list[str] = []
    for part in (1, 2, 3):
        with use_workers(shard=(part, 3)), pytest.raises(ShardFinished, match="of 40 units are of this shard"):
            asked.extend(ask_own(str, range(40), at_once=2))
    assert sorted(asked, key=int) == [str(number) for number in range(40)]
    assert list(ask_own(str, range(4), at_once=2)) == ["0", "1", "2", "3"], "without shards"


def test_one_shard_owns_a_single_question() -> None:
    owners = []
    for part in (1, 2, 3):
        with use_workers(shard=(part, 3)), suppress(ShardFinished):
            require_own("induction.json")
            owners.append(part)
    assert len(owners) == 1
    require_own("induction.json")


MODEL = """
import itertools

numbers = itertools.count()


class Model:
    def complete(self, messages):
        return f"Goal 1: reach a door\\n```python\\ndef check_1():\\n    return get_steps() > {next(numbers)}\\n```"
"""


def test_a_model_that_samples_is_asked_once_by_one_shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sampling_model.py").write_text(MODEL)
    monkeypatch.syspath_prepend(tmp_path)
    settings = ["--config", "tiny", "--set", "instructions_per_level=6", "--llm", "sampling_model:Model", "--quiet"]
    shards = [tmp_path / "a", tmp_path / "b"]
    for number, shard in enumerate(shards, 1):
        assert main(["hypothesize", *settings, "--shard", f"{number}/2", "--out", str(shard)]) == 0
    asked = [row["unit"] for shard in shards for row in read_journal(shard / "hypotheses.jsonl")]
    assert len(asked) == len(set(asked)) == 6
    merge(shards, tmp_path / "run")
    assert main(["hypothesize", "--out", str(tmp_path / "run"), "--quiet"]) == 0
    assert {row["unit"] for row in read_journal(tmp_path / "run" / "hypotheses.jsonl")} == set(asked)


class Costly:
    name = "costly"

    def complete(self, messages: Any, *, sampling: Sampling = Sampling()) -> Completion:
        return Completion("a reply", "costly", prompt_tokens=70, completion_tokens=30)


def spend(folder: Path, times: int) -> int:
    """What was spent by the folder's ledger, after so many more questions of 100 tokens."""
    model = BudgetedModel(Costly(), BudgetSettings(tokens=10_000), ledger=folder / "spent.json")
    for _ in range(times):
        model.complete([Message("user", "the same question")])
    return model.spending.tokens


def test_what_shards_spent_is_spent_in_the_merged_run(tmp_path: Path) -> None:
    RunFolder.start(tmp_path / "base", SETTINGS).close()
    spend(tmp_path / "base", 2)
    for name in "ab":
        shutil.copytree(tmp_path / "base", tmp_path / name)
    shards = [make(tmp_path / name, {name: 1}, shard=f"{number}/2") for number, name in enumerate("ab", 1)]
    assert [spend(shard, times) for shard, times in zip(shards, (1, 3), strict=True)] == [300, 500]
    for _ in range(2):
        merge(shards, tmp_path / "run")
        assert spend(tmp_path / "run", 0) == 600, "the base's questions count once"


def test_seconds_of_stages_that_shards_did_are_unknown(tmp_path: Path) -> None:
    shards = [make(tmp_path / name, {name: 1}, shard=f"{number}/2") for number, name in enumerate("ab", 1)]
    times = {"seconds": 9.0, "cpu_seconds": 7.5}
    (shards[0] / "results.json").write_text(line({"schema": 1, "stages": {"hypothesize": times, "verify": times}}))
    for _ in range(2):
        merge(shards, tmp_path / "run")
        assert json.loads((tmp_path / "run" / "results.json").read_text())["stages"] == {
            "hypothesize": {},
            "verify": {},
        }
    costs = library_costs(tmp_path / "run", load(find_config("tiny")), stages={"hypothesize": {}, "induce": times})
    assert math.isnan(costs["cpu_seconds"])
    (shards[0] / "results.json").write_text(line({"schema": 1, "stages": [times]}))
    with pytest.raises(RunFolderError, match="results"):
        merge(shards, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_shard_of_one_is_everything() -> None:
    with use_workers(shard=(1, 1)):
        assert len(dict(Workers(1)(sleep, [Nap(0), Nap(1)]))) == 2


def test_merged_shards_hold_all_units_once(tmp_path: Path) -> None:
    shards = [
        make(tmp_path / "a", {"common": 0, "u": 1}, shard="1/2"),
        make(tmp_path / "b", {"common": 0, "v": 2}, shard="2/2"),
    ]
    (shards[0] / "skills").mkdir()
    (shards[0] / "skills" / "1-0.safetensors").write_bytes(b"weights")
    rows = merge(shards, tmp_path / "run")
    assert units(tmp_path / "run") == {"common": 0, "u": 1, "v": 2}
    assert [row["new"] for row in rows if row["journal"] == "episodes"] == [3]
    assert (tmp_path / "run" / "skills" / "1-0.safetensors").read_bytes() == b"weights"
    assert [row["new"] for row in merge(shards, tmp_path / "run")] == [0] * len(JOURNALS), "merged again: nothing new"
    assert units(tmp_path / "run") == {"common": 0, "u": 1, "v": 2}


def test_a_merged_run_says_where_its_parts_come_from_and_how_they_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shards = [make(tmp_path / name, {name: 1}, shard=f"{number}/2") for number, name in enumerate("ab", 1)]
    merge(shards, tmp_path / "same")
    assert "than" not in capsys.readouterr().err
    about = json.loads((shards[1] / "run.json").read_text())
    about |= {"git": "abc", "versions": about["versions"] | {"numpy": "0.1"}}
    (shards[1] / "run.json").write_text(json.dumps(about))
    merge(shards, tmp_path / "run")
    warnings = capsys.readouterr().err
    assert "git was" in warnings
    assert "versions.numpy was" in warnings
    parts = json.loads((tmp_path / "run" / "shards.json").read_text())["shards"]
    assert [shard["folder"] for shard in parts] == list(map(str, shards))
    assert (parts[1]["git"], parts[1]["versions"]["numpy"]) == ("abc", "0.1")
    assert {"created", "machine", "resumed"} <= parts[0].keys()


def test_what_a_kill_leaves_in_a_shard_does_not_end_the_merged_run(tmp_path: Path) -> None:
    shards = [make(tmp_path / name, {name: 1}, shard=f"{number}/2") for number, name in enumerate("ab", 1)]
    (shards[0] / "run.lock").write_text(line(replace(lock.ourselves(), pid=2**22 + 7)))
    for shard in shards:
        (shard / "transcript.jsonl").write_text(f'{{"whole": "{shard.name}"}}\n{{"torn')
    merge(shards, tmp_path / "run")
    assert read_lines(tmp_path / "run" / "transcript.jsonl") == [b'{"whole": "a"}', b'{"whole": "b"}', b""]


def test_merging_again_adds_only_what_is_new_to_the_transcript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shard, out = make(tmp_path / "a", {"u": 1}, shard="1/1"), tmp_path / "run"
    (shard / "transcript.jsonl").touch()
    for large in (0, 0, 1 << 20, 0):  # packed when the merge ends, or left as it is
        monkeypatch.setattr(folder_module, "LARGE_BYTES", large)
        for _ in range(2):
            with (shard / "transcript.jsonl").open("a") as file:
                file.write(f'{{"number": {len(read_lines(shard / "transcript.jsonl"))}}}\n')
            merge([shard], out)
            merge([shard], out)
            assert read_lines(out / "transcript.jsonl") == read_lines(shard / "transcript.jsonl")
    (out / "transcript.jsonl").write_bytes((shard / "transcript.jsonl").read_bytes())  # a kill came before its removal
    merge([shard], out)
    assert read_lines(out / "transcript.jsonl") == read_lines(shard / "transcript.jsonl")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a"], r"shard 2/2 is missing: run `sdg run --shard 2/2`"),
        (["a", "b", "a2"], r"shard 1/2 was given twice"),
        (["a", "other"], "of another config"),
        (["a", "different"], "has another u than the shards before it"),
        (["a", "plain"], "is no shard"),
        (["a", "busy"], "is in use by process"),
        (["bare", "b"], "config.yaml can't be read"),
    ],
)
def test_what_does_not_fit_is_one_line_and_writes_nothing(tmp_path: Path, names: list[str], message: str) -> None:
    make(tmp_path / "a", {"u": 1}, shard="1/2")
    shutil.copytree(tmp_path / "a", tmp_path / "a2")
    make(tmp_path / "b", {"v": 1}, shard="2/2")
    make(tmp_path / "different", {"u": 2}, shard="2/2")
    make(tmp_path / "busy", {"v": 2}, shard="2/2")
    make(tmp_path / "bare", {"u": 1}, shard="1/2")
    (tmp_path / "bare" / "config.yaml").unlink()
    (tmp_path / "busy" / "run.lock").write_text(line(lock.ourselves()))
    make(tmp_path / "other", {"v": 1}, shard="2/2", settings=RunSettings({"name": "y", "seed": 1}, "", 1))
    RunFolder.start(tmp_path / "plain", SETTINGS).close()
    with pytest.raises((UserError, RunFolderError), match=message) as raised:
        merge([tmp_path / name for name in names], tmp_path / "run")
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "about",
    [{}, {"number": "x", "of": 1}, {"number": 1, "of": 10**9}, {"number": 2, "of": 1}, {"number": [1], "of": 1}],
)
def test_what_says_no_shard_is_refused_by_name(tmp_path: Path, about: dict[str, Any]) -> None:
    shard = make(tmp_path / "a", {"u": 1}, shard="1/1")
    (shard / "shard.json").write_text(json.dumps({"schema": 1} | about))
    with pytest.raises(UserError, match=r"a/shard.json holds I/N with I from 1 to N"):
        merge([shard], tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("linked", ["library/key", "library", "skills/1-0.safetensors", "config.yaml"])
def test_a_link_brings_no_file_of_this_machine(tmp_path: Path, linked: str) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "key").write_text("a secret")
    shard, secret = make(tmp_path / "a", {"u": 1}, shard="1/1"), tmp_path / "home" / "key"
    place = shard / linked
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(secret.parent if linked == "library" else secret)
    with pytest.raises((UserError, OSError, RunError), match="is not followed"):
        merge([shard], tmp_path / "run")
    paths = (tmp_path / "run").rglob("*") if (tmp_path / "run").exists() else ()
    assert not [path for path in paths if path.is_file() and b"a secret" in path.read_bytes()]


def test_a_folder_stays_the_shard_that_it_is(tmp_path: Path) -> None:
    make(tmp_path / "a", {"u": 1}, shard="1/2")
    with (
        pytest.raises(UserError, match="is another shard than 2/2"),
        workers_of("local", shard="2/2", folder=tmp_path / "a"),
    ):
        pass


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/2/3", "-1/2"])
def test_a_shard_is_i_of_n(text: str) -> None:
    with pytest.raises(UserError, match="I/N"):
        parse_shard(text)
