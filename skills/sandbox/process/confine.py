"""Walls around a process that may run what should not be trusted: limits, no network, no new programs, no writing.

Linux only, through plain system calls. Every layer says whether it stands: a kernel or a container may forbid some, and
what is not there is reported, not assumed.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass

from sdg.skills.sandbox.process import landlock as landlock

MEGABYTE = 1 << 20
_CLONE_NEWNET, _CLONE_NEWIPC, _CLONE_NEWUSER = 0x40000000, 0x08000000, 0x10000000
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_SECCOMP_SET_FILTER, _SECCOMP_TSYNC = 1, 1
_ALLOW, _ERROR, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_EPERM, _ENOSYS, _SIGKILL = 1, 38, 9


@dataclass(frozen=True, slots=True)
class Limits:
    """What a worker may use. It may write below the folders of `writes_below` (no landlock in the kernel: anywhere),
    nowhere when none is named."""

    memory_bytes: int = 2048 * MEGABYTE
    file_bytes: int = 64 * MEGABYTE
    open_files: int = 64
    writes_below: tuple[str, ...] = ()


_MACHINES: dict[str, tuple[int, int, dict[str, int]]] = {
    "x86_64": (0xC000003E, 317, {
        "open": 2, "creat": 85, "openat": 257, "openat2": 437, "fork": 57, "vfork": 58, "clone": 56, "clone3": 435,
        "execve": 59, "execveat": 322, "socket": 41, "connect": 42, "accept": 43, "sendto": 44, "sendmsg": 46,
        "bind": 49, "listen": 50, "socketpair": 53, "accept4": 288, "sendmmsg": 307, "ptrace": 101, "kill": 62,
        "tkill": 200, "tgkill": 234, "process_vm_readv": 310, "process_vm_writev": 311, "mount": 165, "umount2": 166,
        "pivot_root": 155, "chroot": 161, "unshare": 272, "setns": 308, "bpf": 321, "keyctl": 250, "add_key": 248,
        "request_key": 249, "perf_event_open": 298, "io_uring_setup": 425, "open_by_handle_at": 304, "init_module": 175,
        "finit_module": 313, "kexec_load": 246, "userfaultfd": 323, "pidfd_open": 434, "pidfd_getfd": 438,
        "pidfd_send_signal": 424, "reboot": 169, "swapon": 167, "settimeofday": 164, "clock_settime": 227,
        "sethostname": 170, "rename": 82, "renameat": 264, "renameat2": 316, "mkdir": 83, "mkdirat": 258, "rmdir": 84,
        "link": 86, "linkat": 265, "symlink": 88, "symlinkat": 266, "unlink": 87, "unlinkat": 263, "chmod": 90,
        "fchmod": 91, "fchmodat": 268, "chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260, "truncate": 76,
        "mknod": 133, "mknodat": 259, "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "utime": 132, "utimes": 235,
        "utimensat": 280, "shmget": 29, "memfd_create": 319, "setuid": 105, "setgid": 106, "setresuid": 117,
    }),
    "aarch64": (0xC00000B7, 277, {
        "openat": 56, "openat2": 437, "clone": 220, "clone3": 435, "execve": 221, "execveat": 281, "socket": 198,
        "socketpair": 199, "bind": 200, "listen": 201, "accept": 202, "connect": 203, "sendto": 206, "sendmsg": 211,
        "accept4": 242, "sendmmsg": 269, "ptrace": 117, "kill": 129, "tkill": 130, "tgkill": 131,
        "process_vm_readv": 270, "process_vm_writev": 271, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51,
        "unshare": 97, "setns": 268, "bpf": 280, "keyctl": 219, "add_key": 217, "request_key": 218,
        "perf_event_open": 241, "io_uring_setup": 425, "open_by_handle_at": 265, "init_module": 105,
        "finit_module": 273, "userfaultfd": 282, "pidfd_open": 434, "pidfd_getfd": 438, "pidfd_send_signal": 424,
        "reboot": 142, "swapon": 224, "settimeofday": 170, "clock_settime": 112, "sethostname": 161, "renameat": 38,
        "renameat2": 276, "mkdirat": 34, "linkat": 37, "symlinkat": 36, "unlinkat": 35, "fchmod": 52, "fchmodat": 53,
        "fchown": 55, "fchownat": 54, "truncate": 45, "mknodat": 33, "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7,
        "utimensat": 88, "shmget": 194, "memfd_create": 279, "setuid": 146, "setgid": 144, "setresuid": 147,
    }),
}  # fmt: skip
"""machine -> (audit architecture, number of seccomp(2), numbers of the calls that are not allowed)."""

_WRITING = frozenset(
    (
        "creat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "link", "linkat", "symlink",
        "symlinkat", "unlink", "unlinkat", "chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat",
        "truncate", "mknod", "mknodat", "setxattr", "lsetxattr", "fsetxattr", "utime", "utimes", "utimensat",
    )
)  # fmt: skip
_OPENING = {"open": 1, "openat": 2}
"""Calls that open files, and which argument holds the flags."""
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def limit(limits: Limits) -> dict[str, str]:
    """Resource limits, the death signal and namespaces: before anything is imported, while there is one thread."""
    report = {
        "limits": _try(lambda: _set_limits(limits)),
        "dies with parent": _try(_die_with_parent),
        "no new privileges": _try(lambda: _prctl(_PR_SET_NO_NEW_PRIVS, 1)),
        "memory hidden": _try(lambda: _prctl(_PR_SET_DUMPABLE, 0)),
    }
    report["no network (namespace)"] = _try(lambda: _unshare(_CLONE_NEWNET | _CLONE_NEWIPC))
    if report["no network (namespace)"] != "on":
        report["no network (namespace)"] = _try(lambda: _unshare(_CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWIPC))
    return report | {"no capabilities": _try(_drop_capabilities)}


def seal(limits: Limits) -> dict[str, str]:
    """The filter of system calls: after everything is imported. It can't be taken off again."""
    return {
        "writes below its folders, other processes hidden (landlock)": landlock.fence(limits.writes_below),
        "no sockets, programs or processes (seccomp)": _try(lambda: _install(_filter(limits))),
        "no writing (seccomp)": "not asked for" if limits.writes_below else _try(_check_no_writing),
    }


