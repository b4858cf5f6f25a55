"""stable-baselines3's PPO as a learner of skills: for any inputs, for numbered and for continuous actions.

Worlds that step one at a time are practised with it (`sdg.envs.world_rows`). Two things are added to the original,
because checks rarely give a reward: nothing is learned from a rollout without any (`SparsePPO`), and after a success
the next attempt may begin where it ended (`ContinuedPractice`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import VecEnv

from sdg.envs.domain import Domain
from sdg.envs.spaces import spaces_of
from sdg.skills.learning.ppo import RowsVecEnv
from sdg.skills.learning.train import TrainSettings
from sdg.skills.learning.vec_env import ChainedVecEnv, PracticeVecEnv
from sdg.skills.policy.network import MLPPolicy, Policy
from sdg.skills.practice.env import ChainedPractice, PracticeEnv
from sdg.skills.practice.starts import Starts
from sdg.skills.settings import PPOSettings

CONTINUED_SHARE = 0.5
"""Share of successes after which the row continues from its state."""


@dataclass(frozen=True, slots=True)
class SB3Settings(PPOSettings):
    """Names and meanings are stable-baselines3's, except for these: `hidden` are the layer widths of actor and critic.
    With `chain` subgoals follow one another for that many steps without reset (`ChainedPractice`), and `redraw` is how
    often a different one follows; 0: every attempt is an episode. `lost_cost` is subtracted from the reward for losing
    the body there. `device` is torch's; an accelerator can't be used behind a worker's walls."""

    n_steps: int = 128
    batch_size: int = 512
    n_epochs: int = 5
    ent_coef: float = 0.0
    gamma: float = 0.98
    hidden: tuple[int, ...] = (64, 64)  # type: ignore[assignment]  # any number of layers
    log_std_init: float = 0.0
    chain: int = 0
    redraw: float = 0.1
    lost_cost: float = 0.0
    device: str = "cpu"


