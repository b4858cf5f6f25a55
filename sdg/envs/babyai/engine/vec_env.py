"""The engine as a gymnasium `VectorEnv`: the observations of minigrid's own levels, N at once, same-step autoreset."""

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from sdg.envs.babyai.cells import decode
from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.engine.engine import BabyAIEngine
from sdg.envs.babyai.engine.layouts import make_minigrid
from sdg.envs.instructions import seeds


class BabyAIVectorEnv(VectorEnv[Any, Any, Any]):
    """N environments over a bank of layouts; observations as minigrid's: image (N, 7, 7, 3), direction (N,), mission.

    An environment that ends is reset in the same step (AutoresetMode.SAME_STEP): its last observation is
    `info["final_obs"][i]` where `info["_final_obs"][i]`, and `info["final_info"]` has the episode's reward and length.
    Missions are a tuple of N texts. Arrays are the caller's own.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012  gymnasium's own form

    def __init__(self, bank: LevelBank, num_envs: int, *, max_steps: int | None = None, seed: int = 0) -> None:
        self.engine = BabyAIEngine(bank, num_envs, max_steps=max_steps, seed=seed)
        self.num_envs = num_envs
        self.render_mode = None
        minigrid = make_minigrid(bank.level)
        self.single_observation_space = minigrid.observation_space
        self.single_action_space = minigrid.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._missions = [""] * num_envs

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin N layouts: those of `options["layouts"]` (rows of the bank), else the next of the bank's order.

        A seed shuffles that order anew; a list of seeds, one for each environment, is not supported (an environment's
        seed is its layout's: choose layouts instead).
        """
        if seed is not None and not isinstance(seed, int):
            raise ValueError('one seed for all environments, or none: choose layouts by options={"layouts": rows}')
        rest = dict(options or {})
        layouts = rest.pop("layouts", None)
        if rest:
            raise ValueError(f"unknown options {sorted(rest)}; there is layouts")
        if seed is not None:
            self.engine.reshuffle(seed)
        self.engine.reset(layouts=layouts)
        self._missions = [self.engine.mission(i) for i in range(self.num_envs)]
        return self._observation(), {}

    def step(self, actions: np.ndarray) -> tuple[dict[str, Any], np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step all. ValueError on actions of the wrong shape or dtype or out of range."""
        step = self.engine.step(actions)
        rewards = step.rewards.astype(np.float64)
        rows = np.flatnonzero(step.terminated | step.truncated)
        info = self._final(rows, rewards) if len(rows) else {}
        for i in rows:
            self._missions[i] = self.engine.mission(int(i))
        return self._observation(), rewards, step.terminated.copy(), step.truncated.copy(), info

    def _observation(self) -> dict[str, Any]:
        return {
            "image": decode(self.engine.latest.views),
            "direction": self.engine.latest.directions.astype(np.int64),
            "mission": tuple(self._missions),
        }

    def _final(self, rows: np.ndarray, rewards: np.ndarray) -> dict[str, Any]:
        final = self.engine.final
        observations = np.full(self.num_envs, None, dtype=object)
        for i, image in zip(rows, decode(final.views[rows]), strict=True):
            observations[i] = {"image": image, "direction": int(final.directions[i]), "mission": self._missions[i]}
        mask = np.isin(np.arange(self.num_envs), rows)
        episode = {"r": np.where(mask, rewards, 0.0), "_r": mask, "l": np.where(mask, final.steps, 0), "_l": mask}
        return {
            "final_obs": observations,
            "_final_obs": mask,
            "final_info": {"episode": episode, "_episode": mask},
            "_final_info": mask,
        }


def make_vec(level: str, *, num_envs: int = 1, layouts: int = 1000, seed: int = 0, **options: Any) -> Any:
    """N environments on the batch engine (same-step autoreset), over `layouts` layouts of the training seeds."""
    bank = LevelBank.build(level, seeds("training", count=layouts, seed=seed))
    return BabyAIVectorEnv(bank, num_envs, seed=seed, **options)
