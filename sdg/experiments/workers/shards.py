"""Shards of a run for queues that start commands: `sdg run --shard I/N`, and `sdg merge`, which puts them together.

A shard is a run folder in which the units of other shards are missing. It stops at the first stage whose units aren't
all there; the merged run goes on from that stage. Units that several shards have (all began as copies of one folder,
say) must be equal.
"""

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from sdg.console import progress
from sdg.envs.files import COMPRESSED_SUFFIX, has_lines, read_file, read_lines
from sdg.errors import UserError
from sdg.storage import (
    RunFolder,
    RunSettings,
    atomic_write,
    difference_text,
    differences,
    explaining,
    hold,
    line,
    of_file,
    read_artefact,
    read_description,
    read_journal,
    read_metrics,
)

SHARD = "shard.json"
"""File in a shard's folder with the shard's number."""
TRANSCRIPT, LEDGER, RESULTS = "transcript.jsonl", "spent.json", "results.json"
PROVENANCE = ("created", "command", "git", "versions", "machine", "resumed")
"""Keys of each shard's `run.json` that `shards.json` keeps; the merged run's `run.json` describes the merge.
"""
JOURNALS = ("hypotheses", "verifications", "random_search", "skills", "rehearsals", "episodes")


def parse_shard(text: str, *, said_by: str = "--shard takes") -> tuple[int, int]:
    """`I/N` with I from 1 to N. Raises UserError for another text."""
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    number, of = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= of:
        raise UserError(f"{said_by} I/N with I from 1 to N, such as 2/8, not {text!r:.40}")
    return number, of


def merge(shards: Sequence[Path], out: Path) -> list[dict[str, Any]]:
    """Put the shards of one run together in `out`: a new folder, or the run that an earlier merge made there.

    A row for each journal: its units, and how many of them are new. A note names shards of other versions. Raises
    UserError for a shard that is missing, given twice or of another config, and for a unit with different rows in two
    shards, RunFolderError for one that is in use; nothing is written then.
    """
    settings = _settings(shards)
    rows = {name: _rows([*shards, *([out] if out.exists() else [])], name) for name in JOURNALS}
    metrics = {line(row): row for shard in shards for row in read_metrics(shard / "metrics.jsonl")}
    unmeasured = _unmeasured(shards)
    origins = [
        {"folder": str(shard)} | {key: read_description(shard).get(key) for key in PROVENANCE} for shard in shards
    ]
    for origin in origins[1:]:
        if differing := [
            difference_text(*difference)
            for key in ("git", "versions")
            for difference in differences(origins[0][key], origin[key], key=key)
        ]:
            progress().note(
                f"{origin['folder']} is of other versions than {origins[0]['folder']}: {'; '.join(differing[:4])}. "
                "Their results may differ: install the same everywhere."
            )
    with RunFolder.start(out, settings) as folder:
        folder.write_json("shards.json", {"shards": origins})
        for shard in shards:
            _copy_weights(shard, out)
        table = []
        for name, units in rows.items():
            new = [row for unit, row in units.items() if unit not in folder.journal(name)]
            for row in new:
                folder.journal(name).append(row)
            table.append({"journal": name, "units": len(units), "new": len(new)})
        for unit in dict.fromkeys(row["unit"] for row in metrics.values()):
            folder.metrics.begin(unit)
            for row in (row for row in metrics.values() if row["unit"] == unit):
                folder.metrics.write(row)
        packed = out / f"{TRANSCRIPT}{COMPRESSED_SUFFIX}"
        before = set(read_lines(packed)) if packed.exists() else {b""}
        # A library's cost is counted from the transcript, a budget from the ledger of what was spent.
        _join_lines([out, *shards], TRANSCRIPT, before=before)
        _join_lines([out, *shards], LEDGER)
        results = folder.read_json(RESULTS) or {}
        folder.write_json(RESULTS, results | {"stages": results.get("stages", {}) | unmeasured})
    return table


