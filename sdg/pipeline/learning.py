"""Stage 3 over a run folder: clusters of grounded subgoals, and a skill from each, learned in two or three rounds.

A cycle after the first begins with the skills of the one before: a cluster that matches one of them
(`inherited_skills`) takes over its policy, is judged first, and learns on only if it falls short.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from sdg.envs.domains import domain_of_data
from sdg.induction.induce import Discovery, discover
from sdg.induction.library_builder import (
    InheritedSkill,
    build_library,
    inherited_skills,
    templates,
    with_short_patience,
    without_a_skill,
)
from sdg.induction.practice import PracticeJob, horizon_of, practise
from sdg.induction.skill_requests import RehearsalResult, collect_requests
from sdg.induction.translate import translate
from sdg.pipeline import records
from sdg.pipeline.plan import Run
from sdg.skills.learning.train import REPLAYS, ROLL_INS, VALIDATION, TrainingResult
from sdg.skills.library.library import FOLLOWS, SkillLibrary
from sdg.skills.policy.network import Policy
from sdg.skills.statistics import wilson_interval
from sdg.skills.subgoal import Experience
from sdg.storage import RunError

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
            discovery = discover(
                experiences,
                calls,
                self.plan.induce,
                seed=self.plan.seed_of(*self._names("cluster")),
                language=self.plan.domain.language,
            )
            stage.advance()
        if discovery.doubt:
            self.run.progress.note(discovery.doubt)
        return discovery

    def practise(self, discovery: Discovery) -> dict[int, records.SkillRow]:
        """The rounds of skill learning before rehearsals; rows of `skills.jsonl` by cluster number."""
        rows: dict[int, records.SkillRow] = {}
        for number in ROUNDS[: self.plan.induce.rounds]:
            rows |= self._round(number, discovery, earlier=rows)
        return rows

    def learn(self, discovery: Discovery, *, reserved: Collection[str]) -> SkillLibrary:
        """Practise every cluster and put the learned skills into a library. Raises RunError if there are none."""
        rows = self.practise(discovery)
        if not rows:
            raise RunError("no skill could be learned: nothing that was grounded leaves anything to be done")
        for name, reason in without_a_skill(discovery, rows, self.plan.domain.language).items():
            self.run.progress.note(f"no skill {name}: {reason}")
        skill_library = self._library(discovery, rows, reserved=reserved)
        if self.run.rehearse is None or self.plan.induce.rounds < AFTER_REHEARSALS:
            return skill_library
        labels = [label for label in sorted(rows) if templates(discovery.members[label], self.plan.domain.language)]
        requests = collect_requests(skill_library, labels, self.run.rehearse(skill_library, self.cycle))
        rows |= self._round(AFTER_REHEARSALS, discovery, earlier=rows, requests=requests)
        return self._library(discovery, rows, reserved=reserved)

    def _library(
        self, discovery: Discovery, rows: Mapping[int, records.SkillRow], *, reserved: Collection[str]
    ) -> SkillLibrary:
        skill_library = build_library(
            discovery,
            self.policies(rows),
            measured={label: self._measurement(label, rows[label], discovery=discovery) for label in rows},
            reserved=reserved,
            provenance=self._provenance(),
            domain=self.plan.domain,
            learner=self.plan.induce.train.learner,
        )
        return skill_library if self.plan.cycles == 1 else _with_order(skill_library, discovery, labels=sorted(rows))

    def policies(self, rows: Mapping[int, records.SkillRow]) -> dict[int, Policy]:
        """The policies that rows of `skills.jsonl` refer to."""
        path, domain, learner = self.run.folder.path, self.plan.domain, self.plan.induce.train.learner
        return {label: records.load_policy(path, row.unit, domain, learner) for label, row in rows.items()}

    def _provenance(self) -> dict[str, Any]:
        return {
            "levels": list(self.plan.levels),
            "instructions_per_level": self.plan.instructions,
            "seed": self.plan.seed,
            "model": self.run.model.name,
            "searched_steps": sum(row.searched_steps for row in records.verifications(self.run.folder)),
        } | ({"cycle": self.cycle} if self.plan.cycles > 1 else {})

    def _names(self, *names: object) -> tuple[object, ...]:
        """The names that a seed comes from; each later cycle adds its own."""
        return names if self.cycle == 1 else (*names, f"cycle {self.cycle}")

    def _unit(self, number: int, label: int) -> str:
        return f"{number}/{label}" if self.cycle == 1 else f"c{self.cycle}-{number}/{label}"

    def _round(
        self,
        number: int,
        discovery: Discovery,
        *,
        earlier: Mapping[int, records.SkillRow],
        requests: Mapping[int, RehearsalResult] | None = None,
    ) -> dict[int, records.SkillRow]:
        """One round of every skill; after rehearsals, of the requested ones.

        Weights of the first round are deleted once the second is done, because nothing reads them again.
        """
        journal = records.skills(self.run.folder)
        labels = (
            list(discovery.members)
            if requests is None
            else [label for label, request in requests.items() if request.practised is not None]
        )
        units = {label: self._unit(number, label) for label in labels}
        new_labels = [label for label, unit in units.items() if unit not in journal]
        inheritance = inherited_skills(discovery, self.earlier)
        name = f"skills, round {number}" if self.cycle == 1 else f"skills, cycle {self.cycle}, round {number}"
        with self.run.progress.stage(name, total=len(units), unit="skill", done=len(units) - len(new_labels)) as stage:
            taken_over = [label for label in new_labels if number == 1 and label in inheritance]
            for label in taken_over:
                journal.append(self._take_over(units[label], discovery.name(label), inheritance[label]))
                stage.advance()
            labels_to_learn = [label for label in new_labels if label not in taken_over]
            policies = self.policies(earlier) if labels_to_learn else {}
            stuck = frozenset(label for label, row in earlier.items() if row.best and not row.best.validation_success)
            jobs = [
                self._practice(
                    number, label, discovery=discovery, earlier=policies, stuck=stuck, inherited=inheritance.get(label)
                )
                for label in labels_to_learn
            ]
            jobs = jobs if requests is None else [_add_rehearsed(job, requests[job.label]) for job in jobs]
            for job, result in self.run.parallel(practise, jobs):
                row = journal.append(self._keep(units[job.label], discovery.name(job.label), result=result))
                stage.advance(steps=row.environment_steps)
        skill_labels = [label for label, unit in units.items() if not journal[unit].skipped]
        for label in skill_labels if number == ROUNDS[-1] else ():
            records.policy_path(self.run.folder.path, self._unit(ROUNDS[0], label)).unlink(missing_ok=True)
        return {label: journal[units[label]] for label in skill_labels}

    def _take_over(self, unit: str, name: str, old: InheritedSkill) -> records.SkillRow:
        """The first round of a skill that an earlier cycle learned: its unchanged policy."""
        records.save_policy(self.run.folder.path, unit, old.policy.weights)
        return records.SkillRow(
            unit=unit, name=name, skipped="", environment_steps=0, best=old.point(), inherited=old.skill.name
        )

    def _practice(
        self,
        number: int,
        label: int,
        *,
        discovery: Discovery,
        earlier: Mapping[int, Policy],
        stuck: frozenset[int],
        inherited: InheritedSkill | None,
    ) -> PracticeJob:
        levels = sorted({member.level for member in discovery.members[label]}) if number > 1 else []
        settings = self.plan.induce.of_round(number)
        folder = self.run.folder.path
        has_searched = records.policy_path(folder, records.SEARCH).is_file()
        return PracticeJob(
            label=label,
            members=discovery.members[label],
            settings=settings if inherited is None else with_short_patience(settings),
            seed=self.plan.seed_of(*self._names("skill", number, label)),
            earlier=dict(earlier),
            domain=self.plan.domain,
            training_layouts={level: self.run.worlds.layouts(level, "training") for level in levels},
            validation_layouts={level: self.run.worlds.layouts(level, "validation") for level in levels},
            warm_start=records.load_policy(folder, records.SEARCH, self.plan.domain, settings.train.learner)
            if has_searched
            else None,
            good_enough=None if inherited is None else inherited.good_enough(settings.train.target_success),
            stuck=stuck,
        )

    def _keep(self, unit: str, name: str, *, result: TrainingResult | str | None) -> records.SkillRow:
        """Save the weights, then make the row that refers to them; a text as `result` is the reason for no weights."""
        if result is None or isinstance(result, str):
            return records.SkillRow(
                unit=unit, name=name, skipped=result or "no start leaves anything to be done", environment_steps=0
            )
        records.save_policy(self.run.folder.path, unit, result.weights)
        self.run.folder.metrics.begin(f"skill/{unit}")
        for point in result.curve:
            self.run.folder.metrics.write({"skill": name} | asdict(point))
        return records.SkillRow(
            unit=unit,
            name=name,
            skipped="",
            environment_steps=result.environment_steps,
            best=result.best,
            judged_on=result.judged_on,
            measured=result.measured,
            validation_steps=result.other_steps.get(VALIDATION, 0),
            roll_in_steps=result.other_steps.get(ROLL_INS, 0),
            replayed_steps=result.other_steps.get(REPLAYS, 0),
        )

    def _measurement(self, label: int, row: records.SkillRow, *, discovery: Discovery) -> dict[str, Any]:
        """Success of the last round on starts that decided nothing, and the steps of all rounds and cycles.

        Without such starts success isn't measured: 0 episodes, and the rate on the starts that chose the policy.
        """
        best, evaluation = row.best, row.measured
        assert best is not None, "rows that were skipped have no library"
        rate, episodes = (evaluation.success_rate, evaluation.episodes) if evaluation else (best.validation_success, 0)
        interval = wilson_interval(round(rate * episodes), episodes) if episodes else None
        journal = records.skills(self.run.folder)
        units = [self._unit(number, label) for number in (*ROUNDS, AFTER_REHEARSALS)]
        inherited = inherited_skills(discovery, self.earlier).get(label)
        horizon = horizon_of(best, self.plan.induce.train)
        return {
            "success_rate": rate,
            "low": interval.low if interval else 0.0,
            "high": interval.high if interval else 1.0,
            "episodes": episodes,
            "success_known": evaluation.success_known if evaluation else None,
            "left_out": evaluation.left_out if evaluation else 0,
            "environment_steps": sum(journal[unit].environment_steps for unit in units if unit in journal)
            + (inherited.skill.environment_steps if inherited else 0),
            "horizon": horizon,
            "mean_steps": min(best.validation_steps, horizon),
        }


def _with_order(skill_library: SkillLibrary, discovery: Discovery, *, labels: Sequence[int]) -> SkillLibrary:
    """The library with counts of which skill followed which in hypotheses, for a search that chains skills."""
    language = domain_of_data(skill_library.domain).language
    with_checks = [label for label in labels if templates(discovery.members[label], language)]
    names = {label: skill.name for label, skill in zip(with_checks, skill_library.skills, strict=True)}
    follows: dict[str, Counter[str]] = {}
    for label, members in discovery.members.items():
        for before in (member.before[-1].skill for member in members if member.before):
            if before in names and label in names:
                follows.setdefault(names[before], Counter())[names[label]] += 1
    order = {name: dict(sorted(counts.items())) for name, counts in sorted(follows.items())}
    return replace(skill_library, provenance={**skill_library.provenance, FOLLOWS: order})


def _add_rehearsed(job: PracticeJob, requests: RehearsalResult) -> PracticeJob:
    """The job with the starts that planners asked for; a skill that does well enough on them is left as it is."""
    enough = job.settings.train.target_success if job.good_enough is None else job.good_enough
    return replace(job, asked=requests.practised, asked_held_out=requests.judged, good_enough=enough)
