"""The model of the BabyAI paper: a GRU over the words, convolutions over the view, two FiLM layers; and its policy.

Source: Chevalier-Boisvert et al. (2019), "BabyAI: a platform to study the sample efficiency of grounded language
learning", section 4.1 (FiLM: Perez et al., 2018), without its LSTM memory. `paper_model.py` learns it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

from sdg.envs.babyai.cells import TRIPLES
from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.babyai.practice.inputs import N_ACTIONS, N_WORDS, VIEW, argument_text, numbers_of, write_views

HEAD = 64
"""Width of the layer between features and actions."""
_TRIPLES = torch.as_tensor(TRIPLES, dtype=torch.float32)


class FiLM(nn.Module):
    """Two convolutions whose result the text scales and shifts, channel by channel."""

    def __init__(self, width: int, words: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.scale, self.shift = nn.Linear(words, width), nn.Linear(words, width)

    def forward(self, x: torch.Tensor, said: torch.Tensor) -> torch.Tensor:
        """(n, width, h, w) and (n, words) -> (n, width, h, w)."""
        x = self.conv2(torch.relu(self.conv1(x)))
        return torch.relu(x * self.scale(said)[:, :, None, None] + self.shift(said)[:, :, None, None])


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
        read, _ = self.gru(self.embedding(numbers))
        return read[torch.arange(len(lengths)), lengths - 1]

    def forward(self, views: torch.Tensor, said: torch.Tensor) -> torch.Tensor:
        """Features f32 (n, width) of packed views i64 (n, 49) and texts encoded by `read`, f32 (n, words)."""
        x = _TRIPLES[views].view(-1, VIEW, VIEW, 3).permute(0, 3, 1, 2)
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        return self.pool(self.film2(self.film1(x, said), said)).flatten(1)


class PaperNetwork(PaperTrunk):
    """The trunk and the head that turns its features into an action: the modules whose arrays make up a policy."""

    def __init__(self, width: int, words: int) -> None:
        super().__init__(width, words)
        self.head, self.action = nn.Linear(width, HEAD), nn.Linear(HEAD, N_ACTIONS)

    def forward(self, views: torch.Tensor, said: torch.Tensor) -> torch.Tensor:
        """Action logits f32 (n, 6)."""
        return self.action(torch.tanh(self.head(super().forward(views, said))))


@dataclass(frozen=True, eq=False)
class PaperPolicy:
    """pi(a | view, text). For a skill the text is its argument. Raises ValueError where the arrays don't fit."""

    weights: Mapping[str, np.ndarray]
    _network: PaperNetwork = field(init=False, repr=False)
    _texts: dict[str, torch.Tensor] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        have = {name: array.shape for name, array in self.weights.items()}
        if not {"conv1.weight", "gru.weight_hh_l0"} <= have.keys():
            raise ValueError(f"a policy of the paper's model has other arrays than {sorted(have)}")
        with torch.device("meta"):  # no weights are drawn: a learner's random numbers stay its own
            network = PaperNetwork(have["conv1.weight"][0], have["gru.weight_hh_l0"][-1])
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
            said = torch.stack([self._encode_text(text) for text in texts])
            out: np.ndarray = self._network(torch.from_numpy(views.reshape(len(views), -1)).long(), said).numpy()
        return out

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
