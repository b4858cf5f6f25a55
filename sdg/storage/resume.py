"""The settings that a run was begun with, and whether it may go on in its folder."""

import json
import os
import platform
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sdg.envs.files import TEMPORARY_SUFFIX, strangers_below
from sdg.storage.files import RunFolderError, atomic_write, explaining, json_values, read_json, torn_line
from sdg.storage.provenance import revision, versions

SCHEMA = 1
"""Version of a run folder's files; one with another number is refused rather than misread."""

OTHERS = ("banned.json", "metrics.jsonl", "spent.json", "transcript.jsonl")
"""Files of a run folder that are neither artefacts nor journals."""

KINDS = {"config": dict, "seed": int, "versions": dict, "command": list, "resumed": list}
"""The fields of `run.json` that are read; others are only shown."""

MAY_CHANGE = ("budget",)
"""Top-level config keys that may differ in a resumed run: one that stopped at its budget needs a larger one."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """A run: its resolved config (as plain values, and as YAML text to keep), its seed and its command."""

    config: Mapping[str, Any]
    config_text: str
    seed: int
    command: Sequence[str] = field(default_factory=tuple)


def read_artefact(path: Path) -> dict[str, Any]:
    """A JSON object with our schema version. Raises `RunFolderError` when it is missing, broken or of another."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise RunFolderError(f"{path} holds no JSON object. Restore it from a copy, or start a new run folder.")
    if value.get("schema") != SCHEMA:
        raise RunFolderError(
            f"{path} has schema {value.get('schema')!r:.40}, this version reads schema {SCHEMA}. "
            "Use the version of sdg that wrote it (run.json names it), or start a new run folder."
        )
    return value


def read_description(path: Path) -> dict[str, Any]:
    """`run.json` of the run in `path`. Raises `RunFolderError` when there is no run or it is of another schema."""
    place = path / "run.json"
    if not path.is_dir():
        raise RunFolderError(f"{path} is no folder. `sdg run --out {path}` begins a run there.")
    if not place.exists():
        raise RunFolderError(f"{path} holds no run (no run.json in it). Name the folder that a run was written to.")
    description = read_artefact(place)
    if lacking := [name for name, kind in KINDS.items() if not isinstance(description.get(name), kind)]:
        raise RunFolderError(f"{place} lacks its {lacking[0]}. Restore it from a copy, or start a new run.")
    return description


def refuse_links(path: Path) -> None:
    """Refuse entries of a folder, where it is one, that lead out of it or block a reader: it may come from anybody."""
    with explaining(path):
        stranger = next(strangers_below(path), None) if path.is_dir() else None
    if stranger is not None:
        raise RunFolderError(f"{stranger[0]} can't be used: {stranger[1]}, or name another folder.")


def refuse_strangers(path: Path, *, mark: str = "run.json") -> None:
    """Refuse a folder with links, and one with files but without `mark`: it belongs to another program."""
    refuse_links(path)
    if not path.exists() or (path / mark).exists():
        return
    if not path.is_dir():
        raise RunFolderError(f"{path} is a file. Name a folder for the run.")
    names = {entry.name for entry in path.iterdir() if not entry.name.endswith(TEMPORARY_SUFFIX)}
    if strangers := names - {"run.lock"}:
        raise RunFolderError(f"{path} holds no run but other things ({min(strangers)!r}). Name another folder.")


def damage_notices(path: Path) -> Iterator[str]:
    """Notices of damaged files of finished stages, which this command might not read otherwise."""
    for reader, names in ((read_artefact, "*.json"), (torn_line, "*.jsonl")):
        for entry in sorted(entry for entry in path.glob(names) if entry.name not in OTHERS):
            try:
                notice = reader(entry)
            except RunFolderError as error:
                notice = str(error)
            if isinstance(notice, str):
                yield notice


def begin(path: Path, settings: RunSettings) -> None:
    """Write `run.json` of a new run."""
    description = {
        "seed": settings.seed,
        "command": list(settings.command),
        "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "git": revision(Path(__file__).parent),
        "versions": versions(),
        "machine": {"system": platform.system(), "machine": platform.machine(), "cores": os.cpu_count() or 0},
        "config": settings.config,
        "resumed": [],
    }
    atomic_write(path / "run.json", json.dumps({"schema": SCHEMA, **json_values(description)}, indent=1) + "\n")


def resume(path: Path, settings: RunSettings, may_change: Collection[str]) -> list[str]:
    """Let a run go on, and note that it did; returns notices. Raises `RunFolderError` for another seed or config."""
    description = read_description(path)
    if description["seed"] != settings.seed:
        raise RunFolderError(
            f"{path} was begun with seed {description['seed']}, not {settings.seed}. "
            f"Give --seed {description['seed']} to go on with it, or name another folder."
        )
    config = json_values(settings.config)
    changed = differences(description["config"], config)
    if forbidden := [difference_text(*change) for change in changed if change[0].split(".")[0] not in may_change]:
        more = f" and {len(forbidden) - 4} more" if len(forbidden) > 4 else ""
        raise RunFolderError(
            f"{path} was begun with another config: {'; '.join(forbidden[:4])}{more}. "
            "Name another folder, or give the config it was begun with (its config.yaml) to go on."
        )
    old, new = description["versions"], versions()
    changes = [f"{name} {old.get(name)} -> {new[name]}" for name in new if old.get(name) != new[name]]
    record = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "command": list(settings.command),
        "git": revision(Path(__file__).parent),
        "changed_versions": changes,
    }
    description["config"] = config
    description["resumed"] = [*description.get("resumed", []), record]
    atomic_write(path / "run.json", json.dumps(description, indent=1) + "\n")
    return [f"goes on with other versions than it began with: {', '.join(changes)}"] if changes else []


def differences(before: Any, after: Any, *, key: str = "") -> list[tuple[str, Any, Any]]:
    """Dotted keys at which two plain values differ, each with both values; None is a missing one."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [
            difference
            for name in sorted(before.keys() | after.keys())
            for difference in differences(before.get(name), after.get(name), key=f"{key}.{name}" if key else name)
        ]
    return [] if before == after else [(key, before, after)]


def difference_text(key: str, before: Any, after: Any) -> str:
    """One of `differences` in words; long values are cut."""
    return f"{key} was {before!r:.60}, is {after!r:.60}"
