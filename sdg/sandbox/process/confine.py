"""Walls around a process that may run what should not be trusted: limits, no network, no new programs, no writing.

Linux only, through plain system calls. Every layer reports whether it is active: a kernel or a container may forbid
some, and none is assumed to be there.
"""

import ctypes
import os
import platform
import resource
import struct
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

MEGABYTE = 1 << 20
_CLONE_NEWNET, _CLONE_NEWIPC, _CLONE_NEWUSER = 0x40000000, 0x08000000, 0x10000000
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_SECCOMP_SET_FILTER, _SECCOMP_TSYNC = 1, 1
_FCNTL = (0, 1, 2, 3, 4, 1030)
_IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
_PRCTL = (15, 16, 51, 0x53564D41)
"""Commands of these calls that act on a worker's own descriptors and threads: no lock, lease, owner, seal or mark of a
file, and not the death signal."""
_NEW_CALLS = 424
"""Numbers of calls from here on: where one of them is missing, libc tries an older call instead."""
_ALLOW, _ERROR, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_EPERM, _ENOSYS, _SIGKILL = 1, 38, 9
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""Instructions of a filter."""
_NEW_THREAD = 0x00010000
_CREATE_RULES, _ADD_RULE, _RESTRICT = 444, 445, 446
"""Landlock's system calls (Linux 5.13 and newer); the numbers are the same on every machine."""
_BENEATH = 1
_FOLDER_WRITING = sum(1 << bit for bit in (1, *range(4, 13)))
"""LANDLOCK_ACCESS_FS_WRITE_FILE, and REMOVE_DIR to MAKE_SYM: whatever changes a folder."""
_REFER, _TRUNCATE = 1 << 13, 1 << 14


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a worker. It may write below the folders of `writes_below` (anywhere, if the kernel has no
    landlock), nowhere when none is named."""

    memory_bytes: int = 2048 * MEGABYTE
    file_bytes: int = 64 * MEGABYTE
    open_files: int = 64
    writes_below: tuple[str, ...] = ()


_MACHINES = {"x86_64": (0xC000003E, 317, 0), "aarch64": (0xC00000B7, 277, 1)}
"""Machine -> (audit architecture, number of seccomp(2), its column in the tables of calls below)."""
_CALLS: dict[str, tuple[int | None, int | None]] = {
    "open": (2, None), "openat": (257, 56), "clone": (56, 220), "kill": (62, 129), "tkill": (200, 130),
    "tgkill": (234, 131), "prlimit64": (302, 261), "fcntl": (72, 25), "ioctl": (16, 29), "prctl": (157, 167),
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66), "pread64": (17, 67),
    "pwrite64": (18, 68), "preadv": (295, 69), "pwritev": (296, 70), "preadv2": (327, 286), "pwritev2": (328, 287),
    "lseek": (8, 62), "close": (3, 57), "close_range": (436, 436), "dup": (32, 23), "dup2": (33, None),
    "dup3": (292, 24), "pipe": (22, None), "pipe2": (293, 59), "stat": (4, None), "fstat": (5, 80),
    "lstat": (6, None), "newfstatat": (262, 79), "statx": (332, 291), "statfs": (137, 43), "fstatfs": (138, 44),
    "access": (21, None), "faccessat": (269, 48), "faccessat2": (439, 439), "readlink": (89, None),
    "readlinkat": (267, 78), "getdents": (78, None), "getdents64": (217, 61), "getcwd": (79, 17), "chdir": (80, 49),
    "umask": (95, 166), "getxattr": (191, 8), "lgetxattr": (192, 9), "fgetxattr": (193, 10), "listxattr": (194, 11),
    "llistxattr": (195, 12), "flistxattr": (196, 13), "fsync": (74, 82), "fdatasync": (75, 83), "msync": (26, 227),
    "sendfile": (40, 71), "copy_file_range": (326, 285), "readahead": (187, 213), "fadvise64": (221, 223),
    "poll": (7, None), "ppoll": (271, 73), "select": (23, None), "pselect6": (270, 72), "epoll_create": (213, None),
    "epoll_create1": (291, 20), "epoll_ctl": (233, 21), "epoll_wait": (232, None), "epoll_pwait": (281, 22),
    "epoll_pwait2": (441, 441), "eventfd": (284, None), "eventfd2": (290, 19), "mmap": (9, 222),
    "munmap": (11, 215), "mremap": (25, 216), "mprotect": (10, 226), "madvise": (28, 233), "brk": (12, 214),
    "mincore": (27, 232), "get_mempolicy": (239, 236), "mbind": (237, 235), "futex": (202, 98),
    "futex_waitv": (449, 449),
    "set_robust_list": (273, 99), "rseq": (334, 293), "membarrier": (324, 283), "sched_yield": (24, 124),
    "set_tid_address": (218, 96), "arch_prctl": (158, None), "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139), "rt_sigpending": (127, 136), "rt_sigtimedwait": (128, 137),
    "rt_sigsuspend": (130, 133), "sigaltstack": (131, 132), "restart_syscall": (219, 128), "pause": (34, None),
    "getitimer": (36, 102), "setitimer": (38, 103), "nanosleep": (35, 101), "clock_nanosleep": (230, 115),
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "gettimeofday": (96, 169), "time": (201, None),
    "times": (100, 153), "getrusage": (98, 165), "getrlimit": (97, 163), "sysinfo": (99, 179), "uname": (63, 160),
    "getcpu": (309, 168), "getrandom": (318, 278), "getpid": (39, 172), "gettid": (186, 178), "getppid": (110, 173),
    "getpgrp": (111, None), "getpgid": (121, 155), "getsid": (124, 156), "getuid": (102, 174),
    "geteuid": (107, 175), "getgid": (104, 176), "getegid": (108, 177), "getgroups": (115, 158),
    "getresuid": (118, 148), "getresgid": (120, 150), "getpriority": (140, 141), "sched_getaffinity": (204, 123),
    "sched_getscheduler": (145, 120), "sched_getparam": (143, 121), "sched_get_priority_max": (146, 125),
    "sched_get_priority_min": (147, 126), "sched_getattr": (315, 275), "wait4": (61, 260), "waitid": (247, 95),
    "exit": (60, 93), "exit_group": (231, 94),
}  # fmt: skip
"""The calls that a worker may make, in both machines' numbers: they act on itself, on its open files, or only read."""
_WRITE_CALLS: dict[str, tuple[int | None, int | None]] = {
    "creat": (85, None), "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276), "mkdir": (83, None),
    "mkdirat": (258, 34), "rmdir": (84, None), "link": (86, None), "linkat": (265, 37), "symlink": (88, None),
    "symlinkat": (266, 36), "unlink": (87, None), "unlinkat": (263, 35), "truncate": (76, 45),
    "ftruncate": (77, 46), "fallocate": (285, 47),
}  # fmt: skip
"""Further calls of a worker that may write, where landlock lets it. No worker may change a file's mode, times, owner or
attributes, which landlock doesn't guard."""
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def limit(limits: Limits) -> dict[str, str]:
    """Set resource limits, the death signal and namespaces, before anything is imported, with only one thread."""
    report = {
        "limits": _try(lambda: _set_limits(limits)),
        "dies with parent": die_with_parent(),
        "no new privileges": _try(lambda: _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)),
        "memory hidden": hide_memory(),
    }
    report["no network (namespace)"] = _try(lambda: _call("unshare", _CLONE_NEWNET | _CLONE_NEWIPC))
    if report["no network (namespace)"] != "on":
        report["no network (namespace)"] = _try(
            lambda: _call("unshare", _CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWIPC)
        )
    return report | {"no capabilities": _try(_drop_capabilities)}