class SB3Rows(VecEnv):
    """Rows that are arrays, with all methods that stable-baselines3 needs of a VecEnv: no single environment can be
    asked anything. `observed` is the observation space where that isn't the rows' inputs.
    """

    def __init__(self, rows: RowsVecEnv, observed: Any = None) -> None:
        inputs, actions = spaces_of(rows.inputs)
        super().__init__(rows.num_envs, observed or inputs, actions)
        self.rows = rows

    def reset(self) -> Any:
        return self.rows.reset()

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = np.asarray(actions)

    def step_wait(self) -> Any:
        return self.rows.step(self._actions)

    def close(self) -> None:
        """Nothing to close."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The only attribute of rows."""
        return [{"render_mode": None}.get(attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refused."""
        raise AttributeError(f"rows have no attribute {attr_name!r} to set")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Refused."""
        raise AttributeError(f"rows have no method {method_name!r}")

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Never wrapped."""
        return [False] * self.num_envs


class ContinuedPractice(PracticeEnv):
    """Practice in which after half of the successes the next subgoal begins where the last one ended.

    A program that calls a skill again and again (`while not there: push_nearer()`) calls it in those moments, which no
    pool of starts has. A row whose check is still true begins again from the pool, like one that failed.
    """

    def restore_random(self, rows: np.ndarray) -> None:
        """Begin `rows` again, where they are or in moments from the pool."""
        stay = rows[self.goes_on[rows] & (self.rng.random(len(rows)) < CONTINUED_SHARE)]
        if len(stay):
            self.rows.begin_subgoals(stay)
            stay = stay[~self.reward(self.memory, self.starts.check_of[self.start_of])[stay]]
            self.age[stay] = 0
            if self.require_same_place:
                self.began_in[stay] = self.rows.places()[stay]
        super().restore_random(np.setdiff1d(rows, stay))


class SparsePPO(PPO):
    """PPO that learns nothing from a rollout without any reward.

    All advantages there are only the value network's noise. Normalising makes it as strong as a success, so a policy
    that begins with an even spread of actions would lose it before its first success.
    """

    def train(self) -> None:
        """Update on the rollout, where there is something to learn from."""
        if self.rollout_buffer.rewards.any():
            super().train()


class RolloutCallback(BaseCallback):
    """Asks after each rollout whether to go on, before anything is learned from it."""

    def __init__(self, ask: Callable[[int], bool], should_stop: Callable[[], bool] = lambda: False) -> None:
        super().__init__()
        self.ask, self.should_stop = ask, should_stop
        self.keep_going, self.steps = True, 0

    def _on_step(self) -> bool:
        return self.keep_going and not self.should_stop()

    def _on_rollout_end(self) -> None:
        self.steps = self.num_timesteps
        self.keep_going = self.ask(self.steps)


def keywords(settings: Any) -> dict[str, Any]:
    """The settings that stable-baselines3's PPO takes; the others belong to the network or to practice."""
    others = {"hidden", "log_std_init", "chain", "redraw", "lost_cost"}
    return {field.name: getattr(settings, field.name) for field in fields(settings) if field.name not in others}


def devices() -> list[str]:
    """Torch's devices of this machine: "cpu", and "cuda" where there is one."""
    return ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


class TorchLearner(ABC):
    """One policy that stable-baselines3 learns on rows; can go on from an earlier one of its kind and shape."""

    def __init__(self, ppo: PPO, env: RowsVecEnv, init_policy: Policy | None) -> None:
        self.ppo, self.env = ppo, env
        self.ppo.set_logger(Logger(None, []))  # its default one makes a folder, and workers may write nothing
        if init_policy is not None:
            with torch.no_grad():
                for name, parameter in self.parameters().items():
                    array = init_policy.weights.get(name)
                    if array is None or array.shape != tuple(parameter.shape):
                        raise ValueError(f"the policy to go on from has no array {name} {tuple(parameter.shape)}")
                    parameter.copy_(torch.as_tensor(array.copy()))

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The parameters that decide actions, by name and shaped as in the policy."""

    def learn(
        self,
        total_timesteps: int,
        *,
        callback: Callable[[Any, int], bool],
        should_stop: Callable[[], bool] = lambda: False,
    ) -> int:
        """Train for `total_timesteps`, in whole rollouts; returns the steps taken. `callback` returns False to end it.

        `should_stop` is asked after every step: nothing is learned from a rollout that it cuts off.
        """
        listener = RolloutCallback(lambda steps: callback(self, steps), should_stop)
        self.ppo.learn(total_timesteps, callback=listener, log_interval=None)  # type: ignore[arg-type]
        return listener.steps


class SB3Learner(TorchLearner):
    """Learns one policy on practice."""

    def __init__(self, env: RowsVecEnv, settings: SB3Settings, *, seed: int, init_policy: Policy | None = None) -> None:
        torch.set_num_threads(1)
        network = {
            "net_arch": list(settings.hidden),
            "activation_fn": torch.nn.Tanh,
            "log_std_init": settings.log_std_init,
        }
        self.inputs = env.inputs
        ppo = SparsePPO("MlpPolicy", SB3Rows(env), **keywords(settings), policy_kwargs=network, seed=seed)
        super().__init__(ppo, env, init_policy)

    def policy(self) -> MLPPolicy:
        """The current policy as plain arrays."""
        return MLPPolicy(as_arrays(self.parameters()), self.inputs)

    def parameters(self) -> dict[str, Any]:
        parameters = parameters_of(self.ppo.policy)
        return parameters if self.inputs.bounds is None else parameters | {"log_std": self.ppo.policy.log_std}


def parameters_of(policy: Any) -> dict[str, Any]:
    """The parameters of a policy that decide actions, by name in `MLPPolicy` and transposed as there, because torch has
    outputs first.

    Raises ValueError for a policy with layers that `MLPPolicy` lacks.
    """
    layers = list(policy.mlp_extractor.policy_net)
    if any(not isinstance(layer, torch.nn.Linear | torch.nn.Tanh) for layer in layers):
        raise ValueError("only layers with tanh between them can be stored: leave activation_fn as it is")
    parameters: dict[str, Any] = {}
    linear = [layer for layer in layers if isinstance(layer, torch.nn.Linear)]
    for number, layer in enumerate([*linear, policy.action_net], 1):
        parameters |= {f"w{number}": layer.weight.t(), f"b{number}": layer.bias}
    return parameters


def as_arrays(parameters: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Torch parameters as numpy arrays, copied."""
    return {name: parameter.detach().cpu().numpy().copy() for name, parameter in parameters.items()}


class _SB3:
    """stable-baselines3's PPO (`sdg.skills.learners.Learner`)."""

    def practise(self, starts: Starts, settings: TrainSettings, *, seed: int, init_policy: Policy | None) -> SB3Learner:
        """PPO on `starts`; a row's horizon is the skill's own."""
        ppo_settings = SB3Settings(**settings.ppo)
        common: dict[str, Any] = {
            "horizon": settings.horizon,
            "seed": seed,
            "require_same_place": settings.require_same_place,
        }
        rows: PracticeVecEnv | ChainedVecEnv
        if ppo_settings.chain:
            rows = ChainedVecEnv(
                ChainedPractice(starts, settings.n_envs, redraw=ppo_settings.redraw, **common),
                most=ppo_settings.chain,
                lost_cost=ppo_settings.lost_cost,
            )
        else:
            rows = PracticeVecEnv(
                ContinuedPractice(starts, settings.n_envs, **common), side_effect_cost=settings.side_effect_cost
            )
        return SB3Learner(rows, ppo_settings, seed=seed, init_policy=init_policy)

    def policy(self, weights: Mapping[str, np.ndarray], domain: Domain) -> Policy:
        """A policy over the domain's inputs."""
        return MLPPolicy(weights, domain.inputs)


SB3 = _SB3()
