"""The batched BabyAI engine beside minigrid: exactness, speed, resets, memory, checks in batch, the first call.

python -m sdg.experiments.bench.engine.table [--json] [--seed 0]     the table (about two minutes)
python -m sdg.experiments.bench.engine.table --exactness [--jobs 2]   lockstep on all ids: 100,000 steps and 200
endings a level
                                                           (about an hour of one core; the same command with the
                                                           same --journal FILE goes on where it was stopped)
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sdg.envs.babyai.levels import PAPER_LEVELS, level_name
from sdg.experiments.bench.engine.checks import measure_checks
from sdg.experiments.bench.engine.exactness import LONG_ENDINGS, LONG_STEPS, exactness
from sdg.experiments.bench.engine.first_call import first_calls
from sdg.experiments.bench.engine.lockstep import compare
from sdg.experiments.bench.engine.speed import curve, measure

SIZES = (1, 8, 64, 256, 1024, 4096, 8192)
SHORT_STEPS, SHORT_ENDINGS = 6_000, 20


def rows(*, seed: int = 0, levels: Sequence[str] = PAPER_LEVELS) -> Iterator[dict[str, Any]]:
    """Speed and a short lockstep of each level, the curves over N, checks in batch, first calls; see each `table`."""
    for level in levels:
        seen = compare(level, steps=SHORT_STEPS, endings=SHORT_ENDINGS, seed=seed)
        exact = {"mismatches": seen.mismatches.total(), "compared_steps": seen.steps}
        yield {"table": "level", **asdict(measure(level, seed=seed)), **exact}
    for level in (levels[0], levels[-1]):
        for row in curve(level, SIZES, seed=seed):
            yield {"table": "curve", "level": level, **row}
    for row in measure_checks(levels[-1], seed=seed):
        yield {"table": "check", **row}
    yield {"table": "first call", **first_calls()}


def as_text(row: Mapping[str, Any]) -> str:
    """A row for a reader."""
    number = {key: f"{value:,.4g}" if isinstance(value, float) and value < 100 else f"{value:,.0f}"
              for key, value in row.items() if isinstance(value, int | float)}  # fmt: skip
    return "  ".join(f"{key} {number.get(key, value)}" for key, value in row.items() if value != "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the rows; 1 when a mismatch was seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="a JSON object a line")
    parser.add_argument("--exactness", action="store_true", help="lockstep on all ids instead of speed")
    parser.add_argument("--levels", type=lambda text: [level_name(name) for name in text.split(",")], default=None)
    parser.add_argument("--steps", type=int, default=LONG_STEPS, help="compared steps a level (with --exactness)")
    parser.add_argument("--endings", type=int, default=LONG_ENDINGS, help="episode endings a level (with --exactness)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (with --exactness)")
    parser.add_argument("--journal", type=Path, default=None, help="where --exactness keeps its rows, to go on from")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    if options.exactness:
        made = exactness(
            steps=options.steps,
            endings=options.endings,
            seed=options.seed,
            levels=options.levels,
            jobs=options.jobs,
            journal=options.journal,
        )
    else:
        made = rows(seed=options.seed, levels=options.levels or PAPER_LEVELS)
    mismatches = 0
    for row in made:
        mismatches += row.get("mismatches", 0)  # a summary counts again what its rows counted: 0 stays 0
        print(json.dumps(row) if options.json else as_text(row), flush=True)
    return 1 if mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
