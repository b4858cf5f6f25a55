"""A bank of ready layouts of a level: made by minigrid once, kept on disk, begun by the engine in a microsecond."""

import hashlib
import importlib.metadata
import io
import os
import stat
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from sdg.envs.babyai.cells import (
    BALL,
    BOX,
    COLOUR_SHIFT,
    COLOURS,
    DOOR_CLOSED,
    DOOR_LOCKED,
    DOOR_OPEN,
    EMPTY,
    KEY,
    KIND_MASK,
    WALL,
)
from sdg.envs.babyai.engine.layouts import generate
from sdg.envs.babyai.engine.state import GRID, LAYOUT, MAX_OBJECTS, MAX_SIZE, PAD, SIDE
from sdg.envs.babyai.engine.verifier import KINDS, PUT_NEXT, STRICT
from sdg.envs.babyai.levels import level_name
from sdg.envs.files import atomic_write
from sdg.envs.kernels import READ_ONLY, cache_folder
from sdg.errors import SDGError

SCHEMA = 2
"""Version of the file format and of what is written; files of another one are refused."""
MAX_BANK_BYTES = 1 << 32
"""What a bank may unpack to: some 5 million layouts."""

_THINGS = (DOOR_OPEN, DOOR_CLOSED, DOOR_LOCKED, KEY, BALL, BOX)


class BankError(SDGError, ValueError):
    """A bank file that is torn, of another version or not a bank; the message names the file and what is wrong."""


