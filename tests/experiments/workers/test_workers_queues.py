"""Shards by a queue's own client: submitit's local executor, and the files of examples/cluster."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from sdg.experiments.cli.main import main
from sdg.experiments.workers.shards import merge
from sdg.llm.transcript import entries
from sdg.storage import read_journal

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "cluster"
SET = ["--config", "tiny", "--set", "instructions_per_level=4", "--set", "verify.compared=false", "--quiet"]


def test_shards_by_submitit_make_the_run_of_one_process(tmp_path: Path) -> None:
    submitit = pytest.importorskip("submitit")
    executor = submitit.LocalExecutor(folder=tmp_path / "log")
    executor.update_parameters(timeout_min=5)
    shards = [tmp_path / f"shard-{number}" for number in (1, 2)]
    commands = [["verify", *SET, "--out", str(place), "--shard", f"{n}/2"] for n, place in enumerate(shards, 1)]
    jobs = [executor.submit(main, arguments) for arguments in commands]
    assert [job.result() for job in jobs] == [0, 0]
    assert main(["verify", *SET, "--out", str(tmp_path / "whole")]) == 0
    parts = [{row["unit"] for row in read_journal(place / "verifications.jsonl")} for place in shards]
    assert not parts[0] & parts[1]
    merge(shards, tmp_path / "merged")
    rows = [sorted(read_journal(tmp_path / name / "verifications.jsonl"), key=str) for name in ("merged", "whole")]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 4
    assert main(["verify", "--out", str(tmp_path / "merged"), "--quiet"]) == 0
    keys = [{row["key"] for row in entries(tmp_path / name / "transcript.jsonl")} for name in ("merged", "whole")]
    assert keys[0] == keys[1], "what was asked of the model is counted once"


@pytest.mark.parametrize("name", ["slurm.sh", "passes.sh"])
def test_scripts_are_read_by_a_shell(name: str) -> None:
    subprocess.run(["sh", "-n", str(EXAMPLES / name)], check=True)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl")
def test_kubectl_reads_the_objects() -> None:
    options = ["--local", "--dry-run=client", "-f", EXAMPLES / "kubernetes.yaml", "a=b", "-o", "name"]
    done = subprocess.run(["kubectl", "label", *options], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        "service/sdg-scheduler",
        "deployment.apps/sdg-scheduler",
        "deployment.apps/sdg-worker",
    ]


def test_kubernetes_objects_fit_together() -> None:
    service, scheduler, worker = yaml.safe_load_all((EXAMPLES / "kubernetes.yaml").read_text())
    assert service["spec"]["selector"] == scheduler["spec"]["template"]["metadata"]["labels"]
    (container,) = worker["spec"]["template"]["spec"]["containers"]
    assert f"tcp://{service['metadata']['name']}:8786" in container["command"]
