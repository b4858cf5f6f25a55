"""Induction: from single subgoals to general skills (SDG, section 4.4).

Subgoals are clustered by meaning; each cluster becomes a multi-task environment (a subgoal is a task, its argument the
task's description, its check the reward, its restored state the start), and one PPO policy learns them all. It learns
in up to three rounds: on restored states alone, then also on fresh layouts that the skills of the first round can
reach, then also where planners asked for the skill.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le

from sdg.envs.batch import Layouts
from sdg.envs.domain import Domain
from sdg.skills.clustering.embedding import ClusterItem, representation
from sdg.skills.clustering.kmeans import Clustering, adjusted_rand, cluster
from sdg.skills.clustering.review import Review, review
from sdg.skills.learning import LEARNERS
from sdg.skills.learning.train import (
    HELD_OUT,
    PRACTICE,
    REPLAYS,
    ROLL_INS,
    VALIDATION,
    Point,
    Trained,
    TrainSettings,
    measure,
    open_starts,
    train,
)
from sdg.skills.policy.network import Policy
from sdg.skills.practice.fresh_starts import Member, Stage, fresh_starts, keeps_to_its_place, restore_starts
from sdg.skills.practice.starts import Starts, join, perturb_starts
from sdg.skills.settings import Count, Share, Size
from sdg.skills.subgoal import Experience, SkillCall

LAST_ROUND = 3
LEAST_AGREEMENT = 0.3
"""Adjusted Rand index between clusters before and after the review below which k-means' are let go: what is reviewed
then is a cluster for each API name."""
WANDER = 6
"""Random steps after which what planners asked for is asked from somewhere near."""

MOST_TRUSTED = 120
"""Held-out starts that judge a skill alone; fewer are helped out by others."""

FEWEST_JUDGES = 8
"""Held-out starts below which a skill is judged where it was practised, which its row says, and isn't measured."""

LEAST_HORIZON = 8
"""Steps that an attempt may take at the least: a step or two is soon said of few held-out starts."""

VALIDATION_TRIES = 1200
"""Fresh layouts on which a start for validation is sought; not all are reached."""


@dataclass(frozen=True, slots=True)
class InduceSettings:
    """Stage 3: subgoals to clusters, clusters to skills (SDG, section 4.4). Round 1 practises on restored starts, round
    2 on fresh layouts as well, round 3 where planners asked. A skill leaves the first rounds when `rough_success` of
    its trials succeed: the next round begins where they lead, and skills that mostly get there will do."""

    text: str = "mix"
    """what of a subgoal is embedded: api (the paper's), check, mix and others"""
    review: bool = True
    """look at k-means' clusters again by what their checks mean: split, merge, reject"""
    rounds: Annotated[int, Ge(1), Le(3)] = 3
    """rounds of practice: 1 is on restored starts alone (the paper's), 2 adds fresh layouts, 3 what planners asked"""
    k_max: Annotated[int, Ge(2)] = 16
    """largest number of clusters tried"""
    validation_share: Share = 0.2
    """share of a cluster's subgoals kept for validation"""
    use_unconfirmed: bool = False
    """learn from reached subgoals of hypotheses that failed later, too"""
    first_timesteps: Count = 40_000
    """most environment steps of round 1, on restored states"""
    last_timesteps: Count = 300_000
    """most environment steps of round 3, where planners asked for skills"""
    rough_success: Share = 0.95
    """validation success that is enough for rounds 1 and 2"""
    fresh_starts: Size = 3000
    """fresh layouts tried for starts of a skill in round 2"""
    train: TrainSettings = field(default_factory=TrainSettings)
    """practice of one skill"""

    def of_round(self, number: int) -> InduceSettings:
        """The settings of a round: 1 is on restored starts and can't be judged well, 3 comes after rehearsals."""
        steps = {1: self.first_timesteps, 2: self.train.total_timesteps, 3: self.last_timesteps}[number]
        train = replace(self.train, total_timesteps=steps, patience=3 if number == 1 else self.train.patience)
        if number < min(self.rounds, LAST_ROUND):
            train = replace(train, target_success=min(train.target_success, self.rough_success), confirmations=1)
        return replace(self, train=train)


