"""A closer look: the instructions of a level, or one unit of a run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sdg.experiments.cli.errors import UserError

Row = dict[str, Any]

JOURNALS = ("hypotheses", "verifications", "skills", "episodes")


def instructions_of(level: str, *, split: str, count: int, seed: int) -> Iterator[Row]:
    """Instructions of a level under the user's seed. Raises `UserError` for an unknown level, split or seed."""
    from sdg.envs.babyai.levels import instructions

    try:
        found = instructions(level, split=split, count=count, seed=seed)
    except ValueError as error:
        raise UserError(str(error)) from None
    for each in found:
        yield {"level": each.level, "split": each.split, "seed": each.seed, "instruction": each.text}


def instruction_of(level: str, *, split: str, layout: int) -> Row:
    """One instruction by its layout seed, and what the robot perceives at the start."""
    from sdg.envs.babyai.levels import instruction, level_name
    from sdg.envs.babyai.world import BabyAIWorld

    try:
        each = instruction(level_name(level), layout, split=split)
    except ValueError as error:
        raise UserError(str(error)) from None
    world = BabyAIWorld(each.level)
    world.reset(layout)
    return {
        "level": each.level,
        "split": each.split,
        "seed": each.seed,
        "instruction": each.text,
        "max_steps": world.max_steps,
        "perceived": world.perception().describe(),
    }


def units(run: Path) -> Iterator[Row]:
    """Every finished unit of a run, a line each."""
    from sdg.run import read_description, read_journal

    read_description(run)
    for kind in JOURNALS:
        for row in read_journal(run / f"{kind}.jsonl"):
            about = row.get("instruction") or row.get("name") or ""
            good = row.get("success", row.get("verified"))
            yield {"kind": kind, "unit": row["unit"], "good": good, "about": about, "cause": row.get("cause") or ""}


def unit(run: Path, name: str) -> list[Row]:
    """All that a run recorded under a unit's name, a row for each journal that has it. `UserError` when none does."""
    from sdg.run import read_description, read_journal

    read_description(run)
    names: list[str] = []
    found = []
    for kind in JOURNALS:
        for row in read_journal(run / f"{kind}.jsonl"):
            names.append(row["unit"])
            if row["unit"] == name:
                found.append({"kind": kind, **row})
    if not found:
        import difflib

        close = difflib.get_close_matches(name, names, n=3, cutoff=0.3)
        hint = f"; did you mean {' or '.join(close)}?" if close else f"; `sdg show {run}` lists them"
        raise UserError(f"{run} has no unit {name!r}{hint}")
    return found


def traces(run: Path, found: list[Row]) -> Iterator[str]:
    """Write a GIF of each episode among the rows to RUN/traces; a line for each, also for one that can't be played."""
    from sdg.experiments.play.show import episode_gif
    from sdg.run import atomic_write

    for row in found:
        if row["kind"] == "episodes":
            path = run / "traces" / (re.sub(r"[^A-Za-z0-9._-]+", "-", row["unit"])[:120] + ".gif")
            try:
                atomic_write(path, episode_gif(row))
            except ValueError as error:
                yield f"no trace: {error}"
            else:
                yield f"trace: {path}"
