"""A closer look: the instructions of a level, a run and its units, a skill."""

import difflib
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sdg.console import Output, Row, output
from sdg.deduction.episode import EpisodeResult
from sdg.deduction.program import ENTRY, NO_PROGRAM
from sdg.envs.babyai.levels import level_name
from sdg.envs.babyai.world import BabyAIWorld, instruction, instructions
from sdg.envs.domains import domain
from sdg.envs.instructions import seeds
from sdg.errors import UserError
from sdg.experiments.config.assembly import planner_of
from sdg.experiments.config.config import RunConfig
from sdg.experiments.play.film import episode_gif, gif_path
from sdg.experiments.play.solve import solve
from sdg.experiments.report.data import domain_name_of, number, rows_of, text
from sdg.experiments.results import comparison
from sdg.skills.library.library import SkillLibrary
from sdg.skills.library.store import load_library
from sdg.storage import RunFolderError, atomic_write, read_artefact, read_description, read_journal, refuse_links

JOURNALS = ("hypotheses", "verifications", "skills", "episodes")


def instructions_of(level: str, *, split: str, count: int, seed: int, layout: int | None) -> Iterator[Row]:
    """Instructions of a level under the user's seed; with `layout`, its own and the robot's perception at its start.

    Raises UserError for an unknown level, split or seed.
    """
    if layout is None:
        selection = instructions(level, split=split, count=count, seed=seed)
    else:
        selection = [instruction(level_name(level), layout, split=split)]
    for mission in selection:
        row = {"level": mission.level, "split": mission.split, "seed": mission.seed, "instruction": mission.text}
        if layout is not None:
            world = BabyAIWorld(mission.level)
            world.reset(layout)
            row |= {"max_steps": world.max_steps, "perceived": world.perception().describe()}
        yield row


def units(run: Path, *, kind: str = "", failed: bool = False) -> Iterator[Row]:
    """Every finished unit of a run, a line each; only those of a `kind`, or that failed."""
    if kind and kind not in JOURNALS:
        raise UserError(f"there are no {kind} in a run; there are {', '.join(JOURNALS)}")
    for name, row in _rows(run):
        subject = row.get("instruction") or row.get("name") or ""
        good = row.get("success", row.get("verified"))
        if kind in ("", name) and (good is False or not failed):
            yield {"kind": name, "unit": row["unit"], "good": good, "about": subject, "cause": row.get("cause") or ""}


def print_run(lines: Output, run: Path, unit_rows: Sequence[Row], *, most: int) -> None:
    """Print a run's summary and the first units of each kind."""
    results = read_artefact(run / "results.json") if (run / "results.json").exists() else {}
    names = ("success_rate", "low", "high", "episodes", "median_steps", "tokens")
    lines.rows(
        {"level": text(row, "level"), "agent": text(row, "agent")}
        | {name: None if number(row, name) is None else row[name] for name in names}
        for row in rows_of(results, "rows")
    )
    for kind, count in Counter(row["kind"] for row in unit_rows).items():
        rows = [row for row in unit_rows if row["kind"] == kind]
        bad = sum(row["good"] is False for row in rows)
        failures, limit = f", {bad} failed" if bad else "", f"; {most} shown" if count > most else ""
        lines.text(f"\n{count} {kind}{failures}{limit}")
        lines.rows({key: row[key] for key in ("unit", "good", "about", "cause")} for row in rows[:most])
    lines.text(f"\n`sdg show {run} UNIT` shows one whole; --kind, --failed and --count choose among them")


def unit(run: Path, name: str) -> list[Row]:
    """All that a run recorded under a unit's name, a row for each journal that has it. `UserError` if none does."""
    rows = list(_rows(run))
    matches = [{"kind": kind, **row} for kind, row in rows if row["unit"] == name]
    if not matches:
        close = difflib.get_close_matches(name, [row["unit"] for _, row in rows], n=3, cutoff=0.3)
        hint = f"; did you mean {' or '.join(close)}?" if close else f"; `sdg show {run}` lists them"
        raise UserError(f"{run} has no unit {name!r}{hint}")
    return [*matches]