@dataclass(frozen=True, slots=True)
class Discovery:
    """The clusters: k-means' own and after a second look at what the checks mean; `members` by cluster number."""

    clustering: Clustering
    reviewed: Review
    members: Mapping[int, tuple[Member, ...]]
    calls: Mapping[int, tuple[SkillCall, ...]]
    agreement: float = 1.0
    """adjusted Rand index between k-means' labels and the reviewed ones"""
    rejected: frozenset[str] = frozenset()
    """API names of subgoals that are in no cluster"""

    @property
    def doubt(self) -> str:
        """What is to be said of k-means' clusters where they were let go; "" otherwise."""
        if self.agreement >= LEAST_AGREEMENT:
            return ""
        return (
            f"k-means' clusters were let go: they agree by {self.agreement:.2f} with what the checks ask (at least "
            f"{LEAST_AGREEMENT}); each API name was taken for a cluster and reviewed"
        )

    def name(self, label: int) -> str:
        """The commonest API name among the members of a cluster."""
        return Counter(call.api for call in self.calls[label]).most_common(1)[0][0]

    def needs(self, label: int) -> frozenset[int]:
        """The skills that come before this one in some hypothesis."""
        return frozenset(stage.skill for member in self.members[label] for stage in member.before)

    def to_json(self) -> dict[str, Any]:
        """For `induction.json`: the choice of k, its stability, what the review did, and the clusters."""
        ours, decisions = self.clustering, self.reviewed.to_json()["decisions"]
        points = dict(enumerate(ours.points))
        return {
            "k": self.reviewed.k,
            "k_means": ours.k,
            "reason": ours.reason,
            "scores": {score.k: score.calinski_harabasz for score in ours.scores},
            "degenerate": {score.k: score.degenerate for score in ours.scores if score.degenerate},
            "distinct_texts": ours.n_texts,
            "stability": ours.stability,
            "resample_stability": ours.resample_stability,
            "adjusted_rand": ours.adjusted_rand,
            "agreement": self.agreement,
            "doubt": self.doubt,
            "decisions": decisions,
            "clusters": [self._cluster(label, points) for label in self.members],
        }

    def _cluster(self, label: int, points: Mapping[int, tuple[float, float]]) -> dict[str, Any]:
        return {
            "label": label,
            "name": self.name(label),
            "api_names": dict(Counter(call.api for call in self.calls[label]).most_common()),
            "members": list(dict.fromkeys(member.description for member in self.members[label])),
            "subgoals": len(self.members[label]),
            "points": [points[i] for i, mine in enumerate(self.reviewed.labels) if mine == label],
        }


