"""A closer look: the instructions of a level, a run and its units, a skill."""

from __future__ import annotations

import difflib
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sdg.experiments.cli.errors import UserError
from sdg.experiments.cli.output import Output

Row = Mapping[str, Any]

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


def units(run: Path, *, kind: str = "", failed: bool = False) -> Iterator[Row]:
    """Every finished unit of a run, a line each; of one kind, or only those that failed."""
    if kind and kind not in JOURNALS:
        raise UserError(f"there are no {kind} in a run; there are {', '.join(JOURNALS)}")
    for name, row in _rows(run):
        about = row.get("instruction") or row.get("name") or ""
        good = row.get("success", row.get("verified"))
        if (not kind or name == kind) and not (failed and good is not False):
            yield {"kind": name, "unit": row["unit"], "good": good, "about": about, "cause": row.get("cause") or ""}


def print_run(lines: Output, run: Path, found: Sequence[Row], *, most: int) -> None:
    """What a run comes to, and the first units of each kind."""
    from sdg.run import read_artefact

    results = read_artefact(run / "results.json") if (run / "results.json").exists() else {}
    names = ("level", "agent", "success_rate", "low", "high", "episodes", "median_steps", "tokens")
    lines.rows([{name: row.get(name) for name in names} for row in results.get("rows", ())])
    for kind, many in Counter(row["kind"] for row in found).items():
        mine = [row for row in found if row["kind"] == kind]
        bad = sum(row["good"] is False for row in mine)
        lines.text(f"\n{many} {kind}" + (f", {bad} failed" if bad else "") + (f"; {most} shown" if many > most else ""))
        lines.rows({key: row[key] for key in ("unit", "good", "about", "cause")} for row in mine[:most])
    lines.text(f"\n`sdg show {run} UNIT` shows one whole; --kind, --failed and --count choose among them")


def unit(run: Path, name: str) -> list[Row]:
    """All that a run recorded under a unit's name, a row for each journal that has it. `UserError` when none does."""
    rows = list(_rows(run))
    found = [{"kind": kind, **row} for kind, row in rows if row["unit"] == name]
    if not found:
        close = difflib.get_close_matches(name, [row["unit"] for _, row in rows], n=3, cutoff=0.3)
        hint = f"; did you mean {' or '.join(close)}?" if close else f"; `sdg show {run}` lists them"
        raise UserError(f"{run} has no unit {name!r}{hint}")
    return [*found]


def _rows(run: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    from sdg.run import read_description, read_journal

    read_description(run)
    for kind in JOURNALS:
        for row in read_journal(run / f"{kind}.jsonl"):
            yield kind, row


def traces(run: Path, found: Sequence[Row]) -> Iterator[str]:
    """Write a GIF of each episode among the rows to RUN/traces; a line for each, also for one that can't be played."""
    from sdg.experiments.play.episodes import Played
    from sdg.experiments.play.film import episode_gif
    from sdg.run import atomic_write

    for row in (row for row in found if row["kind"] == "episodes"):
        path = run / "traces" / (re.sub(r"[^A-Za-z0-9._-]+", "-", row["unit"])[:120] + ".gif")
        try:
            atomic_write(path, episode_gif(Played.from_json(row)))
        except ValueError as error:
            yield f"no trace: {error}"
        else:
            yield f"trace: {path}"


def library_folder(place: Path | None) -> Path:
    """The library in a run's or a library's folder, the shipped one without. Raises UserError where there is none."""
    from sdg.experiments.table import comparison

    place = place if place is not None else comparison.SHIPPED
    found = next((each for each in (place / "library", place) if (each / "library.json").is_file()), None)
    if found is not None:
        return found
    if place == comparison.SHIPPED:
        raise UserError("no library is shipped here. `sdg run` trains one; then `sdg skills runs/NAME` lists it")
    if not place.is_dir():
        raise UserError(f"{place} is no folder. Name a run folder, or a library folder.")
    raise UserError(f"{place} has no skills yet: `sdg induce --out {place}` learns them")


def is_shipped_skill(name: Path) -> bool:
    """Whether there is no such folder but a skill of this name in the library that is shipped."""
    from sdg.experiments.table import comparison

    shipped = (comparison.SHIPPED / "library.json").is_file() and not name.exists()
    return shipped and any(row["name"] == str(name) for row in skills(comparison.SHIPPED))


def skills(library: Path) -> list[Row]:
    """The skills of a library folder, a row each. Raises LibraryError for a broken library."""
    from sdg.skills.library.store import load_library

    return [
        {
            "name": skill.name,
            "success_rate": skill.success_rate,
            "success_unfiltered": skill.success_rate if skill.episodes else None,
            "low": skill.success_interval[0] if skill.episodes else None,
            "high": skill.success_interval[1] if skill.episodes else None,
            "episodes": skill.episodes,
            "success_known": skill.success_known,
            "left_out": skill.left_out,
            "environment_steps": skill.environment_steps,
            "horizon": skill.horizon,
            "argument": ", ".join(skill.argument_examples[:3]),
            "members": len(skill.members),
        }
        for skill in load_library(library).skills
    ]


def skill(library: Path, name: str) -> Row:
    """One skill whole: its checks, members and figures. Raises UserError for a name that there isn't."""
    from sdg.skills.library.store import load_library

    found = {each.name: each for each in load_library(library).skills}
    if name not in found:
        close = difflib.get_close_matches(name, found, n=2) or list(found)
        raise UserError(f"{library} has no skill {name!r}; did you mean {' or '.join(close)}?")
    each = found[name]
    return {
        "name": each.name,
        "description": each.description,
        "argument": ", ".join(each.argument_examples),
        "success": f"{each.success_rate:.3f} [{each.success_interval[0]:.3f}, {each.success_interval[1]:.3f}]",
        "episodes": each.episodes,
        "environment_steps": each.environment_steps,
        "horizon": each.horizon,
        "members": "\n".join(("", *textwrap.wrap("; ".join(sorted(set(each.members))), 100))),
        "checks": "\n".join(("", *(check.check.source for check in each.checks))),
    }
