"""Skills from check functions written by hand: no language model, no search, one skill after the other.

    specs = [SkillSpec("touch", "touch the thing", TOUCHED), SkillSpec("push", "push it on", PUSHED, after=("touch",))]
    library = learn_library(domain, "Push", specs, settings=TrainSettings(learner="sb3"), seed=0)

A skill is practised from where the skills before it (`after`) leave the world, and is judged on other seeds while it
learns. Its success rate is measured on seeds that decided nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sdg.envs.batch import BatchWorld
from sdg.envs.domain import Domain, Language
from sdg.envs.instructions import seeds
from sdg.errors import UserError
from sdg.skills.checks.check import with_argument
from sdg.skills.learners import policy_of
from sdg.skills.learning.train import Point, TrainSettings, open_starts, train
from sdg.skills.library.library import CheckTemplate, LearnedSkill, Skill, SkillLibrary
from sdg.skills.policy.network import Policy
from sdg.skills.practice.agreement import fault_everywhere, pays_for_nothing
from sdg.skills.practice.env import play, success_of
from sdg.skills.practice.starts import Starts
from sdg.skills.statistics import wilson_interval
from sdg.skills.subgoal import CheckFunction

EVALUATION_SEEDS = 400
"""Seeds of the evaluation split on which a finished skill is measured."""

MAX_TRIED_STARTS = 8
"""Starts at which a check is tried: whether it can be asked, and whether it fires after any one step."""
WALKED_STEPS = 40
"""Steps of a random walk from each of them until the check can be asked."""


@dataclass(frozen=True, slots=True)
class SkillSpec:
    """A skill to be learned: `horizon` is in steps, `after` are skills played before it.

    A skill with an argument has a check written for the first of `arguments`; starts use each of them in turn. `init`
    is a skill whose policy it begins with.
    """

    name: str
    description: str
    check: CheckFunction
    horizon: int = 100
    total_timesteps: int = 300_000
    after: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    init: str = ""

    def about_each(self, language: Language) -> tuple[CheckFunction, ...]:
        """The check about each of the arguments; the check itself without any."""
        return tuple(
            with_argument(self.check, self.arguments[0], argument, language=language) for argument in self.arguments
        ) or (self.check,)


def check_that(expression: str) -> CheckFunction:
    """A check function from one expression over perception functions: 'distance("a", "b") <= 0.1'."""
    return CheckFunction("reached", f"def reached():\n    return {expression}\n")


def learn_library(
    domain: Domain,
    level: str,
    specs: Sequence[SkillSpec],
    *,
    settings: TrainSettings,
    seed: int,
    training_starts: int = 1000,
    on_evaluation: Callable[[str, Point], None] = lambda name, point: None,
) -> SkillLibrary:
    """Learn the skills in order, each with its own horizon and steps instead of the settings'.

    Raises ValueError for a skill whose earlier skills are missing or leave nothing to do.
    """
    pools = {
        "training": seeds("training", count=training_starts, seed=seed),
        "validation": seeds("validation", count=settings.validation_starts, seed=seed),
        "evaluation": seeds("evaluation", count=EVALUATION_SEEDS, seed=seed, level=level),
    }
    policies: dict[str, Policy] = {}
    skills: list[Skill] = []
    for spec in specs:
        before = [next(earlier for earlier in specs if earlier.name == name) for name in spec.after]
        if absent := [earlier.name for earlier in before if earlier.name not in policies]:
            raise ValueError(f"{spec.name} comes after {', '.join(absent)}, which isn't learned yet: put it first")
        starts = {
            split: starts_after(domain, level, pool, before=before, policies=policies, spec=spec, seed=seed)
            for split, pool in pools.items()
        }
        result = train(
            starts["training"],
            starts["validation"],
            replace(settings, horizon=spec.horizon, total_timesteps=spec.total_timesteps),
            seed=seed,
            init_policy=policies.get(spec.init),
            on_evaluation=partial(on_evaluation, spec.name),
        )
        policies[spec.name] = policy_of(result.weights, domain, settings.learner)
        skills.append(
            _measure(
                spec,
                policies[spec.name],
                held_out=starts["evaluation"],
                learner=settings.learner,
                seed=seed,
                argument=next(iter(spec.arguments), ""),
                steps=result.environment_steps,
            )
        )
    return SkillLibrary(
        skills=tuple(skills),
        weights={name: policy.weights for name, policy in policies.items()},
        provenance={"level": level, "seed": seed},
        domain=domain.name,
    )


def starts_after(
    domain: Domain,
    level: str,
    chosen: Sequence[int],
    *,
    before: Sequence[SkillSpec],
    policies: Mapping[str, Policy],
    spec: SkillSpec,
    seed: int,
) -> Starts:
    """Starts of a skill: layouts of these seeds after the skills `before`, where all of them succeeded.

    Starts at which its check is true already are left out.
    """
    rows = domain.begin(domain.layouts(level, chosen), np.arange(len(chosen)))
    for earlier in before:
        reached, _, after = play(policies[earlier.name], _starts_of(rows, earlier), horizon=earlier.horizon, seed=seed)
        rows = after.rows.take(np.flatnonzero(reached))
        rows.begin_subgoals()
    return open_starts(_starts_of(rows, spec))


def _starts_of(rows: BatchWorld, spec: SkillSpec) -> Starts:
    """The rows as starts of a skill, with its arguments in turn, as far as they are possible there."""
    language = rows.domain.language
    is_possible = rows.domain.persistence.is_possible
    arguments = spec.arguments or ("",)
    numbers = []
    for row in range(len(rows)):
        snapshot = rows.perception(row)
        turn = [(row + shift) % len(arguments) for shift in range(len(arguments))]
        possible = (n for n in turn if arguments[n] and is_possible(snapshot, arguments[n]))
        numbers.append(next(possible, turn[0]))
    targets = np.stack([language.row(argument) for argument in arguments])[numbers]
    return Starts(rows, targets, spec.about_each(language), np.array(numbers, np.int64))


def learn_skill(
    domain: Domain,
    level: str,
    template: CheckTemplate,
    *,
    name: str,
    description: str,
    settings: TrainSettings,
    seed: int,
    training_starts: int = 1000,
    on_evaluation: Callable[[Point], None] = lambda point: None,
) -> LearnedSkill:
    """Learn one skill from a level's first states; if its check has an argument, about the thing each mission names.

    Raises ValueError where the check is true in every first state or by time alone, fails in every state of random
    walks, or no mission names anything.
    """
    starts = {
        split: beginnings(domain, level, seeds(split, count=count, seed=seed), template=template)
        for split, count in {"training": training_starts, "validation": settings.validation_starts}.items()
    }
    if not all(map(len, starts.values())):
        raise ValueError(f"{template.check.name} is true wherever {level} begins: there is nothing to learn")
    training = starts["training"]
    tried = training.take(np.arange(len(training))[:MAX_TRIED_STARTS])
    fault, walked_steps = fault_everywhere(tried, steps=WALKED_STEPS, seed=seed)
    if fault:
        raise ValueError(f"{template.check.name} failed in every visited state: {fault}")
    idle, trial_steps = pays_for_nothing(tried, seed=seed)
    if idle:
        raise ValueError(
            f"{template.check.name} is true after {idle}: there is nothing to learn, ask for what the goal changes"
        )
    result = train(training, starts["validation"], settings, seed=seed, on_evaluation=on_evaluation)
    skill = measure_skill(
        SkillSpec(name, description, template.check, settings.horizon),
        policy_of(result.weights, domain, settings.learner),
        level=level,
        domain=domain,
        argument=template.argument,
        learner=settings.learner,
        seed=seed,
        steps=walked_steps + trial_steps + result.environment_steps,
    )
    return LearnedSkill(
        skill=skill,
        weights=result.weights,
        domain=domain.name,
        curve=tuple((point.environment_steps, point.validation_success) for point in result.curve),
    )


def measure_skill(
    spec: SkillSpec, policy: Policy, *, level: str, domain: Domain, argument: str, learner: str, seed: int, steps: int
) -> Skill:
    """A skill and how often its policy reaches the check (written for `argument`) on held-out layouts of a level."""
    held_out = beginnings(
        domain,
        level,
        seeds("evaluation", count=EVALUATION_SEEDS, seed=seed, level=level),
        template=CheckTemplate(spec.check, argument),
    )
    return _measure(spec, policy, held_out=held_out, learner=learner, seed=seed, argument=argument, steps=steps)


def beginnings(domain: Domain, level: str, chosen: Sequence[int], *, template: CheckTemplate) -> Starts:
    """First states of layouts of these seeds, each with the check about the thing that its mission names first.

    Starts at which the check is true already, or whose mission names nothing that it can be asked about, are left out.
    Raises ValueError where that leaves no layout.
    """
    layouts = domain.layouts(level, chosen)
    checks: dict[CheckFunction, int] = {}
    rows, targets, check_of = [], [], []
    for row in range(len(chosen)):
        argument = next(iter(domain.language.mentions(layouts.mission(row))), "") if template.argument else ""
        if template.argument and not argument:
            continue
        try:
            check = with_argument(template.check, template.argument, argument, language=domain.language)
        except ValueError:
            continue
        rows.append(row)
        targets.append(domain.language.row(argument))
        check_of.append(checks.setdefault(check, len(checks)))
    if not rows:
        raise ValueError(f"no mission of {level} names anything that {template.check.name} can be asked about")
    return open_starts(
        Starts(domain.begin(layouts, np.array(rows)), np.stack(targets), tuple(checks), np.array(check_of))
    )


def _measure(
    spec: SkillSpec, policy: Policy, *, held_out: Starts, learner: str, seed: int, argument: str, steps: int
) -> Skill:
    if not len(held_out):
        raise UserError(
            f"{spec.name} can't be measured: no held-out layout is left, because its check is true already wherever it "
            "would begin, or the skills before it never succeed"
        )
    reached, _ = success_of(policy, held_out, horizon=spec.horizon, seed=seed)
    interval = wilson_interval(int(reached.sum()), len(reached))
    return Skill(
        name=spec.name,
        description=spec.description,
        takes_argument=bool(argument),
        argument_examples=spec.arguments or ((argument,) if argument else ()),
        members=(spec.description,),
        checks=(CheckTemplate(spec.check, argument),),
        horizon=spec.horizon,
        success_rate=interval.value,
        success_interval=(interval.low, interval.high),
        episodes=len(reached),
        environment_steps=steps,
        learner=learner,
    )
