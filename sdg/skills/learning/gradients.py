"""Actor and critic for binary inputs, with hand-written gradients: the slow part of PPO, in three compiled loops.

Inputs are kept as lists of the bits that differ from the usual (`Inputs.mostly_on` are usually 1, all others 0): of
1003 bits about 200 are on and about 85 differ. The first layer adds rows of its matrix instead of multiplying by it.
Rows of bits that are usually on are stored negated: for such a bit the row is added when the bit is off, which
subtracts its weight (the sign makes no difference to Adam). For example, with four bits of which bit 3 is usually on,
the input 0 1 0 0 is the list [1, 3], and its first sums are b1 - w1[3] (the usual input's, where w1[3] is stored
negated) + w1[1] + w1[3]. The gradients are those of PPO's loss (Schulman et al., 2017, equation 9) with normalised
advantages; a test compares them with torch's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sdg.envs.batch import Inputs
from sdg.envs.kernels import number_kernel, row_kernel
from sdg.skills.policy.network import ARRAYS, BitsPolicy, Policy, shapes
from sdg.skills.settings import PPOSettings

_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-5
"""Adam's, as in stable-baselines3's PPO."""
VALUE_WEIGHT = 0.5
"""Weight of the value's part of the loss."""
_GAP = 256
"""Floats between arrays that are processed together: more than a compiled loop takes at a time."""


class BitRows:
    """Samples as lists of bits: in sample i, `bits[starts[i]:starts[i + 1]]` differ from their usual values."""

    def __init__(self, kind: Inputs, samples: int) -> None:
        self.usual = kind.mostly_on.start, kind.mostly_on.stop
        self.starts = np.zeros(samples + 1, np.int64)
        self.bits = np.zeros(samples * 128, np.int16)
        self.used = 0

    def append(self, observations: np.ndarray) -> slice:
        """Add observations u8 (n, size) of zeros and ones; returns their slice of the samples."""
        first, n = self.used, len(observations)
        need = int(self.starts[first]) + n * observations.shape[1]
        if need > len(self.bits):
            self.bits = np.concatenate([self.bits, np.zeros(need, np.int16)])
        _pack(observations, self.usual, self.bits, self.starts[first : first + n + 1])
        self.used += n
        return slice(first, self.used)


@dataclass(frozen=True)
class Batch:
    """The data of a sample's gradient besides its inputs; every array has one entry per sample."""

    actions: np.ndarray  # i64
    log_probabilities: np.ndarray  # f32, under the policy that acted
    advantages: np.ndarray  # f32
    returns: np.ndarray  # f32


