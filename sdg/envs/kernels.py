"""`kernel`: numba's njit with a compiled cache on disk that notices every change.

numba's cache asks whether the file of a function has changed, not the files of the functions compiled into it, so that
after an edit or an upgrade old machine code could answer for new source. Here the stamp of a cached kernel covers its
file and, transitively, everything of ours that this file imports.

Which decorator, by who calls the function and what it does:

    kernel          Python calls it, once for all rows. It may make and return arrays.
    row_kernel      Python or a kernel calls it with all the arrays that it needs, often for one row. It makes no array.
    inner_kernel    Only kernels call it. The usual one.
    number_kernel   Only kernels call it, in the innermost loop over floats, where the last bits don't matter.

For example `observe(memory, i, ...)` is a row_kernel: one robot calls it from Python, and the kernel `step_rows` for
each row of a batch. `matches(memory, i, k, ...)`, asked about each thing k of a row, is an inner_kernel.

Cached code is run by any process that finds it, so processes that run generated code read the cache and never write it
(SDG_READ_ONLY): what they compile is theirs alone and lost with them.
"""

import hashlib
import os
import re
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba import config, njit
from numba.core.caching import InTreeCacheLocator, UserProvidedCacheLocator, UserWideCacheLocator
from numba.core.registry import cpu_target

_ROOT = Path(__file__).resolve().parents[1]
_IMPORT = re.compile(r"^from sdg\.((?:envs|skills)[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)
READ_ONLY = "SDG_READ_ONLY" in os.environ
_Function = TypeVar("_Function", bound=Callable[..., Any])

wide = cast(Callable[[Any], int], np.int64)
"""An integer as kernels count. Memories hold narrow ones, and for every width that a kernel is handed it is compiled
again (numba's `int` keeps the width)."""


def kernel(function: _Function, **options: Any) -> _Function:
    """Compile a function in nopython mode, without the GIL, cached until its source or what it imports changes."""
    settings: Any = config
    before, settings.CACHE_LOCATOR_CLASSES = settings.CACHE_LOCATOR_CLASSES, _LOCATORS
    try:
        compiled = _njit(cache=True, nogil=True, **options)(function)
        if READ_ONLY:
            compiled._cache.save_overload = lambda signature, overload: unsaved.append(overload.fndesc.qualname)
        return cast(_Function, compiled)
    finally:
        settings.CACHE_LOCATOR_CLASSES = before


def row_kernel(function: _Function) -> _Function:
    """`kernel` for what works on rows of arrays that it is handed, and neither makes nor returns an array.

    It is compiled without reference counting: counting the two dozen arrays of a memory up and down, atomically, at
    every call would cost several times the work itself. The trap: `np.zeros` or `array[1:]` as a result is then refused
    when it is first called, with an error of types ("No implementation of function zeros"), not of memory.
    """
    return kernel(function, _nrt=False)


def inner_kernel(function: _Function) -> _Function:
    """A kernel that only other kernels call: compiled as part of them, without an entry for Python or its own file.

    To unpack the two dozen arrays of a memory takes more code than most kernels have, so that entries were half of what
    is compiled at the first call. Python may call one, and then it runs as the Python that it is written in.
    """
    dispatcher = _njit(nogil=True, _nrt=False, no_cpython_wrapper=True)(function)
    # numba asks an object for its type by this attribute; the type itself keeps no dispatcher alive.
    vars(function).update(_dispatcher=dispatcher, _numba_type_=dispatcher._numba_type_)
    return function


def number_kernel(function: _Function) -> _Function:
    """A `row_kernel` written into its callers, for sums of floats: fused and reordered at will, divided as by numpy."""
    return kernel(function, _nrt=False, forceinline=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})


_njit: Any = partial(njit, no_cfunc_wrapper=True)  # numba's types know nothing of _nrt
unsaved: list[str] = []
"""Kernels that this process compiled and may not keep: each costs every such process its seconds again."""


def cache_folder() -> Path:
    """The folder of cached files: `$SDG_CACHE_DIR`, else `sdg` in the user's cache folder."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "sdg"
    return Path(os.environ.get("SDG_CACHE_DIR") or default).expanduser()


def count_files() -> int:
    """How many compiled kernels are kept beside our source, or where NUMBA_CACHE_DIR says."""
    folder_name = os.environ.get("NUMBA_CACHE_DIR")
    folders = [Path(folder_name)] if folder_name else [_ROOT / "envs", _ROOT / "skills"]
    return sum(len(list(folder.rglob("*.nbc"))) for folder in folders)


def fingerprint() -> str:
    """Digest of all that compiled kernels depend on: our source, where it lies, Python, numba and this processor."""
    processor = cpu_target.target_context.codegen().magic_tuple()
    machine = repr((str(_ROOT), sys.version, numba.__version__, processor)).encode()
    sources = sorted((*(_ROOT / "envs").rglob("*.py"), *(_ROOT / "skills").rglob("*.py")))
    folder_name = os.environ.get("NUMBA_CACHE_DIR", "").encode()
    return hashlib.sha256(b"".join([machine, *(path.read_bytes() for path in sources), folder_name])).hexdigest()


@cache
def stamp(path: Path) -> str:
    """Digest of a source file and of every file of ours that it imports, however far."""
    return hashlib.sha256(b"".join(source.read_bytes() for source in sorted(_closure(path)))).hexdigest()


def _closure(path: Path) -> list[Path]:
    sources = [path]
    for source in sources:  # grows as it is walked
        sources += set(_files_imported_by(source.read_text(encoding="utf-8"))).difference(sources)
    return sources


def _files_imported_by(text: str) -> list[Path]:
    places = [(_ROOT.joinpath(*module.split(".")), names) for module, names in _IMPORT.findall(text)]
    files = [place / f"{name}.py" for place, names in places for name in re.findall(r"\w+", names)]
    return [file for file in (*files, *(place.with_suffix(".py") for place, _ in places)) if file.is_file()]


class _Stamped:
    _py_file: str
    _cache_path: str

    def ensure_cache_path(self) -> None:
        """Raises OSError where kernels can't be kept; who only reads asks whether some are."""
        if not READ_ONLY:
            super().ensure_cache_path()  # type: ignore[misc]
        elif not (isinstance(self, UserWide) or any(Path(self._cache_path).glob("*.nbi"))):
            raise FileNotFoundError(self._cache_path)

    def get_source_stamp(self) -> str:
        return stamp(Path(self._py_file).resolve())


class Chosen(_Stamped, UserProvidedCacheLocator):
    """The folder that NUMBA_CACHE_DIR names."""


class InTree(_Stamped, InTreeCacheLocator):
    """`__pycache__` beside the source."""


class UserWide(_Stamped, UserWideCacheLocator):
    """The user's cache folder, where the package can't be written to."""


_LOCATORS = ",".join(f"{locator.__module__}.{locator.__qualname__}" for locator in (Chosen, InTree, UserWide))
