"""Starts on fresh layouts: the states in which earlier skills leave the robot (never a demonstrator).

A verified hypothesis says which skills come before a subgoal. On another layout of the same level the same skills are
played for that layout's own mission; where they succeed, the subgoal may begin.

A program doesn't always call skills in the order of a hypothesis, so some plans are varied: the stage before the last
is left out, or a plan only about places is repeated after forgetting the visited places.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sdg.envs.batch import BatchWorld, Layouts
from sdg.envs.domain import Domain, Language
from sdg.skills.checks.reward import BatchReward
from sdg.skills.checks.shape import is_tied_to_its_layout
from sdg.skills.checks.template import Unfit, rewrite
from sdg.skills.policy.network import Policy
from sdg.skills.practice.env import play
from sdg.skills.practice.starts import Starts, join, restore
from sdg.skills.subgoal import CheckFunction, Experience


@dataclass(frozen=True, slots=True)
class ChainStep:
    """One step of a hypothesis as a skill call: number of the skill (its cluster), argument, check.

    `forgets`: the places visited so far are forgotten before it.
    """

    skill: int
    argument: str
    check: CheckFunction
    forgets: bool = False


@dataclass(frozen=True, slots=True)
class Member(Experience):
    """One grounded subgoal of a cluster with the stages that came before it."""

    stage: ChainStep = field(kw_only=True)
    before: tuple[ChainStep, ...] = field(kw_only=True, default=())

    @property
    def description(self) -> str:
        """The subgoal in words."""
        return self.subgoal.description


def restore_starts(members: Sequence[Member], domain: Domain) -> Starts:
    """The states in which the members' subgoals began, by replaying their saved actions."""
    parts = []
    for group, layouts, numbers in _by_level(members, domain):
        world = restore(domain, layouts, numbers, actions=[member.restore_actions for member in group])
        parts.append(_starts(world, [member.stage for member in group]))
    return join(parts)


def keeps_to_its_place(members: Sequence[Member], domain: Domain) -> bool:
    """Whether most of a skill's members ended in the part of the world in which they began."""
    moves: list[bool] = []
    for group, layouts, numbers in _by_level(members, domain):
        actions = [(*member.restore_actions, *member.actions) for member in group]
        spans = [(len(member.restore_actions), len(own)) for member, own in zip(group, actions, strict=True)]
        moments = [(i, moment) for i, span in enumerate(spans) for moment in span]
        places = restore(domain, layouts, numbers, actions=actions, moments=moments).places()
        moves += (places[0::2] != places[1::2]).tolist()
    return float(np.mean(moves)) < MIN_MOVER_SHARE


def _by_level(members: Sequence[Member], domain: Domain) -> Iterator[tuple[list[Member], Layouts, list[int]]]:
    """Members of a level, the level's layouts, and the number of each member's layout."""
    for level in sorted({member.level for member in members}):
        group = [member for member in members if member.level == level]
        seeds = sorted({member.seed for member in group})
        yield group, domain.layouts(level, seeds), [seeds.index(member.seed) for member in group]


def fresh_starts(
    members: Sequence[Member],
    policies: Mapping[int, Policy],
    *,
    domain: Domain,
    layouts: Mapping[str, Layouts],
    count: int,
    horizon: int,
    seed: int,
    on_steps: Callable[[int], None] = lambda steps: None,
) -> Starts | None:
    """Up to `count` starts on `layouts` (by level), reached by playing the earlier stages; None if none is.

    The callback `on_steps` gets the environment steps taken.
    """
    rng = np.random.default_rng(seed)
    playable = [
        member for member in members if member.level in layouts and all(stage.skill >= 0 for stage in member.before)
    ]
    playable = [member for member in playable if not is_tied_to_its_layout(member.stage.check.source)] or playable
    if not playable:
        return None
    parts = []
    sample = [playable[i] for i in rng.integers(len(playable), size=count)]
    for level in sorted({member.level for member in sample}):
        group = [member for member in sample if member.level == level]
        mine = layouts[level]
        numbers = rng.integers(len(mine), size=len(group))
        plans = [
            _transfer(member, mine.mission(int(number)), domain.language)
            for member, number in zip(group, numbers, strict=True)
        ]
        # The same plan on the same layout gives nearly the same start, so it is taken once.
        variants = {(int(numbers[i]), vary(plan, rng)): i for i, plan in enumerate(plans) if plan is not None}
        fit = [(i, plan) for (_, plan), i in variants.items()]
        if fit:
            world = domain.begin(mine, numbers[[i for i, _ in fit]])
            parts += _play_through(
                world, [plan for _, plan in fit], policies, horizon=horizon, rng=rng, on_steps=on_steps
            )
    return join(parts) if parts else None