class Network:
    """Two shared hidden layers below actor and critic; all parameters are views of one vector f32 (P,)."""

    def __init__(self, inputs: Inputs, hidden: tuple[int, int], parameters: np.ndarray) -> None:
        self.inputs, self.hidden, self.parameters = inputs, hidden, parameters
        self.gradient, self._updates = np.zeros_like(parameters), 0
        self._work = _spaced_arrays((hidden[0],) * 3 + (hidden[1],) * 2 + (inputs.actions + 1,) * 2)
        self._moments = np.zeros((2, len(parameters)), np.float32)

    @staticmethod
    def create(inputs: Inputs, hidden: tuple[int, int], rng: np.random.Generator) -> "Network":
        """Orthogonal weights with the gains of stable-baselines3, biases zero."""
        n = inputs.actions
        sizes = [int(np.prod(shape)) for shape in shapes(inputs.size, hidden, n + 1).values()]
        network = Network(inputs, hidden, np.zeros(sum(sizes), np.float32))
        w1, _, w2, _, w3, _ = network.views(network.parameters)
        w1[:], w2[:] = _orthogonal(w1.shape, 2**0.5, rng), _orthogonal(w2.shape, 2**0.5, rng)
        w3[:, :n] = _orthogonal((hidden[1], n), 0.01, rng)
        w3[:, n:] = _orthogonal((hidden[1], 1), 1.0, rng)
        return network

    def views(self, vector: np.ndarray) -> tuple[np.ndarray, ...]:
        """w1, b1, w2, b2, w3, b3 of a vector of parameters or of a gradient.

        The rows `mostly_on` of w1 are negated; the last column of w3 and b3 is the critic's.
        """
        array_shapes = shapes(self.inputs.size, self.hidden, self.inputs.actions + 1).values()
        pieces = np.split(vector, np.cumsum([int(np.prod(shape)) for shape in array_shapes])[:-1])
        return tuple(piece.reshape(shape) for piece, shape in zip(pieces, array_shapes, strict=True))

    def evaluate(self, inputs: BitRows, samples: slice) -> tuple[np.ndarray, np.ndarray]:
        """Logits f32 (n, actions) and values f32 (n,)."""
        n = self.inputs.actions
        out = np.zeros((samples.stop - samples.start, n + 1), np.float32)
        starts = inputs.starts[samples.start : samples.stop + 1]
        _forward(inputs.bits, starts, inputs.usual, self.views(self.parameters), self._work, out)
        return out[:, :n], out[:, n]

    def compute_gradient(self, inputs: BitRows, batch: Batch, chosen: np.ndarray, settings: PPOSettings) -> None:
        """Write the mean gradient over the samples `chosen` i64 (m,) into `gradient`."""
        advantages = batch.advantages[chosen]
        if len(advantages) > 1:
            advantages = (advantages - advantages.mean()) / (advantages.std(ddof=1) + np.float32(1e-8))
        self.gradient[:] = 0
        weights = self.views(self.parameters)
        _backward(
            (inputs.bits, inputs.starts, inputs.usual),
            chosen,
            (batch.actions, batch.log_probabilities, advantages, batch.returns),
            (np.float32(settings.clip_range), np.float32(settings.ent_coef), np.float32(VALUE_WEIGHT)),
            weights,
            np.ascontiguousarray(weights[2].T),
            self.views(self.gradient),
            self._work,
        )

    def adam_step(self, learning_rate: float, max_grad_norm: float) -> None:
        """One step of Adam along `gradient`, cut to `max_grad_norm`."""
        norm = float(np.sqrt(np.dot(self.gradient, self.gradient)))
        self._updates += 1
        step = learning_rate / (1 - _BETA_1**self._updates)
        root = (1 - _BETA_2**self._updates) ** 0.5
        scale = np.float32(min(1.0, max_grad_norm / (norm + 1e-6)))
        _adam(self.parameters, self.gradient, self._moments, (scale, np.float32(step), np.float32(root)))

    def policy(self) -> BitsPolicy:
        """The actor as plain arrays."""
        w1, b1, w2, b2, w3, b3 = (view.copy() for view in self.views(self.parameters))
        w1[self.inputs.mostly_on] *= -1
        arrays = (w1, b1, w2, b2, w3[:, :-1].copy(), b3[:-1].copy())
        return BitsPolicy(dict(zip(ARRAYS, arrays, strict=True)), self.inputs)

    def load(self, policy: Policy) -> None:
        """Take over an actor; the critic's head stays. ValueError when the layers have other widths."""
        for name, view in zip(ARRAYS, self.views(self.parameters), strict=True):
            target = view[..., :-1] if name in ("w3", "b3") else view
            if target.shape != policy.weights[name].shape:
                raise ValueError(f"array {name} is {policy.weights[name].shape}, this network's is {target.shape}")
            target[:] = policy.weights[name]
        self.views(self.parameters)[0][self.inputs.mostly_on] *= -1


def _spaced_arrays(widths: Sequence[int]) -> tuple[np.ndarray, ...]:
    """Arrays f32 of zeros in one block, `_GAP` apart. Where two arrays are closer than a compiled loop is wide, the
    loop sums in another order, so that their places on the heap would decide the last bit."""
    ends = np.cumsum([width + _GAP for width in widths])
    block = np.zeros(int(ends[-1]), np.float32)
    return tuple(block[end - width - _GAP : end - _GAP] for end, width in zip(ends.tolist(), widths, strict=True))


