"""The layouts of a run: which instructions are grounded, where they start, and what skills are practised on."""

from __future__ import annotations

import numpy as np

from sdg.envs.batch import Layouts
from sdg.envs.instructions import seeds
from sdg.grounding.plan import Plan
from sdg.skills.practice.starts import Starts, restored

Task = tuple[str, int]
"""A grounding instruction: its level and the seed of its layout."""


class Worlds:
    """Layouts by level and split; they are made when they are first asked for."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.domain = plan.domain
        self._layouts: dict[tuple[str, str], Layouts] = {}

    def tasks(self) -> list[Task]:
        """Every grounding instruction, level by level."""
        chosen = seeds("grounding", count=self.plan.instructions, seed=self.plan.seed)
        return [(level, seed) for level in self.plan.levels for seed in chosen]

    def layouts(self, level: str, split: str, count: int) -> Layouts:
        """The first `count` layouts of a split."""
        if (level, split) not in self._layouts:
            drawn = seeds(split, count=count, seed=self.plan.seed)
            self._layouts[level, split] = self.domain.layouts(level, drawn, workers=self.plan.processes)
        return self._layouts[level, split]

    def training(self, level: str) -> Layouts:
        """Layouts to practise on."""
        return self.layouts(level, "training", self.plan.training_layouts)

    def validation(self, level: str) -> Layouts:
        """Layouts to judge skills on."""
        return self.layouts(level, "validation", self.plan.validation_layouts)

    def mission(self, level: str, seed: int) -> str:
        """A grounding instruction in words."""
        layouts, layout = self._grounding(level, seed)
        return layouts.mission(layout)

    def start(self, level: str, seed: int) -> Starts:
        """One row: the world of a grounding instruction as `reset(seed)` leaves it."""
        layouts, layout = self._grounding(level, seed)
        rows = restored(self.domain, layouts, [layout], actions=[()])
        return Starts(rows, self.domain.language.row("")[None], (), np.zeros(1, np.int64))

    def _grounding(self, level: str, seed: int) -> tuple[Layouts, int]:
        layouts = self.layouts(level, "grounding", self.plan.instructions)
        return layouts, int(np.flatnonzero(layouts.seeds == seed)[0])
