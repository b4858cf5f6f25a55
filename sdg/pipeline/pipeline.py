"""The stages over one run folder: finished units are never done again, interrupted ones begin again.

The unit of work is one hypothesis, one verification, one skill in one round. Every unit's randomness comes from the
run's seed and its own name, so a resumed run equals an uninterrupted one.

A run has one or several cycles of stages 1 to 3. With the skills of one cycle (`seed_cycle_with_library`) the next one
retries what was not verified, and learns skills from the result.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from sdg.deduction.library_skills import options_of
from sdg.deduction.planner import describe_skill
from sdg.induction.library_builder import LEFT_OUT
from sdg.pipeline.attempts import Attempts, CycleSkills
from sdg.pipeline.learning import Learning
from sdg.pipeline.plan import Run
from sdg.skills.library.library import LibraryError, SkillLibrary
from sdg.skills.library.store import load_library
from sdg.skills.subgoal import Experience
from sdg.verification.verify import Verification


@dataclass(frozen=True)
class Pipeline(Run):
    """Stages 1 to 3 of one run. Cycles count from 1; one that was given no library begins without skills."""

    _help: dict[int, CycleSkills] = field(default_factory=dict, kw_only=True)
    _libraries: dict[int, SkillLibrary] = field(default_factory=dict, kw_only=True)
    _results: dict[int, list[Verification]] = field(default_factory=dict, kw_only=True)

    @cached_property
    def attempts(self) -> Attempts:
        """Stages 1 and 2."""
        return Attempts(self, skills_of_cycle=lambda cycle: self._help.get(cycle, CycleSkills(self.search)))

    def learning(self, cycle: int = 1) -> Learning:
        """Stage 3 of a cycle."""
        return Learning(self, cycle, self._libraries.get(cycle))

    def seed_cycle_with_library(self, folder: Path, *, cycle: int) -> None:
        """Give a cycle the library in `folder`: to hypothesize with, to search with, and to go on learning from.

        Raises LibraryError for a library that can't be used.
        """
        library = load_library(folder)
        if library.domain != self.plan.domain.name:
            raise LibraryError(
                f"the library {folder} is of {library.domain!r}, this run is of {self.plan.domain.name!r}"
            )
        skills_text = "\n".join(describe_skill(option) for option in options_of(library).values())
        left_out = library.provenance.get(LEFT_OUT)
        for name, reason in left_out.items() if isinstance(left_out, Mapping) else ():
            skills_text += f"\n# There is no skill {name}: {reason}."
        self._libraries[cycle] = library
        self._help[cycle] = CycleSkills(self.explorers(folder, self.search), skills_text)

    def ground(self, cycle: int = 1) -> list[Verification]:
        """Stages 1 and 2 of a cycle with all their rounds; returns every instruction's result, in order."""
        if cycle not in self._results:
            for attempt in self.plan.attempts_of(cycle):
                self.attempts.hypothesize(attempt)
                self.attempts.verify(attempt)
            self._results[cycle] = self.attempts.best(cycle)
        return self._results[cycle]

    def experiences(self, cycle: int = 1) -> list[Experience]:
        """Experiences up to a cycle, without those that take longer than one skill's horizon."""
        experiences = [experience for row in self.ground(cycle) for experience in row.experiences()]
        return [experience for experience in experiences if len(experience.actions) <= self.plan.induce.train.horizon]