def seal(limits: Limits) -> dict[str, str]:
    """Filter system calls, after everything is imported. The filter can't be removed again."""
    return {
        "writes below its folders, other processes hidden (landlock)": _try(
            lambda: _fence([*limits.writes_below, os.devnull])
        ),
        "no sockets, programs or processes (seccomp)": _try(lambda: _install(_filter(limits))),
        "no writing (seccomp)": "not asked for" if limits.writes_below else _try(_check_no_writing),
    }


def _try(action: Callable[[], object]) -> str:
    """ "on" for a layer that stands, or "off: why"."""
    try:
        action()
    except (OSError, ValueError, KeyError, AttributeError) as error:
        return f"off: {error or type(error).__name__}"
    return "on"


def _set_limits(limits: Limits) -> None:
    for kind, wanted in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, limits.open_files),
    ):
        _, hard = resource.getrlimit(kind)
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (value, value))


def _call(name: str, *arguments: Any) -> int:
    """Call a function of the C library. Raises OSError where it reports that it failed."""
    result: int = getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _drop_capabilities() -> None:
    """Drop what root may do beyond other users, such as reading the memory of any process: version 3 of capset(2)."""
    header = struct.pack("<Ii", 0x20080522, 0)
    _call("capset", ctypes.c_char_p(header), ctypes.c_char_p(bytes(24)))  # no right in three sets, each of two words


