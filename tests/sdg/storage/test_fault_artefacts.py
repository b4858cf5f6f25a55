"""Run folders, transcripts, banks and configs from elsewhere: links, pipes, devices and bombs are refused by name."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.engine import bank
from sdg.envs.files import read_file
from sdg.experiments.config.config import load
from sdg.experiments.config.yaml_file import ConfigError
from sdg.llm import transcript
from sdg.llm.model import ModelError
from sdg.llm.transcript import entries
from sdg.pipeline import records
from sdg.storage import RunFolderError, read_journal, read_json, read_metrics

READERS: dict[str, tuple[Callable[[Path], object], type[Exception]]] = {
    "journal": (read_journal, RunFolderError),
    "artefact": (read_json, RunFolderError),
    "metrics": (read_metrics, Exception),
    "transcript": (lambda path: list(entries(path)), ModelError),
    "config": (load, ConfigError),
}


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_and_a_device_are_refused_and_not_waited_for(tmp_path: Path, name: str) -> None:
    read, error = READERS[name]
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(error):
            read(place)


@pytest.mark.parametrize("name", ["journal", "artefact", "metrics"])
def test_links_of_a_run_folder_are_not_followed(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text('{"unit": "a secret"}\n')
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    read, error = READERS[name]
    with pytest.raises(error, match="link") as caught:
        read(tmp_path / "link")
    assert "a secret" not in str(caught.value)


def test_a_file_that_is_too_large_is_refused_by_its_size(tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(RunFolderError, match="bytes"):
        read_journal(tmp_path / "big")
    with (tmp_path / "big").open("wb") as file:
        file.truncate(1 << 27)
    with pytest.raises(RunFolderError, match="at most 67108864 bytes"):
        read_json(tmp_path / "big")
    (tmp_path / "four").write_bytes(b"1234")
    with pytest.raises(OSError, match="at most 3"):
        read_file(tmp_path / "four", most=3)


@pytest.mark.parametrize("unit", ["../../escape", "/etc/passwd", "..", "a/../../b", "1/2"])
def test_units_name_no_path_outside_their_folder(tmp_path: Path, unit: str) -> None:
    path = records.policy_path(tmp_path, unit).resolve()
    assert path.parent == (tmp_path / "skills").resolve()


def test_a_bank_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bank, "MAX_BANK_BYTES", 1 << 20)
    array = io.BytesIO()
    np.save(array, np.zeros(1 << 22, np.uint8))
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("layouts.npy", array.getvalue())
    assert (tmp_path / "bomb.npz").stat().st_size < 1 << 16
    with pytest.raises(bank.BankError, match="unpacks to more"):
        bank.LevelBank.load(tmp_path / "bomb.npz")


def test_first_answers_leave_out_failures_and_repeats(tmp_path: Path) -> None:
    head = {"schema": 3, "key": "k", "stage": "", "sampling": {}, "messages": [{"role": "user", "content": "x"}]}
    whole = head | {"reply": {"text": "a"}}
    lines = [head | {"error": "down"}, whole, whole | {"stage": "again"}, head | {"reply": {"text": "b"}}]
    (tmp_path / "said.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    answers = transcript.first_answers(tmp_path / "said.jsonl").splitlines()
    assert list(map(json.loads, answers)) == [whole, lines[3]]


def test_aliases_of_a_config_do_not_multiply(tmp_path: Path) -> None:
    lines = ["a0: &a0 [1, 1]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))]
    (tmp_path / "a.yaml").write_text("\n".join(lines))
    with pytest.raises(ConfigError, match="too large"):
        load(tmp_path / "a.yaml")
    (tmp_path / "a.yaml").write_text('a: !!python/object/apply:os.system ["true"]\n')
    with pytest.raises(ConfigError, match="has no meaning here"):
        load(tmp_path / "a.yaml")


def test_a_flipped_bit_in_a_policy_s_weights_is_told(tmp_path: Path) -> None:
    records.save_policy(tmp_path, "round/1", {"w": np.arange(6, dtype=np.float32)})
    path = records.policy_path(tmp_path, "round/1")
    whole = path.read_bytes()
    for place in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        with pytest.raises((RunFolderError, OSError), match="is damaged: its checksum doesn't agree"):
            records.load_policy(tmp_path, "round/1", BABYAI, "ppo")
    save_file({"w": np.arange(6, dtype=np.float32)}, path)  # no checksum at all
    with pytest.raises(RunFolderError, match="is damaged"):
        records.load_policy(tmp_path, "round/1", BABYAI, "ppo")
    path.unlink()
    with pytest.raises(RunFolderError, match="is damaged"):
        records.load_policy(tmp_path, "round/1", BABYAI, "ppo")
