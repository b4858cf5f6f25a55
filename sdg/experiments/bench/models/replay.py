"""Replays a recorded run from its transcript: the same rows or an error.

At the commit that a recording of this checkout names, every question must equal the recorded one. If that commit is
missing (the history was cut), the source of `EARLIER_COMMIT` carries out the recorded replies in turn (`Replayed`); if
that is missing too (an installed package), today's source does, as for recordings from elsewhere, because a stranger's
mustn't choose the guard that judges its programs. Prompt tokens are then those of the recording.
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
from sdg.console import CheckFailed
from sdg.envs.files import read_lines
from sdg.envs.registry import names_of_data
from sdg.errors import UserError
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
EARLIER_COMMIT = "b8e0c3584cac320f5aeafd884d3c05ebb8d91194"
"""The last commit with the robot of the runs of 2026-11-22, whose own commits were cut from the history."""
IN_TURN = "sdg.llm.transcript:IN_TURN"


def replay_rows(
    recording: RecordedRun, rows_of: Callable[[RecordedRun], list[Mapping[str, Any]]], *, processes: int
) -> list[Mapping[str, Any]]:
    """The table's rows after replaying the recording's finished episodes.

    Raises CheckFailed where a row differs, and unless each episode that the recording describes is in it once.
    """
    is_same_commit = (revision(ROOT) or UNKNOWN) == recording.about.commit
    is_ours = recording.folder.resolve().is_relative_to(ROOT / "recordings")
    differs = f"the recorded run {recording.about.name} doesn't replay"
    try:
        request = _request(recording, kind="replay" if is_same_commit else IN_TURN)
        by_unit = {
            task.unit(cell.agent): unfinished_episode(cell, task) for cell, tasks in request.tasks() for task in tasks
        }
        is_whole = sorted(by_unit) == sorted(episode.unit for episode in recording.episodes)
        if not is_whole or any(
            not episode.finished and episode != by_unit[episode.unit] for episode in recording.episodes
        ):
            raise CheckFailed(
                f"{differs}: it must have each of its {len(by_unit)} episodes once, and no "
                "outcome of an unfinished one; give the command that recorded it again"
            )
        if not is_same_commit and is_ours and (source := _source(recording.about.commit)):
            return _replay_with(recording, source, processes=processes)
        with tempfile.TemporaryDirectory(prefix="sdg-replay-") as scratch:
            replayed = _play_again(recording, request, Path(scratch) / "run", processes=processes)
    except (ModelError, UserError) as error:
        raise CheckFailed(f"{differs}: {error}") from None
    if not is_same_commit:
        recorded = {episode.unit: episode for episode in recording.episodes}
        replayed = [_with_prompts_of(recorded[episode.unit], episode) for episode in replayed]
    by_unit |= {episode.unit: episode for episode in replayed}
    replay = replace(recording, episodes=tuple(by_unit[episode.unit] for episode in recording.episodes))
    for before, after in zip(rows_of(recording), rows_of(replay), strict=True):
        if before != after:
            raise CheckFailed(f"{differs}: it had\n{before}\nand now has\n{after}")
    return rows_of(replay)


def _with_prompts_of(recorded: RecordedEpisode, replayed: RecordedEpisode) -> RecordedEpisode:
    """The replayed episode with the prompt tokens of the recorded one."""
    pairs = zip(recorded.programs, replayed.programs, strict=False)
    programs = tuple(replace(program, prompt_tokens=earlier.prompt_tokens) for earlier, program in pairs)
    return replace(replayed, programs=programs + replayed.programs[len(programs) :])


def _request(recording: RecordedRun, *, kind: str) -> RecordingRequest:
    """The request that made the recording, with a model that repeats its transcript, so that its own isn't imported.

    Raises UserError for a config that names modules, which may be a stranger's.
    """
    with names_of_data():
        config = load(recording.folder / CONFIG, overlay=["model.kind=babylang"])
    model = replace(config.model, kind=kind, transcript=str(recording.folder / TRANSCRIPT), cache=False)
    cells = dict.fromkeys(episode.cell for episode in recording.episodes)
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
    answerers = {episode.unit: episode.answerers for episode in recording.episodes if episode.finished}
    with open_folder(folder, {"replay": recording.about.name}, seed=recording.about.seed) as run:
        rows = play(request, library=find_library(), folder=None, run=run, processes=processes, only=answerers)
    return [to_recorded_episode(row, answerers[row.unit]) for row in rows]


def _source(commit: str) -> bytes | None:
    """A commit's source as a tar archive, or `EARLIER_COMMIT`'s if that commit was cut off; None without a history."""
    candidates = (commit, EARLIER_COMMIT) if re.fullmatch("[0-9a-f]{40}", commit) else ()
    for candidate in candidates:
        try:
            return subprocess.check_output(
                ["git", "-C", str(ROOT), "archive", "--format=tar", candidate], stderr=subprocess.DEVNULL, timeout=120
            )
        except (OSError, subprocess.SubprocessError):
            continue
    return None


def _copy_for(recording: RecordedRun, scratch: Path) -> str:
    """A copy of the recording that the source in `scratch` can read. If that only knows schema 2, the transcript is
    uncompressed and numbered as schema 2, whose texts are lists of pieces: a string reads as one per character.
    """
    copy = scratch / "copy" / recording.folder.name
    shutil.copytree(recording.folder, copy)
    reader = scratch / "sdg" / "llm" / "transcript.py"
    if not reader.is_file() or f"\nSCHEMA = {SCHEMA}\n" not in reader.read_text("utf-8"):
        lines = (line.replace(b'{"schema":3,', b'{"schema":2,', 1) for line in read_lines(copy / TRANSCRIPT))
        atomic_write(copy / TRANSCRIPT, b"\n".join(lines))
    return str(copy)


def _replay_with(recording: RecordedRun, source: bytes, *, processes: int) -> list[Mapping[str, Any]]:
    """The rows that the source of another commit gives for the recording."""
    with tempfile.TemporaryDirectory(prefix="sdg-replay-") as scratch:
        with tarfile.open(fileobj=io.BytesIO(source)) as tar:
            tar.extractall(scratch, filter="data")
        has_option = (Path(scratch) / "sdg/experiments/bench/models/recording.py").is_file()
        command = [sys.executable, "-m", "sdg", "bench", "models", "--replay", "--json", "--processes", str(processes)]
        command += ["--recordings" if has_option else "--drawn", _copy_for(recording, Path(scratch))]
        path = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (scratch, os.environ.get("PYTHONPATH"))))}
        process = subprocess.run(command, cwd=scratch, env=path, capture_output=True, text=True, check=False)
    if process.returncode:
        raise CheckFailed(process.stderr.strip().rpartition("\n")[2].removeprefix("sdg: "))
    return [json.loads(row) for row in process.stdout.splitlines()]