def _orthogonal(shape: tuple[int, int], gain: float, rng: np.random.Generator) -> np.ndarray:
    """Orthogonal columns (or rows, where those are fewer), as torch.nn.init.orthogonal_ makes them."""
    q, r = np.linalg.qr(rng.standard_normal((max(shape), min(shape))))
    q = q * np.sign(np.diag(r))
    return gain * (q if shape[0] >= shape[1] else q.T)


@row_kernel
def _pack(observations, usual, bits, starts):  # type: ignore[no-untyped-def]
    on_from, on_to = usual
    place = starts[0]
    for i in range(observations.shape[0]):
        for j in range(observations.shape[1]):
            bits[place] = j
            place += (observations[i, j] != 0) != (on_from <= j < on_to)
        starts[i + 1] = place


@number_kernel
def _copy(source, out):  # type: ignore[no-untyped-def]
    for u in range(len(out)):
        out[u] = source[u]


@number_kernel
def _baseline_input(w1, b1, usual, out):  # type: ignore[no-untyped-def]
    """The first layer's sums for an input with the usual bits."""
    _copy(b1, out)
    for j in range(usual[0], usual[1]):
        for u in range(len(out)):
            out[u] -= w1[j, u]


@number_kernel
def _layer1_relu(bits, w1, baseline, out):  # type: ignore[no-untyped-def]
    """ReLU of the first layer's sums; four rows at a time, so that the sums are read and written a quarter as often."""
    n, width = len(bits), len(out)
    _copy(baseline, out)
    for c in range(0, n - 3, 4):
        i, j, k, m = bits[c], bits[c + 1], bits[c + 2], bits[c + 3]
        for u in range(width):
            out[u] += (w1[i, u] + w1[j, u]) + (w1[k, u] + w1[m, u])
    for c in range(n - n % 4, n):
        i = bits[c]
        for u in range(width):
            out[u] += w1[i, u]
    _relu(out)


@number_kernel
def _relu(sums):  # type: ignore[no-untyped-def]
    for u in range(len(sums)):
        sums[u] = max(sums[u], np.float32(0.0))


@number_kernel
def _layer_sums(below, w, b, out):  # type: ignore[no-untyped-def]
    """Sums of a layer over ReLUs, of which many are zero."""
    _copy(b, out)
    for k in range(len(below)):
        x = below[k]
        if x > 0:
            for u in range(len(out)):
                out[u] += x * w[k, u]


@row_kernel
def _forward(bits, starts, on, weights, work, outs):  # type: ignore[no-untyped-def]
    w1, b1, w2, b2, w3, b3 = weights
    baseline, first, _, second, _, _, _ = work
    _baseline_input(w1, b1, on, baseline)
    for i in range(len(outs)):
        _layer1_relu(bits[starts[i] : starts[i + 1]], w1, baseline, first)
        _layer_sums(first, w2, b2, second)
        _relu(second)
        _layer_sums(second, w3, b3, outs[i])


@number_kernel
def _head(out, action, before, advantage, target, weights, grad_out):  # type: ignore[no-untyped-def]
    """Derivatives of one sample's loss by its logits and its value, into `grad_out` f32 (actions + 1,).

    With p = softmax(z), a the action taken and r = p[a] / p_old[a], the loss is the sum of three terms:

        surrogate  -min(r A, clip(r) A)   d/dz[k] = -A r ([k = a] - p[k]), and 0 where the clipped branch is the smaller
        entropy    -c_ent H(p)            d/dz[k] = c_ent p[k] (log p[k] + H)
        value      c_vf (v - R)^2         d/dv = 2 c_vf (v - R)

    `before` is log p_old[a]; A is normalised over the minibatch by `Network.compute_gradient`.
    """
    clip, entropy_weight, value_weight = weights
    one, n = np.float32(1.0), len(out) - 1
    top = out[0]
    for a in range(1, n):
        top = max(top, out[a])
    total = np.float32(0.0)
    for a in range(n):
        grad_out[a] = np.exp(out[a] - top)
        total += grad_out[a]
    log_total = np.log(total) + top
    entropy = np.float32(0.0)
    for a in range(n):
        grad_out[a] /= total
        entropy -= grad_out[a] * (out[a] - log_total)
    ratio = np.exp(out[action] - log_total - before)
    grad_log_p = -advantage * ratio
    if (advantage > 0 and ratio > one + clip) or (advantage < 0 and ratio < one - clip):
        grad_log_p = np.float32(0.0)
    for a in range(n):
        p = grad_out[a]
        grad_out[a] = entropy_weight * p * (out[a] - log_total + entropy) - grad_log_p * p
    grad_out[action] += grad_log_p
    grad_out[n] = np.float32(2.0) * value_weight * (out[n] - target)


