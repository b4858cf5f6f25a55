"""What an error means to whoever typed the command: one message, an exit code, and no traceback unless asked for.

Exit codes: 0 done, 1 it failed, 2 it was asked wrongly, 130 interrupted (the same command goes on).
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable

DONE, FAILED, ASKED_WRONGLY, INTERRUPTED = 0, 1, 2, 130

OURS = ("sdg",)


class UserError(ValueError):
    """What was asked for doesn't exist or makes no sense; the message says what would."""


class CheckFailed(RuntimeError):
    """What was measured isn't as it is promised to be."""


class ReaderLeft(Exception):
    """Whoever read our output (such as `head`) has seen enough: no fault, and nothing more to do."""


def guarded(act: Callable[[], int | None]) -> int:
    """Run a command and turn whatever it raises into a message on stderr and an exit code."""
    try:
        code = act() or DONE  # typer turns KeyboardInterrupt into 130.
    except KeyboardInterrupt:
        code = INTERRUPTED
    except ReaderLeft:
        return DONE
    except Exception as error:
        if os.environ.get("SDG_DEBUG"):
            traceback.print_exc()
        _say(message(error))
        return exit_code(error)
    if code == INTERRUPTED:
        _say("interrupted; what was finished is kept, and the same command goes on from there")
    return code


def exit_code(error: BaseException) -> int:
    """2 for what the user can ask differently, 1 for everything else."""
    from typer.exceptions import TyperException

    from sdg.envs.registry import RegistryError
    from sdg.experiments.config.yaml_file import ConfigError
    from sdg.run import RunFolderError

    asked = UserError | ConfigError | RunFolderError | RegistryError | TyperException
    return ASKED_WRONGLY if isinstance(error, asked) else FAILED


def message(error: BaseException) -> str:
    """One clear message. Our own errors explain themselves; anything else is called what it is: a fault of ours."""
    from typer.exceptions import TyperException

    if isinstance(error, TyperException):
        return f"{error.format_message()} Try `sdg --help`, or --help behind a command."
    text = readable(str(error))
    if type(error).__module__.split(".")[0] in OURS and text:
        return text
    if isinstance(error, MemoryError):
        return "out of memory: use fewer environments (--set induce.train.n_envs=64) or a larger machine"
    if isinstance(error, ModuleNotFoundError):
        return f"{text}: install what is missing, `pip install --constraint constraints.txt --editable .` does it all"
    kind = type(error).__name__
    return f"unexpected {kind}: {text or 'no message'}. What was finished is kept. SDG_DEBUG=1 shows where."


def readable(text: str, *, most: int = 4000) -> str:
    """Text that can't steer a terminal: control characters are shown, not sent; very long text is cut."""
    cut = text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"
    return "".join(c if c == "\n" or (c.isprintable() and not "\ud800" <= c <= "\udfff") else _shown(c) for c in cut)


def _shown(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _say(text: str) -> None:
    print(f"sdg: {text}", file=sys.stderr)
