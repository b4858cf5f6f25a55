"""A policy that stable-baselines3 learned on a level (`sdg.sb3_env`), as a skill: its observations, without torch.

An observation is the robot's remembered map, in which the first thing that the mission names is marked, and the mission
as word numbers. A skill's mission is built from its argument: MISSION holds the words, and SLOT for the argument.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.babyai.practice.inputs import (
    AS_IT_IS,
    N_ACTIONS,
    N_WORDS,
    SIZE,
    argument_text,
    numbers_of,
    write_features,
)
from sdg.envs.defaults import PlainInputs
from sdg.envs.domain import Domain
from sdg.skills.policy.network import MLPPolicy, Policy

MAP, MISSION = "map", "mission"
LONGEST = 48
"""Observed words of a mission; BossLevel's missions have up to about forty."""
SLOT = -1


def words_of(mission: str) -> np.ndarray:
    """A mission as word numbers i64 (LONGEST,), padded with 0."""
    numbers = numbers_of(mission)[:LONGEST]
    return np.pad(np.array(numbers, np.int64), (0, LONGEST - len(numbers)))


def pattern_of(mission: str) -> np.ndarray:
    """The words of "go to the {}" as an array that is stored with the weights, f32 (n,)."""
    before, slot, after = mission.partition("{}")
    parts = [*(numbers_of(before) if before.strip() else ()), *([SLOT] if slot else [])]
    return np.array([*parts, *(numbers_of(after) if after.strip() else ())], np.float32)


class _MissionInputs(PlainInputs):
    """What a policy observes, flat: the map's bits, then one bit for each word at each place of the mission."""

    size = SIZE + LONGEST * N_WORDS
    actions = N_ACTIONS
    dtype = np.uint8

    def __init__(self, pattern: np.ndarray) -> None:
        self.pattern = [int(number) for number in pattern]

    def write_row(self, memory: Memory, row: int, target: np.ndarray, out: np.ndarray) -> int:
        """Inputs of one row into `out` u8 (size,)."""
        write_features(memory, row, target, AS_IT_IS, out[:SIZE])
        argument = argument_text(target)
        words = [word for number in self.pattern for word in (numbers_of(argument) if number == SLOT else (number,))]
        one_hot = out[SIZE:].reshape(LONGEST, N_WORDS)
        one_hot[:] = 0
        one_hot[np.arange(LONGEST), [*words, *[0] * LONGEST][:LONGEST]] = 1
        return AS_IT_IS


class _SB3Policy:
    """The learner `sb3-policy` (`sdg.skills.learners.Learner`): it plays policies that were learned elsewhere."""

    @cached_property
    def practise(self) -> Any:
        """Refused."""
        raise ValueError("the learner sb3-policy plays what stable-baselines3 learned on sdg.sb3_env; use sb3 to learn")

    def policy(self, weights: Mapping[str, np.ndarray], domain: Domain) -> Policy:
        """The policy with these stored arrays. Raises ValueError if they make no policy."""
        if MISSION not in weights:
            raise ValueError(f"the policy has no array {MISSION!r} with the words of its mission")
        layers = {name: array for name, array in weights.items() if name != MISSION}
        return MLPPolicy(layers, _MissionInputs(weights[MISSION]))


SB3_POLICY = _SB3Policy()