@row_kernel
def _backward(inputs, samples, batch, loss, weights, w2_transposed, gradients, work):  # type: ignore[no-untyped-def]
    """Add the mean gradient over `samples` to `gradients` (g1, h1, g2, h2, g3, h3: of w1, b1, w2, ...).

    With x the bits (size,), y = relu(x w1 + b1), z = relu(y w2 + b2), out = z w3 + b3 and d = dL/dout, a sample adds

        g3 += z d^T          h3 += d
        g2 += y e^T          h2 += e        e = [z > 0] * (w3 d)
        g1[j] += f           h1 += f        f = [y > 0] * (w2 e), for each of its bits j

    `w2_transposed` is a transposed copy of w2, so that w2 e is summed along rows that are contiguous in memory.
    """
    bits, starts, on = inputs
    actions, before, advantages, returns = batch
    w1, b1, w2, b2, w3, b3 = weights
    g1, h1, g2, h2, g3, h3 = gradients
    baseline, first, grad_first, second, grad_second, out, grad_out = work
    share = np.float32(1.0 / len(samples))
    _baseline_input(w1, b1, on, baseline)
    for c in range(len(samples)):
        i = samples[c]
        own_bits = bits[starts[i] : starts[i + 1]]
        _layer1_relu(own_bits, w1, baseline, first)
        _layer_sums(first, w2, b2, second)
        _relu(second)
        _layer_sums(second, w3, b3, out)
        _head(out, actions[i], before[i], advantages[c], returns[i], loss, grad_out)
        for a in range(len(grad_out)):
            grad_out[a] *= share
            h3[a] += grad_out[a]
        for k in range(len(second)):
            grad_second[k] = 0
            if second[k] > 0:
                for a in range(len(grad_out)):
                    grad_second[k] += w3[k, a] * grad_out[a]
                    g3[k, a] += second[k] * grad_out[a]
                h2[k] += grad_second[k]
        for u in range(len(grad_first)):
            grad_first[u] = 0
        for k in range(len(second)):
            x = grad_second[k]
            if x != 0:
                for u in range(len(first)):
                    grad_first[u] += x * w2_transposed[k, u]
        for u in range(len(first)):
            x = first[u]
            if x > 0:
                for k in range(len(second)):
                    g2[u, k] += x * grad_second[k]
            else:
                grad_first[u] = 0
        for b in range(len(own_bits)):
            j = own_bits[b]
            for u in range(len(grad_first)):
                g1[j, u] += grad_first[u]
        for u in range(len(first)):
            h1[u] += grad_first[u]
    # A bit that is usually on counts as 1 - x[j] with its row negated. The 1 is in every sample (`_baseline_input`), so
    # its row's gradient gets minus the sum of f over all samples, which is h1; the loop above added x[j]'s part.
    for j in range(on[0], on[1]):
        for u in range(len(h1)):
            g1[j, u] -= h1[u]


@number_kernel
def _adam(parameters, gradient, moments, step):  # type: ignore[no-untyped-def]
    scale, rate, root = step
    keep_1, keep_2 = np.float32(_BETA_1), np.float32(_BETA_2)
    one, epsilon = np.float32(1.0), np.float32(_EPSILON)
    first, second = moments[0], moments[1]
    for i in range(len(parameters)):
        g = gradient[i] * scale
        first[i] = keep_1 * first[i] + (one - keep_1) * g
        second[i] = keep_2 * second[i] + (one - keep_2) * (g * g)
        parameters[i] -= rate * first[i] / (np.sqrt(second[i]) / root + epsilon)
