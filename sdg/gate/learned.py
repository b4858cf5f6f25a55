"""The learned guards judge from perceived states whether a command will succeed (calibrated) and whether it did
(ResponsibleTA's domain-specific models, as small networks over the facts that a domain gives its rules)."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sdg.envs.domain import Affordances
from sdg.envs.world import Observation
from sdg.gate.executor import Command, Verdict
from sdg.gate.rules import Usage

SHIPPED = Path(__file__).parent / "shipped" / "guards.json"
"""The guards that come with the package; `python -m training.skills` trains them again."""

FEASIBILITY, COMPLETENESS = "feasibility", "completeness"
REFUSE_BELOW: Mapping[str, float] = {FEASIBILITY: 0.3, COMPLETENESS: 0.5}
"""Chances below which a verdict is no: a try costs only a few dozen steps, and a refused call may be the only way."""
_UNKNOWN = Verdict(True, "no check says what it is for, so nothing was learned of it", 0.5, "learned")


@dataclass(frozen=True, eq=False)
class GuardNetwork:
    """A calibrated network over features: `layers` are weights (in, out) and biases (out,), hidden ones rectified.

    `rivals`, for features of several candidates: how many others compete with the first, all equally likely beforehand.
    """

    mean: np.ndarray
    scale: np.ndarray
    layers: tuple[tuple[np.ndarray, np.ndarray], ...]
    temperature: float = 1.0
    rivals: float = 1.0

    def chance(self, features: np.ndarray) -> float:
        """The chance, in [0, 1], that the answer is yes; for features (n, k), that it is their first row.

        Raises ValueError for features of another length.
        """
        if features.shape[-1:] != self.mean.shape:
            raise ValueError(f"the guard was learned on {len(self.mean)} features and is given {features.shape[-1]}")
        logits = self.logits(features)
        if features.ndim > 1:
            logits = logits[0] - np.logaddexp.reduce(logits[1:]) + np.log(self.rivals)
        return float(1 / (1 + np.exp(-np.clip(logits, -30, 30))))

    def logits(self, features: np.ndarray) -> np.ndarray:
        """The network's output for features (..., k), divided by its temperature: (...)."""
        x = (features - self.mean) / self.scale
        for number, (weights, biases) in enumerate(self.layers):
            x = x @ weights + biases
            if number < len(self.layers) - 1:
                x = np.maximum(x, 0)
        return np.asarray(x[..., 0] / self.temperature)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "GuardNetwork":
        """The network that `to_json` wrote. Raises ValueError, KeyError or TypeError for anything else."""
        layers = tuple((_numbers(layer["weights"]), _numbers(layer["biases"])) for layer in stored["layers"])
        return cls(
            _numbers(stored["mean"]),
            _numbers(stored["scale"]),
            layers,
            float(stored["temperature"]),
            float(stored.get("rivals", 1.0)),
        )

    def to_json(self) -> dict[str, object]:
        """The network as plain values, rounded too little to change a verdict."""
        return {
            "mean": self.mean.round(6).tolist(),
            "scale": self.scale.round(6).tolist(),
            "layers": [{"weights": w.round(5).tolist(), "biases": b.round(5).tolist()} for w, b in self.layers],
            "temperature": round(self.temperature, 5),
            "rivals": self.rivals,
        }


def _numbers(stored: object) -> np.ndarray:
    numbers = np.array(stored, np.float32)
    if not np.isfinite(numbers).all():
        raise ValueError("a guard's weights are finite numbers")
    return numbers


def load(place: Path = SHIPPED) -> dict[str, GuardNetwork]:
    """The networks of a file by the verb that they answer. Raises ValueError, naming the file, for one without them."""
    try:
        stored = json.loads(place.read_text(encoding="utf-8"))
        return {verb: GuardNetwork.from_json(stored[verb]) for verb in (FEASIBILITY, COMPLETENESS)}
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{place.name} holds no guards ({error}): install sdg again") from error


def usages_of(judged: Sequence[str]) -> Mapping[str, Usage]:
    """Usages of commands that are asked about by their own names; any other asks nothing, so that it passes."""
    return defaultdict(Usage, {name: Usage(asks=frozenset({name})) for name in judged})


class LearnedGuard:
    """Says how likely a command is to succeed, and to have succeeded; rejects chances below `REFUSE_BELOW`."""

    source = "learned"
    kind = "learned"

    def __init__(self, usages: Mapping[str, Usage], affordances: Affordances, *, place: Path = SHIPPED) -> None:
        self.usages, self.affordances, self._place = usages, affordances, place

    @cached_property
    def networks(self) -> Mapping[str, GuardNetwork]:
        """The two networks, read on first use."""
        return load(self._place)

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """Refuses a command that succeeds too rarely in such states. Raises ValueError where it can't tell."""
        return self._verdict(
            FEASIBILITY, command, (observation,), refusal=f"{command} hardly ever succeeds from a place like this"
        )

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """Rejects a change that doesn't look like the command's effect. Raises ValueError where it can't tell."""
        return self._verdict(COMPLETENESS, command, (before, after), refusal=f"{command} doesn't look complete")

    def least_chance(self, verb: str, command: Command) -> float:
        """The chance below which a verdict is no."""
        return REFUSE_BELOW[verb]

    def _verdict(self, verb: str, command: Command, moments: Sequence[Observation], *, refusal: str) -> Verdict:
        perceptions = [moment.perception for moment in moments]
        if None in perceptions:
            raise ValueError("an observation without its perception can't be judged")
        asks = self.usages[command.name].asks
        if not asks:
            return _UNKNOWN
        chance = self.networks[verb].chance(self.affordances.features(asks, command.argument, *perceptions))
        if chance < self.least_chance(verb, command):
            return Verdict(False, f"{refusal} (chance {chance:.2f})", 1 - chance, self.source)
        return Verdict(True, f"chance {chance:.2f}", chance, self.source)