def _try(action: Callable[[], None]) -> str:
    try:
        action()
    except (OSError, ValueError, KeyError, AttributeError) as error:
        return f"off: {error or type(error).__name__}"
    return "on"


def _set_limits(limits: Limits) -> None:
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_AS: limits.memory_bytes,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NOFILE: limits.open_files,
    }
    for kind, most in wanted.items():
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _prctl(option: int, value: int) -> None:
    _checked(_libc().prctl(option, value, 0, 0, 0))


def _unshare(flags: int) -> None:
    _checked(_libc().unshare(flags))


def _drop_capabilities() -> None:
    """What root may do beyond other users, such as reading the memory of any process: version 3 of capset(2)."""
    header, none = struct.pack("<Ii", 0x20080522, 0), struct.pack("<6I", 0, 0, 0, 0, 0, 0)
    _checked(_libc().capset(ctypes.c_char_p(header), ctypes.c_char_p(none)))


def die_with_parent() -> None:
    """Let this process be killed when its parent ends, however that ends, as far as the system can."""
    _try(_die_with_parent)


def _die_with_parent() -> None:
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)


def hide_memory() -> None:
    """Let no other process of this user read this one's memory and environment, as far as the system can."""
    _try(lambda: _prctl(_PR_SET_DUMPABLE, 0))


def _filter(limits: Limits) -> bytes:
    """A classic BPF program over (number, architecture, arguments) of each system call."""
    architecture, _, calls = _MACHINES[platform.machine()]
    code = [_load(4), _jump_equal(architecture, 1, 0), _return(_KILL), _load(0)]
    for name, number in calls.items():
        if name in _OPENING:
            if not limits.writes_below:
                code += _forbid_flags(number, argument=_OPENING[name])
        elif name == "clone":
            code += [
                _jump_equal(number, 0, 4),
                _load(16),
                _jump_set(0x00010000, 1, 0),
                _return(_ERROR | _EPERM),
                _load(0),
            ]
        elif name in ("clone3", "openat2"):  # their flags lie behind a pointer; libc falls back to clone and openat
            code += [_jump_equal(number, 0, 1), _return(_ERROR | _ENOSYS)]
        elif name in ("kill", "tkill", "tgkill"):
            code += _forbid_signals(name, number)
        elif not (limits.writes_below and name in _WRITING):
            code += [_jump_equal(number, 0, 1), _return(_ERROR | _EPERM)]
    return b"".join([*code, _return(_ALLOW)])


def _forbid_flags(number: int, *, argument: int) -> list[bytes]:
    place = 16 + 8 * argument
    return [_jump_equal(number, 0, 4), _load(place), _jump_set(_WRITE_FLAGS, 0, 1), _return(_ERROR | _EPERM), _load(0)]


def _forbid_signals(name: str, number: int) -> list[bytes]:
    """A process may end itself, as abort() does, and nobody else."""
    return [_jump_equal(number, 0, 4), _load(16), _jump_equal(os.getpid(), 1, 0), _return(_ERROR | _EPERM), _load(0)]


def _load(offset: int) -> bytes:
    return struct.pack("HBBI", 0x20, 0, 0, offset)


def _jump_equal(value: int, yes: int, no: int) -> bytes:
    return struct.pack("HBBI", 0x15, yes, no, value)


def _jump_set(bits: int, yes: int, no: int) -> bytes:
    return struct.pack("HBBI", 0x45, yes, no, bits)


def _return(value: int) -> bytes:
    return struct.pack("HBBI", 0x06, 0, 0, value)


def _install(program: bytes) -> None:
    """seccomp(2), for all threads of the process."""
    if sys.byteorder != "little":
        raise OSError("not for this byte order")
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    number = _MACHINES[platform.machine()][1]
    _checked(_libc().syscall(number, _SECCOMP_SET_FILTER, _SECCOMP_TSYNC, ctypes.c_char_p(header)))


def _check_no_writing() -> None:
    try:
        descriptor = os.open(os.devnull, os.O_WRONLY)
    except PermissionError:
        return
    os.close(descriptor)
    raise OSError("files can still be opened for writing")