def die_with_parent() -> str:
    """Have the system kill this process when its parent ends in any way: "on", or "off: why" it can't."""
    return _try(lambda: _call("prctl", _PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0))


def hide_memory() -> str:
    """Let no other process of this user read this one's memory and environment: "on", or "off: why" it can."""
    return _try(lambda: _call("prctl", _PR_SET_DUMPABLE, 0, 0, 0, 0))


def _filter(limits: Limits) -> bytes:
    """A classic BPF program over (number, architecture, arguments) of each system call. What isn't allowed is refused,
    because newer kernels have ever more calls."""
    architecture, _, column = _MACHINES[platform.machine()]
    reads = [_step(_ANY_BIT, _WRITE_FLAGS, 0, 1)]
    own = _one_of(os.getpid())
    tests = {  # the argument that is looked at, and what allows the call: a process may end itself, as abort() does
        "open": (1, reads), "openat": (2, reads), "clone": (0, [_step(_ANY_BIT, _NEW_THREAD, 1, 0)]),
        "kill": (0, own), "tkill": (0, own), "tgkill": (0, own), "prlimit64": (0, _one_of(0)),
        "fcntl": (1, _one_of(*_FCNTL)), "ioctl": (1, _one_of(*_IOCTL)), "prctl": (0, _one_of(*_PRCTL)),
    }  # fmt: skip
    calls = _CALLS
    if limits.writes_below:
        calls = calls | _WRITE_CALLS
        tests |= {"open": (1, []), "openat": (2, [])}
    code = [_step(_LOAD, 4), _step(_EQUAL, architecture, 1, 0), _step(_RETURN, _KILL), _step(_LOAD, 0)]
    for name, numbers in calls.items():
        argument, test = tests.get(name, (0, []))
        refuses = [_step(_LOAD, 16 + 8 * argument), *test, _step(_RETURN, _ERROR | _EPERM)] if test else []
        branch = [*refuses, _step(_RETURN, _ALLOW)]
        if (number := numbers[column]) is not None:
            code += [_step(_EQUAL, number, 0, len(branch)), *branch]
    refusal = [_step(_AT_LEAST, _NEW_CALLS, 0, 1), _step(_RETURN, _ERROR | _ENOSYS), _step(_RETURN, _ERROR | _EPERM)]
    return b"".join([*code, *refusal])


def _one_of(*values: int) -> list[bytes]:
    """Steps that skip the refusal behind them if the loaded value is one of these."""
    return [_step(_EQUAL, value, after, 0) for after, value in zip(range(len(values), 0, -1), values, strict=True)]


def _step(instruction: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    """An instruction of a filter; `yes` and `no` are how many to skip after a comparison that holds, or doesn't."""
    return struct.pack("HBBI", instruction, yes, no, value)


def _install(program: bytes) -> None:
    """seccomp(2), for all threads of the process."""
    if sys.byteorder != "little":
        raise OSError("not for this byte order")
    _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    _, number, _ = _MACHINES[platform.machine()]
    if _call("syscall", number, _SECCOMP_SET_FILTER, _SECCOMP_TSYNC, ctypes.c_char_p(header)):
        raise OSError("a thread of this process can't be filtered")


def _check_no_writing() -> None:
    try:
        descriptor = os.open(os.devnull, os.O_WRONLY)
    except PermissionError:
        return
    os.close(descriptor)
    raise OSError("files can still be opened for writing")


def _fence(paths: Iterable[str]) -> None:
    """Landlock: forbid writing outside these folders and files, for good."""
    version = _call("syscall", _CREATE_RULES, None, 0, 1)
    rights = _FOLDER_WRITING | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    attributes = struct.pack("<Q", rights)
    rules = _call("syscall", _CREATE_RULES, ctypes.c_char_p(attributes), len(attributes), 0)
    try:
        for path in filter(os.path.exists, paths):  # a missing path needs no rule
            _allow(rules, path, rights)
        _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        _call("syscall", _RESTRICT, rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    """Allow writing below a path."""
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        access = rights if os.path.isdir(path) else rights & (1 << 1 | _TRUNCATE)
        _call("syscall", _ADD_RULE, rules, _BENEATH, ctypes.c_char_p(struct.pack("<Qi", access, descriptor)), 0)
    finally:
        os.close(descriptor)
