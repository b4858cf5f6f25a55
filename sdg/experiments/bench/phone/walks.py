"""Self-exploration of the embedded phone: walks that press, type and swipe at random, with the screen before and after
each action (AndroidLab's data construction), kept as JSON lines or as a Minari dataset.

The phone's hidden state decides nothing here; `changed` records, for figures only, whether a step changed it.
"""

import json
import random
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sdg.console import UserError, progress
from sdg.envs.perception import Observation
from sdg.envs.phone.actions import Action
from sdg.envs.phone.affordances import SeenPhone
from sdg.envs.phone.device import carry_out
from sdg.envs.phone.embedded.phone import EmbeddedPhone, phone_browser
from sdg.envs.phone.tree import UiTree, read_dump
from sdg.envs.ui.browser import NoBrowser
from sdg.gate.phones import JUDGED
from sdg.storage import atomic_write

WORDS = ("Ana", "Lunch", "12.50", "09:30", "2026-03-15", "Meeting", "notes", "5")
"""Texts that are typed at random."""
WALK = 25
"""Actions of a walk, as many as an episode has turns."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One action of a walk: its name and argument as a gate sees them, the trees before and after as dumps, and whether
    it changed the phone's state."""

    walk: int
    name: str
    argument: str
    before: str
    after: str
    changed: bool


def explore(phone: EmbeddedPhone, seed: int, *, steps: int = WALK) -> list[Transition]:
    """One walk from the home screen of a seed; equal seeds give equal walks."""
    rng = random.Random(seed)
    phone.reset(seed)
    found, before, state = [], phone.dump(), _lasting(phone)
    for _ in range(steps):
        tree = read_dump(before)
        action, argument = _choose(tree, rng)
        carry_out(phone, action, tree) if _can(action, tree) else None
        after, now = phone.dump(), _lasting(phone)
        found.append(Transition(seed, action.name, argument, before, after, now != state))
        before, state = after, now
    return found


def walk_all(first: int, count: int) -> list[list[Transition]]:
    """Walks of `count` seeds. Raises UserError where there is no browser."""
    try:
        with phone_browser() as browser, progress().stage("walks", total=count, unit="walk") as stage:
            phone, found = EmbeddedPhone(browser), []
            for seed in range(first, first + count):
                found.append([each for each in explore(phone, seed) if each.name in JUDGED])
                stage.advance()
            return found
    except NoBrowser as error:
        raise UserError(str(error)) from None


def read_seen(dump: str) -> SeenPhone:
    """A dump as a snapshot of the screen."""
    return SeenPhone(read_dump(dump))


def observe_dump(dump: str) -> Observation:
    """A dump as a gate observes it."""
    seen = read_seen(dump)
    return Observation(seen.describe(), None, tuple(seen.elements()), seen)


def _choose(tree: UiTree, rng: random.Random) -> tuple[Action, str]:
    kind = rng.choices(("Tap", "Long Press", "Type", "Swipe", "Back"), (70, 6, 14, 6, 4))[0]
    if kind == "Type":
        action = Action("Type", text=rng.choice(WORDS))
        return action, action.argument
    if kind in ("Swipe", "Back") or not tree.elements:
        action = Action("Swipe", direction=rng.choice(("up", "down"))) if kind == "Swipe" else Action("Back")
        return action, action.argument
    if rng.random() < 0.1:
        action = Action(kind, at=(rng.randrange(EmbeddedPhone.size[0]), rng.randrange(EmbeddedPhone.size[1])))
        return action, action.argument
    fields = [each for each in tree.elements if each.kind == "textbox"]
    target = rng.choice(fields) if fields and rng.random() < 0.3 else rng.choice(tree.elements)
    action = Action(kind, element=target.id)
    return action, f"{action.argument} {target.name}"


def _can(action: Action, tree: UiTree) -> bool:
    return action.name != "Type" or any(each.focused for each in tree.elements)


def _lasting(phone: EmbeddedPhone) -> dict[str, Any]:
    """The state without what changes by itself."""
    state = phone.state()
    state["os"] = {key: value for key, value in state["os"].items() if key not in ("now", "toast", "due")}
    return state


def write_lines(path: Path, walks: Iterable[Sequence[Transition]]) -> None:
    """Keep walks as JSON lines, one for each action."""
    lines = (json.dumps(asdict(each), ensure_ascii=False) + "\n" for walk in walks for each in walk)
    atomic_write(path, "".join(lines))


def write_minari(name: str, walks: Iterable[Sequence[Transition]], *, max_chars: int = 200_000) -> Any:
    """Keep walks as the Minari dataset `name` ("phone/explore-v0"), an episode each: the tree as UTF-8 bytes with its
    length, the action as text. Needs the package minari; raises ImportError without it."""
    import minari
    from gymnasium import spaces
    from minari.data_collector.episode_buffer import EpisodeBuffer

    def bytes_of(text: str) -> np.ndarray:
        data = np.frombuffer(text.encode()[:max_chars], np.uint8)
        return np.pad(data, (0, max_chars - len(data)))

    episodes = []
    for number, walk in enumerate(walks):
        trees = np.stack([bytes_of(text) for text in (*(each.before for each in walk), walk[-1].after)])
        actions = np.stack([bytes_of(f"{each.name} {each.argument}")[:500] for each in walk])
        ends = np.arange(len(walk)) == len(walk) - 1
        rewards = np.zeros(len(walk), np.float32)
        episodes.append(EpisodeBuffer(number, walk[0].walk, None, trees, actions, rewards, ends & False, ends, None))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # minari asks for an author and a link, which a local file lacks
        return minari.create_dataset_from_buffers(
            name,
            episodes,
            observation_space=spaces.Box(0, 255, (max_chars,), np.uint8),
            action_space=spaces.Box(0, 255, (500,), np.uint8),
        )