def discover(
    experiences: Sequence[Experience],
    calls: Sequence[SkillCall],
    settings: InduceSettings,
    *,
    seed: int,
    kind_of: Callable[[ClusterItem], str] | None = None,
) -> Discovery:
    """Cluster subgoals by meaning. Raises ValueError when there are none.

    `kind_of` tells a subgoal's true kind where that is known: the clustering is then scored against it, nothing else.
    """
    chosen = [(e, c) for e, c in zip(experiences, calls, strict=True) if e.confirmed or settings.use_unconfirmed]
    if experiences and not chosen:
        raise ValueError(
            "nothing was verified, so there is nothing to learn from; with induce.use_unconfirmed=true what was "
            "reached of hypotheses that failed later is taken, too"
        )
    items = [ClusterItem(call, experience.subgoal) for experience, call in chosen]
    clustering = cluster(items, seed=seed, parts=representation(settings.text), max_k=settings.k_max)
    reviewed = review(items, clustering.labels) if settings.review else Review(clustering.labels, ())
    agreement = adjusted_rand(clustering.labels, reviewed.labels)
    if agreement < LEAST_AGREEMENT:
        names = {name: number for number, name in enumerate(sorted({item.call.api for item in items}))}
        reviewed = review(items, [names[item.call.api] for item in items])
    if kind_of is not None:
        kinds = [kind_of(item) for item in items]
        clustering = replace(clustering, adjusted_rand=adjusted_rand(kinds, reviewed.labels))
    members: dict[int, list[Member]] = {}
    calls_of: dict[int, list[SkillCall]] = {}
    stages: dict[tuple[str, int], list[Stage]] = {}
    order = sorted(range(len(chosen)), key=lambda i: (chosen[i][0].level, chosen[i][0].seed, chosen[i][0].index))
    for i in order:
        experience, call = chosen[i]
        before = stages.setdefault((experience.level, experience.seed), [])
        stage = Stage(reviewed.labels[i], call.argument, experience.subgoal.check)
        if stage.skill >= 0:
            members.setdefault(stage.skill, []).append(
                Member(
                    **{each.name: getattr(experience, each.name) for each in fields(experience)},
                    stage=stage,
                    before=tuple(before),
                )
            )
            calls_of.setdefault(stage.skill, []).append(call)
        before.append(stage)
    return Discovery(
        clustering,
        reviewed,
        {label: tuple(members[label]) for label in sorted(members)},
        {label: tuple(calls_of[label]) for label in sorted(calls_of)},
        agreement,
        frozenset(item.call.api for item, label in zip(items, reviewed.labels, strict=True) if label < 0),
    )


@dataclass(frozen=True)
class Practice:
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
    """Where planners asked for this skill, in the round after rehearsals; `asked_held_out` judges it."""
    asked_held_out: Starts | None = None
    warm_start: Policy | None = None
    """What a search that learns came to: a first round goes on from it."""
    good_enough: float | None = None
    """Success at which the policy to go on from is kept as it is; None: it isn't judged before anything is learned."""

    @property
    def unit(self) -> str:
        """What it is called where shards are dealt out."""
        return f"skill/{self.label}/{self.seed}"

    def on_lost(self, reason: str) -> str:
        """Why nothing was learned: its worker hung or died."""
        return f"worker lost: {reason}"


