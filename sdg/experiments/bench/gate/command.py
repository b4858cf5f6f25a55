"""How often the gate's guards are right (ResponsibleTA, Table 1).

The guards are rules, learned, LLM-based, and the majority.

    sdg bench gate [--world babyai|ui|phone|text] [--rollouts 60] [--seed N] [--json]
    sdg bench gate --table 2 [--draws 200]                     tasks of a planner that errs (see `tasks.py`)
    sdg bench gate --world ui --table 2 [--draws 200]          the same for screens (see `screen_tasks.py`)

Held out: layouts of the evaluation split and programs of a real model from which nothing was learned. Each guard
(feasibility, completeness) and kind has a row; both labels are drawn equally often, *infeasible* and *incomplete* are
the positive ones. `low` and `high` are the ends of the accuracy's 95 % interval over rollouts, `ahead_low` and
`ahead_high` those of its lead over the rules, in points. LLM-based guards' rows use recorded answers, 60 items a guard
(`python -m training.draw` asks a model).

World `ui`: guards of screens on frozen pages, of kinds of tasks that they never learned from (`screens.py`); their lead
is over `text match`, the plain reference. `miou` measures where commands' targets are found, `ms` is a verdict's CPU
time.
World `text`: how well private values are masked (`privacy.py`) in sets from which nothing was made or learned, except
for the set "development".
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sdg.errors import UserError
from sdg.experiments.bench import options
from sdg.experiments.bench.gate import (
    phones,
    privacy,
    recorded,
    screen_guards,
    screen_tasks,
    tasks,
)
from sdg.experiments.bench.gate.figures import figures
from sdg.experiments.bench.gate.rollouts import COMPLETENESS, FEASIBILITY, balance, plan_rollouts, rolled_out
from sdg.experiments.results.comparison import cores, find_library

KINDS = ("rules", "learned")
WORLDS = ("babyai", "ui", "phone", "text")


def rows(
    *,
    seed: options.Seed = 0,
    rollouts: Annotated[int, typer.Option(min=8, help="programs that are played, with mistakes in between")] = 60,
    library: options.Library = "",
    table: Annotated[int, typer.Option(min=1, max=2, help="2: tasks without a gate, with half of it, with all")] = 1,
    draws: Annotated[int, typer.Option(min=12, help="of table 2: draws of mistakes over its 12 tasks")] = 200,
    out: options.Out = None,
    processes: options.Processes = 0,
    world: Annotated[str, typer.Option(help="babyai, ui, phone or text; all but phone by default")] = "",
) -> Iterable[Mapping[str, Any]]:
    """A row for each guard and kind. Raises UserError for a library, or guards that aren't there."""
    if world not in ("", *WORLDS):
        raise UserError(f"there are no guards for the world {world!r:.60}; there are {', '.join(WORLDS)}")
    babyai = {"seed": seed, "processes": processes or cores()}
    tables: Mapping[str, Sequence[Callable[[], Iterable[Mapping[str, Any]]]]] = {
        "babyai": (
            lambda: _rows_of_babyai(find_library(library), rollouts, answers=out or recorded.PLACE, **babyai),
            lambda: tasks.rows(find_library(library), draws=draws, **babyai),
        ),
        "ui": (lambda: screen_guards.rows(seed=seed), lambda: screen_tasks.rows(draws=draws, seed=seed)),
        "phone": (phones.judge_rows, lambda: phones.rows(draws=draws, seed=seed, processes=processes)),
        "text": (privacy.masking, privacy.masking),
    }
    table_rows = tables[world or "babyai"][table - 1]()
    return table_rows if world or table == 2 else [*table_rows, *screen_guards.rows(seed=seed), *privacy.masking()]


def _rows_of_babyai(
    library: Path, rollouts: int, *, answers: Path, seed: int, processes: int
) -> list[Mapping[str, Any]]:
    """The rows of guards in programs' rollouts, and those of the recorded `answers` of LLM-based guards."""
    plan = plan_rollouts(library, rollouts, split="evaluation", seed=seed, programs="P1", guards=KINDS)
    rollout_rows = [
        row | {"rollout": number}
        for number, rows_of_one in enumerate(rolled_out(plan, processes=processes))
        for row in rows_of_one
    ]
    all_rows: list[Mapping[str, Any]] = []
    for verb in (FEASIBILITY, COMPLETENESS):
        items = balance([row for row in rollout_rows if row["verb"] == verb], seed=seed)
        labels = np.array([row["label"] for row in items])
        groups = np.array([row["rollout"] for row in items])
        chances_by_kind = {kind: np.array([row["chances"][kind] for row in items]) for kind in KINDS}
        chances_by_kind["majority"] = np.full(len(items), 0.51)
        all_rows += [
            {"world": "babyai", "guard": verb, "kind": kind}
            | figures(labels, chances, groups, against=chances_by_kind["rules"])
            for kind, chances in chances_by_kind.items()
        ]
    all_rows += [
        {"world": "babyai", "guard": verb, "kind": "llm"}
        | figures(
            np.array([label for label, _ in pairs]),
            np.array([chance for _, chance in pairs]),
            np.arange(len(pairs)),
            against=None,
        )
        for verb, pairs in recorded.replay_answers(answers).items()
    ]
    return all_rows