def _join_lines(folders: Sequence[Path], name: str, *, before: Collection[bytes] = ()) -> None:
    """Write the first folder's file of this name again: the lines of all, each once, without those `before`."""
    sources = [folder / name for folder in folders if has_lines(folder / name)]
    # The last line is empty, or torn by an interruption, so it is left out.
    lines = dict.fromkeys(text for path in sources for text in read_lines(path)[:-1] if text not in before)
    if lines or (folders[0] / name).exists():
        atomic_write(folders[0] / name, b"".join(text + b"\n" for text in lines))


def _unmeasured(shards: Sequence[Path]) -> dict[str, dict[str, float]]:
    """The stages that shards worked on, without seconds: those of a base that all began with would count several times.

    Raises RunFolderError for results that can't be read.
    """
    stages: dict[str, dict[str, float]] = {}
    for path in (shard / RESULTS for shard in shards if (shard / RESULTS).exists()):
        results = {"stages": read_artefact(path).get("stages", {})}
        stages |= {name: {} for name in of_file(dict[str, dict[str, Any]], results, path=path)["stages"]}
    return stages


def _settings(shards: Sequence[Path]) -> RunSettings:
    """The settings that the shards share. Raises UserError unless they are the shards of one run, each once."""
    first = read_description(shards[0])
    dealt: dict[tuple[int, int], Path] = {}
    for shard in shards:
        description = read_description(shard)
        with hold(shard / "run.lock"):  # raises if a command works in it
            pass
        if differing := differences(first["config"], description["config"]):
            raise UserError(f"{shard} is of another config than {shards[0]}: {difference_text(*differing[0])}")
        if not (shard / SHARD).exists():
            raise UserError(f"{shard} is no shard: `sdg run --shard I/N --out {shard}` makes one")
        label = read_artefact(shard / SHARD)
        number, of = parse_shard(f"{label.get('number')}/{label.get('of')}", said_by=f"{shard / SHARD} holds")
        if (number, of) in dealt:
            raise UserError(f"shard {number}/{of} was given twice, as {dealt[number, of]} and {shard}: leave one out")
        dealt[number, of] = shard
    of = next(iter(dealt))[1]
    if missing := [number for number in range(1, of + 1) if (number, of) not in dealt]:
        raise UserError(
            f"shard {missing[0]}/{of} is missing: run `sdg run --shard {missing[0]}/{of}` and give its folder too"
        )
    if len(dealt) != of:
        raise UserError(f"these are shards of different numbers, not all of {of}")
    try:
        text = read_file(shards[0] / "config.yaml").decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{shards[0] / 'config.yaml'} can't be read: {error}") from None
    return RunSettings(first["config"], text, first["seed"], tuple(first["command"]))


def _rows(folders: Sequence[Path], name: str) -> dict[str, dict[str, Any]]:
    """The rows of a journal in all folders by unit. Raises UserError for a unit that has two different ones."""
    by_unit: dict[str, dict[str, Any]] = {}
    for folder in folders:
        path = folder / f"{name}.jsonl"
        for row in read_journal(path) if path.exists() else ():
            unit = str(row["unit"])
            if by_unit.setdefault(unit, dict(row)) != row:
                raise UserError(
                    f"{path} has another {unit} than the shards before it: they don't come from one folder; begin them "
                    "as copies of one (`sdg hypothesize --out BASE`)"
                )
    return by_unit


def _copy_weights(shard: Path, out: Path) -> None:
    """Copy the weights, libraries and clusterings that the merged run lacks, but no links, which may lead to any file
    here."""
    with explaining(shard):
        for path in [*shard.glob("skills/*.safetensors"), *shard.glob("library*/*"), *shard.glob("induction*.json")]:
            target = out / path.relative_to(shard)
            if path.parent.is_symlink():
                raise UserError(f"{path.parent} is a link, which is not followed: put the folder itself there")
            if not target.exists():
                atomic_write(target, read_file(path))
