"""A closer look: the instructions of a level, a run and its units, a skill."""

import difflib
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sdg.console import Output, Row, UserError, output
from sdg.deduction.episode import Played
from sdg.deduction.program import ENTRY, NO_PROGRAM
from sdg.envs.babyai.levels import level_name
from sdg.envs.babyai.world import BabyAIWorld, instruction, instructions
from sdg.envs.domains import domain
from sdg.envs.instructions import seeds
from sdg.experiments.config.assembly import planner_of
from sdg.experiments.config.config import RunConfig
from sdg.experiments.play.film import episode_gif
from sdg.experiments.play.solve import solve
from sdg.experiments.report.data import domain_name_of, number, rows_of, text
from sdg.experiments.results import comparison
from sdg.skills.library.library import SkillLibrary
from sdg.skills.library.store import load_library
from sdg.storage import RunFolderError, atomic_write, read_artefact, read_description, read_journal, refuse_links

JOURNALS = ("hypotheses", "verifications", "skills", "episodes")


def instructions_of(level: str, *, split: str, count: int, seed: int, layout: int | None) -> Iterator[Row]:
    """Instructions of a level under the user's seed; with `layout`, its own and what the robot perceives at its start.

    Raises UserError for an unknown level, split or seed.
    """
    if layout is None:
        selection = instructions(level, split=split, count=count, seed=seed)
    else:
        selection = [instruction(level_name(level), layout, split=split)]
    for each in selection:
        row = {"level": each.level, "split": each.split, "seed": each.seed, "instruction": each.text}
        if layout is not None:
            world = BabyAIWorld(each.level)
            world.reset(layout)
            row |= {"max_steps": world.max_steps, "perceived": world.perception().describe()}
        yield row


def units(run: Path, *, kind: str = "", failed: bool = False) -> Iterator[Row]:
    """Every finished unit of a run, a line each; only those of a `kind`, or that failed."""
    if kind and kind not in JOURNALS:
        raise UserError(f"there are no {kind} in a run; there are {', '.join(JOURNALS)}")
    for name, row in _rows(run):
        about = row.get("instruction") or row.get("name") or ""
        good = row.get("success", row.get("verified"))
        if (not kind or name == kind) and not (failed and good is not False):
            yield {"kind": name, "unit": row["unit"], "good": good, "about": about, "cause": row.get("cause") or ""}


def print_run(lines: Output, run: Path, found: Sequence[Row], *, most: int) -> None:
    """Print a run's summary and the first units of each kind."""
    results = read_artefact(run / "results.json") if (run / "results.json").exists() else {}
    names = ("success_rate", "low", "high", "episodes", "median_steps", "tokens")
    lines.rows(
        {"level": text(row, "level"), "agent": text(row, "agent")}
        | {name: None if number(row, name) is None else row[name] for name in names}
        for row in rows_of(results, "rows")
    )
    for kind, many in Counter(row["kind"] for row in found).items():
        mine = [row for row in found if row["kind"] == kind]
        bad = sum(row["good"] is False for row in mine)
        lines.text(f"\n{many} {kind}" + (f", {bad} failed" if bad else "") + (f"; {most} shown" if many > most else ""))
        lines.rows({key: row[key] for key in ("unit", "good", "about", "cause")} for row in mine[:most])
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


def traces(run: Path, found: Sequence[Row]) -> Iterator[str]:
    """Write a GIF of each episode among the rows to RUN/traces; a line for each, also for one that can't be played."""
    world = domain_name_of(read_description(run))
    for row in (row for row in found if row["kind"] == "episodes"):
        path = run / "traces" / (re.sub(r"[^A-Za-z0-9._-]+", "-", row["unit"])[:120] + ".gif")
        try:
            refuse_links(run)
            atomic_write(path, episode_gif(Played.from_json(row), domain_name=world))
        except (ValueError, UserError, RunFolderError) as error:
            yield f"no trace: {error}"
        else:
            yield f"trace: {path}"


def library_and_skill(place: Path | None, name: str | None) -> tuple[SkillLibrary, str | None]:
    """The library in a run's or a library's folder, the shipped one where none is named, and the skill that is meant.

    `sdg skills collect` means a skill of the shipped library. Raises UserError where there is no library.
    """
    if place is not None and name is None and not place.exists() and (comparison.SHIPPED / "library.json").is_file():
        library = load_library(comparison.SHIPPED)
        if any(skill.name == str(place) for skill in library.skills):
            return library, str(place)
    for folder in (place / "library", place) if place is not None else (comparison.SHIPPED,):
        if (folder / "library.json").is_file():
            return load_library(folder), name
    if place is None:
        raise UserError("no library is shipped here. `sdg run` trains one; then `sdg skills runs/NAME` lists it")
    if not place.is_dir():
        raise UserError(f"{place} is no folder. Name a run folder, or a library folder.")
    raise UserError(f"{place} has no skills yet: `sdg induce --out {place}` learns them")


def skill(library: SkillLibrary, name: str) -> Row:
    """One skill whole: its checks, members and figures. Raises UserError for an unknown name."""
    by_name = {each.name: each for each in library.skills}
    if name not in by_name:
        close = difflib.get_close_matches(name, by_name, n=2) or list(by_name)
        raise UserError(f"the library has no skill {name!r}; did you mean {' or '.join(close)}?")
    each, (low, high) = by_name[name], by_name[name].success_interval
    return {
        "name": each.name,
        "description": each.description,
        "argument": ", ".join(each.argument_examples),
        "success": f"{each.success_rate:.3f} [{low:.3f}, {high:.3f}]",
        "episodes": each.episodes,
        "environment_steps": each.environment_steps,
        "horizon": each.horizon,
        "members": "\n".join(("", *textwrap.wrap("; ".join(sorted(set(each.members))), 100))),
        "checks": "\n".join(("", *(check.check.source for check in each.checks))),
    }


SHOWN = (
    *("level", "seed", "instruction", "library", "program", "calls", "outcome", "note", "cause", "error"),
    *("steps", "max_steps", "interactions", "skill_calls", "llm_calls", "tokens", "film"),
)
"""What is printed for people, with the verdict near the end, where it is read; JSON has everything."""


def refuse_other_options(given: Mapping[str, object], *, why: str) -> None:
    """Raises UserError for a given option that means nothing here."""
    if names := [name for name, value in given.items() if value not in (None, False)]:
        raise UserError(f"{' and '.join(names)} {why}")


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

    Without `layout` the first unseen one under the user's `seed` is used. Raises UserError if nothing could be tried.
    """
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
            begins = next((number for number, line in enumerate(source) if line.startswith(f"def {ENTRY}(")), 0)
            head = [f"     ({begins} lines of helpers; --json has all)"] if begins else []
            program_lines = (f"{number:4} {line}" for number, line in enumerate(source[begins:], begins + 1))
            details["program"] = "\n".join(["", *head, *program_lines])
        lines.details([details])
    if row["cause"] == NO_PROGRAM and not row["calls"]:  # no reply of the model held a program
        raise UserError(f"no program came of {row['instruction']!r}. {row['note'] or row['error']}")
