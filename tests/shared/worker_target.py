"""What workers are asked to do in tests, harmful things among them."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import time
from typing import Any


def do(request: dict[str, Any]) -> Any:
    """One action by name; all but echo and environment should fail or lose the worker."""
    action = request["do"]
    if action == "echo":
        return request["value"]
    if action == "environment":
        return dict(os.environ)
    return _ACTIONS[action]()


def _write() -> None:
    with open("marker", "w", encoding="utf-8"):
        pass


def _raise() -> None:
    raise ValueError("on purpose")


def _spin() -> None:
    while True:
        pass


def _hold_the_lock() -> None:
    ctypes.PyDLL(None).sleep(60)


_ACTIONS = {
    "socket": socket.socket,
    "write": _write,
    "run": lambda: subprocess.run(["true"], check=True),
    "fork": os.fork,
    "signal": lambda: os.kill(os.getppid(), 0),
    "memory": lambda: len(bytearray(4 << 30)),
    "raise": _raise,
    "long": lambda: "x" * 2_000_000,
    "not json": lambda: {1, 2},
    "sleep": lambda: time.sleep(60),
    "spin": _spin,
    "abort": os.abort,
    "exit": lambda: os._exit(3),
    "hold the lock": _hold_the_lock,
}
