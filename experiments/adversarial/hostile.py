"""Runs a corpus of hostile, broken and benign snippets through the guard and the worker.

    sdg bench hostile FILE.json [--world WORLD.json]     one row a snippet

A row has name, outcome (ok, reject, error, timeout), seconds, effects (side effects seen: none is the promise), worker
(well, killed because it was late, crashed), message and calls. When a snippet says what to expect, `expected` is
in its row, and whether the outcome `differs`. The exit status is 1 if a worker had to be killed or crashed, or a side
effect was seen.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sdg.experiments.adversarial.hostile_world import SECRET, run_snippet
from sdg.skills.sandbox.process.confine import MEGABYTE, Limits
from sdg.skills.sandbox.process.pool import Lost, Patience, Pool

MAX_CORPUS_BYTES = 64 * MEGABYTE
TIMEOUT_SECONDS = 1.2
MEMORY_BYTES = 512 * MEGABYTE
DATA = Path(__file__).resolve().parents[2] / "tests" / "data"


def run_corpus(
    snippets: Sequence[Mapping[str, Any]], world: Mapping[str, Any], *, timeout_seconds: float = TIMEOUT_SECONDS
) -> Iterator[dict[str, Any]]:
    """One row a snippet, in order. Snippets run one after another in one worker, which is replaced when it is lost."""
    with TemporaryDirectory() as folder:
        scratch = Path(folder) / "scratch"
        (scratch / "pwned").mkdir(parents=True)
        (scratch / "marker.txt").write_text(SECRET, encoding="utf-8")
        patience = Patience(silence=5.0, code=timeout_seconds, job=timeout_seconds)
        with Pool(
            1, limits=Limits(memory_bytes=MEMORY_BYTES), patience=patience, environment={"SEC_MARKER": SECRET},
            folder=Path(folder), tries=1,
        ) as pool:  # fmt: skip
            jobs = [{"code": each["code"], "api": each.get("api", "check"), "world": world} for each in snippets]
            began = time.perf_counter()
            for number, answer in pool.run(run, jobs):
                seconds = round(time.perf_counter() - began, 4)
                yield _row(snippets[number], answer, seconds=seconds, traces=_traces(scratch))
                began = time.perf_counter()


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Inside the worker: what came of one snippet."""
    try:
        return run_snippet(request)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"[:300]
        return {"outcome": "error", "message": said, "effects": ["fault of the harness"], "calls": []}


def _row(snippet: Mapping[str, Any], answer: Any, *, seconds: float, traces: list[str]) -> dict[str, Any]:
    """What came of a snippet; a lost worker is started again for the next, and that is part of its time."""
    if isinstance(answer, Lost):
        outcome, worker = ("timeout", "killed") if answer.hung else ("error", "crashed")
        answer = {"outcome": outcome, "message": answer.reason, "effects": [], "calls": [], "worker": worker}
    row = {
        "name": snippet["name"],
        "kind": snippet.get("kind", ""),
        "outcome": answer["outcome"],
        "seconds": seconds,
        "work_seconds": answer.get("work_seconds"),
        "effects": [*answer["effects"], *traces],
        "worker": answer.get("worker", "well"),
        "message": answer["message"],
        "calls": answer["calls"],
    }
    if "expect" in snippet:
        row |= {"expected": expected_of(snippet), "differs": expected_of(snippet) != answer["outcome"]}
    return row


def expected_of(snippet: Mapping[str, Any]) -> Any:
    """The outcome that a snippet should have on this Python: `expect`, or `expect_from[version]` from that one on."""
    later = {tuple(map(int, name.split("."))): told for name, told in snippet.get("expect_from", {}).items()}
    return next((later[name] for name in sorted(later, reverse=True) if sys.version_info >= name), snippet["expect"])


def _traces(scratch: Path) -> list[str]:
    """What changed in the folder that snippets are lured to."""
    found = [f"file {path.name}" for path in sorted(scratch.rglob("*")) if path.name not in ("pwned", "marker.txt")]
    if (scratch / "marker.txt").read_text(encoding="utf-8") != SECRET:
        found.append("file marker.txt changed")
    return found


def read_json(path: Path) -> Any:
    """A JSON file of bounded size. Raises ValueError and OSError."""
    if path.stat().st_size > MAX_CORPUS_BYTES:
        raise ValueError(f"{path.name} is larger than {MAX_CORPUS_BYTES} bytes")
    return json.loads(path.read_text(encoding="utf-8", errors="surrogatepass"))


def world_of(corpus: Path, world: Path | None) -> Mapping[str, Any]:
    """The world's data: the file that was named, the one beside the corpus, or the one shipped with the tests."""
    places = [world] if world else [corpus.with_name("hostile-world.json"), DATA / "hostile-world.json"]
    found: Mapping[str, Any] = read_json(next((place for place in places if place.exists()), places[0]))
    return found
