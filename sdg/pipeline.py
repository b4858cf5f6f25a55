"""The stages over one run folder: what is finished is never done again, what a kill cut off begins again.

The unit of work is one hypothesis, one verification, one skill in one round. Every unit's randomness comes from the
run's seed and its own name, so a resumed run and an unbroken one agree.

A run has one cycle of stages 1 to 3, or several: with the skills of one cycle (`seed_cycle_with_library`) the next one
tries again what was not verified, and learns the skills that come of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from sdg.deduction.library_skills import options_of
from sdg.deduction.planner import describe_skill
from sdg.grounding.attempts import Attempts, Help
from sdg.grounding.layouts import Worlds
from sdg.grounding.learning import Learning
from sdg.grounding.plan import Parallel, Plan, Progress, Stage, one_by_one
from sdg.grounding.records import HypothesisRow, SkillRow, VerificationRow
from sdg.induction.induce import Discovery
from sdg.induction.library_builder import LEFT_OUT
from sdg.induction.rehearsal import Rehearse
from sdg.llm.model import LanguageModel
from sdg.run import RunFolder
from sdg.skills.clustering.embedding import ClusterItem
from sdg.skills.experience import Experience
from sdg.skills.library.library import LibraryError, SkillLibrary
from sdg.skills.library.store import load_library
from sdg.skills.policy.network import Policy
from sdg.skills.search.search import Search

Explorers = Callable[[Path, Search], Search]
"""Makes a search that uses the skills of a library (a folder) beside the search that it is given."""


def _without_skills(library: Path, search: Search) -> Search:
    return search


class Grounding:
    """Stages 1 to 3 of one run. Cycles count from 1; one that was given no library has no skills to begin with."""

    def __init__(
        self,
        plan: Plan,
        folder: RunFolder,
        *,
        model: LanguageModel,
        search: Search,
        progress: Progress,
        parallel: Parallel = one_by_one,
        kind_of: Callable[[ClusterItem], str] | None = None,
        explorers: Explorers = _without_skills,
        rehearse: Rehearse | None = None,
    ) -> None:
        self.plan, self.folder, self.model, self.search = plan, folder, model, search
        self.progress, self.parallel, self.kind_of, self.explorers = progress, parallel, kind_of, explorers
        self.rehearse = rehearse
        self.worlds = Worlds(plan)
        self.attempts = Attempts(
            plan,
            folder,
            self.worlds,
            model=model,
            progress=progress,
            parallel=parallel,
            help_of=lambda cycle: self._help.get(cycle, Help(search)),
        )
        self._help: dict[int, Help] = {}
        self._libraries: dict[int, SkillLibrary] = {}
        self._grounded: dict[int, list[VerificationRow]] = {}

    def seed_cycle_with_library(self, place: Path, *, cycle: int) -> None:
        """Give a cycle the library in `place`: to hypothesize with, to search with, and to go on learning from.

        Raises LibraryError for a library that can't be used.
        """
        library = load_library(place)
        if library.domain != self.plan.domain.name:
            raise LibraryError(
                f"the library {place} is of {library.domain!r}, this run is of {self.plan.domain.name!r}"
            )
        told = "\n".join(describe_skill(option) for option in options_of(library).values())
        left_out = library.provenance.get(LEFT_OUT)
        for name, reason in left_out.items() if isinstance(left_out, Mapping) else ():
            told += f"\n# There is no skill {name}: {reason}."
        self._libraries[cycle] = library
        self._help[cycle] = Help(self.explorers(place, self.search), told)

    # Stages 1 and 2 --------------------------------------------------------------------------------------------------

    def hypothesize(self, attempt: int = 0) -> list[HypothesisRow]:
        """A hypothesis for every instruction that has none verified yet; rows of `hypotheses.jsonl`."""
        return self.attempts.hypothesize(attempt)

    def verify(self, attempt: int = 0) -> list[VerificationRow]:
        """Search the subgoals of every hypothesis of this attempt; rows of `verifications.jsonl`."""
        return self.attempts.verify(attempt)

    def compare(self, search: Search, name: str, *, learns: bool = False) -> list[VerificationRow]:
        """What another search makes of every first hypothesis, under the same count; rows of `NAME.jsonl`."""
        return self.attempts.compare(search, name, learns=learns)

    def ground(self, cycle: int = 1) -> list[VerificationRow]:
        """Stages 1 and 2 of a cycle with all their rounds; what every instruction comes to, in their order."""
        if cycle not in self._grounded:
            for attempt in self.plan.attempts_of(cycle):
                self.hypothesize(attempt)
                self.verify(attempt)
            self._grounded[cycle] = self.attempts.best(cycle)
        return self._grounded[cycle]

    def experiences(self, cycle: int = 1) -> list[Experience]:
        """What was grounded up to a cycle. What only a chain of skills could reach is too long to be one skill."""
        found = [experience for row in self.ground(cycle) for experience in row.experiences()]
        return [each for each in found if len(each.actions) <= self.plan.induce.train.horizon]

    # Stage 3 ---------------------------------------------------------------------------------------------------------

    def discover(self, cycle: int = 1) -> Discovery:
        """Translate and cluster everything grounded; recorded in `induction.json`."""
        return self._learning(cycle).discover(self.experiences(cycle))

    def practise(self, found: Discovery, *, cycle: int = 1) -> dict[int, SkillRow]:
        """Skill learning before rehearsals; rows of `skills.jsonl` of the last round, by cluster number."""
        return self._learning(cycle).practise(found)

    def learn(self, found: Discovery, *, reserved: Collection[str], cycle: int = 1) -> SkillLibrary:
        """Practise every cluster and put what was learned into a library. Raises RunError when nothing was."""
        return self._learning(cycle).learn(found, reserved=reserved)

    def policies(self, rows: Mapping[int, SkillRow]) -> dict[int, Policy]:
        """The policies that rows of `skills.jsonl` speak of."""
        return self._learning(1).policies(rows)

    def _learning(self, cycle: int) -> Learning:
        return Learning(
            self.plan,
            self.folder,
            self.worlds,
            model=self.model,
            progress=self.progress,
            parallel=self.parallel,
            kind_of=self.kind_of,
            cycle=cycle,
            earlier=self._libraries.get(cycle),
            rehearse=self.rehearse,
        )


__all__ = ["Explorers", "Grounding", "Parallel", "Plan", "Progress", "Stage", "one_by_one"]