def _transfer(member: Member, mission: str, language: Language) -> tuple[ChainStep, ...] | None:
    """The member's stages, its own last, with the descriptions of another mission instead of the old one's."""
    old, new = language.mentions(member.instruction), language.mentions(mission)
    if len(old) != len(new) or len(set(old)) != len(old):
        return None
    words = dict(zip(old, new, strict=True))
    try:
        return tuple(_restage(stage, words, language) for stage in (*member.before, member.stage))
    except Unfit:
        return None


MIN_MOVER_SHARE = 0.5
"""A skill with this share of members that change places doesn't keep to its place; fewer may have strayed."""

LEFT_OUT_CHANCE, REPEAT_CHANCE = 0.3, 0.4
"""Shares of varied plans: without the stage before the last; repeated (plans about places only)."""


def vary(plan: Sequence[ChainStep], rng: np.random.Generator) -> tuple[ChainStep, ...]:
    """The plan, or at times one with a stage less or repeated."""
    chance = rng.random()
    if not any(stage.argument for stage in plan):
        plan = (*plan, replace(plan[0], forgets=True), *plan[1:]) if chance < REPEAT_CHANCE else plan
        chance = rng.random()
    if len(plan) > 2 and chance < LEFT_OUT_CHANCE:
        plan = (*plan[:-2], plan[-1])
    return tuple(plan)


def _restage(stage: ChainStep, words: Mapping[str, str], language: Language) -> ChainStep:
    argument = stage.argument
    try:
        by_target = {language.parse(old): new for old, new in words.items()}
        argument = by_target.get(language.parse(argument), argument) if argument else ""
    except ValueError:
        pass
    return ChainStep(stage.skill, argument, rewrite(stage.check, words, language))


def _play_through(
    world: BatchWorld,
    plans: Sequence[tuple[ChainStep, ...]],
    policies: Mapping[int, Policy],
    *,
    horizon: int,
    rng: np.random.Generator,
    on_steps: Callable[[int], None],
) -> list[Starts]:
    """Starts at the last stage of each plan that didn't fail, those with fewer earlier stages first."""
    world.begin_subgoals()
    depth = np.array([len(plan) - 1 for plan in plans])
    ready = _starts(world, [plan[0] for plan in plans])
    rows, arrivals = np.arange(len(plans)), list[Starts]()
    for t in range(int(depth.max()) + 1):
        here = np.flatnonzero(depth[rows] == t)
        if len(here):
            arrivals.append(ready.take(here))
        onward = np.flatnonzero(depth[rows] > t)
        rows, ready = _advance(
            ready.take(onward), rows[onward], plans, t, policies=policies, horizon=horizon, rng=rng, on_steps=on_steps
        )
    return arrivals


def _advance(
    ready: Starts,
    rows: np.ndarray,
    plans: Sequence[tuple[ChainStep, ...]],
    t: int,
    *,
    policies: Mapping[int, Policy],
    horizon: int,
    rng: np.random.Generator,
    on_steps: Callable[[int], None],
) -> tuple[np.ndarray, Starts]:
    """Play stage t of every row with its skill; returns rows that reached it, ready for stage t + 1."""
    skills = np.array([plans[row][t].skill for row in rows])
    advanced, parts = list[np.ndarray](), list[Starts]()
    for skill in np.unique(skills):
        mine = np.flatnonzero(skills == skill)
        here = ready.take(mine)
        if int(skill) in policies:
            reached, lengths, after = play(policies[int(skill)], here, horizon=horizon, seed=int(rng.integers(2**31)))
            on_steps(int(lengths.sum()))
        else:  # No skill was learned, because this stage was always done already: go on where it is again.
            reached, after = BatchReward(here.checks, here.domain)(here.memory, here.check_of), here
        good = np.flatnonzero(reached)
        if len(good):
            advanced.append(rows[mine[good]])
            parts.append(after.take(good))
    if not parts:
        return np.zeros(0, np.int64), ready
    order = np.concatenate(advanced)
    world = join(parts)
    for i, row in enumerate(order):
        if plans[row][t + 1].forgets:
            world.rows.forget(i)
    world.rows.begin_subgoals()
    return order, _starts(world.rows, [plans[row][t + 1] for row in order])


def _starts(rows: BatchWorld, stages: Sequence[ChainStep]) -> Starts:
    numbers: dict[CheckFunction, int] = {}
    check_of = np.array([numbers.setdefault(stage.check, len(numbers)) for stage in stages], np.int64)
    targets = np.stack([rows.domain.language.row(stage.argument) for stage in stages])
    return Starts(rows, targets, tuple(numbers), check_of)
