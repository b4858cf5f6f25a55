"""Induction: from single subgoals to general skills (SDG, section 4.4).

Subgoals are clustered by meaning; each cluster becomes a multi-task environment (a subgoal is a task, its argument the
task's description, its check the reward, its restored state the start), and one PPO policy learns all of them. It
learns in up to three rounds: on restored states alone; then also on fresh layouts, from states that the skills of the
first round reach; then also where planners asked for the skill.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from typing import Annotated, Any, Self

import numpy as np
from annotated_types import Ge, Le

from sdg.envs.domain import Language
from sdg.skills.clustering.embedding import REPRESENTATIONS, ClusterItem, Representation
from sdg.skills.clustering.kmeans import Clustering, adjusted_rand, cluster
from sdg.skills.clustering.review import Review, review
from sdg.skills.learning.train import TrainSettings
from sdg.skills.practice.fresh_starts import ChainStep, Member
from sdg.skills.settings import Count, Share, Size
from sdg.skills.subgoal import Experience, SkillCall

MIN_AGREEMENT = 0.3
"""Below this adjusted Rand index between the clusters before and after the review, those of k-means are dropped, and a
cluster for each API name is reviewed instead."""


VALIDATION_TRIES = 1200
"""Fresh layouts that are tried for validation starts; not all of them give one."""


@dataclass(frozen=True, slots=True)
class InduceSettings:
    """Stage 3: subgoals to clusters, clusters to skills (SDG, section 4.4). Round 1 practises on restored starts, round
    2 also on fresh layouts, round 3 also in states in which planners called the skill. A skill leaves the first rounds
    when `rough_success` of its trials succeed, because that is enough to reach the starts of the next round."""

    text: Representation = "mix"
    """part of a subgoal that is embedded: api (the paper's), check, mix and others"""
    review: bool = True
    """look at k-means' clusters again by what their checks mean: split, merge, reject"""
    rounds: Annotated[int, Ge(1), Le(3)] = 3
    """rounds of practice: 1 is on restored starts alone (the paper's), 2 adds fresh layouts, 3 what planners asked"""
    k_max: Annotated[int, Ge(2)] = 16
    """largest number of clusters tried"""
    validation_share: Share = 0.2
    """share of a cluster's subgoals kept for validation"""
    use_unconfirmed: bool = False
    """also learn from reached subgoals of hypotheses that failed later"""
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

    def of_round(self, number: int) -> Self:
        """The settings of a round: 1 has only restored starts and can't be judged well, 3 follows rehearsals."""
        steps = {1: self.first_timesteps, 2: self.train.total_timesteps, 3: self.last_timesteps}[number]
        train = replace(self.train, total_timesteps=steps, patience=3 if number == 1 else self.train.patience)
        if number < self.rounds:
            train = replace(train, target_success=min(train.target_success, self.rough_success), confirmations=1)
        return replace(self, train=train)


@dataclass(frozen=True, slots=True)
class Discovery:
    """The clusters of k-means, and as reviewed by the meaning of their checks; `members` by cluster number."""

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
        """Why k-means' clusters were dropped, as a sentence; "" where they weren't."""
        sentence = (
            f"k-means' clusters were let go: they agree by {self.agreement:.2f} with what the checks ask (at least "
            f"{MIN_AGREEMENT}); each API name was taken for a cluster and reviewed"
        )
        return sentence if self.agreement < MIN_AGREEMENT else ""

    def name(self, label: int) -> str:
        """The commonest API name among the members of a cluster; with a number where an earlier cluster has it, too."""
        names = [Counter(call.api for call in calls).most_common(1)[0][0] for calls in self.calls.values()]
        place = list(self.calls).index(label)
        before = names[:place].count(names[place])
        return f"{names[place]}_{before + 1}" if before else names[place]

    def to_json(self) -> dict[str, Any]:
        """For `induction.json`: the choice of k, its stability, what the review did, and the clusters."""
        clustering, labels = self.clustering, self.reviewed.labels
        return {
            "k": self.reviewed.k,
            "k_means": clustering.k,
            "reason": clustering.reason,
            "scores": {score.k: score.calinski_harabasz for score in clustering.scores},
            "degenerate": {score.k: score.degenerate for score in clustering.scores if score.degenerate},
            "distinct_texts": clustering.n_texts,
            "stability": clustering.stability,
            "agreement": self.agreement,
            "doubt": self.doubt,
            "decisions": [asdict(decision) for decision in self.reviewed.decisions],
            "clusters": [
                {
                    "label": label,
                    "name": self.name(label),
                    "api_names": dict(Counter(call.api for call in self.calls[label]).most_common()),
                    "members": list(dict.fromkeys(member.description for member in self.members[label])),
                    "subgoals": len(self.members[label]),
                    "points": [
                        point for point, own_label in zip(clustering.points, labels, strict=True) if own_label == label
                    ],
                }
                for label in self.members
            ],
        }


def discover(
    experiences: Sequence[Experience],
    calls: Sequence[SkillCall],
    settings: InduceSettings,
    *,
    seed: int,
    language: Language,
) -> Discovery:
    """Cluster subgoals by meaning and by the language's kinds of arguments.

    Raises ValueError when there are no subgoals.
    """
    pairs = [
        (experience, call)
        for experience, call in zip(experiences, calls, strict=True)
        if experience.confirmed or settings.use_unconfirmed
    ]
    if experiences and not pairs:
        raise ValueError(
            "nothing was verified, so there is nothing to learn from; with induce.use_unconfirmed=true what was "
            "reached of hypotheses that failed later is taken, too"
        )
    items = [ClusterItem(call, experience.subgoal) for experience, call in pairs]
    clustering = cluster(items, seed=seed, parts=REPRESENTATIONS[settings.text], max_k=settings.k_max)
    review_labels = partial(review, items, argument_kind=language.kind, relation=language.relation)
    reviewed = review_labels(clustering.labels) if settings.review else Review(clustering.labels, ())
    agreement = adjusted_rand(clustering.labels, reviewed.labels)
    if agreement < MIN_AGREEMENT:
        names = {name: number for number, name in enumerate(sorted({item.call.api for item in items}))}
        reviewed = review_labels([names[item.call.api] for item in items])
    members: dict[int, list[Member]] = {}
    calls_of: dict[int, list[SkillCall]] = {}
    chains: dict[tuple[str, int], list[ChainStep]] = {}
    for i in sorted(range(len(pairs)), key=lambda i: (pairs[i][0].level, pairs[i][0].seed, pairs[i][0].index)):
        experience, call = pairs[i]
        before = chains.setdefault((experience.level, experience.seed), [])
        step = ChainStep(reviewed.labels[i], call.argument, experience.subgoal.check)
        if step.skill >= 0:
            members.setdefault(step.skill, []).append(
                Member(
                    **{field.name: getattr(experience, field.name) for field in fields(experience)},
                    stage=step,
                    before=tuple(before),
                )
            )
            calls_of.setdefault(step.skill, []).append(call)
        before.append(step)
    return Discovery(
        clustering,
        reviewed,
        {label: tuple(members[label]) for label in sorted(members)},
        {label: tuple(calls_of[label]) for label in sorted(calls_of)},
        agreement,
        frozenset(item.call.api for item, label in zip(items, reviewed.labels, strict=True) if label < 0),
    )


def split(members: Sequence[Member], *, share: float, seed: int) -> tuple[tuple[Member, ...], tuple[Member, ...]]:
    """Members to practise on and members held out, by instruction, so that no layout is on both sides."""
    keys = sorted({(member.level, member.seed) for member in members})
    np.random.default_rng(seed).shuffle(keys)
    held_out = set(map(tuple, keys[: int(len(keys) * share)]))
    return (
        tuple(member for member in members if (member.level, member.seed) not in held_out),
        tuple(member for member in members if (member.level, member.seed) in held_out),
    )
