"""Practising one skill in up to three rounds: the starts that it learns on, and those that judge it."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from sdg.envs.batch import Layouts
from sdg.envs.domain import Domain
from sdg.induction.induce import VALIDATION_TRIES, InduceSettings, split
from sdg.skills.learners import LEARNERS
from sdg.skills.learning.train import (
    HELD_OUT,
    PRACTICE,
    REPLAYS,
    ROLL_INS,
    VALIDATION,
    Point,
    SkillEvaluation,
    TrainingResult,
    TrainSettings,
    join_open,
    measure,
    train,
)
from sdg.skills.policy.network import Policy
from sdg.skills.practice.fresh_starts import Member, fresh_starts, keeps_to_its_place, restore_starts
from sdg.skills.practice.starts import Starts, join, perturb_starts
from sdg.skills.strict_json import decode
from sdg.storage import json_values

MAX_WANDER_STEPS = 6
"""Most random steps from a state in which a planner called the skill to a start nearby."""


MAX_JUDGES = 120
"""How many held-out starts of planners' calls judge a skill; other starts fill up missing ones."""


MIN_JUDGES = 8
"""With fewer held-out starts a skill is judged on its practice starts (its row says so) and isn't measured."""


MIN_HORIZON = 8
"""Smallest horizon of a skill, because few held-out starts may all succeed within a step or two."""


@dataclass(frozen=True)
class PracticeJob:
    """One skill to be learned in one round: all that a worker needs."""

    label: int
    members: tuple[Member, ...]
    settings: InduceSettings
    seed: int
    earlier: Mapping[int, Policy]
    domain: Domain
    training_layouts: Mapping[str, Layouts]
    validation_layouts: Mapping[str, Layouts]
    asked: Starts | None = None
    """Where planners asked for this skill; used in the round after rehearsals. `asked_held_out` judges it."""
    asked_held_out: Starts | None = None
    warm_start: Policy | None = None
    """Policy of a search that learns: a first round goes on from it."""
    good_enough: float | None = None
    """Success at which the starting policy is kept as it is; None: it isn't judged before learning."""
    stuck: frozenset[int] = frozenset()
    """Skills whose policy of an earlier round never reached its check."""

    @property
    def unit(self) -> str:
        """Its name where work is divided into shards."""
        return f"skill/{self.label}/{self.seed}"

    def receive(self, result: Any) -> TrainingResult | None:
        """Its worker's result, checked. Raises ValueError for anything but a policy with its curve."""
        if result is None:
            return None
        kinds = {*map(type, (result, result.best, *result.curve, *result.weights.values()))}
        if kinds != {TrainingResult, Point, np.ndarray}:
            raise ValueError("it isn't a policy with its curve")
        decode(Point, json_values(result.best))
        if result.measured is not None:
            decode(SkillEvaluation, json_values(result.measured))
        decode(list[int], json_values([result.environment_steps, *result.other_steps.values()]))
        return result

    def on_lost(self, reason: str) -> str:
        """Why nothing was learned: its worker hung or died."""
        return f"worker lost: {reason}"


