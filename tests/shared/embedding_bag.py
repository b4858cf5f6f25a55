"""The learner's network in torch: its first layer adds rows with EmbeddingBag, its gradients are autograd's.

What `skills/learning/gradients.py` is checked against: the same lists of bits, the same parameters in the same array,
the same loss.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from sdg.skills.learning.gradients import VALUE_WEIGHT, Batch, Inputs, Network
from sdg.skills.settings import PPOSettings


class BagNetwork(Network):
    """A `Network` whose parameters torch learns in place; begin with `BagNetwork.of(network)`."""

    @staticmethod
    def of(network: Network) -> BagNetwork:
        """The same network, over the same parameters."""
        bag = BagNetwork(network.inputs, network.hidden, network.parameters)
        tensors = [torch.from_numpy(view).requires_grad_() for view in bag.views(bag.parameters)]
        vars(bag).update(tensors=tensors, adam=torch.optim.Adam(tensors, eps=1e-5))
        return bag

    def evaluate(self, inputs: Inputs, samples: slice) -> tuple[np.ndarray, np.ndarray]:
        """Logits f32 (n, actions) and values f32 (n,)."""
        with torch.no_grad():
            out = self._outputs(inputs, np.arange(samples.start, samples.stop)).numpy()
        return out[:, :-1], out[:, -1]

    def compute_gradient(self, inputs: Inputs, batch: Batch, chosen: np.ndarray, settings: PPOSettings) -> None:
        """Leave the mean gradient over the samples `chosen` i64 (m,) in the tensors."""
        actions, before, advantages, returns = (
            torch.from_numpy(column[chosen])
            for column in (batch.actions, batch.log_probabilities, batch.advantages, batch.returns)
        )
        out = self._outputs(inputs, chosen)
        logs = functional.log_softmax(out[:, :-1], dim=1)
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        ratio = torch.exp(logs.gather(1, actions[:, None])[:, 0] - before)
        clipped = ratio.clamp(1 - settings.clip_range, 1 + settings.clip_range)
        entropy = -(logs.exp() * logs).sum(1).mean()
        policy = -torch.min(advantages * ratio, advantages * clipped).mean()
        value = functional.mse_loss(out[:, -1], returns)
        vars(self)["adam"].zero_grad()
        (policy - settings.ent_coef * entropy + VALUE_WEIGHT * value).backward()

    def adam_step(self, learning_rate: float, max_grad_norm: float) -> None:
        """One step of torch's Adam along the gradient, cut to `max_grad_norm`."""
        adam = vars(self)["adam"]
        adam.param_groups[0]["lr"] = learning_rate
        torch.nn.utils.clip_grad_norm_(vars(self)["tensors"], max_grad_norm)
        adam.step()

    def _outputs(self, inputs: Inputs, chosen: np.ndarray) -> torch.Tensor:
        """Logits and value (m, actions + 1) of the samples `chosen` i64 (m,)."""
        w1, b1, w2, b2, w3, b3 = vars(self)["tensors"]
        first = inputs.starts[chosen]
        counts = inputs.starts[chosen + 1] - first
        offsets = np.cumsum(counts) - counts
        bits = inputs.bits[np.repeat(first - offsets, counts) + np.arange(counts.sum())]
        bags = functional.embedding_bag(
            torch.from_numpy(bits.astype(np.int64)), w1, torch.from_numpy(offsets), mode="sum"
        )
        usual = b1 - w1[slice(*inputs.usual)].sum(0)
        hidden = torch.relu(torch.relu(usual + bags) @ w2 + b2)
        return hidden @ w3 + b3
