"""The engine beside minigrid, step by step: every observation, reward, ending and carried object must be equal.

Actions come from three sources, one per environment in turn: uniformly random; a *mixed* one that looks at the cell
ahead and picks up, drops, toggles and unlocks often; and minigrid's own bot with one action in ten replaced.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdg.envs.babyai.bot import Bot
from sdg.envs.babyai.cells import decode
from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.engine.engine import BabyAIEngine, EngineStep
from sdg.envs.babyai.engine.layouts import make_minigrid

SOURCES = ("random", "mixed", "bot")
_LEFT, _RIGHT, _FORWARD, _PICKUP, _DROP, _TOGGLE = range(6)


@dataclass
class Comparison:
    """What was compared on a level and what differed."""

    steps: int = 0
    endings: int = 0
    failures: int = 0
    mismatches: Counter[str] = field(default_factory=Counter)
    first: str = ""
    """The first difference, in words."""

    def check(self, where: str, **equal: bool) -> None:
        """Count what differs there; what was compared is equal or not, by name."""
        for name in (name for name, same in equal.items() if not same):
            self.mismatches[name] += 1
            self.first = self.first or f"{name} {where}"


class _Twin:
    """One minigrid environment that follows one row of the engine."""

    def __init__(self, level: str, source: str, *, max_steps: int | None, rng: np.random.Generator) -> None:
        self.env = make_minigrid(level)
        self._source, self._max_steps, self._rng = source, max_steps, rng
        self._bot: Bot | None = None
        self._last: int | None = None

    def reset(self, seed: int) -> Any:
        observation, _ = self.env.reset(seed=seed)
        if self._max_steps is not None:
            self.env.max_steps = self._max_steps
        self._bot, self._last = Bot(self.env) if self._source == "bot" else None, None
        return observation

    def action(self) -> int:
        if self._source == "random":
            return int(self._rng.integers(7))
        advice = self._bot(self._last) if self._bot else None
        if advice is None:
            self._bot = None
            return self._mixed_action()
        self._last = int(self._rng.integers(7)) if self._rng.random() < 0.1 else advice
        return self._last

    def _mixed_action(self) -> int:
        draw, env = self._rng.random(), self.env
        ahead = env.grid.get(*env.front_pos)
        if draw < 0.15:
            return int(self._rng.integers(7))
        if ahead is not None and ahead.type == "door":
            return _TOGGLE if draw < 0.5 or not ahead.is_open else _FORWARD
        if ahead is not None and ahead.type != "wall":
            return _TOGGLE if draw < 0.25 else _PICKUP if draw < 0.8 else _DROP if draw < 0.9 else _LEFT
        if env.carrying is not None and draw < 0.25:
            return _DROP
        return _FORWARD if ahead is None and draw < 0.85 else _LEFT if draw < 0.93 else _RIGHT


def compare(
    level: str, *, steps: int, endings: int = 0, n_envs: int = 6, max_steps: int | None = None, seed: int = 0
) -> Comparison:
    """Run engine and minigrid side by side until `steps` steps and `endings` episode endings were compared.

    The engine resets itself, in the same step, from a bank of 64 layouts; each twin resets to the seed of the layout
    that the engine took. `max_steps` shortens the time limit on both sides.
    """
    comparison = Comparison()
    engine = BabyAIEngine(LevelBank.build(level, np.arange(seed, seed + 64)), n_envs, max_steps=max_steps, seed=seed)
    rng = np.random.default_rng(seed)
    twins = [_Twin(level, SOURCES[i % len(SOURCES)], max_steps=max_steps, rng=rng) for i in range(n_envs)]
    engine.reset()
    for i, twin in enumerate(twins):
        _compare_start(comparison, engine, i=i, twin=twin)
    while comparison.steps < steps or comparison.endings < endings:
        actions = np.array([twin.action() for twin in twins])
        step = engine.step(actions)
        for i, twin in enumerate(twins):
            _compare_step(comparison, engine, i=i, twin=twin, action=int(actions[i]), step=step)
        comparison.steps += n_envs
    return comparison


def _compare_start(comparison: Comparison, engine: BabyAIEngine, *, i: int, twin: _Twin) -> None:
    where = f"at the start of layout {engine.state.layout[i]}"
    observation = twin.reset(int(engine.bank.seeds[engine.state.layout[i]]))
    views, directions = engine.latest.views, engine.latest.directions
    comparison.check(
        where,
        image=np.array_equal(decode(views[i]), observation["image"]),
        direction=int(directions[i]) == observation["direction"],
        mission=engine.mission(i) == observation["mission"],
        max_steps=int(engine.state.max_steps[i]) == twin.env.max_steps,
        carried=_carries_the_same(engine, i=i, twin=twin),
    )


def _compare_step(
    comparison: Comparison, engine: BabyAIEngine, *, i: int, twin: _Twin, action: int, step: EngineStep
) -> None:
    where = f"after action {action} in layout {engine.state.layout[i]}, step {twin.env.step_count + 1}"
    observation, reward, terminated, truncated, _ = twin.env.step(action)
    ended = bool(terminated or truncated)
    last_step = engine.final if ended else step
    comparison.check(
        where,
        image=np.array_equal(decode(last_step.views[i]), observation["image"]),
        direction=int(last_step.directions[i]) == observation["direction"],
        reward=np.float32(reward) == step.rewards[i],
        terminated=terminated == step.terminated[i],
        truncated=truncated == step.truncated[i],
        carried=ended or _carries_the_same(engine, i=i, twin=twin),
    )
    comparison.endings += ended
    comparison.failures += int(terminated and reward == 0)
    if ended and (step.terminated[i] or step.truncated[i]):
        comparison.check(where, length=int(engine.final.steps[i]) == twin.env.step_count)
        _compare_start(comparison, engine, i=i, twin=twin)


def _carries_the_same(engine: BabyAIEngine, *, i: int, twin: _Twin) -> bool:
    number, carrying = int(engine.state.carried[i]), twin.env.carrying
    code = decode(engine.state.code[i, number - 1]) if number else None
    return code is None if carrying is None else code is not None and tuple(code) == carrying.encode()