def practise(job: Practice, *, on_evaluation: Callable[[Point], None] = lambda point: None) -> Trained | None:
    """Learn one skill; None when none of its starts leaves anything to be done."""
    spent: Counter[str] = Counter()
    training, held_out = split(job.members, share=job.settings.validation_share, seed=job.seed)
    spent[REPLAYS] += sum(len(member.restore_actions) for member in job.members)
    starts = _open([restore_starts(training, job.domain)])
    judged = _open([restore_starts(held_out, job.domain)]) if held_out else None
    if job.earlier:  # The first round has nothing to reach fresh layouts with.
        reached = partial(
            fresh_starts,
            policies=job.earlier,
            domain=job.domain,
            horizon=job.settings.train.horizon,
            on_steps=lambda steps: spent.update({ROLL_INS: steps}),
        )
        fresh = reached(training, layouts=job.training_layouts, count=job.settings.fresh_starts, seed=job.seed)
        tested = reached(job.members, layouts=job.validation_layouts, count=VALIDATION_TRIES, seed=job.seed + 1)
        starts = _open([part for part in (starts, fresh) if part is not None])
        spent[ROLL_INS] += WANDER * (len(starts) if starts is not None and job.asked is not None else 0)
        starts = _add_rehearsed(starts, job.asked, seed=job.seed)
        judged = _judges(_open([tested]) if tested is not None else judged, job)
    if starts is None:
        return None
    judged_on = HELD_OUT if judged is not None and len(judged) >= FEWEST_JUDGES else PRACTICE
    chosen_by, others = _halves(judged if judged is not None and judged_on == HELD_OUT else starts, judged_on, job)
    plays = np.tile(np.arange(len(chosen_by)), max(1, job.settings.train.validation_starts // len(chosen_by)))
    settings = _in_its_place(job)
    trained = train(
        starts,
        chosen_by.take(plays),
        settings,
        seed=job.seed,
        init_policy=job.earlier.get(job.label, job.warm_start),
        good_enough=job.good_enough,
        on_evaluation=on_evaluation,
    )
    # Each start counts once: what is played again and again says nothing new of the skill.
    trained = replace(trained, best=replace(trained.best, episodes=len(chosen_by)), judged_on=judged_on)
    spent.update(trained.other_steps)
    if others is None:
        return replace(trained, other_steps=dict(spent))
    policy = LEARNERS.get(settings.learner).policy(trained.weights, job.domain)
    measured, steps = measure(policy, others, settings, horizon=horizon_of(trained.best, settings), seed=job.seed)
    spent[VALIDATION] += steps
    return replace(trained, measured=measured, other_steps=dict(spent))


def horizon_of(best: Point, settings: TrainSettings) -> int:
    """Steps that an attempt may take: twice those within which nearly all that succeeded did, of the starts that chose
    the policy."""
    return int(np.clip(2 * np.ceil(best.steps_99), LEAST_HORIZON, settings.horizon))


def _halves(judged: Starts, judged_on: str, job: Practice) -> tuple[Starts, Starts | None]:
    """Starts that choose the policy and its horizon, and others that then measure it; None where there are too few."""
    order = np.random.default_rng(job.seed).permutation(len(judged))
    most, half = job.settings.train.validation_starts, len(judged) // 2
    if judged_on == PRACTICE or half < FEWEST_JUDGES:
        return judged.take(order[:most]), None
    return judged.take(order[:half][:most]), judged.take(order[half:][:most])


def _in_its_place(job: Practice) -> TrainSettings:
    """How a skill about no thing is practised that kept to its place when it was grounded.

    Its check speaks of the place ("nothing unseen here") and is soon true elsewhere: that is not what it was for.
    """
    about_a_place = not any(member.stage.argument for member in job.members)
    return replace(job.settings.train, require_same_place=about_a_place and keeps_to_its_place(job.members, job.domain))


def _add_rehearsed(starts: Starts | None, asked: Starts | None, *, seed: int) -> Starts | None:
    """The starts, and as many again of what planners asked for, here and a few steps away: it is what counts."""
    if asked is None:
        return starts
    others = [starts] if starts is not None else []
    near = [perturb_starts(asked, most=WANDER, seed=seed + n) for n in range(1, sum(map(len, others)) // len(asked))]
    return _open([*others, asked, *near])


def _judges(others: Starts | None, job: Practice) -> Starts | None:
    """Held-out starts: what planners asked for, and others as far as that is too little.

    They are played several times where they are few: actions are sampled, and one lucky evaluation decides nothing.
    """
    asked = job.asked_held_out
    missing = MOST_TRUSTED - (0 if asked is None else len(asked))
    parts = [] if asked is None else [asked]
    if others is not None and missing > 0:
        order = np.random.default_rng(job.seed).permutation(len(others))
        parts.append(others if asked is None else others.take(np.sort(order[:missing])))
    return join(parts) if parts else None


def _open(parts: Sequence[Starts]) -> Starts | None:
    left = [part for part in map(open_starts, parts) if len(part)]
    return join(left) if left else None


def split(members: Sequence[Member], *, share: float, seed: int) -> tuple[tuple[Member, ...], tuple[Member, ...]]:
    """Members to practise on and members held out, by instruction, so that no layout is on both sides."""
    keys = sorted({(member.level, member.seed) for member in members})
    np.random.default_rng(seed).shuffle(keys)
    held = set(map(tuple, keys[: int(len(keys) * share)]))
    return (
        tuple(m for m in members if (m.level, m.seed) not in held),
        tuple(m for m in members if (m.level, m.seed) in held),
    )
