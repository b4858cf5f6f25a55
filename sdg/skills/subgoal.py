"""Subgoals and the check functions that say when they are reached (SDG, section 4.2)."""

from dataclasses import dataclass

from sdg.envs.world import ActionValue


@dataclass(frozen=True, slots=True)
class CheckFunction:
    """f: S -> {0, 1} as Python *source* that defines the function `name` without arguments.

    It is sent as source and compiled behind the guard where it runs.
    """

    name: str
    source: str

    def __str__(self) -> str:
        return self.source


@dataclass(frozen=True, slots=True)
class Subgoal:
    """g_i: a small instruction and the check function that tells whether it is reached."""

    description: str
    check: CheckFunction


@dataclass(frozen=True, slots=True)
class SkillCall:
    """A subgoal translated to an API name and a parameter (SDG, section 4.4), e.g. `discover`, "green key"."""

    api: str
    argument: str


@dataclass(frozen=True, slots=True)
class Experience:
    """A subgoal that was reached in the world, and how to get to where it began.

    `restore_actions` replayed from `reset(seed)` lead to the state in which the subgoal began; `actions` reach it from
    there (empty when it was true already). `confirmed` is False for subgoals of a hypothesis that failed later.
    """

    instruction: str
    level: str
    seed: int
    index: int
    subgoal: Subgoal
    restore_actions: tuple[ActionValue, ...]
    actions: tuple[ActionValue, ...]
    confirmed: bool = True
