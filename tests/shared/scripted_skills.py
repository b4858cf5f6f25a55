"""Skills that walk by breadth-first search over what was seen: stand-ins for learned ones, for tests alone."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from sdg.deduction.protocols import ActingPolicy, CalledSkill
from sdg.envs.babyai.cells import DOOR_CLOSED, FORWARD, KIND_MASK, LEFT, PICKUP, RIGHT, TOGGLE
from sdg.envs.babyai.perception.description import matches
from sdg.envs.babyai.perception.memory import Memory, ahead, is_passable
from sdg.gate.rules import Usage
from sdg.skills.checks.check import compile_check
from sdg.skills.subgoal import CheckFunction

CHECKS = {
    "discover": "return len(find_objects({0!r})) > 0",
    "go_next_to": "return any([thing.facing for thing in find_objects({0!r})])",
    "pick": "return any([thing.held for thing in find_objects({0!r})])",
    "open_door": "return any([door.opened_at > get_start_steps() for door in find_objects({0!r})])",
}
DESCRIPTIONS = {
    "discover": "look around until the object is seen",
    "go_next_to": "walk to the object and face it",
    "pick": "pick up the object",
    "open_door": "open the door",
}


@dataclass
class Constant:
    """Always the same action, and a count of how often it was asked."""

    action: int
    asked: int = 0

    def act(self, memory: object, row: int, target: np.ndarray, rng: np.random.Generator) -> int:
        self.asked += 1
        return self.action


class Walker:
    """Faces the nearest match and then does `final`; explores while there is no match, opening closed doors."""

    def __init__(self, final: int | None) -> None:
        self.final = final

    def act(self, memory: Memory, row: int, target: np.ndarray, rng: np.random.Generator) -> int:
        goals = {
            (int(memory.at[row, k, 0]), int(memory.at[row, k, 1]))
            for k in range(memory.n_objects[row])
            if matches(memory, row, k, target) and memory.at[row, k, 0] >= 0
        }
        action = self._approach(memory, goals) if goals else None
        if action is None:
            action = self._approach(memory, _frontier(memory))
        if action is None:
            return int(rng.integers(3))
        if action >= 0:
            return action
        return self.final if goals and self.final is not None else TOGGLE

    def _approach(self, memory: Memory, goals: set[tuple[int, int]]) -> int | None:
        """First action of a shortest way to face a goal; -1 when one is faced, None where no way is known."""
        x, y, heading = (int(number) for number in memory.pose[0])
        queue, firsts = deque([((x, y, heading), -1)]), {(x, y, heading)}
        while queue:
            (x, y, heading), first = queue.popleft()
            dx, dy = ahead(heading)
            front = (x + dx, y + dy)
            if front in goals:
                return first
            steps = [(LEFT, (x, y, (heading + 3) % 4)), (RIGHT, (x, y, (heading + 1) % 4))]
            if is_passable(memory.cells[0, front[0], front[1]]):
                steps.append((FORWARD, (*front, heading)))
            for action, state in steps:
                if state not in firsts:
                    firsts.add(state)
                    queue.append((state, action if first < 0 else first))
        return None


def _frontier(memory: Memory) -> set[tuple[int, int]]:
    """Closed doors, and unseen cells beside seen ones."""
    cells = memory.cells[0]
    goals = {(int(x), int(y)) for x, y in np.argwhere(cells & KIND_MASK == DOOR_CLOSED)}
    free = np.argwhere(is_free_map(cells))
    for x, y in free:
        for dx, dy in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            if cells[x + dx, y + dy] == 0:
                goals.add((int(x + dx), int(y + dy)))
    return goals


def is_free_map(cells: np.ndarray) -> np.ndarray:
    kinds = cells & KIND_MASK
    return (kinds == 1) | (kinds == 3) | (kinds == 4)


@dataclass(frozen=True)
class ScriptedSkill:
    name: str
    policy: ActingPolicy
    horizon: int = 30
    takes_argument: bool = True
    usage: Usage = field(default_factory=Usage)

    @property
    def description(self) -> str:
        return DESCRIPTIONS[self.name]

    @property
    def examples(self) -> tuple[str, ...]:
        return (f"{self.name} the red ball",)

    def check(self, argument: str) -> CheckFunction:
        return CheckFunction("check", f"def check():\n    {CHECKS[self.name].format(argument)}\n")


def scripted_skills(horizon: int = 60) -> dict[str, CalledSkill]:
    """discover, go_next_to, pick and open_door."""
    return {
        "discover": ScriptedSkill("discover", Walker(None), horizon),
        "go_next_to": ScriptedSkill("go_next_to", Walker(None), horizon, usage=Usage(needs_seen_target=True)),
        "pick": ScriptedSkill("pick", Walker(PICKUP), horizon, usage=Usage(needs_seen_target=True, grasps=True)),
        "open_door": ScriptedSkill("open_door", Walker(TOGGLE), horizon, usage=Usage(needs_seen_target=True)),
    }


judge = compile_check
