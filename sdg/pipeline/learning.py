"""Stage 3 over a run folder: clusters of what was grounded, and a skill from each, learned in two or three rounds.

A cycle after the first begins with the skills of the one before: a cluster that matches one of them
(`sdg/induction/inheritance.py`) takes over its policy, is judged first, and learns on only if it falls short.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from sdg.envs.domains import domain_of_data
from sdg.induction.induce import Discovery, discover
from sdg.induction.inheritance import InheritedSkill, inherited_skills, with_short_patience
from sdg.induction.library_builder import library, templates, without_a_skill
from sdg.induction.practice import PracticeJob, horizon_of, practise
from sdg.induction.skill_requests import Rehearsed, collect_requests
from sdg.induction.translate import translate
from sdg.pipeline import records
from sdg.pipeline.plan import Run
from sdg.pipeline.records import SEARCH, SkillRow
from sdg.skills.learning.train import REPLAYS, ROLL_INS, VALIDATION, Trained
from sdg.skills.library.library import SkillLibrary
from sdg.skills.policy.network import Policy
from sdg.skills.search.skill_calls import FOLLOWS
from sdg.skills.statistics import wilson_interval
from sdg.skills.subgoal import Experience
from sdg.storage.files import RunError

ROUNDS = (1, 2)
AFTER_REHEARSALS = 3
"""The round after planners have rehearsed with the other rounds' skills."""