@dataclass(frozen=True)
class LevelBank:
    """M layouts of a level (dtype LAYOUT), layout i under `seeds[i]`; `missions` are the distinct texts."""

    level: str
    seeds: np.ndarray  # i64 [M]
    layouts: np.recarray
    missions: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse what would make a kernel read or write outside its arrays. Raises ValueError."""
        layouts = self.layouts
        shape = (len(self.seeds),)
        if layouts.shape != shape or layouts.dtype.fields != LAYOUT.fields or not layouts.dtype.isalignedstruct:
            raise ValueError(f"layouts are {layouts.dtype} of shape {layouts.shape}, expected {shape} of LAYOUT")
        if self.seeds.dtype != np.int64 or shape == (0,):
            raise ValueError("seeds have the wrong type, or there are none")
        limits = {"direction": 3, "carried": MAX_OBJECTS, "inside": MAX_OBJECTS, "mission": len(self.missions) - 1}
        limits |= dict.fromkeys(("width", "height", "room_size", "columns"), MAX_SIZE)
        for name, limit in limits.items():
            if layouts[name].min() < 0 or layouts[name].max() > limit:
                raise ValueError(f"{name} is outside 0..{limit}")
        kinds = layouts.cells & KIND_MASK
        is_lying = layouts.where > 0
        index = np.clip(layouts.where.astype(np.int64) - GRID.start, 0, kinds.shape[1] - 1)
        is_object = np.isin(np.take_along_axis(kinds, index, axis=1), _THINGS) & is_lying
        faults = {
            "a time limit is out of range": layouts.max_steps.min() < 1,
            "a mission has a clause of an unknown kind": layouts.program[:, KINDS:STRICT].max() > PUT_NEXT,
            "a mission speaks of objects that do not exist": (layouts.targets >> np.uint64(MAX_OBJECTS)).any(),
            "spot lies outside the grid": not _is_inside(layouts.spot, 1).all(),
            "where lies outside the grid": not (_is_inside(layouts.where, 0) | ~is_lying).all(),
            "a cell holds what the engine does not know": not np.isin(kinds, [EMPTY, WALL, *_THINGS]).all()
            or (layouts.cells >> COLOUR_SHIFT).max() >= len(COLOURS),
            # What lies in a cell is an object with that spot.
            "objects do not lie where the cells show them": (is_object != is_lying).any()
            or (is_object.sum(1) != np.isin(kinds, _THINGS).sum(1)).any(),
        }
        for fault, is_there in faults.items():
            if is_there:
                raise ValueError(fault)

    def __len__(self) -> int:
        return len(self.seeds)

    def mission(self, layout: int) -> str:
        """The mission's text of a layout."""
        return self.missions[int(self.layouts.mission[layout])]

    @staticmethod
    def build(level: str, seeds: Sequence[int] | np.ndarray, *, workers: int = 1) -> "LevelBank":
        """The layouts of `level` under these seeds, in this order, from disk if they were made before.

        They lie in `sdg.envs.kernels.cache_folder()`; processes that run generated code keep nothing there.
        With more than one worker the layouts are made in that many processes. Raises ValueError when there is no such
        level, LayoutError when its generation fails, BankError when the cached file is torn.
        """
        array = np.asarray(seeds)
        if array.ndim != 1 or not len(array) or array.dtype.kind not in "iu" or array.min() < 0:
            raise ValueError(f"seeds must be a list of integers of at least 0, got {array.dtype} {array.shape}")
        all_seeds = array.astype(np.int64)
        name = level_name(level)
        path = _cache_path(name, all_seeds)
        if path.exists():
            bank = LevelBank.load(path)
            if bank.level != name or not np.array_equal(bank.seeds, all_seeds):
                raise BankError(f"{path} holds other layouts than its name says; delete it to have it made again")
            return bank
        parts = Parallel(min(workers, len(all_seeds)))(
            delayed(generate)(name, part) for part in np.array_split(all_seeds, min(workers, len(all_seeds)))
        )
        layouts = _records(np.concatenate([records for records, _ in parts]))
        texts = [text for _, missions in parts for text in missions]
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        layouts.mission = [numbers[text] for text in texts]
        bank = LevelBank(name, all_seeds, layouts, tuple(numbers))
        try:
            if not READ_ONLY:
                bank.save(path)
        except OSError as error:
            warnings.warn(f"the layouts of {name} cannot be kept for the next time: {error}", stacklevel=2)
        return bank

    def save(self, path: Path | str) -> None:
        """Write the bank atomically: a reader sees the whole file or none."""
        header = {"schema": np.int64(SCHEMA), "level": np.array(self.level), "seeds": self.seeds}
        missions = np.frombuffer("\n".join(self.missions).encode(), np.uint8)
        file = io.BytesIO()
        np.savez_compressed(file, **header, missions=missions, layouts=self.layouts.view(np.ndarray))  # type: ignore[arg-type]
        atomic_write(Path(path), file.getvalue())

    @staticmethod
    def load(path: Path | str) -> "LevelBank":
        """Read a bank. Raises BankError when the file is torn, of another version, or not a bank."""
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise ValueError("it is no regular file")  # a pipe would never end
            with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as file:
                if sum(part.file_size for part in file.zip.infolist()) > MAX_BANK_BYTES:
                    raise ValueError(f"it unpacks to more than {MAX_BANK_BYTES} bytes")
                arrays = {name: file[name] for name in file.files}
        except FileNotFoundError:
            raise
        except Exception as error:  # a torn file can fail in zipfile, zlib, tokenize and in numpy itself
            raise BankError(f"{path} is torn or not a bank ({error}); delete it to have it made again") from error
        if "schema" not in arrays or arrays["schema"].shape != () or int(arrays["schema"]) != SCHEMA:
            raise BankError(f"{path} is of version {arrays.get('schema', 'unknown')}, this program reads {SCHEMA}")
        try:
            return LevelBank(
                level=str(arrays["level"]),
                seeds=arrays["seeds"],
                layouts=_records(arrays["layouts"]),
                missions=tuple(arrays["missions"].tobytes().decode().split("\n")),
            )
        except (KeyError, ValueError) as error:
            raise BankError(f"{path} is not a bank: {error}") from error


def _cache_path(level: str, seeds: np.ndarray) -> Path:
    made_by = f"{SCHEMA} {LAYOUT.descr} {importlib.metadata.version('minigrid')} {level} ".encode()
    digest = hashlib.sha256(made_by + seeds.tobytes()).hexdigest()[:16]
    return cache_folder() / "banks" / f"{level}-{len(seeds)}-{digest}.npz"


def _records(layouts: np.ndarray) -> np.recarray:
    """Layouts with attributes. A file loses the alignment flag, without which kernels would be compiled again."""
    if layouts.dtype.fields != LAYOUT.fields or layouts.dtype.itemsize != LAYOUT.itemsize:
        raise ValueError(f"layouts are {layouts.dtype}, expected {LAYOUT}")
    return layouts.view(LAYOUT).view(np.recarray)


def _is_inside(spots: np.ndarray, border: int) -> np.ndarray:
    x, y = (spots.astype(np.int64) >> 5) - PAD, (spots.astype(np.int64) % SIDE) - PAD
    return (np.minimum(x, y) >= border) & (np.maximum(x, y) < MAX_SIZE - border)
