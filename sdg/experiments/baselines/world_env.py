"""A level of a world of torques as one gymnasium environment, for flat learners: what skills are compared with.

The reward is the mission's own: 1 when it is done, nothing before. An observation is what policies of skills see, about
the first thing that the mission names, and where the body and that thing are, so that hindsight (HER) can relabel it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from sdg.envs.domains import domain
from sdg.envs.instructions import seeds
from sdg.envs.spaces import spaces_of

Goals = Callable[[Any, str], tuple[np.ndarray, np.ndarray]]


def ant_goals(world: Any, named: str) -> tuple[np.ndarray, np.ndarray]:
    """Where the ant is, and the spot, f64 (2,) each."""
    spot = next(spot for spot in world.perception().get_spots() if spot.name == named)
    return world.data.qpos[:2].copy(), np.array([spot.x, spot.y])


def table_goals(world: Any, named: str) -> tuple[np.ndarray, np.ndarray]:
    """Where the two things of a pair are; of one thing, the fingertip and it, f64 (3,) each."""
    first, second = world.perception().numbers(named)
    places = world.places()
    return places[first], places[second]


GOALS: Mapping[str, tuple[Goals, int, float]] = {"ant": (ant_goals, 2, 0.45), "table": (table_goals, 3, 0.08)}
"""By world: what has to come together, how many numbers a place has, and how near, in metres."""


class WorldEnv(gym.Env[Any, Any]):
    """One level; every episode is another of `count` training seeds, drawn by `seed`."""

    def __init__(self, world: str, level: str, *, count: int = 1000, seed: int = 0) -> None:
        self.domain, self._rng = domain(world), np.random.default_rng(seed)
        self.world: Any = self.domain.open(level)
        self._seeds = seeds("training", count=count, seed=seed)
        self._goals, places, self.near = GOALS[world]
        inputs, self.action_space = spaces_of(self.domain.inputs)
        place = spaces.Box(-np.inf, np.inf, (places,), np.float64)
        self.observation_space = spaces.Dict({"observation": inputs, "achieved_goal": place, "desired_goal": place})
        self._target, self._named = self.domain.language.row(""), ""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin another episode; `options["seed"]` names one."""
        super().reset(seed=seed)
        chosen = (options or {}).get("seed", self._seeds[self._rng.integers(len(self._seeds))])
        self.world.reset(int(chosen))
        named = self.domain.language.mentions(self.world.mission)
        self._named = named[0] if named else self.world.perception().elements()[0].name
        self._target = self.domain.language.row(self._named)
        return self._observation()[0], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Apply torques, as the body's own motors number them in the frame that was shown."""
        result = self.world.step(self.domain.inputs.actions_to_world(np.asarray(action)[None], self._frame)[0])
        seen, info = self._observation()[0], {"is_success": result.success}
        return seen, result.reward, result.terminated, result.truncated, info

    def compute_reward(self, achieved: np.ndarray, desired: np.ndarray, info: Any) -> np.ndarray:
        """1 where the places (..., k) are near enough, for relabelled goals."""
        return (np.linalg.norm(achieved - desired, axis=-1) <= self.near).astype(np.float32)

    def _observation(self) -> tuple[dict[str, np.ndarray], np.ndarray]:
        out = np.zeros(self.domain.inputs.size, np.float32)
        self._frame = np.array([self.domain.inputs.write_row(self.world, 0, self._target, out)])
        achieved, desired = self._goals(self.world, self._named)
        return {"observation": out, "achieved_goal": achieved, "desired_goal": desired}, self._frame


def train_flat(name: str, world: str, level: str, *, steps: int, seed: int) -> Any:
    """stable-baselines3's PPO (`flat-ppo`), SAC (`sac`) or SAC with hindsight (`sac-her`) on a level."""
    import torch
    from stable_baselines3 import PPO, SAC
    from stable_baselines3.common.vec_env import DummyVecEnv
    from stable_baselines3.her import HerReplayBuffer

    torch.set_num_threads(1)
    if name == "flat-ppo":
        rows = DummyVecEnv([partial(WorldEnv, world, level, seed=1000 * seed + n) for n in range(16)])
        model: Any = PPO(
            "MultiInputPolicy", rows, n_steps=256, batch_size=1024, n_epochs=5, gamma=0.99, seed=seed, device="cpu",
            policy_kwargs={"log_std_init": -0.5},
        )  # fmt: skip
    else:
        hindsight: dict[str, Any] = {"replay_buffer_class": HerReplayBuffer} if name == "sac-her" else {}
        rows = DummyVecEnv([lambda: WorldEnv(world, level, seed=seed)])
        model = SAC("MultiInputPolicy", rows, learning_starts=10_000, seed=seed, device="cpu", **hindsight)
    return model.learn(steps, log_interval=None)


def success_of_flat(model: Any, world: str, level: str, *, episodes: int, seed: int) -> int:
    """How many of so many unseen episodes a flat policy solves, actions drawn."""
    env, solved = WorldEnv(world, level), 0
    for chosen in seeds("evaluation", count=episodes, seed=seed, level=level):
        seen, done, info = env.reset(options={"seed": chosen})[0], False, {"is_success": False}
        while not done:
            seen, _, over, cut, info = env.step(model.predict(seen)[0])
            done = over or cut
        solved += bool(info["is_success"])
    return solved