class Learning:
    """Induction of one cycle of a run; its units are rows of `skills.jsonl`."""

    def __init__(self, run: Run, cycle: int = 1, earlier: SkillLibrary | None = None) -> None:
        self.run, self.plan, self.cycle, self.earlier = run, run.plan, cycle, earlier

    def discover(self, experiences: Sequence[Experience]) -> Discovery:
        """Translate and cluster everything grounded."""
        name = "clustering" if self.cycle == 1 else f"clustering, cycle {self.cycle}"
        with self.run.progress.stage(name, total=1, unit="clustering") as stage:
            calls = translate(
                [experience.subgoal.description for experience in experiences],
                domain=self.plan.domain,
                model=self.run.model,
                sampling=self.plan.sampling(*self._names("translate")),
            )
            seed = self.plan.seed_of(*self._names("cluster"))
            found = discover(
                experiences, calls, self.plan.induce, seed=seed, kind_of=self.run.kind_of,
                argument_kind=self.plan.domain.language.kind,
            )  # fmt: skip
            stage.advance()
        if found.doubt:
            self.run.progress.note(found.doubt)
        return found

    def practise(self, found: Discovery) -> dict[int, SkillRow]:
        """The rounds of skill learning before rehearsals; rows of `skills.jsonl` by cluster number."""
        rows: dict[int, SkillRow] = {}
        for number in ROUNDS[: self.plan.induce.rounds]:
            rows |= self._round(number, found, earlier=rows)
        return rows

    def learn(self, found: Discovery, *, reserved: Collection[str]) -> SkillLibrary:
        """Practise every cluster and put what was learned into a library. Raises RunError when nothing was."""
        rows = self.practise(found)
        if not rows:
            raise RunError("no skill could be learned: nothing that was grounded leaves anything to be done")
        for name, reason in without_a_skill(found, rows, self.plan.domain.language).items():
            self.run.progress.note(f"no skill {name}: {reason}")
        learned = self._library(found, rows, reserved=reserved)
        if self.run.rehearse is None or self.plan.induce.rounds < AFTER_REHEARSALS:
            return learned
        labels = [label for label in sorted(rows) if templates(found.members[label], self.plan.domain.language)]
        asked = collect_requests(learned, labels, self.run.rehearse(learned, self.cycle))
        rows |= self._round(AFTER_REHEARSALS, found, earlier=rows, asked=asked)
        return self._library(found, rows, reserved=reserved)

    def _library(self, found: Discovery, rows: Mapping[int, SkillRow], *, reserved: Collection[str]) -> SkillLibrary:
        learned = library(
            found,
            self.policies(rows),
            measured={label: self._measurement(label, rows[label], found=found) for label in rows},
            reserved=reserved,
            provenance=self._provenance(),
            domain=self.plan.domain,
            learner=self.plan.induce.train.learner,
        )
        return learned if self.plan.cycles == 1 else _with_order(learned, found, labels=sorted(rows))

    def policies(self, rows: Mapping[int, SkillRow]) -> dict[int, Policy]:
        """The policies that rows of `skills.jsonl` refer to."""
        path, domain, learner = self.run.folder.path, self.plan.domain, self.plan.induce.train.learner
        return {label: records.load_policy(path, row.unit, domain, learner) for label, row in rows.items()}

    def _provenance(self) -> dict[str, Any]:
        about = {
            "levels": list(self.plan.levels),
            "instructions_per_level": self.plan.instructions,
            "seed": self.plan.seed,
            "model": self.run.model.name,
            "searched_steps": sum(row.searched_steps for row in records.verifications(self.run.folder)),
        }
        return about if self.plan.cycles == 1 else about | {"cycle": self.cycle}

    def _names(self, *names: object) -> tuple[object, ...]:
        """The names that a seed comes from: later cycles have seeds of their own."""
        return names if self.cycle == 1 else (*names, f"cycle {self.cycle}")

    def _unit(self, number: int, label: int) -> str:
        return f"{number}/{label}" if self.cycle == 1 else f"c{self.cycle}-{number}/{label}"

    def _round(
        self,
        number: int,
        found: Discovery,
        *,
        earlier: Mapping[int, SkillRow],
        asked: Mapping[int, Rehearsed] | None = None,
    ) -> dict[int, SkillRow]:
        """One round of every skill; after rehearsals, of the requested ones.

        Weights of the first round are deleted once the second is done, because nothing reads them again.
        """
        journal = records.skills(self.run.folder)
        wanted = found.members if asked is None else [label for label in asked if asked[label].practised is not None]
        units = {label: self._unit(number, label) for label in wanted}
        missing = [label for label, unit in units.items() if unit not in journal]
        known = inherited_skills(found, self.earlier)
        name = f"skills, round {number}" if self.cycle == 1 else f"skills, cycle {self.cycle}, round {number}"
        with self.run.progress.stage(name, total=len(units), unit="skill", done=len(units) - len(missing)) as stage:
            for label in missing if number == 1 else ():
                if label in known:
                    journal.append(self._keep_inherited(units[label], found.name(label), known[label]))
                    stage.advance()
            missing = [label for label in missing if units[label] not in journal]
            policies = self.policies(earlier) if missing else {}
            jobs = [
                self._practice(number, label, found=found, earlier=policies, known=known.get(label))
                for label in missing
            ]
            jobs = jobs if asked is None else [_add_rehearsed(job, asked[job.label]) for job in jobs]
            for job, trained in self.run.parallel(practise, jobs):
                row = journal.append(self._keep(units[job.label], found.name(job.label), trained=trained))
                stage.advance(steps=row.environment_steps)
        learned = [label for label, unit in units.items() if not journal[unit].skipped]
        for label in learned if number == ROUNDS[-1] else ():
            records.policy_path(self.run.folder.path, self._unit(ROUNDS[0], label)).unlink(missing_ok=True)
        return {label: journal[units[label]] for label in learned}

    def _practice(
        self, number: int, label: int, *, found: Discovery, earlier: Mapping[int, Policy], known: InheritedSkill | None
    ) -> PracticeJob:
        levels = sorted({member.level for member in found.members[label]}) if number > 1 else []
        settings = self.plan.induce.of_round(number)
        return PracticeJob(
            label=label,
            members=found.members[label],
            settings=settings if known is None else with_short_patience(settings),
            seed=self.plan.seed_of(*self._names("skill", number, label)),
            earlier=dict(earlier),
            domain=self.plan.domain,
            training_layouts={level: self.run.worlds.layouts(level, "training") for level in levels},
            validation_layouts={level: self.run.worlds.layouts(level, "validation") for level in levels},
            warm_start=self._warm_start(),
            good_enough=None if known is None else known.good_enough(settings.train.target_success),
        )

    def _warm_start(self) -> Policy | None:
        """The policy of the search, where the search learned one."""
        if not records.policy_path(self.run.folder.path, SEARCH).is_file():
            return None
        return records.load_policy(self.run.folder.path, SEARCH, self.plan.domain, self.plan.induce.train.learner)

    def _keep(self, unit: str, name: str, *, trained: Trained | str | None) -> SkillRow:
        """Save the weights, then make the row that refers to them; a text says why there are none."""
        if trained is None or isinstance(trained, str):
            return SkillRow(unit, name, trained or "no start leaves anything to be done", 0)
        records.save_policy(self.run.folder.path, unit, trained.weights)
        self.run.folder.metrics.begin(f"skill/{unit}")
        for point in trained.curve:
            self.run.folder.metrics.write({"skill": name} | asdict(point))
        self.run.folder.metrics.close()
        return SkillRow(
            unit,
            name,
            "",
            trained.environment_steps,
            trained.best,
            judged_on=trained.judged_on,
            measured=trained.measured,
            validation_steps=trained.other_steps.get(VALIDATION, 0),
            roll_in_steps=trained.other_steps.get(ROLL_INS, 0),
            replayed_steps=trained.other_steps.get(REPLAYS, 0),
        )

    def _keep_inherited(self, unit: str, name: str, known: InheritedSkill) -> SkillRow:
        """The first round of a skill that an earlier cycle learned: its unchanged policy."""
        records.save_policy(self.run.folder.path, unit, known.policy.weights)
        return SkillRow(unit, name, "", 0, known.point(), inherited=known.skill.name)

    def _measurement(self, label: int, row: SkillRow, *, found: Discovery) -> dict[str, Any]:
        """Success of the last round on starts that decided nothing, and the steps of all rounds and cycles.

        Without such starts success isn't measured: 0 episodes, and the rate on the starts that chose the policy.
        """
        best, measured = row.best, row.measured
        assert best is not None, "rows that were skipped have no library"
        rate, episodes = (
            (best.validation_success, 0) if measured is None else (measured.success_rate, measured.episodes)
        )
        sure = wilson_interval(round(rate * episodes), episodes) if episodes else None
        journal = records.skills(self.run.folder)
        units = [self._unit(number, label) for number in (*ROUNDS, AFTER_REHEARSALS)]
        known = inherited_skills(found, self.earlier).get(label)
        spent = sum(journal[unit].environment_steps for unit in units if unit in journal)
        return {
            "success_rate": rate,
            "low": sure.low if sure else 0.0,
            "high": sure.high if sure else 1.0,
            "episodes": episodes,
            "success_known": measured.success_known if measured else None,
            "left_out": measured.left_out if measured else 0,
            "environment_steps": spent + (known.skill.environment_steps if known else 0),
            "horizon": (horizon := horizon_of(best, self.plan.induce.train)),
            "mean_steps": min(best.validation_steps, horizon),
        }


def _with_order(learned: SkillLibrary, found: Discovery, *, labels: Sequence[int]) -> SkillLibrary:
    """The library with how often which skill followed which in hypotheses, for a search that chains skills."""
    language = domain_of_data(learned.domain).language
    kept = [label for label in labels if templates(found.members[label], language)]
    names = {label: skill.name for label, skill in zip(kept, learned.skills, strict=True)}
    follows: dict[str, Counter[str]] = {}
    for label, members in found.members.items():
        for before in (member.before[-1].skill for member in members if member.before):
            if before in names and label in names:
                follows.setdefault(names[before], Counter())[names[label]] += 1
    plain = {name: dict(sorted(counts.items())) for name, counts in sorted(follows.items())}
    return replace(learned, provenance={**learned.provenance, FOLLOWS: plain})


def _add_rehearsed(job: PracticeJob, asked: Rehearsed) -> PracticeJob:
    """The job with the starts that planners asked for; a skill that does well enough on them is left as it is."""
    enough = job.settings.train.target_success if job.good_enough is None else job.good_enough
    return replace(job, asked=asked.practised, asked_held_out=asked.judged, good_enough=enough)
