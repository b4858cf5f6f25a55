"""Data from the embedded phone (AndroidLab, data construction): walks with the screens before and after, judged by the
learned guard in place of a person, and tasks that a model derives from given ones.

    sdg bench phone --walks 50 --out runs/phone-data [--minari] [--llm openai:NAME]

The folder gets `walks.jsonl`, `tasks.json` where a model is named, and with --minari the dataset "phone/walks-v0" in
Minari's own place. `accepted` counts actions whose effect the judge sees; `sdg bench gate --world phone` says how often
the judge agrees with the phone's state.
"""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sdg.envs.phone.embedded.phone import EmbeddedPhone, phone_browser
from sdg.envs.phone.tasks import PhoneTask, embedded_tasks, held_out
from sdg.envs.phone.tree import read_dump
from sdg.experiments.bench.phone.derivation import derive_tasks
from sdg.experiments.bench.phone.walks import observe_dump, walk_all, write_lines, write_minari
from sdg.experiments.results.comparison import PlannerSettings
from sdg.experiments.results.figures import open_folder
from sdg.gate.phones import LearnedPhoneGuard
from sdg.gate.verdict import Command
from sdg.llm.registry import build
from sdg.storage import atomic_write

FIRST_SEED = 5000
"""First seed of the walks; tasks, and walks to train or measure guards, have other seeds."""


def walk_rows(folder: Path, *, walks: int, minari: bool, llm: str, planner: PlannerSettings) -> list[Mapping[str, Any]]:
    """A row for each app: actions in it, those whose effect the judge sees, and tasks that `llm` ("": none) derives
    from given ones. Raises UserError."""
    with open_folder(folder, {"walks": walks, "llm": llm, "base_url": planner.base_url}, seed=0):
        found, guard = walk_all(FIRST_SEED, walks), LearnedPhoneGuard()
        write_lines(folder / "walks.jsonl", found)
        if minari:
            write_minari("phone/walks-v0", [walk for walk in found if walk])
        acted, accepted = Counter[str](), Counter[str]()
        for each in (each for walk in found for each in walk):
            before = observe_dump(each.before)
            app = read_dump(each.before).package.rpartition(".")[2]
            acted[app] += 1
            command = Command(each.name, each.argument)
            accepted[app] += guard.complete(command, before, observe_dump(each.after)).passed
        derived = _derived(planner, folder) if llm else []
    tasks = Counter(task.app for task in derived)
    apps = sorted(acted.keys() | tasks.keys())
    return [{"app": app, "actions": acted[app], "accepted": accepted[app], "tasks": tasks[app]} for app in apps]


def _derived(planner: PlannerSettings, folder: Path) -> list[PhoneTask]:
    """New tasks of each app, from those that aren't held out and the app's first screen; kept in the folder."""
    model, found = build(planner.model(folder)), list[PhoneTask]()
    seen = [task for task in embedded_tasks() if task.id not in held_out()]
    with phone_browser() as browser:
        phone = EmbeddedPhone(browser)
        for app in sorted({task.app for task in seen}):
            phone.reset(FIRST_SEED)
            icon = next(each for each in read_dump(phone.dump()).elements if each.text.lower() == app)
            phone.tap(icon.middle)
            found += derive_tasks(model, [task for task in seen if task.app == app], read_dump(phone.dump()))
    lines = [{"id": task.id, "instruction": task.instruction} for task in found]
    atomic_write(folder / "tasks.json", json.dumps(lines, ensure_ascii=False, indent=1) + "\n")
    return found