def _rows(run: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    read_description(run)
    for kind in JOURNALS:
        for row in read_journal(run / f"{kind}.jsonl"):
            yield kind, row


def traces(run: Path, unit_rows: Sequence[Row]) -> Iterator[str]:
    """Write a GIF of each episode among the rows to RUN/traces; a line for each, also for one that can't be played."""
    world = domain_name_of(read_description(run))
    for row in (row for row in unit_rows if row["kind"] == "episodes"):
        path = run / "traces" / (re.sub(r"[^A-Za-z0-9._-]+", "-", row["unit"])[:120] + ".gif")
        try:
            refuse_links(run)
            atomic_write(path, episode_gif(EpisodeResult.from_json(row), domain_name=world))
        except (ValueError, UserError, RunFolderError) as error:
            yield f"no trace: {error}"
        else:
            yield f"trace: {path}"


def library_and_skill(folder: Path | None, name: str | None) -> tuple[SkillLibrary, str | None]:
    """The library in a run's or a library's folder, the shipped one if none is named, and the name of the skill.

    `sdg skills collect` means a skill of the shipped library. Raises UserError without a library.
    """
    if folder is not None and name is None and not folder.exists() and (comparison.SHIPPED / "library.json").is_file():
        library = load_library(comparison.SHIPPED)
        if any(skill.name == str(folder) for skill in library.skills):
            return library, str(folder)
    for candidate in (folder / "library", folder) if folder is not None else (comparison.SHIPPED,):
        if (candidate / "library.json").is_file():
            return load_library(candidate), name
    if folder is None:
        raise UserError("no library is shipped here. `sdg run` trains one; then `sdg skills runs/NAME` lists it")
    if not folder.is_dir():
        raise UserError(f"{folder} is no folder. Name a run folder, or a library folder.")
    raise UserError(f"{folder} has no skills yet: `sdg induce --out {folder}` learns them")


def skill(library: SkillLibrary, name: str) -> Row:
    """One skill whole: its checks, members and figures. Raises UserError for an unknown name."""
    by_name = {skill.name: skill for skill in library.skills}
    if name not in by_name:
        close = difflib.get_close_matches(name, by_name, n=2) or list(by_name)
        raise UserError(f"the library has no skill {name!r}; did you mean {' or '.join(close)}?")
    shown_skill, (low, high) = by_name[name], by_name[name].success_interval
    return {
        "name": shown_skill.name,
        "description": shown_skill.description,
        "argument": ", ".join(shown_skill.argument_examples),
        "success": f"{shown_skill.success_rate:.3f} [{low:.3f}, {high:.3f}]",
        "episodes": shown_skill.episodes,
        "environment_steps": shown_skill.environment_steps,
        "horizon": shown_skill.horizon,
        "members": "\n".join(("", *textwrap.wrap("; ".join(sorted(set(shown_skill.members))), 100))),
        "checks": "\n".join(("", *(check.check.source for check in shown_skill.checks))),
    }


SHOWN = (
    *("level", "seed", "instruction", "library", "program", "calls", "outcome", "note", "cause", "error"),
    *("steps", "max_steps", "interactions", "skill_calls", "llm_calls", "tokens", "film"),
)
"""Columns that are printed for people, the verdict near the end, where it is read; JSON has everything."""


def solve_one(
    level: str,
    instruction: str | None,
    *,
    layout: int | None,
    seed: int,
    config: RunConfig,
    library: Path | None,
    film: Path,
    as_json: bool,
) -> None:
    """Play one instruction, a level's own or the user's, in a layout's world; print the result, keep the film.

    Without `layout` the first unseen one under the user's `seed` is used. Raises UserError if nothing could be
    tried, and for the film's name.
    """
    gif_path(film)
    planner = planner_of(config, None, comparison.find_library(str(library or "")), agent="sdg")
    if instruction is not None and not instruction.strip():
        raise UserError("an instruction has words: --instruction 'go to the red ball'")
    try:
        layouts = seeds("evaluation", count=1, seed=seed, level=domain(config.world).level_name(level))
    except ValueError as error:
        raise UserError(str(error)) from None
    with output(as_json=as_json) as lines:
        row, episode = solve(
            level, layouts[0] if layout is None else layout, instruction=instruction or "", recipe=planner
        )
        try:
            atomic_write(film, episode_gif(episode, domain_name=planner.domain))
            row |= {"film": str(film)}
        except ValueError as error:
            row |= {"film": f"none: {error}"}
        details = row if as_json else {key: row[key] for key in SHOWN if row[key] not in ("", [])}
        if not as_json and row["calls"]:
            details["calls"] = "\n".join(("", *row["calls"]))
        if not as_json and row["program"]:
            # The program itself with line numbers; of the helpers above it, only the number of lines.
            source = row["program"].split("\n")
            start = next((number for number, line in enumerate(source) if line.startswith(f"def {ENTRY}(")), 0)
            head = [f"     ({start} lines of helpers; --json has all)"] if start else []
            program_lines = (f"{number:4} {line}" for number, line in enumerate(source[start:], start + 1))
            details["program"] = "\n".join(["", *head, *program_lines])
        lines.details([details])
    if row["cause"] == NO_PROGRAM and not row["calls"]:  # no reply of the model held a program
        raise UserError(f"no program came of {row['instruction']!r}. {row['note'] or row['error']}")
