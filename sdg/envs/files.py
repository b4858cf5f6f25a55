"""Files that every layer writes and reads: whole or not at all, and never through a link or out of a pipe.

A folder may come from a stranger: a link in it could lead anywhere, a pipe or a device would never end.
"""

import contextlib
import errno
import fcntl
import lzma
import os
import secrets
import stat
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

TEMPORARY_SUFFIX = ".part"
"""Ends the name of a file that is being written; a kill may leave one behind, which is rubbish."""
MAX_FILE_BYTES = 1 << 30
"""Largest file that is read, compressed or not."""
MAX_LINE_BYTES = 1 << 24
"""Longest line of a journal or a transcript."""
MAX_LINES = 2_000_000
"""Most lines of a transcript: a small archive could unpack to a thousand million, which take 40 bytes each."""
MAX_UNPACKED_BYTES = 1 << 28
"""Most that an archive unpacks to: a file of a thousandth of that can."""
MAX_VALUES = 1 << 24
"""Most values of a JSON file or journal: objects built from them take up to 120 bytes each."""
MAX_LINE_VALUES = 1 << 20
"""Most values of a line of a transcript, of which one at a time is held."""
COMPRESSED_SUFFIX = ".xz"
_XZ_MEMORY_BYTES = 1 << 28

_NO_FILE = "it is no regular file"
_LINK = "it is a link, which is not followed: put the file itself there"


def atomic_write(path: Path, data: bytes | str) -> None:
    """Replace `path` by `data` (text as UTF-8) in one step; folders are made, the umask decides who may read it.

    Raises OSError when the disk is full or the place can't be written; the old content then still stands.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}{TEMPORARY_SUFFIX}")
    try:
        write_new(temporary, data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def write_new(path: Path, data: bytes | str) -> None:
    """Write a file that isn't there yet, durably. Raises OSError, FileExistsError among them."""
    with open(path, "xb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Make names in a folder durable, where the system can (a rename is only safe once its folder is)."""
    with contextlib.suppress(OSError):  # some file systems refuse; the rename is as durable there as it gets
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def open_regular(path: Path, flags: int) -> int:
    """A descriptor of a regular file, made if `flags` say so. Raises OSError as `open` does, and for a link or a pipe.

    Opening never waits: a pipe that nobody reads would.
    """
    try:
        descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, _LINK, str(path)) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, _NO_FILE, str(path))
    return descriptor


def read_file(path: Path, *, most: int = MAX_FILE_BYTES) -> bytes:
    """The whole of a regular file. Raises OSError as `open_regular` does, for more than `most` bytes or MAX_LINES."""
    with open(open_regular(path, os.O_RDONLY), "rb") as file:
        if (size := os.fstat(file.fileno()).st_size) <= most:
            data = file.read(most + 1)
            size = len(data)
    _refuse_more(size, most, f"it is too large, at most {most} bytes are read", path)
    _refuse_more(data.count(b"\n"), MAX_LINES, f"it has too many lines, at most {MAX_LINES} are read", path)
    return data


def count_values(data: bytes) -> int:
    """How many values JSON may hold, counted before it is parsed: each has one of these marks beside it. Those with a
    comma count half, because most are numbers in lists: an episode of 1,000 actions of 8 torques has 8,000.
    """
    return sum(map(data.count, (b":", b"[", b"{"))) + (data.count(b",") + 1) // 2


def read_values(path: Path, *, most: int = MAX_FILE_BYTES) -> bytes:
    """A file of JSON. Raises OSError as `read_file` does, and for more than MAX_VALUES."""
    data = read_file(path, most=most)
    _refuse_more(count_values(data), MAX_VALUES, f"it holds too much, at most {MAX_VALUES} values are read", path)
    return data


def _refuse_more(count: int, most: int, why: str, path: Path) -> None:
    """Raises OSError for a file of more than so many bytes, lines or values."""
    if count > most:
        raise OSError(errno.EFBIG, why, str(path))


