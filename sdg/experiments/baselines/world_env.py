"""A level of a world as one gymnasium environment, for flat learners, which skills are compared with.

The reward is the mission's own: 1 when it is done, nothing before. `MissionEnv` works for any world; `WorldEnv` also
observes where the body and the thing are, so that hindsight (HER) can relabel goals.
"""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from sdg.envs.domain import Domain
from sdg.envs.domains import domain
from sdg.envs.instructions import seeds
from sdg.envs.spaces import spaces_of
from sdg.skills.learning.sb3 import devices

Goals = Callable[[Any, str], tuple[np.ndarray, np.ndarray]]


def ant_goals(world: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the ant and of the spot, f64 (2,) each."""
    spot = next(spot for spot in world.perception().get_spots() if spot.name == name)
    return world.data.qpos[:2].copy(), np.array([spot.x, spot.y])


def table_goals(world: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Positions of a pair's two things, or of the fingertip and a single thing, f64 (3,) each."""
    first, second = world.perception().numbers(name)
    places = world.places()
    return places[first], places[second]


GOALS: Mapping[str, tuple[Goals, int, float]] = {"ant": (ant_goals, 2, 0.45), "table": (table_goals, 3, 0.08)}
"""By world: the places that have to meet, their number of coordinates, and the distance that is enough, in metres."""
ROWS = 16
"""Environments side by side."""
FIRST_STEPS, TRIAL_STEPS = 35_000, 40_000
"""Steps of all rows before SAC's first update, because hindsight needs a finished episode, of 2,000 steps at most; and
those of a learner on each device, to choose one."""


class MissionEnv(gym.Env[Any, Any]):
    """One level; each episode takes a random one of `count` training seeds, by `seed`.

    An observation is the input of skill policies about the first thing that the mission names.
    """

    def __init__(self, world: Domain, level: str, *, count: int = 1000, seed: int = 0) -> None:
        self.domain, self._rng = world, np.random.default_rng(seed)
        self.world: Any = world.open(world.level_name(level))
        self._seeds = seeds("training", count=count, seed=seed)
        self.observation_space, self.action_space = spaces_of(world.inputs)
        self._target, self._target_name = world.language.row(""), ""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin another episode; `options["seed"]` names one."""
        super().reset(seed=seed)
        self.world.reset(int((options or {}).get("seed", self._seeds[self._rng.integers(len(self._seeds))])))
        elements = self.world.perception().elements()
        names = [*self.domain.language.mentions(self.world.mission), *(element.name for element in elements), ""]
        self._target_name, self._target = names[0], self.domain.language.row(names[0])
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one action, numbered as in the frame of the last observation."""
        result = self.world.step(self.domain.inputs.actions_to_world(np.asarray(action)[None], self._frame)[0])
        observation, info = self._observation(), {"is_success": result.success}
        return observation, result.reward, result.terminated, result.truncated, info

    def _observation(self) -> Any:
        out = np.zeros(self.domain.inputs.size, self.domain.inputs.dtype)
        self._frame = np.array([self.domain.inputs.write_row(self.world.memory, 0, self._target, out)])
        return out


class WorldEnv(MissionEnv):
    """Adds `achieved_goal` and `desired_goal`: where the body and the thing are, f64 (2,) or (3,), metres."""

    def __init__(self, world: str, level: str, *, count: int = 1000, seed: int = 0) -> None:
        super().__init__(domain(world), level, count=count, seed=seed)
        self._goals, places, self.near = GOALS[world]
        place = spaces.Box(-np.inf, np.inf, (places,), np.float64)
        self.observation_space = spaces.Dict(
            {"observation": self.observation_space, "achieved_goal": place, "desired_goal": place}
        )

    def compute_reward(self, achieved: np.ndarray, desired: np.ndarray, info: Any) -> np.ndarray:
        """1 where the places (..., k) are near enough, for relabelled goals."""
        return (np.linalg.norm(achieved - desired, axis=-1) <= self.near).astype(np.float32)

    def _observation(self) -> Any:
        achieved, desired = self._goals(self.world, self._target_name)
        return {"observation": super()._observation(), "achieved_goal": achieved, "desired_goal": desired}


def train_sb3_flat(name: str, world: str, level: str, *, steps: int, seed: int) -> Any:
    """stable-baselines3's PPO (`flat-ppo`), SAC (`sac`) or SAC with hindsight (`sac-her`) on a level.

    SAC makes one update for each step of all ROWS, because one for each step of a row would take ROWS times as long.
    """
    import torch
    from stable_baselines3 import PPO, SAC
    from stable_baselines3.common.vec_env import DummyVecEnv
    from stable_baselines3.her import HerReplayBuffer

    torch.set_num_threads(1)
    rows = DummyVecEnv([partial(WorldEnv, world, level, seed=1000 * seed + n) for n in range(ROWS)])
    make: Callable[..., Any] = partial(
        PPO,
        "MultiInputPolicy",
        rows,
        n_steps=256,
        batch_size=1024,
        n_epochs=5,
        gamma=0.99,
        seed=seed,
        policy_kwargs={"log_std_init": -0.5},
    )
    if name != "flat-ppo":
        hindsight: dict[str, Any] = {"replay_buffer_class": HerReplayBuffer} if name == "sac-her" else {}
        make = partial(SAC, "MultiInputPolicy", rows, learning_starts=FIRST_STEPS, seed=seed, **hindsight)
    return make(device=faster_device(make)).learn(steps, log_interval=None)


def faster_device(make: Callable[..., Any]) -> str:
    """ "cuda" where there is such a device and `TRIAL_STEPS` steps of a learner take less time on it, else "cpu".

    `make` makes a learner of stable-baselines3 for a `device`; what the trials learn is thrown away.
    """

    def seconds(device: str) -> float:
        began = time.monotonic()
        make(device=device).learn(TRIAL_STEPS)
        return time.monotonic() - began

    candidates = devices()
    return min(candidates, key=seconds) if len(candidates) > 1 else "cpu"


def success_of_flat(model: Any, world: str, level: str, *, episodes: int, seed: int) -> int:
    """How many of `episodes` unseen episodes a flat policy solves, actions sampled."""
    env, successes = WorldEnv(world, level), 0
    for layout in seeds("evaluation", count=episodes, seed=seed, level=level):
        observation = env.reset(options={"seed": layout})[0]
        terminated = truncated = False
        while not (terminated or truncated):
            observation, _, terminated, truncated, info = env.step(model.predict(observation)[0])
        successes += bool(info["is_success"])
    return successes
