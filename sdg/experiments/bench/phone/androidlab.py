"""AndroidLab's files: episodes in its own folder form, which its scorer reads unchanged, and its task files.

    TASK/traces/trace.jsonl    one line a step
    TASK/xml/N.xml             the UI tree that step N was decided on
    TASK/Screen/screenshot-N-before.png

Written according to its code (THUDM/Android-Lab at 373fc1d).
"""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sdg.envs.files import read_file
from sdg.envs.phone.tasks import PhoneTask
from sdg.errors import UserError
from sdg.experiments.config.yaml_file import ConfigError, parse
from sdg.phone_agent.desktop import PhoneStep
from sdg.storage import atomic_write

_NAME = re.compile(r"\w[\w.-]{0,99}")
_KEYS = {"Enter": "Press Enter", "Home": "Press Home", "Back": "Press Back"}


def write_episode(
    folder: Path,
    task: PhoneTask,
    steps: Sequence[PhoneStep],
    size: tuple[int, int],
    *,
    mask: Callable[[str], str] = str,
) -> None:
    """Write one episode over any earlier one in the folder, each text of task, phone and model through `mask`; screens
    are masked where they are seen. Equal episodes give equal lines."""
    for name in ("traces", "xml", "Screen"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    lines = []
    for number, step in enumerate(steps):
        image, xml = f"Screen/screenshot-{number}-before.png", f"xml/{number}.xml"
        atomic_write(folder / image, step.screen.png)
        atomic_write(folder / xml, step.screen.xml)
        texts = {
            "prompt": task.instruction if number == 0 else "** XML **",
            "current_activity": step.screen.activity,
            "target": task.instruction,
            "parsed_action": parsed_action(step),
            "current_response": step.said,
        }
        facts = {"trace_id": task.id, "index": number, "image": str(folder / image), "xml": str(folder / xml)}
        lines.append({**facts, "ac_xml": None, "window": list(size), **_mask_texts(texts, mask)})
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    atomic_write(folder / "traces" / "trace.jsonl", text)


def _mask_texts(value: Any, mask: Callable[[str], str]) -> Any:
    """A JSON value with masked texts."""
    if isinstance(value, dict):
        return {key: _mask_texts(item, mask) for key, item in value.items()}
    return mask(value) if isinstance(value, str) else value


def parsed_action(step: PhoneStep) -> dict[str, Any]:
    """An action as AndroidLab's XML mode writes it."""
    action = step.action
    if action.name == "finish":
        return {"operation": "finish", "action": "finish", "kwargs": {"message": action.text}}
    place = list(step.bounds or step.place or ()) or None
    kwargs: dict[str, dict[str, Any]] = {
        "Tap": {"element": place},
        "Long Press": {"element": place},
        "Swipe": {"element": place, "direction": action.direction, "dist": action.distance},
        "Type": {"text": action.text},
    }
    more = {"kwargs": kwargs[action.name]} if action.name in kwargs else {}
    return {"operation": "do", "action": _KEYS.get(action.name, action.name)} | more


def read_tasks(path: Path) -> tuple[PhoneTask, ...]:
    """The tasks of one of AndroidLab's `evaluation/config/APP` files; its checks are code and stay with its scorer.

    Raises UserError for a file that isn't one.
    """
    try:
        rows = parse(read_file(path).decode(), source=str(path)).value.get("tasks")
    except (OSError, UnicodeDecodeError, ConfigError) as error:
        raise UserError(f"{path} can't be read: {error}") from None
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and {"task_id", "task"} <= row.keys() for row in rows
    ):
        raise UserError(f"{path} is no task file of AndroidLab's: it needs tasks, each with task_id and task")
    if wrong := [row["task_id"] for row in rows if not _NAME.fullmatch(str(row["task_id"]))]:
        raise UserError(f"{path}: the task_id {wrong[0]!r:.60} names no folder: write letters, digits, - and _")
    return tuple(PhoneTask(str(row["task_id"]), str(row["task"])) for row in rows)
