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
_OWNER, _OF_SOCKETS = 8, 0x8000
"""Bits that only such commands of fcntl(2) and ioctl(2) have as send signals of a file to some process, or seal it."""
_FOREIGN_NUMBERS = 0x40000000
"""From here on x86-64 has the same calls once more, for another size of pointers."""
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
    """What a worker may use. It may write below the folders of `writes_below` (anywhere, if the kernel has no
    landlock), nowhere when none is named."""

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
        "ftruncate": 77, "fallocate": 285, "prlimit64": 302, "fcntl": 72, "ioctl": 16, "setpriority": 141,
        "sched_setaffinity": 203, "sched_setscheduler": 144, "sched_setparam": 142, "sched_setattr": 314,
        "ioprio_set": 251, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "migrate_pages": 256, "move_pages": 279,
        "process_madvise": 440, "process_mrelease": 448, "kcmp": 312, "msgget": 68, "semget": 64, "mq_open": 240,
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
        "ftruncate": 46, "fallocate": 47, "prlimit64": 261, "fcntl": 25, "ioctl": 29, "setpriority": 140,
        "sched_setaffinity": 122, "sched_setscheduler": 119, "sched_setparam": 118, "sched_setattr": 274,
        "ioprio_set": 30, "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240, "migrate_pages": 238, "move_pages": 239,
        "process_madvise": 440, "process_mrelease": 448, "kcmp": 272, "msgget": 186, "semget": 190, "mq_open": 180,
    }),
}  # fmt: skip
"""machine -> (audit architecture, number of seccomp(2), numbers of the calls that are not allowed)."""

_WRITE_CALLS = frozenset(
    (
        "open", "openat", "creat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "link", "linkat",
        "symlink", "symlinkat", "unlink", "unlinkat", "chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown",
        "fchownat", "truncate", "ftruncate", "fallocate", "mknod", "mknodat", "setxattr", "lsetxattr", "fsetxattr",
        "utime", "utimes", "utimensat",
    )
)  # fmt: skip
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
        own_user = _CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWIPC
        report["no network (namespace)"] = _try(lambda: _call("unshare", own_user))
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
    most_of = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_AS: limits.memory_bytes,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NOFILE: limits.open_files,
    }
    for kind, most in most_of.items():
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))


def _call(name: str, *arguments: Any) -> int:
    """Call a function of the C library. Raises OSError where it reports that it failed."""
    result: int = getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _drop_capabilities() -> None:
    """Drop what root may do beyond other users, such as reading the memory of any process: version 3 of capset(2)."""
    header, none = struct.pack("<Ii", 0x20080522, 0), struct.pack("<6I", 0, 0, 0, 0, 0, 0)
    _call("capset", ctypes.c_char_p(header), ctypes.c_char_p(none))


def die_with_parent() -> str:
    """Have the system kill this process when its parent ends in any way: "on", or "off: why" it can't."""
    return _try(lambda: _call("prctl", _PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0))


def hide_memory() -> str:
    """Let no other process of this user read this one's memory and environment: "on", or "off: why" it can."""
    return _try(lambda: _call("prctl", _PR_SET_DUMPABLE, 0, 0, 0, 0))


def _filter(limits: Limits) -> bytes:
    """A classic BPF program over (number, architecture, arguments) of each system call."""
    architecture, _, calls = _MACHINES[platform.machine()]
    reads, own, itself = _step(_ANY_BIT, _WRITE_FLAGS, 0, 1), _step(_EQUAL, os.getpid(), 1, 0), _step(_EQUAL, 0, 1, 0)
    tests = {  # the argument that is looked at, and what allows the call: a process may end itself, as abort() does
        "open": (1, reads), "openat": (2, reads), "clone": (0, _step(_ANY_BIT, _NEW_THREAD, 1, 0)),
        "kill": (0, own), "tkill": (0, own), "tgkill": (0, own), "prlimit64": (0, itself),
        "fcntl": (1, _step(_ANY_BIT, _OWNER, 0, 1)), "ioctl": (1, _step(_ANY_BIT, _OF_SOCKETS, 0, 1)),
    }  # fmt: skip
    code = [_step(_LOAD, 4), _step(_EQUAL, architecture, 1, 0), _step(_RETURN, _KILL), _step(_LOAD, 0)]
    code += [_step(_AT_LEAST, _FOREIGN_NUMBERS, 0, 1), _step(_RETURN, _ERROR | _EPERM)]
    for name, number in calls.items():
        if name in tests and not (limits.writes_below and name in _WRITE_CALLS):
            argument, test = tests[name]
            branch = [_step(_LOAD, 16 + 8 * argument), test, _step(_RETURN, _ERROR | _EPERM), _step(_LOAD, 0)]
            code += [_step(_EQUAL, number, 0, len(branch)), *branch]
        elif not (limits.writes_below and name in _WRITE_CALLS):
            # The flags of these two lie behind a pointer; libc falls back to clone and openat.
            error = _ENOSYS if name in ("clone3", "openat2") else _EPERM
            code += [_step(_EQUAL, number, 0, 1), _step(_RETURN, _ERROR | error)]
    return b"".join([*code, _step(_RETURN, _ALLOW)])


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
    number = _MACHINES[platform.machine()][1]
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
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        access = rights if os.path.isdir(path) else rights & (1 << 1 | _TRUNCATE)
        _call("syscall", _ADD_RULE, rules, _BENEATH, ctypes.c_char_p(struct.pack("<Qi", access, place)), 0)
    finally:
        os.close(place)
