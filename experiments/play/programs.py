"""Programs that were written before, played as they stand, without a model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sdg.agents.agents import Agent, PlannerAgent
from sdg.deduction.deduce import DeductionSettings, Planner
from sdg.deduction.library_skills import options_of
from sdg.deduction.planner import Prompts
from sdg.deduction.primitives import primitive_skills
from sdg.envs.domains import DEFAULT, domain
from sdg.experiments.play.players import gate_by_names
from sdg.llm.fakes import FakeModel
from sdg.llm.provider import ModelSettings
from sdg.skills.library.composed import ComposedSkill
from sdg.skills.library.store import load_library


@dataclass(frozen=True, slots=True)
class ProgramRecipe:
    """Programs over the skills of a library and composed ones, one an interaction."""

    agent: str
    library: Path
    sources: tuple[str, ...]
    domain: str = DEFAULT
    composed: tuple[ComposedSkill, ...] = ()
    guards: tuple[str, ...] = ("rules",)

    def build(self) -> Agent:
        """The agent. Raises LibraryError for a library that can't be used."""
        world = domain(self.domain)
        said = FakeModel([f"```python\n{source}\n```" for source in self.sources], name="recorded program")
        return PlannerAgent(
            self.agent,
            lambda seed: Planner(said, Prompts(world)),
            {**primitive_skills(world, beside_skills=True), **options_of(load_library(self.library))},
            gate_of=partial(gate_by_names, self.guards, ModelSettings()),
            composed={skill.name: skill for skill in self.composed},
            settings=DeductionSettings(interactions=len(self.sources)),
        )
