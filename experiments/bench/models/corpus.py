"""Programs that a model wrote for an earlier robot, played again by today's: sdg bench recorded FILE.

FILE has a JSON object a line, one for each reply, with `setting`, `id`, `reply` and `episode` (level, seed, success).
The replies of an episode are played in their order, as it was then. Names and arguments that have changed since are
mapped: a call without the argument that its skill takes now means the thing that is faced.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from sdg.agents.agents import Task
from sdg.deduction.library_skills import options_of
from sdg.envs.domains import domain
from sdg.envs.files import read_file
from sdg.experiments.bench import options
from sdg.experiments.cli.errors import UserError
from sdg.experiments.play.episodes import Job, Played, run_jobs
from sdg.experiments.play.programs import ProgramRecipe
from sdg.experiments.table.comparison import find_library, library_checksum
from sdg.experiments.table.figures import cores, open_folder
from sdg.gate.registry import check_guards
from sdg.skills.library.store import load_library
from sdg.skills.sandbox.guard import Refused, extract_code
from sdg.skills.strict_json import loads

EARLIER: Mapping[str, int] = {
    "search_for": 1, "go_next_to": 1, "pick_up": 1, "face_free_cell_next_to": 1, "set_down_next_to": 1, "scan_room": 0,
    "find_unexplored_door": 0, "go_to_unexplored_door": 0, "swing_open_unexplored_door": 0, "enter_room_behind_door": 0,
    "discover_door": 1, "walk_up_to_door": 1, "open_door": 1, "forget_visited_rooms": 0,
}  # fmt: skip
"""The skills of the earlier robot, and how many arguments each took."""

RENAMED = {
    "go_next_to": "walk_up_to",
    "pick_up": "collect",
    "open_door": "swing_open_door",
    "enter_room_behind_door": "go_through_door",
}
"""Their names today, where a library has those."""

INSTEAD: Mapping[str, str] = {
    "find_unexplored_door": "    return any([not door.explored for door in find_objects('door')])",
    "go_to_unexplored_door": (
        "    doors = [door for door in find_objects('door') if not door.explored]\n"
        "    return bool(doors) and walk_up_to_door(doors[0])"
    ),
    "swing_open_unexplored_door": "    door = get_facing()\n    return door is not None and {open_door}(door)",
    "forget_visited_rooms": "    return None",
}
"""What stands for a skill that there isn't any more."""
FACED = "get_facing()"


@dataclass(frozen=True, slots=True)
class RecordedEpisode:
    """An episode of the file: its replies in order, and what came of it then."""

    setting: str
    level: str
    seed: int
    instruction: str
    solved_then: bool
    replies: tuple[str, ...]


def rows(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="the recorded replies")],
    *,
    settings: Annotated[Sequence[str], options.listed("settings of the file")] = ("S1", "P1"),
    library: options.Library = "",
    guards: Annotated[Sequence[str], options.listed("who stands before each call, as in deduce.guards")] = ("rules",),
    out: options.Out = None,
    processes: options.Processes = 0,
) -> Iterator[dict[str, Any]]:
    """A row an episode, then their sum; `in_vain` are steps of calls that came to nothing.

    Raises UserError for a file that is none.
    """
    try:
        check_guards(guards)
    except ValueError as error:
        raise UserError(str(error)) from None
    place = find_library(library)
    now = {name: int(option.takes_argument) for name, option in options_of(load_library(place)).items()}
    now |= {name: 0 for name in (domain().forgets,) if name}
    found = read_episodes(file, settings=settings)
    jobs = []
    for each in found:
        replies = tuple(adapted(reply, now) for reply in each.replies)
        recipe = ProgramRecipe(f"recorded-{each.setting}", place, replies, guards=tuple(guards))
        jobs.append(Job(recipe, Task(each.level, each.seed)))
    with open_folder(
        out or Path("runs/recorded"), {"library": library_checksum(place), "guards": list(guards)}, seed=0
    ) as run:
        played = run_jobs(jobs, journal=run.journal("episodes"), processes=processes or cores())
    for then, row in zip(found, played, strict=True):
        yield {"setting": then.setting, "seed": then.seed, "instruction": then.instruction, "then": then.solved_then,
               "now": bool(row.success), "steps": row.steps, "in_vain": in_vain(row), "cause": row.cause}  # fmt: skip
    lost = [row for then, row in zip(found, played, strict=True) if not then.solved_then]
    yield {"setting": "all", "episodes": len(found), "then": sum(each.solved_then for each in found),
           "now": sum(bool(row.success) for row in played), "steps": sum(row.steps for row in played),
           "in_vain": sum(map(in_vain, played)), "in_vain_where_lost_then": sum(map(in_vain, lost))}  # fmt: skip


def in_vain(row: Played) -> int:
    """Steps of an episode's calls that came to nothing."""
    return sum(call["steps"] for each in row.trace for call in each["calls"] if not call["success"])


def read_episodes(file: Path, *, settings: Sequence[str]) -> list[RecordedEpisode]:
    """The episodes of the settings, in their order. Raises UserError for a file that has none."""
    try:
        replies = [loads(each) for each in read_file(file).splitlines() if each.strip()]
        groups: dict[tuple[str, int], list[Any]] = {}
        for each in sorted(replies, key=lambda row: (row["setting"], row["id"])):
            if each["setting"] in settings and each["episode"]:
                groups.setdefault((each["setting"], each["episode"]["seed"]), []).append(each)
        found = [
            RecordedEpisode(
                setting, parts[0]["episode"]["level"], seed, parts[0]["episode"]["instruction"],
                parts[0]["episode"]["success"] is True, tuple(part["reply"] for part in parts),
            )
            for (setting, seed), parts in groups.items()
        ]  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file} has no recorded replies: {error}") from None
    if not found:
        raise UserError(f"{file} has no episodes of {', '.join(settings)}")
    return found


def adapted(reply: str, now: Mapping[str, int]) -> str:
    """A reply's program with the names and arguments of today's skills (`now`: how many arguments each takes)."""
    try:
        tree = ast.parse(extract_code(reply))
    except (Refused, SyntaxError):
        return reply
    changed = {name for name, count in EARLIER.items() if now.get(name) != count}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & changed
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in used:
            node.id = f"earlier_{node.id}"
    return "\n\n".join([ast.unparse(tree), *(_adapter(name, now) for name in sorted(used))])


def _adapter(name: str, now: Mapping[str, int]) -> str:
    """The earlier skill by today's."""
    given, todays = "thing" if EARLIER[name] else "", _todays(name, now)
    if todays in now:
        told = given if EARLIER[name] else FACED
        body = f"    return {todays}({told if now[todays] else ''})"
    else:
        body = INSTEAD.get(name, "    return False").format(open_door=_todays("open_door", now))
    return f"def earlier_{name}({given}):\n{body}"


def _todays(name: str, now: Mapping[str, int]) -> str:
    return RENAMED.get(name, name) if name not in now else name
