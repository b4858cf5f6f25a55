"""A review of clusters by the meaning of their members' checks: split, merge or reject them.

k-means only knows distances. A skill is trained on its members' check functions, so a cluster whose checks ask for
different things can't be learned, and two clusters whose checks ask the same waste a skill.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from sdg.skills.checks.shape import core, signature, similarity
from sdg.skills.clustering.embedding import ClusterItem, argument_text, canonical_check
from sdg.skills.clustering.kmeans import REJECTED

ALIKE = 2 / 3
"""Members with signatures at least this similar aren't split; only clusters with equal ones are merged.

Jaccard: a check of two parts that gains a third scores 2/3, and so do two checks of five parts that differ in one.
So a check that gains a clause, or a long one that exchanges a clause, still means the same."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What was done to a cluster: its number before, how many items it concerns, and the reason in words."""

    action: Literal["split", "merge", "reject"]
    cluster: int
    n_items: int
    reason: str


@dataclass(frozen=True, slots=True)
class Review:
    """Labels after the review (0 to k - 1 by first appearance, -1 rejected) and the decisions that led to them."""

    labels: tuple[int, ...]
    decisions: tuple[Decision, ...]

    @property
    def k(self) -> int:
        """Number of clusters that are left."""
        return len(set(self.labels) - {REJECTED})


def _similarity(first: ClusterItem, second: ClusterItem) -> float:
    """In [0, 1]; protective clauses ("still carrying A") count only where they make two checks more alike."""
    a, b = canonical_check(first), canonical_check(second)
    return max(similarity(signature(a), signature(b)), similarity(signature(core(a)), signature(core(b))))


def review(
    items: Sequence[ClusterItem],
    labels: Sequence[int],
    *,
    min_members: int = 2,
    argument_kind: Callable[[str], Hashable] = bool,
    relation: Callable[[str], Hashable] = lambda argument: None,
) -> Review:
    """Split clusters whose checks aren't alike (`ALIKE`), merge those with the same checks, reject what is too small.

    `argument_kind` and `relation` are the language's: a thing's distance and a pair's have one check but two relations.
    Raises ValueError when items and labels differ in number.
    """
    if len(items) != len(labels):
        raise ValueError(f"{len(items)} items but {len(labels)} labels")
    decisions: list[Decision] = []
    groups = [
        _Group(cluster, tuple(n for n, label in enumerate(labels) if label == cluster))
        for cluster in sorted(set(labels) - {REJECTED})
    ]
    distinct: list[_Group] = []
    for group in _split_groups(groups, items, relation=relation, decisions=decisions):
        # A twin has the same most common check and is about the same kinds of things.
        twin = next(
            (
                n
                for n, other in enumerate(distinct)
                if _similarity(_typical(group, items), _typical(other, items)) == 1.0
                and _same_things(group, other, items=items, kind=lambda said: (argument_kind(said), relation(said)))
            ),
            None,
        )
        if twin is None:
            distinct.append(group)
            continue
        other = distinct[twin]
        distinct[twin] = _Group(other.cluster, other.members + group.members)
        why = f"its checks and arguments are those of cluster {other.cluster} ({_example(items[other.members[0]])})"
        decisions.append(Decision("merge", group.cluster, len(group.members), why))
    return Review(_labels(distinct, len(items), min_members=min_members, decisions=decisions), tuple(decisions))


@dataclass(frozen=True, slots=True)
class _Group:
    cluster: int
    members: tuple[int, ...]


def _split_groups(
    groups: list[_Group],
    items: Sequence[ClusterItem],
    *,
    relation: Callable[[str], Hashable],
    decisions: list[Decision],
) -> list[_Group]:
    parts: list[_Group] = []
    for group in groups:
        meaning_groups = meanings([items[n] for n in group.members], relation)
        parts += [_Group(group.cluster, tuple(group.members[n] for n in part)) for part in meaning_groups]
        if len(meaning_groups) > 1:
            what = "; ".join(f"{len(part)} like {_example(items[group.members[part[0]]])}" for part in meaning_groups)
            decisions.append(
                Decision("split", group.cluster, len(group.members), f"its checks ask for different things: {what}")
            )
    return parts


def meanings(
    items: Sequence[ClusterItem], relation: Callable[[str], Hashable] = lambda argument: None
) -> list[list[int]]:
    """Item numbers grouped by meaning: of one relation, with one API name or with similar checks.

    Single linkage: if A is like B and B like C, all three are one group even where A isn't like C. That is intended: a
    model varies one check by a clause at each link. Validation finds a skill that is practised on too wide a group,
    while a skill torn in two has half the examples.
    """
    kinds: dict[tuple[str, str, Hashable], list[int]] = {}
    for n, item in enumerate(items):
        kinds.setdefault((item.call.api, canonical_check(item), relation(item.call.argument)), []).append(n)
    groups: list[list[tuple[str, str, Hashable]]] = []
    for kind, members in kinds.items():
        like = lambda k, kind=kind, item=items[members[0]]: (  # noqa: E731
            k[2] == kind[2] and (k[0] == kind[0] or _similarity(items[kinds[k][0]], item) >= ALIKE)
        )
        neighbours = [g for g in groups if any(map(like, g))]
        groups = [g for g in groups if g not in neighbours] + [[k for g in neighbours for k in g] + [kind]]
    return sorted((sorted(n for kind in group for n in kinds[kind]) for group in groups), key=lambda part: part[0])


def _typical(group: _Group, items: Sequence[ClusterItem]) -> ClusterItem:
    shapes = [canonical_check(items[n]) for n in group.members]
    return items[group.members[shapes.index(Counter(shapes).most_common(1)[0][0])]]


def _same_things(
    first: _Group, second: _Group, *, items: Sequence[ClusterItem], kind: Callable[[str], Hashable]
) -> bool:
    """Whether at least half of the arguments of the group with fewer distinct ones also occur in the other."""
    a, b = (
        {(argument_text(items[n]), kind(items[n].call.argument)) for n in group.members} for group in (first, second)
    )
    return len(a & b) * 2 >= min(len(a), len(b))


def _labels(groups: list[_Group], n_items: int, *, min_members: int, decisions: list[Decision]) -> tuple[int, ...]:
    labels = [REJECTED] * n_items
    large = [group for group in groups if len(group.members) >= min_members]
    for number, group in enumerate(sorted(large, key=lambda group: min(group.members))):
        for n in group.members:
            labels[n] = number
    for group in groups:
        if len(group.members) < min_members:
            why = f"{len(group.members)} members, at least {min_members} are needed to train and to validate"
            decisions.append(Decision("reject", group.cluster, len(group.members), why))
    return tuple(labels)


def _example(item: ClusterItem) -> str:
    return repr(item.subgoal.description[:80])
