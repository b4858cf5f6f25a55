"""The model of the BabyAI paper: a GRU over the words, convolutions over the view, two FiLM layers; and its policy.

`train_paper_model` is the baseline without grounding, skills or programs: one level, the mission as its text. A step
pays what the level pays (1 - 0.9 * steps / max_steps when the mission is done, else 0), an episode lasts as long as it
may.

Source: Chevalier-Boisvert et al. (2019), "BabyAI: a platform to study the sample efficiency of grounded language
learning", section 4.1 (FiLM: Perez et al., 2018), without its LSTM memory. stable-baselines3's PPO learns it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from sdg.envs.babyai.cells import TRIPLES
from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.engine.engine import BabyAIEngine
from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.babyai.practice.inputs import (
    CELLS,
    MAP_INPUTS,
    N_ACTIONS,
    N_WORDS,
    VIEW,
    argument_text,
    numbers_of,
    pad_texts,
    write_views,
)
from sdg.envs.domain import Domain
from sdg.skills.learning.ppo import PPOSettings, RowsVecEnv
from sdg.skills.learning.sb3 import SB3Rows, TorchLearner, as_arrays, keywords
from sdg.skills.learning.train import TrainSettings
from sdg.skills.learning.vec_env import PracticeVecEnv
from sdg.skills.policy.network import Policy
from sdg.skills.practice.env import PracticeEnv
from sdg.skills.practice.starts import Starts

HEAD_WIDTH = 64
"""Width of the layer between features and actions."""
_TRIPLES = torch.as_tensor(TRIPLES, dtype=torch.float32)


class FiLM(nn.Module):
    """Two convolutions whose result the text scales and shifts, channel by channel."""

    def __init__(self, width: int, words: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.scale, self.shift = nn.Linear(words, width), nn.Linear(words, width)

    def forward(self, x: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        """(n, width, h, w) and (n, words) -> (n, width, h, w)."""
        x = self.conv2(torch.relu(self.conv1(x)))
        return torch.relu(x * self.scale(text)[:, :, None, None] + self.shift(text)[:, :, None, None])


class PaperTrunk(nn.Module):
    """The paper's model up to its features: `width` channels of convolutions, `words` units for the text."""

    def __init__(self, width: int, words: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(N_WORDS, words)
        self.gru = nn.GRU(words, words, batch_first=True)
        self.conv1 = nn.Conv2d(3, width, 2, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.film1, self.film2 = FiLM(width, words), FiLM(width, words)
        self.pool = nn.MaxPool2d(2)

    def read(self, numbers: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """The GRU's last state f32 (t, words) after word numbers i64 (t, longest), of which `lengths` (t,) count."""
        states, _ = self.gru(self.embedding(numbers))
        return states[torch.arange(len(lengths)), lengths - 1]

    def forward(self, views: torch.Tensor, texts: torch.Tensor) -> torch.Tensor:
        """Features f32 (n, width) of packed views i64 (n, 49) and texts encoded by `read`, f32 (n, words)."""
        x = _TRIPLES[views].view(-1, VIEW, VIEW, 3).permute(0, 3, 1, 2)
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        return self.pool(self.film2(self.film1(x, texts), texts)).flatten(1)


class PaperNetwork(PaperTrunk):
    """The trunk and the head that turns its features into an action: the modules whose arrays make up a policy."""

    def __init__(self, width: int, words: int) -> None:
        super().__init__(width, words)
        self.head, self.action = nn.Linear(width, HEAD_WIDTH), nn.Linear(HEAD_WIDTH, N_ACTIONS)

    def forward(self, views: torch.Tensor, texts: torch.Tensor) -> torch.Tensor:
        """Action logits f32 (n, 6)."""
        return self.action(torch.tanh(self.head(super().forward(views, texts))))


@dataclass(frozen=True, eq=False)
class PaperPolicy:
    """pi(a | view, text). For a skill the text is its argument. Raises ValueError where the arrays don't fit."""

    weights: Mapping[str, np.ndarray]
    _network: PaperNetwork = field(init=False, repr=False)
    _texts: dict[str, torch.Tensor] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        shapes = {name: array.shape for name, array in self.weights.items()}
        if not {"conv1.weight", "gru.weight_hh_l0"} <= shapes.keys():
            raise ValueError(f"a policy of the paper's model has other arrays than {sorted(shapes)}")
        with torch.device("meta"):  # no weights are drawn: a learner's random numbers stay its own
            network = PaperNetwork(shapes["conv1.weight"][0], shapes["gru.weight_hh_l0"][-1])
        try:
            network.load_state_dict({name: torch.tensor(array) for name, array in self.weights.items()}, assign=True)
        except RuntimeError as error:
            raise ValueError(f"the arrays don't fit the paper's model: {' '.join(str(error).split())}") from None
        object.__setattr__(self, "_network", network)

    def act(self, memory: Memory, row: int, target: np.ndarray, rng: np.random.Generator) -> int:
        """Sample an action (0..5) for one row of memory and a target int16 (4,)."""
        return self.act_on_text(memory, row, argument_text(target), rng)

    def act_on_text(self, memory: Memory, row: int, text: str, rng: np.random.Generator) -> int:
        """Sample an action (0..5) for one row of memory and a text, such as a whole mission."""
        logits = self.logits_of(_views(Memory(*(array[[row]] for array in memory))), [text])[0]
        return int(np.argmax(logits + rng.gumbel(size=N_ACTIONS)))

    def act_batch(self, memory: Memory, targets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Sample actions int64 (n,) for all rows and targets int16 (n, 4)."""
        logits = self.logits_of(_views(memory), [argument_text(target) for target in targets])
        return np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)

    def logits_of(self, views: np.ndarray, texts: list[str]) -> np.ndarray:
        """Action logits f32 (n, 6) of packed views u8 (n, 7, 7) and a text each."""
        with torch.inference_mode():
            encodings = torch.stack([self._encode_text(text) for text in texts])
            return self._network(torch.from_numpy(views.reshape(len(views), -1)).long(), encodings).numpy()

    def _encode_text(self, text: str) -> torch.Tensor:
        """The GRU's last state f32 (words,) after a text; kept, because a skill's argument lasts many steps."""
        if text not in self._texts:
            if len(self._texts) > 10_000:
                self._texts.clear()
            numbers = torch.tensor([numbers_of(text)])
            self._texts[text] = self._network.read(numbers, torch.tensor([numbers.shape[1]]))[0]
        return self._texts[text]


def _views(memory: Memory) -> np.ndarray:
    out = np.zeros((len(memory.steps), VIEW, VIEW), np.uint8)
    write_views(memory, out)
    return out


OBSERVATION_BYTES = CELLS + 2
"""Bytes of an observation: the view's codes, then the number of its text, high byte and low byte."""
SPACE = spaces.Box(0, 255, (OBSERVATION_BYTES,), np.uint8)


@dataclass(frozen=True, slots=True)
class PaperShape:
    """Channels of the convolutions and units that hold the text. The paper has 128 of each, for a whole GPU."""

    width: int = 32
    words: int = 64


class PaperFeatures(BaseFeaturesExtractor):
    """Observations u8 (n, OBSERVATION_BYTES) -> features (n, width); text number i is `texts[i]`."""

    def __init__(self, observation_space: Any, texts: tuple[str, ...], shape: PaperShape) -> None:
        super().__init__(observation_space, shape.width)
        self.numbers, self.lengths = map(torch.as_tensor, pad_texts(texts))
        self.trunk = PaperTrunk(shape.width, shape.words)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Features of the observed bytes, which SB3 passes as floats; a text that many rows share is read once."""
        values = observations.long()
        distinct, text_of_row = torch.unique(values[:, CELLS] * 256 + values[:, CELLS + 1], return_inverse=True)
        lengths = self.lengths[distinct]
        encodings = self.trunk.read(self.numbers[distinct][:, : int(lengths.max())], lengths)
        return self.trunk(values[:, :CELLS], encodings[text_of_row])


class PaperPractice(PracticeEnv):
    """Practice with the observations of the paper's model; the text is the argument of a row's start."""

    def __init__(self, starts: Starts, n: int, *, horizon: int, seed: int, require_same_place: bool = False) -> None:
        super().__init__(starts, n, horizon=horizon, seed=seed, require_same_place=require_same_place)
        texts, self._text_of = np.unique([argument_text(target) for target in starts.targets], return_inverse=True)
        self.texts: tuple[str, ...] = tuple(texts.tolist())

    def features(self) -> np.ndarray:
        """Observations u8 (n, OBSERVATION_BYTES) of all rows."""
        return pack_observations(_views(self.memory), self._text_of[self.start_of])


def pack_observations(views: np.ndarray, texts: np.ndarray) -> np.ndarray:
    """Observations u8 (n, OBSERVATION_BYTES) of packed views u8 (n, 7, 7) and text numbers (n,)."""
    out = np.empty((len(views), OBSERVATION_BYTES), np.uint8)
    out[:, :CELLS] = views.reshape(len(views), CELLS)
    out[:, CELLS], out[:, CELLS + 1] = texts // 256, texts % 256
    return out


class PaperLearner(TorchLearner):
    """Learns the paper's model on a VecEnv of observations SPACE; can go on from an earlier policy of its kind."""

    def __init__(
        self,
        env: SB3Rows,
        texts: tuple[str, ...],
        settings: PPOSettings = PPOSettings(),
        *,
        seed: int,
        shape: PaperShape = PaperShape(),
        init_policy: Policy | None = None,
    ) -> None:
        torch.set_num_threads(1)
        ppo = PPO(
            "MlpPolicy",
            env,
            **keywords(settings),
            policy_kwargs={
                "features_extractor_class": PaperFeatures,
                "features_extractor_kwargs": {"texts": texts, "shape": shape},
                "net_arch": {"pi": [HEAD_WIDTH], "vf": [HEAD_WIDTH]},
                "activation_fn": nn.Tanh,
            },
            seed=seed,
            device="cpu",
        )
        super().__init__(ppo, env.rows, init_policy)

    def policy(self) -> PaperPolicy:
        """The current policy as plain arrays."""
        return PaperPolicy(as_arrays(self.parameters()))

    def parameters(self) -> dict[str, Any]:
        """Everything that decides actions, by its name in `PaperNetwork`."""
        policy: Any = self.ppo.policy
        head, action = policy.mlp_extractor.policy_net[0], policy.action_net
        return dict(policy.features_extractor.trunk.named_parameters()) | {
            "head.weight": head.weight,
            "head.bias": head.bias,
            "action.weight": action.weight,
            "action.bias": action.bias,
        }


class _PaperModel:
    """The paper's model as a learner of skills (`sdg.skills.learners.Learner`)."""

    def practise(
        self, starts: Starts, settings: TrainSettings, *, seed: int, init_policy: Policy | None
    ) -> PaperLearner:
        """Practise one skill."""
        practice = PaperPractice(
            starts,
            settings.n_envs,
            horizon=settings.horizon,
            seed=seed,
            require_same_place=settings.require_same_place,
        )
        env = SB3Rows(PracticeVecEnv(practice, side_effect_cost=settings.side_effect_cost), SPACE)
        shape, ppo_settings = PaperShape(**settings.network), PPOSettings(**settings.ppo)
        return PaperLearner(env, practice.texts, ppo_settings, seed=seed, shape=shape, init_policy=init_policy)

    def policy(self, weights: Mapping[str, np.ndarray], domain: Domain) -> Policy:
        """The policy with these arrays of this model."""
        return PaperPolicy(weights)


PAPER_MODEL = _PaperModel()


class FlatVecEnv(RowsVecEnv):
    """n environments over a bank, with the observations of the paper's model and same-step auto-reset."""

    inputs = MAP_INPUTS

    def __init__(self, bank: LevelBank, n: int, *, seed: int) -> None:
        super().__init__(n)
        self.engine = BabyAIEngine(bank, n, seed=seed)
        self._missions = np.asarray(bank.layouts.mission)

    def reset(self) -> np.ndarray:
        """Begin the bank's next layouts in all rows."""
        views, _ = self.engine.reset()
        return pack_observations(views, self._missions[self.engine.state.layout])

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Observations u8 (n, OBSERVATION_BYTES), rewards f32 (n,), dones bool (n,), infos for stable-baselines3."""
        step = self.engine.step(np.asarray(actions, np.int64))
        final = self.engine.final
        dones = step.terminated | step.truncated
        rewards = step.rewards.copy()
        rows = np.flatnonzero(dones)
        last = pack_observations(final.views[rows], self._missions[final.layouts[rows]])
        infos = self.infos_of(rows, last, cut=step.truncated & ~step.terminated)
        self.episodes += len(rows)
        return pack_observations(step.views, self._missions[self.engine.state.layout]), rewards, dones, infos


def train_paper_model(
    bank: LevelBank, *, timesteps: int, seed: int, shape: PaperShape, ppo: PPOSettings
) -> tuple[PaperPolicy, int, int]:
    """PPO on the missions of a bank: the policy at the end, its environment steps and its episodes."""
    env = FlatVecEnv(bank, 128, seed=seed)
    learner = PaperLearner(SB3Rows(env, SPACE), bank.missions, ppo, seed=seed, shape=shape)
    steps = learner.learn(timesteps, callback=lambda learner, steps: True)
    return learner.policy(), steps, env.episodes
