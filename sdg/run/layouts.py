"""The layouts of a run: which instructions are grounded, where they start, and what skills are practised on."""

from __future__ import annotations

import numpy as np

from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.practice.batch import take_rows
from sdg.envs.babyai.practice.features import NO_TARGET
from sdg.envs.instructions import seeds
from sdg.run.plan import Plan
from sdg.skills.practice.starts import Starts, restored

Task = tuple[str, int]
"""A grounding instruction: its level and the seed of its layout."""


class Worlds:
    """Banks of layouts by level and split; each is built when it is first asked for."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._banks: dict[tuple[str, str], LevelBank] = {}

    def tasks(self) -> list[Task]:
        """Every grounding instruction, level by level."""
        chosen = seeds("grounding", count=self.plan.instructions, seed=self.plan.seed)
        return [(level, seed) for level in self.plan.levels for seed in chosen]

    def bank(self, level: str, split: str, count: int) -> LevelBank:
        """The first `count` layouts of a split."""
        if (level, split) not in self._banks:
            layouts = seeds(split, count=count, seed=self.plan.seed)
            self._banks[level, split] = LevelBank.build(level, layouts, workers=self.plan.processes)
        return self._banks[level, split]

    def training(self, level: str) -> LevelBank:
        """Layouts to practise on."""
        return self.bank(level, "training", self.plan.training_layouts)

    def validation(self, level: str) -> LevelBank:
        """Layouts to judge skills on."""
        return self.bank(level, "validation", self.plan.validation_layouts)

    def mission(self, level: str, seed: int) -> str:
        """A grounding instruction in words."""
        bank, layout = self._grounding(level, seed)
        return bank.mission(layout)

    def start(self, level: str, seed: int) -> Starts:
        """One row: the world of a grounding instruction as `reset(seed)` leaves it."""
        bank, layout = self._grounding(level, seed)
        state, memory = restored(bank, [layout], actions=[()])
        rows = np.arange(1)
        return Starts(take_rows(state, rows), take_rows(memory, rows), np.array([NO_TARGET], np.int16), (), rows)

    def _grounding(self, level: str, seed: int) -> tuple[LevelBank, int]:
        bank = self.bank(level, "grounding", self.plan.instructions)
        return bank, int(np.flatnonzero(bank.seeds == seed)[0])