def read_lines(path: Path) -> list[bytes]:
    """The lines of a file that programs append to, those that `compress_lines` packed first; the last may be torn.

    Where PATH itself ends with ".xz", it is read alone. Raises OSError as `read_file` does, for a damaged archive, and
    for more than MAX_LINES.
    """
    archive = path if path.suffix == COMPRESSED_SUFFIX else path.with_name(path.name + COMPRESSED_SUFFIX)
    data = _unpack(archive) if archive == path or archive.exists() else b""
    if archive != path and (path.exists() or not data):
        data += read_file(path)
    _refuse_more(data.count(b"\n"), MAX_LINES, f"it has too many lines, at most {MAX_LINES} are read", path)
    return data.split(b"\n")


def compress_lines(path: Path) -> None:
    """Put the whole lines of a file into PATH.xz, behind what that holds, and remove the file. Raises OSError.

    What would be too much for an archive stays as it is.
    """
    archive = path.with_name(path.name + COMPRESSED_SUFFIX)
    before = _unpack(archive) if archive.exists() else b""
    data = read_file(path)
    data = data[: data.rfind(b"\n") + 1]
    if len(before) + len(data) > MAX_UNPACKED_BYTES:
        return
    if not before.endswith(data):  # it does where a kill came between the two steps below
        atomic_write(archive, lzma.compress(before + data))
    path.unlink()


def has_lines(path: Path) -> bool:
    """Whether `read_lines` would find a file."""
    return path.is_file() or path.with_name(path.name + COMPRESSED_SUFFIX).is_file()


def _unpack(path: Path) -> bytes:
    archive = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY_BYTES)
    try:
        data = archive.decompress(read_file(path), MAX_UNPACKED_BYTES + 1)
    except lzma.LZMAError as error:
        raise OSError(errno.EINVAL, f"it is a damaged archive ({error})", str(path)) from None
    _refuse_more(len(data), MAX_UNPACKED_BYTES, f"it unpacks to more than {MAX_UNPACKED_BYTES} bytes", path)
    if not archive.eof:
        raise OSError(errno.EINVAL, "it is a damaged archive (its end is missing)", str(path))
    if archive.unused_data.strip(b"\0"):
        raise OSError(errno.EINVAL, "something follows the archive: unpack all of it by `xz -d`", str(path))
    return data


@contextlib.contextmanager
def lock_to_append(path: Path) -> Iterator[FileIO]:
    """A file to read and append to, made where there is none, for one process or thread at a time.

    A torn last line, which a kill or a full disk left, is cut off. Raises OSError as `open_regular` does, for a file
    without room for another line, which couldn't be read any more, and for one whose last line is too long.
    """
    with FileIO(open_regular(path, os.O_RDWR | os.O_APPEND | os.O_CREAT), "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = end = file.seek(0, os.SEEK_END)
        _refuse_more(size + MAX_LINE_BYTES, MAX_FILE_BYTES, "it is too large to grow: go on in another", path)
        while end:
            _refuse_more(size - end, MAX_LINE_BYTES, f"its last line has more than {MAX_LINE_BYTES} bytes", path)
            start = max(0, end - 2**16)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            end = start if newline < 0 else start + newline + 1
            if newline >= 0:
                break
        if end < size:
            file.truncate(end)
        yield file


def strangers_below(folder: Path) -> Iterator[tuple[Path, str]]:
    """Entries below a folder that are neither regular files nor folders, and why; links aren't entered.

    Raises OSError where a folder can't be listed.
    """
    for place, folders, names in os.walk(folder, onerror=_raise):
        for name in (*folders, *names):
            mode = os.lstat(os.path.join(place, name)).st_mode
            if stat.S_ISLNK(mode):
                yield Path(place, name), _LINK
            elif not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                yield Path(place, name), _NO_FILE


def _raise(error: OSError) -> None:
    raise error
