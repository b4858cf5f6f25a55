"""Hostile, broken and benign snippets through guard and worker.

    sdg bench hostile FILE.json [--world WORLD.json] [--wrong] [--json]     one row a snippet

A row has name, kind, budget (steps: 20,000 for a check and 400,000 for a program, as in a run), outcome (ok, reject,
error, timeout), seconds, work_seconds (the snippet's own processor time), effects (side effects; there should be none),
worker (well, killed because it was late, crashed), message and calls. If a snippet says what to expect, the row also
has `expected`, and `differs` says whether the outcome differs. The exit status is 1 if a worker had to be killed or
crashed, or if a side effect was seen.
"""

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from sdg.console import CheckFailed
from sdg.envs.files import read_file
from sdg.errors import UserError
from sdg.experiments.bench.hostile_world import BUDGETS, SECRET, run_snippet
from sdg.sandbox.process.confine import MEGABYTE, Limits
from sdg.sandbox.process.pool import LostJob, Patience, Pool

MAX_CORPUS_BYTES = 64 * MEGABYTE
TIMEOUT_SECONDS = 1.2
"""Processor time that a check may take; a program's limit grows in proportion to its budget."""
MEMORY_BYTES = 512 * MEGABYTE


def rows(
    corpus: Annotated[Path, typer.Argument(metavar="FILE", help="a JSON list of snippets: name, api, code")],
    *,
    world: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="JSON data of their world (default: hostile-world.json beside FILE)"),
    ] = None,
    wrong: Annotated[bool, typer.Option("--wrong", help="only rows that are not as expected")] = False,
) -> Iterator[Mapping[str, Any]]:
    """A row per snippet. Raises CheckFailed at the end if a worker had to be killed or a side effect was seen."""
    try:
        snippets = read_json(corpus)
        if type(snippets) is not list or not all(
            type(snippet) is dict and {"name", "code"} <= snippet.keys() for snippet in snippets
        ):
            raise ValueError(f"{corpus.name} is no list of snippets, each an object with name and code")
        world = world or corpus.with_name("hostile-world.json")
        if not world.exists():
            raise ValueError(f"there is no {world}: name the data of the snippets' world with --world")
        data = read_json(world)
    except (OSError, ValueError) as error:
        raise UserError(str(error)) from None
    bad_count = 0
    for row in run_corpus(snippets, data):
        is_bad = bool(row["effects"]) or row["worker"] != "well"
        bad_count += is_bad
        if is_bad or row.get("differs") or not wrong:
            yield row
    if bad_count:
        raise CheckFailed(f"{bad_count} snippets had side effects, or their worker had to be killed")


def run_corpus(
    snippets: Sequence[Mapping[str, Any]],
    world: Mapping[str, Any],
    *,
    budgets: Mapping[str, int] = BUDGETS,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> Iterator[dict[str, Any]]:
    """One row per snippet, in order. Checks run one after another in one worker, programs in another; a lost worker is
    replaced. `timeout_seconds` is a check's processor time, `budgets` are steps by api."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        scratch = folder / "scratch"
        (scratch / "pwned").mkdir(parents=True)
        (scratch / "marker.txt").write_text(SECRET, encoding="utf-8")
        pools = {}
        for api, budget in budgets.items():
            seconds = timeout_seconds * budget / budgets["check"]
            pools[api] = stack.enter_context(
                Pool(
                    1,
                    limits=Limits(memory_bytes=MEMORY_BYTES),
                    environment={"SEC_MARKER": SECRET},
                    folder=folder,
                    patience=Patience(silence=5 * seconds, code=seconds, job=5 * seconds),
                    tries=1,
                )
            )
        for snippet in snippets:
            api = snippet.get("api", "check")
            began = time.perf_counter()
            job = {"code": snippet["code"], "api": api, "world": world, "budget": budgets.get(api)}
            ((_, answer),) = pools.get(api, pools["check"]).run(run, [job])
            row = _row(snippet, answer, seconds=time.perf_counter() - began, traces=_traces(scratch))
            yield row | {"budget": job["budget"]}


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Inside the worker: the outcome of one snippet."""
    try:
        return run_snippet(request)
    except Exception as error:
        return {
            "outcome": "error",
            "message": f"{type(error).__name__}: {error}"[:300],
            "effects": ["fault of the harness"],
            "calls": [],
        }


def _row(snippet: Mapping[str, Any], answer: Any, *, seconds: float, traces: list[str]) -> dict[str, Any]:
    """The row of a snippet; the time to replace a lost worker is part of its seconds."""
    if isinstance(answer, LostJob):
        outcome, worker = ("timeout", "killed") if answer.hung else ("error", "crashed")
        answer = {"outcome": outcome, "message": answer.reason, "effects": [], "calls": [], "worker": worker}
    row = {
        "name": snippet["name"],
        "kind": snippet.get("kind", ""),
        "outcome": answer["outcome"],
        "seconds": round(seconds, 4),
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
    """The expected outcome of a snippet on this Python: `expect`, or `expect_from[version]` from that version on."""
    later = {tuple(map(int, name.split("."))): outcome for name, outcome in snippet.get("expect_from", {}).items()}
    return next((later[name] for name in sorted(later, reverse=True) if sys.version_info >= name), snippet["expect"])


def _traces(scratch: Path) -> list[str]:
    """Changes in the folder that is the bait for snippets."""
    traces = [f"file {path.name}" for path in sorted(scratch.rglob("*")) if path.name not in ("pwned", "marker.txt")]
    if (scratch / "marker.txt").read_text(encoding="utf-8") != SECRET:
        traces.append("file marker.txt changed")
    return traces


def read_json(path: Path) -> Any:
    """A JSON file of bounded size. Raises ValueError and OSError."""
    return json.loads(read_file(path, most=MAX_CORPUS_BYTES).decode(errors="surrogatepass"))
