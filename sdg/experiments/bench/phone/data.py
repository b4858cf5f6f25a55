"""Data from the embedded phone (AndroidLab, data construction): walks with the screens before and after, judged by the
learned guard in place of a person, and tasks that a model derives from given ones.

    sdg bench phone --walks 50 --out runs/phone-data [--minari] [--llm openai:NAME]

The folder gets `walks.jsonl`, `tasks.json` where a model is named, and with --minari the dataset "phone/walks-v0" in
Minari's own place. `accepted` counts actions whose effect the judge sees; `sdg bench gate --world phone` says how often
the judge agrees with the phone's state. That hidden state decides nothing; `changed` records, for figures only, whether
a step changed it. What a model writes is data: lines that are too short, too long or given already are left out.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from sdg.console import progress
from sdg.envs.phone.actions import PhoneAction, carry_out
from sdg.envs.phone.affordances import SeenPhone
from sdg.envs.phone.embedded.phone import EmbeddedPhone, phone_browser
from sdg.envs.phone.tasks import PhoneTask, embedded_tasks, held_out, normal_words
from sdg.envs.phone.tree import UiTree, read_dump
from sdg.envs.world import Observation, PlainObservation
from sdg.experiments.results.comparison import named_model, open_folder
from sdg.experiments.share.datasets import write_episodes
from sdg.gate.executor import Command
from sdg.gate.phones import JUDGED, LearnedPhoneGuard
from sdg.llm.budget import BudgetSettings
from sdg.llm.model import LanguageModel
from sdg.privacy.protector import build_model
from sdg.prompts.fill import conversation, fence, one_line
from sdg.storage import atomic_write

WORDS = ("Ana", "Lunch", "12.50", "09:30", "2026-03-15", "Meeting", "notes", "5")
"""Texts that are typed at random."""
WALK_ACTIONS = 25
"""Actions of a walk, as many as an episode has turns."""


@dataclass(frozen=True, slots=True)
class PhoneTransition:
    """One action of a walk: its name and argument as a gate sees them, the trees before and after as dumps, and whether
    it changed the phone's state."""

    walk: int
    name: str
    argument: str
    before: str
    after: str
    changed: bool


def explore(phone: EmbeddedPhone, seed: int, *, steps: int = WALK_ACTIONS) -> list[PhoneTransition]:
    """One walk from the home screen of a seed; equal seeds give equal walks."""
    rng = random.Random(seed)
    phone.reset(seed)
    transitions = []
    before, state = phone.dump(), _lasting_state(phone)
    for _ in range(steps):
        tree = read_dump(before)
        action, argument = _choose(tree, rng)
        if action.name != "Type" or any(element.focused for element in tree.elements):
            carry_out(phone, action, tree)
        after, state_after = phone.dump(), _lasting_state(phone)
        transitions.append(PhoneTransition(seed, action.name, argument, before, after, state_after != state))
        before, state = after, state_after
    return transitions


def walk_all(first: int, count: int) -> list[list[PhoneTransition]]:
    """Walks of `count` seeds. Raises UserError where there is no browser."""
    with phone_browser() as browser, progress().stage("walks", total=count, unit="walk") as stage:
        phone, walks = EmbeddedPhone(browser), []
        for seed in range(first, first + count):
            walks.append([transition for transition in explore(phone, seed) if transition.name in JUDGED])
            stage.advance()
        return walks


def observe_dump(dump: str) -> Observation:
    """A dump as a gate observes it."""
    screen = SeenPhone(read_dump(dump))
    return PlainObservation(screen.describe(), None, tuple(screen.elements()), screen)


def _choose(tree: UiTree, rng: random.Random) -> tuple[PhoneAction, str]:
    """A random action, and its argument as a gate sees it."""
    kind = rng.choices(("Tap", "Long Press", "Type", "Swipe", "Back"), (70, 6, 14, 6, 4))[0]
    if kind == "Type":
        action = PhoneAction("Type", text=rng.choice(WORDS))
    elif kind == "Swipe":
        action = PhoneAction("Swipe", direction=rng.choice(("up", "down")))
    elif kind == "Back" or not tree.elements:
        action = PhoneAction("Back")
    elif rng.random() < 0.1:
        action = PhoneAction(kind, at=(rng.randrange(EmbeddedPhone.size[0]), rng.randrange(EmbeddedPhone.size[1])))
    else:
        fields = [element for element in tree.elements if element.kind == "textbox"]
        target = rng.choice(fields) if fields and rng.random() < 0.3 else rng.choice(tree.elements)
        action = PhoneAction(kind, element=target.id)
        return action, f"{action.argument} {target.name}"
    return action, action.argument


def _lasting_state(phone: EmbeddedPhone) -> dict[str, Any]:
    """The state without its parts that change by themselves."""
    state = phone.state()
    state["os"] = {key: value for key, value in state["os"].items() if key not in ("now", "toast", "due")}
    return state