def practise(job: PracticeJob, *, on_evaluation: Callable[[Point], None] = lambda point: None) -> TrainingResult | None:
    """Learn one skill; None when its check is true at every start already."""
    costs: Counter[str] = Counter()
    training, held_out = split(job.members, share=job.settings.validation_share, seed=job.seed)
    costs[REPLAYS] += sum(len(member.restore_actions) for member in job.members)
    starts = join_open([restore_starts(training, job.domain)])
    judges = join_open([restore_starts(held_out, job.domain)]) if held_out else None
    if job.earlier:  # The first round has no skills yet to reach starts on fresh layouts.
        roll_in = partial(
            fresh_starts,
            policies=job.earlier,
            domain=job.domain,
            horizon=job.settings.train.horizon,
            on_steps=lambda steps: costs.update({ROLL_INS: steps}),
        )
        fresh = roll_in(training, layouts=job.training_layouts, count=job.settings.fresh_starts, seed=job.seed)
        validation_starts = roll_in(
            job.members, layouts=job.validation_layouts, count=VALIDATION_TRIES, seed=job.seed + 1
        )
        starts = join_open([starts, fresh])
        costs[ROLL_INS] += MAX_WANDER_STEPS * (len(starts) if starts is not None and job.asked is not None else 0)
        starts = _add_requests(starts, job.asked, seed=job.seed)
        judges = _choose_judges(join_open([validation_starts]) if validation_starts is not None else judges, job)
    if starts is None:
        return None
    judged_on = HELD_OUT if judges is not None and len(judges) >= MIN_JUDGES else PRACTICE
    choosers, others = _split_judges(judges if judges is not None and judged_on == HELD_OUT else starts, judged_on, job)
    plays = np.tile(np.arange(len(choosers)), max(1, job.settings.train.validation_starts // len(choosers)))
    settings = _settings_with_place(job)
    result = train(
        starts,
        choosers.take(plays),
        settings,
        seed=job.seed,
        init_policy=_first_policy(job),
        good_enough=job.good_enough,
        on_evaluation=on_evaluation,
    )
    # Each start counts once: playing it again says nothing new about the skill.
    result = replace(result, best=replace(result.best, episodes=len(choosers)), judged_on=judged_on)
    costs.update(result.other_steps)
    if others is None:
        return replace(result, other_steps=dict(costs))
    policy = LEARNERS.get(settings.learner).policy(result.weights, job.domain)
    figures, steps = measure(policy, others, settings, horizon=horizon_of(result.best, settings), seed=job.seed)
    costs[VALIDATION] += steps
    return replace(result, measured=figures, other_steps=dict(costs))


def _first_policy(job: PracticeJob) -> Policy | None:
    """The policy that practice begins with: the skill's own of an earlier round; where that is stuck, that of the skill
    which its hypotheses most often put right before it, because it leaves the body where this one begins."""
    if job.label not in job.stuck:
        return job.earlier.get(job.label, job.warm_start)
    usable = [[stage.skill for stage in member.before if stage.skill not in {-1, *job.stuck}] for member in job.members]
    last_skills = Counter(skills[-1] for skills in usable if skills)
    return job.earlier[last_skills.most_common(1)[0][0]] if last_skills else job.warm_start


def horizon_of(best: Point, settings: TrainSettings) -> int:
    """Steps that an attempt may take: twice those within which nearly all successes ended on the starts that chose the
    policy."""
    return int(np.clip(2 * np.ceil(best.steps_99), MIN_HORIZON, settings.horizon))


def _split_judges(judges: Starts, judged_on: str, job: PracticeJob) -> tuple[Starts, Starts | None]:
    """Starts that choose the policy and its horizon, and others that then measure it; None where there are too few."""
    order = np.random.default_rng(job.seed).permutation(len(judges))
    limit, half = job.settings.train.validation_starts, len(judges) // 2
    if judged_on == PRACTICE or half < MIN_JUDGES:
        return judges.take(order[:limit]), None
    return judges.take(order[:half][:limit]), judges.take(order[half:][:limit])


def _settings_with_place(job: PracticeJob) -> TrainSettings:
    """Settings of practice: a skill without argument keeps to its place if it did so when it was grounded.

    Its check speaks of the place ("nothing unseen here") and is soon true elsewhere, which isn't its purpose.
    """
    about_a_place = not any(member.stage.argument for member in job.members)
    return replace(job.settings.train, require_same_place=about_a_place and keeps_to_its_place(job.members, job.domain))


def _add_requests(starts: Starts | None, requests: Starts | None, *, seed: int) -> Starts | None:
    """The starts, and as many again where planners asked for the skill, or a few steps away: these matter most."""
    if requests is None:
        return starts
    count = len(starts) // len(requests) if starts is not None else 0
    return join_open(
        [starts, requests, *(perturb_starts(requests, most=MAX_WANDER_STEPS, seed=seed + n) for n in range(1, count))]
    )


def _choose_judges(others: Starts | None, job: PracticeJob) -> Starts | None:
    """Held-out starts: where planners asked for the skill, and others where those are too few.

    Few starts are played several times each, because actions are sampled and one lucky evaluation must not decide.
    """
    requests = job.asked_held_out
    shortage = MAX_JUDGES - (0 if requests is None else len(requests))
    parts = [] if requests is None else [requests]
    if others is not None and shortage > 0:
        order = np.random.default_rng(job.seed).permutation(len(others))
        parts.append(others if requests is None else others.take(np.sort(order[:shortage])))
    return join(parts) if parts else None
