"""Lengths of shortest paths, by a search over the phone's own states, then walked on the screen with its scrolling.

    python -m training.phone_expert.search     writes them into the tasks' file

It uses neither the expert's scripts nor anything else that is scored. It may type the values that the task's words
and conditions name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sdg.envs.phone.actions import carry_out
from sdg.envs.phone.embedded.phone import EmbeddedPhone, phone_browser
from sdg.envs.phone.embedded.state import initial_state
from sdg.envs.phone.tasks import FILE, PhoneTask, embedded_tasks
from sdg.envs.phone.tree import UiTree, read_dump
from training.phone_expert.scripts import Step, actions_for

LIMIT = 100_000
"""States that a search visits before it gives up."""


def typed_values(task: PhoneTask) -> list[str]:
    """What may be typed: the task's words in quotation marks, its times, dates and amounts."""
    quotations = re.findall(r'"([^"]+)"', task.instruction)
    numbers = re.findall(r"\d{4}-\d\d-\d\d|\d\d:\d\d|\d+\.\d\d|\b25\b", task.instruction)
    return list(dict.fromkeys(quotations + numbers))


def goals_of(task: PhoneTask) -> list[dict[str, Any]]:
    """The conditions of a path: a question's is that an element shows the answer."""
    if task.goals:
        return [dict(goal) for goal in task.goals]
    anywhere = {"clock_9": ["06:30 Run"]}.get(task.id, list(task.answers))
    return [{"at": "os.front", "is": task.app}, *page_goals(task), {"anyOf": anywhere}]


def page_goals(task: PhoneTask) -> list[dict[str, Any]]:
    """For a question whose answer's words stand elsewhere too: the condition that the right page is open."""
    pages = {
        "clock_10": "alarm",
        "calendar_8": "event",
        "maps_7": "way",
        "contacts_9": "person",
        "settings_10": "storage",
    }
    arguments = {
        "contacts_9": {"id": 4},
        "maps_7": {"name": "Maritime Museum"},
        "calendar_8": {"id": 2},
        "clock_10": {"id": 1},
    }
    if task.id not in pages:
        return []
    return [{"at": f"os.stacks.{task.app}", "has": {"name": pages[task.id], "args": arguments.get(task.id, {})}}]


def find_plan(phone: EmbeddedPhone, task: PhoneTask) -> dict[str, Any]:
    """Cost and moves of a shortest plan over the states; a cost of 0 where none was found."""
    phone.reset(task.seed)
    page = phone._page
    page.evaluate(f"() => {{ {Path(__file__).with_name('search.js').read_text('utf-8')} }}")
    arguments = [initial_state(task.seed), goals_of(task), typed_values(task), LIMIT]
    return dict(page.evaluate("values => window.searchPlan(...values)", arguments))


def shortest_path(phone: EmbeddedPhone, task: PhoneTask) -> int:
    """The length of a shortest path with the scrolling that the screen needs, finish included; 0 without one."""
    plan = find_plan(phone, task)
    if not plan["cost"]:
        return 0
    steps: list[Step] = []
    for kind, *words in plan["plan"]:
        match kind:
            case "type":
                steps += [(f"\n{words[0]}", "Tap"), (words[1], "Type")]
            case "enter" | "back":
                steps.append(("", kind.title()))
            case "wait":
                steps.append(("2", "Wait"))
            case "switch":
                steps.append((f"{words[0]}#", "Tap"))
            case _:
                steps.append((words[0], "Tap" if kind == "tap" else "Long Press"))
    phone.reset(task.seed)

    def trees() -> Iterator[UiTree]:
        while True:
            yield read_dump(phone.dump())

    count = 1
    for action in actions_for(steps, trees()):
        carry_out(phone, action, read_dump(phone.dump()))
        count += 1
    return count


if __name__ == "__main__":
    rows = {row["id"]: row for row in json.loads(FILE.read_text("utf-8"))}
    with phone_browser() as browser:
        for task in embedded_tasks():
            rows[task.id]["shortest"] = shortest_path(EmbeddedPhone(browser), task)
            if not rows[task.id]["shortest"]:
                print("no path within", LIMIT, "states", end=" ")
            print(task.id, rows[task.id]["shortest"], flush=True)
    lines = [" " + json.dumps(row, ensure_ascii=False) for row in rows.values()]
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")