def write_lines(path: Path, walks: Iterable[Sequence[PhoneTransition]]) -> None:
    """Keep walks as JSON lines, one for each action."""
    lines = (json.dumps(asdict(transition), ensure_ascii=False) + "\n" for walk in walks for transition in walk)
    atomic_write(path, "".join(lines))


def write_minari(name: str, walks: Iterable[Sequence[PhoneTransition]], *, max_bytes: int = 200_000) -> int:
    """Keep walks as the Minari dataset `name` ("phone/explore-v0"), an episode each; returns their number. Trees (of at
    most `max_bytes`) and actions (500) are UTF-8 with zeros behind. Raises UserError as `write_episodes`."""

    def bytes_of(text: str, size: int) -> np.ndarray:
        return np.frombuffer(text.encode()[:size].ljust(size, b"\0"), np.uint8)

    episodes = (
        {
            "seed": walk[0].walk,
            "observations": np.stack(
                [bytes_of(dump, max_bytes) for dump in (*(step.before for step in walk), walk[-1].after)]
            ),
            "actions": np.stack([bytes_of(f"{step.name} {step.argument}", 500) for step in walk]),
            "rewards": np.zeros(len(walk)),
            "terminations": np.zeros(len(walk), bool),
            "truncations": np.arange(len(walk)) == len(walk) - 1,
        }
        for walk in walks
    )
    trees, actions = spaces.Box(0, 255, (max_bytes,), np.uint8), spaces.Box(0, 255, (500,), np.uint8)
    return write_episodes(name, episodes, trees, actions)


MIN_WORDS, MAX_WORDS = 4, 60
"""Words of a derived task."""


def derive_tasks(
    model: LanguageModel, examples: Sequence[PhoneTask], screen: UiTree, *, count: int = 5
) -> list[PhoneTask]:
    """At most `count` new tasks for the app of the examples, named APP_derived_N, without conditions: a judge decides.

    Raises ValueError without examples, and what the model raises.
    """
    if not examples:
        raise ValueError("new tasks are derived from given ones: give at least one")
    question = conversation(
        "phone_derive",
        count=str(count),
        tasks=fence("\n".join(one_line(task.instruction) for task in examples)),
        screen=fence(str(screen)),
    )
    known = {normal_words(task.instruction) for task in examples}
    derived: list[PhoneTask] = []
    for line in model.complete(question).text.splitlines():
        text = one_line(re.sub(r"^\s*(?:[-*•]|\d+[.)])\s*", "", line), 400)
        words = normal_words(text).split()
        if MIN_WORDS <= len(words) <= MAX_WORDS and " ".join(words) not in known and len(derived) < count:
            known.add(" ".join(words))
            derived.append(PhoneTask(f"{examples[0].app}_derived_{len(derived) + 1}", text))
    return derived


FIRST_SEED = 5000
"""First seed of the walks; tasks, and walks to train or measure guards, have other seeds."""


def walk_rows(
    folder: Path, *, walks: int, minari: bool, llm: str, base_url: str, budget: BudgetSettings
) -> list[Mapping[str, Any]]:
    """A row for each app: actions in it, those whose effect the judge sees, and tasks that `llm` ("": none) derives
    from given ones. Raises UserError."""
    with open_folder(folder, {"walks": walks, "llm": llm, "base_url": base_url}, seed=0):
        all_walks = walk_all(FIRST_SEED, walks)
        guard = LearnedPhoneGuard()
        write_lines(folder / "walks.jsonl", all_walks)
        if minari:
            write_minari("phone/walks-v0", [walk for walk in all_walks if walk])
        actions, accepted = Counter[str](), Counter[str]()
        for transition in (transition for walk in all_walks for transition in walk):
            before = observe_dump(transition.before)
            app = read_dump(transition.before).package.rpartition(".")[2]
            actions[app] += 1
            command = Command(transition.name, transition.argument)
            accepted[app] += guard.complete(command, before, observe_dump(transition.after)).passed
        derived = (
            _derive_all(build_model(named_model(llm, base_url, folder=folder, budget=budget)), folder) if llm else []
        )
    tasks = Counter(task.app for task in derived)
    apps = sorted(actions.keys() | tasks.keys())
    return [{"app": app, "actions": actions[app], "accepted": accepted[app], "tasks": tasks[app]} for app in apps]


def _derive_all(model: LanguageModel, folder: Path) -> list[PhoneTask]:
    """New tasks of each app, from those that aren't held out and the app's first screen; kept in the folder."""
    derived: list[PhoneTask] = []
    examples = [task for task in embedded_tasks() if task.id not in held_out()]
    with phone_browser() as browser:
        phone = EmbeddedPhone(browser)
        for app in sorted({task.app for task in examples}):
            phone.reset(FIRST_SEED)
            icon = next(element for element in read_dump(phone.dump()).elements if element.text.lower() == app)
            phone.tap(icon.middle)
            derived += derive_tasks(model, [task for task in examples if task.app == app], read_dump(phone.dump()))
    lines = [{"id": task.id, "instruction": task.instruction} for task in derived]
    atomic_write(folder / "tasks.json", json.dumps(lines, ensure_ascii=False, indent=1) + "\n")
    return derived
