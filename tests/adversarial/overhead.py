"""What the guard costs: the benign checks of a corpus behind the guard and as plain Python, over the same functions.

python -m tests.adversarial.overhead [CORPUS.json]
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import timeit
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sdg.experiments.bench.hostile import read_json
from sdg.experiments.bench.hostile_world import SnippetWorld, load
from sdg.prompts.replies import extract_code
from sdg.sandbox.guard import GuardError

DATA = Path(__file__).parents[1] / "data"
REPEATS = 15
CALLS = 400


def measure(snippets: Sequence[Mapping[str, Any]], world: Mapping[str, Any]) -> dict[str, Any]:
    """Microseconds a call more than plain exec (median, 90th percentile, most) and milliseconds to load."""
    rows = []
    for snippet in snippets:
        if snippet.get("kind") == "benign" and snippet.get("api") == "check" and snippet.get("expect") == "ok":
            rows.append(_one(snippet, world))
    overheads = sorted(row["overhead_us"] for row in rows)
    loads = sorted(row["load_ms"] for row in rows)
    return {
        "checks": len(rows),
        "overhead_us": {"median": _share(overheads, 0.5), "p90": _share(overheads, 0.9), "most": overheads[-1]},
        "plain_us_median": round(statistics.median(row["plain_us"] for row in rows), 3),
        "load_ms": {"median": _share(loads, 0.5), "most": loads[-1]},
        "rows": sorted(rows, key=lambda row: -row["overhead_us"]),
    }


def _share(values: Sequence[float], share: float) -> float:
    """The value that this share of the sorted values does not exceed."""
    return values[min(len(values) - 1, int(share * len(values)))]


def _one(snippet: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    functions = SnippetWorld(data).perception()
    loads = []
    for _ in range(3):
        began = time.perf_counter()
        guarded = load(snippet["code"], api="check", data=data)
        loads.append((time.perf_counter() - began) * 1e3)
    names: dict[str, Any] = {**functions, "print": lambda *values: None}
    exec(compile(extract_code(snippet["code"]), "plain", "exec"), names)
    plain = names["check"]
    if _answer(plain) != _answer(lambda: guarded(functions)):
        raise AssertionError(f"{snippet['name']} answers differently behind the guard")
    slow, fast = _interleaved(lambda: guarded(functions), plain)
    return {
        "name": snippet["name"],
        "plain_us": round(fast, 3),
        "overhead_us": round(slow - fast, 3),
        "load_ms": round(min(loads), 3),
    }


def _answer(function: Callable[[], Any]) -> Any:
    try:
        return bool(function())
    except (GuardError, Exception) as error:
        return type(error).__name__


def _interleaved(*functions: Callable[[], Any]) -> list[float]:
    """The least microseconds a call of each, measured by turns so that a busy machine wrongs none."""
    timers = [timeit.Timer(function) for function in functions]
    best = [float("inf")] * len(timers)
    for _ in range(REPEATS):
        for place, timer in enumerate(timers):
            best[place] = min(best[place], timer.timeit(CALLS) / CALLS * 1e6)
    return best


if __name__ == "__main__":
    corpus = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA / "hostile-own.json"
    print(json.dumps(measure(read_json(corpus), read_json(DATA / "hostile-world.json"))))
