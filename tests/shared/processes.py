"""The processes below one, read from /proc."""

from __future__ import annotations

import os


def descendants(pid: int) -> list[int]:
    """All processes below one, children first."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as stat:
                parents[int(name)] = int(stat.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
    below, queue = [], [pid]
    while queue:
        children = [child for child, parent in parents.items() if parent == queue[0]]
        below += children
        queue = queue[1:] + children
    return below


def lives(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
