"""A review of clusters by the meaning of their members' checks: split, merge or reject them.

k-means only knows distances. A skill is trained on its members' check functions, so a cluster whose checks ask for
different things can't be learned, and two clusters whose checks ask the same waste a skill.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from sdg.skills.checks.shape import core, signature, similarity
from sdg.skills.clustering.embedding import ClusterItem, argument_text, canonical_check
from sdg.skills.clustering.kmeans import REJECTED

MIN_SIMILARITY = 2 / 3
"""Members with signatures at least this similar aren't split; only clusters with equal ones are merged.

Jaccard: a check of two parts that gains a third scores 2/3, and so do two checks of five parts that differ in one.
So a check that gains a clause, or a long one that exchanges a clause, still means the same."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A change to a cluster: its number before, the number of items concerned, and the reason in words."""

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
    checks = canonical_check(first), canonical_check(second)
    return max(similarity(*map(signature, checks)), similarity(*(signature(core(check)) for check in checks)))


def review(
    items: Sequence[ClusterItem],
    labels: Sequence[int],
    *,
    min_members: int = 2,
    argument_kind: Callable[[str], Hashable] = bool,
    relation: Callable[[str], Hashable] = lambda argument: None,
) -> Review:
    """Split clusters of unlike checks (`MIN_SIMILARITY`), merge those with the same checks, reject those too small.

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
                number
                for number, candidate in enumerate(distinct)
                if _similarity(_typical(group, items), _typical(candidate, items)) == 1.0
                and _same_things(group, candidate, items=items, kind=lambda text: (argument_kind(text), relation(text)))
            ),
            None,
        )
        if twin is None:
            distinct.append(group)
            continue
        first = distinct[twin]
        distinct[twin] = _Group(first.cluster, first.members + group.members)
        why = f"its checks and arguments are those of cluster {first.cluster} ({_example(items[first.members[0]])})"
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
    split: list[_Group] = []
    for group in groups:
        by_meaning = [
            tuple(group.members[n] for n in numbers)
            for numbers in meanings([items[member] for member in group.members], relation)
        ]
        split += [_Group(group.cluster, members) for members in by_meaning]
        if len(by_meaning) > 1:
            examples = "; ".join(f"{len(members)} like {_example(items[members[0]])}" for members in by_meaning)
            decisions.append(
                Decision("split", group.cluster, len(group.members), f"its checks ask for different things: {examples}")
            )
    return split


def meanings(
    items: Sequence[ClusterItem], relation: Callable[[str], Hashable] = lambda argument: None
) -> list[list[int]]:
    """Item numbers grouped by meaning: of one relation, with one API name or with similar checks.

    Single linkage: if A is like B and B like C, all three are one group even where A isn't like C. That is intended: a
    model varies one check by a clause at each link. Validation finds a skill that is practised on too wide a group,
    while a skill torn in two has half the examples.
    """
    kinds: dict[tuple[str, str, Hashable], list[int]] = {}
    for number, item in enumerate(items):
        kinds.setdefault((item.call.api, canonical_check(item), relation(item.call.argument)), []).append(number)

    def is_like(earlier: tuple[str, str, Hashable], kind: tuple[str, str, Hashable]) -> bool:
        return earlier[2] == kind[2] and (
            earlier[0] == kind[0] or _similarity(items[kinds[earlier][0]], items[kinds[kind][0]]) >= MIN_SIMILARITY
        )

    groups: list[list[tuple[str, str, Hashable]]] = []
    for kind in kinds:
        neighbours = [group for group in groups if any(is_like(member, kind) for member in group)]
        groups = [group for group in groups if group not in neighbours] + [[*chain.from_iterable(neighbours), kind]]
    return sorted(sorted(chain.from_iterable(kinds[kind] for kind in group)) for group in groups)


def _typical(group: _Group, items: Sequence[ClusterItem]) -> ClusterItem:
    shapes = [canonical_check(items[n]) for n in group.members]
    return items[group.members[shapes.index(Counter(shapes).most_common(1)[0][0])]]


def _same_things(
    first: _Group, second: _Group, *, items: Sequence[ClusterItem], kind: Callable[[str], Hashable]
) -> bool:
    """Whether at least half of the arguments of the group with fewer distinct ones also occur in the other."""

    def arguments_of(group: _Group) -> set[tuple[str, Hashable]]:
        return {(argument_text(items[n]), kind(items[n].call.argument)) for n in group.members}

    of_first, of_second = arguments_of(first), arguments_of(second)
    return len(of_first & of_second) * 2 >= min(len(of_first), len(of_second))


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
