"""Hostile code against the guard: a corpus of snippets and what each does, what the guard costs, and fuzz.

    sdg bench hostile FILE.json [--world WORLD.json] [--json]     a row a snippet
    sdg bench overhead FILE.json                                  what the guard costs a call, against plain exec
    sdg bench fuzz [CORPUS.json ...] [--count 100000] [--seed 0]  violations, then a row that counts

A row of `hostile` has name, outcome (ok, reject, error, timeout), seconds, effects (side effects seen: none is the
promise), worker (well, killed because it was late, crashed), message and calls; where a snippet says what to expect,
`expected` and whether the outcome `differs`: what was refused once may be accepted with a bounded meaning. The exit
status is 1 where a worker had to be killed or a side effect was seen. A violation of `fuzz` is anything but a refusal,
an answer or an error of the snippet's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sdg.experiments.adversarial import fuzz_guard
from sdg.experiments.adversarial.hostile import DATA, read_json, run_corpus, world_of
from sdg.experiments.adversarial.hostile_overhead import measure
from sdg.experiments.bench import options
from sdg.experiments.cli.errors import CheckFailed, UserError
from sdg.experiments.cli.progress import progress

Corpus = Annotated[Path, typer.Argument(metavar="FILE", help="a JSON list of snippets: name, api, code")]
World = Annotated[Path | None, typer.Option(metavar="FILE", help="JSON data of the world they run in")]


def hostile(
    corpus: Corpus,
    *,
    world: World = None,
    wrong: Annotated[bool, typer.Option("--wrong", help="only rows that are not as expected")] = False,
) -> Iterator[Mapping[str, Any]]:
    """A row a snippet. Raises CheckFailed at the end where a worker had to be killed or a side effect was seen."""
    bad = 0
    for row in run_corpus(*_read([corpus], world)):
        is_bad = bool(row["effects"]) or row["worker"] != "well"
        bad += is_bad
        if is_bad or row.get("differs") or not wrong:
            yield row
    if bad:
        raise CheckFailed(f"{bad} snippets had side effects, or their worker had to be killed")


def overhead(corpus: Corpus, *, world: World = None) -> Iterator[Mapping[str, Any]]:
    """One row over the benign checks of the corpus."""
    yield measure(*_read([corpus], world))


def fuzz(
    corpora: Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...", help="JSON lists of snippets")] = None,
    *,
    count: Annotated[int, typer.Option(min=1, help="mutants")] = 100_000,
    seed: options.Seed = 0,
) -> Iterator[Mapping[str, Any]]:
    """Violations, then the counts. Raises CheckFailed at the end where there was a violation."""
    snippets, world = _read(corpora or [DATA / "hostile-own.json"], None)
    with progress().stage("mutants", total=count, unit="mutant") as stage:
        seen = 0

        def told(done: int, bad: int) -> None:
            nonlocal seen
            stage.advance(done - seen)
            seen = done

        outcomes, violations = fuzz_guard.fuzz(snippets, world, count=count, seed=seed, progress=told)
    yield from violations
    yield {"mutants": sum(outcomes.values()), "outcomes": dict(outcomes), "violations": len(violations)}
    if violations:
        raise CheckFailed(f"{len(violations)} violations")


def _read(corpora: list[Path], world: Path | None) -> tuple[list[Mapping[str, Any]], Mapping[str, Any]]:
    try:
        return [snippet for corpus in corpora for snippet in read_json(corpus)], world_of(corpora[0], world)
    except (OSError, ValueError) as error:
        raise UserError(str(error)) from None
