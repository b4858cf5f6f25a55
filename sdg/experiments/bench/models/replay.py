"""Replays a recorded run from its transcript: the same rows or an error.

At the commit that a recording of this checkout names, every question must equal the recorded one. If that commit is
missing (the history was cut), the source of `EARLIER` carries out the recorded replies in turn (`Replayed`); if that is
missing too (an installed package), today's source does, as for recordings from elsewhere, because a stranger's mustn't
choose the guard that judges its programs. Prompt tokens are then those of the recording.
"""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import sdg
from sdg.console import CheckFailed, UserError
from sdg.envs.files import read_lines
from sdg.experiments.bench.models.recording import (
    COMPOSED,
    CONFIG,
    TRANSCRIPT,
    UNKNOWN,
    RecordedEpisode,
    RecordedRun,
    RecordingRequest,
    play,
    to_recorded_episode,
    unfinished_episode,
)
from sdg.experiments.config.config import load
from sdg.experiments.results.comparison import find_library, open_folder
from sdg.llm.model import ModelError
from sdg.llm.transcript import SCHEMA
from sdg.storage import atomic_write, revision

ROOT = Path(sdg.__file__).resolve().parent.parent
EARLIER = "b8e0c3584cac320f5aeafd884d3c05ebb8d91194"
"""The last commit with the robot of the runs of 2026-11-22, whose own commits were cut from the history."""
IN_TURN = "sdg.llm.transcript:IN_TURN"


def replay_rows(
    recording: RecordedRun, rows_of: Callable[[RecordedRun], list[Mapping[str, Any]]], *, processes: int
) -> list[Mapping[str, Any]]:
    """The table's rows after replaying the recording's finished episodes.

    Raises CheckFailed where a row differs, and unless each episode that the recording describes is in it once.
    """
    here = (revision(ROOT) or UNKNOWN) == recording.about.commit
    is_ours = recording.folder.resolve().is_relative_to(ROOT / "recordings")
    differs = f"the recorded run {recording.about.name} doesn't replay"
    try:
        request = _request(recording, kind="replay" if here else IN_TURN)
        same = {
            task.unit(cell.agent): unfinished_episode(cell, task) for cell, tasks in request.tasks() for task in tasks
        }
        if sorted(same) != sorted(each.unit for each in recording.episodes) or any(
            not each.finished and each != same[each.unit] for each in recording.episodes
        ):
            raise CheckFailed(
                f"{differs}: it must have each of its {len(same)} episodes once, and no "
                "outcome of an unfinished one; give the command that recorded it again"
            )
        if not here and is_ours and (source := _source(recording.about.commit)):
            return _elsewhere(recording, source, processes=processes)
        with tempfile.TemporaryDirectory(prefix="sdg-replay-") as scratch:
            again = _play_again(recording, request, Path(scratch) / "run", processes=processes)
    except (ModelError, UserError) as error:
        raise CheckFailed(f"{differs}: {error}") from None
    if not here:
        by_unit = {each.unit: each for each in recording.episodes}
        again = [_with_prompts_of(each, by_unit[each.unit]) for each in again]
    same |= {each.unit: each for each in again}
    replay = replace(recording, episodes=tuple(same[each.unit] for each in recording.episodes))
    for before, after in zip(rows_of(recording), rows_of(replay), strict=True):
        if before != after:
            raise CheckFailed(f"{differs}: it had\n{before}\nand now has\n{after}")
    return rows_of(replay)


def _with_prompts_of(again: RecordedEpisode, before: RecordedEpisode) -> RecordedEpisode:
    """An episode with the prompt tokens of another."""
    pairs = zip(again.programs, before.programs, strict=False)
    programs = tuple(replace(now, prompt_tokens=then.prompt_tokens) for now, then in pairs)
    return replace(again, programs=programs + again.programs[len(programs) :])


def _request(recording: RecordedRun, *, kind: str) -> RecordingRequest:
    """What was asked for, with a model that repeats the transcript."""
    config = load(recording.folder / CONFIG)
    model = replace(config.model, kind=kind, transcript=str(recording.folder / TRANSCRIPT), cache=False)
    cells = dict.fromkeys(each.cell for each in recording.episodes)
    return RecordingRequest(
        replace(config, model=model),
        tuple(dict.fromkeys(cell.interface for cell in cells)),
        tuple(dict.fromkeys(cell.perception for cell in cells)),
        tuple(dict.fromkeys(cell.level for cell in cells)),
        recording.about.instructions,
        recording.about.seed,
        split=recording.about.split,
        composed=recording.folder / COMPOSED,
    )


def _play_again(
    recording: RecordedRun, request: RecordingRequest, folder: Path, *, processes: int
) -> list[RecordedEpisode]:
    who = {each.unit: each.answerers for each in recording.episodes if each.finished}
    with open_folder(folder, {"replay": recording.about.name}, seed=recording.about.seed) as run:
        rows = play(request, library=find_library(), folder=None, run=run, processes=processes, only=who)
    return [to_recorded_episode(row, who[row.unit]) for row in rows]


def _source(commit: str) -> bytes | None:
    """A commit's source as a tar archive, or `EARLIER`'s if that commit was cut off; None without a history."""
    for each in (commit, EARLIER) if re.fullmatch("[0-9a-f]{40}", commit) else ():
        try:
            archive = ["git", "-C", str(ROOT), "archive", "--format=tar", each]
            return subprocess.run(archive, capture_output=True, check=True, timeout=120).stdout
        except (OSError, subprocess.SubprocessError):
            continue
    return None


def _as_of_old(recording: RecordedRun, scratch: Path) -> str:
    """A copy of the recording whose transcript the earlier source can read. If that source only knows schema 2, it is
    uncompressed and numbered as schema 2, whose texts are lists of pieces: a string reads as one per character.
    """
    copy = scratch / "copy" / recording.folder.name
    shutil.copytree(recording.folder, copy)
    reader = scratch / "sdg" / "llm" / "transcript.py"
    if not reader.is_file() or f"\nSCHEMA = {SCHEMA}\n" not in reader.read_text("utf-8"):
        lines = (line.replace(b'{"schema":3,', b'{"schema":2,', 1) for line in read_lines(copy / TRANSCRIPT))
        atomic_write(copy / TRANSCRIPT, b"\n".join(lines))
    return str(copy)


def _elsewhere(recording: RecordedRun, source: bytes, *, processes: int) -> list[Mapping[str, Any]]:
    """The rows as another commit plays them, from a copy of its source."""
    with tempfile.TemporaryDirectory(prefix="sdg-replay-") as scratch:
        with tarfile.open(fileobj=io.BytesIO(source)) as tar:
            tar.extractall(scratch, filter="data")
        has_option = (Path(scratch) / "sdg/experiments/bench/models/recording.py").is_file()
        command = [sys.executable, "-m", "sdg", "bench", "models", "--replay", "--json", "--processes", str(processes)]
        command += ["--recordings" if has_option else "--drawn", _as_of_old(recording, Path(scratch))]
        path = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (scratch, os.environ.get("PYTHONPATH"))))}
        process = subprocess.run(command, cwd=scratch, env=path, capture_output=True, text=True, check=False)
    if process.returncode:
        raise CheckFailed(process.stderr.strip().rpartition("\n")[2].removeprefix("sdg: "))
    return [json.loads(each) for each in process.stdout.splitlines()]
