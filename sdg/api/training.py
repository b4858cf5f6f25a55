"""A skill from a check function: `sdg.train`."""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from sdg.envs import domains
from sdg.errors import UserError, refuse
from sdg.skills.checks.from_function import template_of
from sdg.skills.learning.by_hand import learn_skill
from sdg.skills.learning.train import Point, TrainSettings
from sdg.skills.library.library import MAX_HORIZON, LearnedSkill, is_skill_name

QUICK = TrainSettings(
    total_timesteps=400_000, horizon=30, target_success=0.995, confirmations=1, patience=8, ppo={"hidden": (64, 32)}
)
"""A network of half the usual widths: one check needs no more, and a step of practice costs half."""


def train(
    level: str,
    check: Callable[..., object] | str,
    *,
    domain: str = domains.DEFAULT,
    name: str = "",
    description: str = "",
    seed: int = 0,
    horizon: int = QUICK.horizon,
    timesteps: int = QUICK.total_timesteps,
    target: float = QUICK.target_success,
    layouts: int = 1000,
    learner: str = "",
    quiet: bool = True,
    on_evaluation: Callable[[Point], None] = lambda point: None,
) -> LearnedSkill:
    """Learn by PPO a skill that makes a check true, from the starts of a level's episodes.

        def facing(thing):
            return get_facing() in find_objects(thing)

        skill = sdg.train("GoToLocal", facing, name="go_to")

    The names in a check are perception functions (`sdg.envs.babyai.perception.snapshot.FUNCTIONS`). A check with a
    parameter makes a skill with an argument: it is practised on what each layout's mission names. A check may also be
    source text. One attempt has `horizon` steps; learning ends after `timesteps`, or when the share `target` of
    held-out layouts succeeds; `on_evaluation` is called with each point of the curve. Practice uses `layouts` layouts.
    `domain` is a key of `sdg.envs.domains` or module:attribute. `learner` is "ppo" (where the world's inputs are bits),
    "sb3" (its default elsewhere) or module:attribute.

    The result's success rate is measured on 400 further layouts that decided nothing. Raises CheckError for a function
    or text that can't be a check, ValueError for an unknown level and for settings that make no sense.
    """
    refuse(
        UserError,
        (
            (not 1 <= horizon <= MAX_HORIZON, f"a horizon is 1 to {MAX_HORIZON:,} steps, not {horizon}"),
            (timesteps < 1, f"there is at least 1 timestep, not {timesteps}"),
            (layouts < 1, f"there is at least 1 layout, not {layouts}"),
            (not target >= 0, f"a target is a share of the held-out layouts, not {target}"),
        ),
    )
    world = domains.domain(domain)
    level = world.level_name(level)
    template = template_of(check, world)
    name = name or template.check.name
    if not is_skill_name(name):
        raise UserError(f"{name!r} can't be a skill's name: take another with name=, in lower-case letters and _")
    learner = learner or ("ppo" if np.dtype(world.inputs.dtype) == np.uint8 else "sb3")
    settings = replace(QUICK, horizon=horizon, total_timesteps=timesteps, target_success=target, learner=learner)
    if learner != QUICK.learner:
        settings = replace(settings, n_envs=min(64, world.can.at_once), ppo={})
    return learn_skill(
        world,
        level,
        template,
        name=name,
        description=description or f"{name.replace('_', ' ')} {template.argument}".strip(),
        settings=settings,
        seed=seed,
        training_starts=layouts,
        on_evaluation=on_evaluation if quiet else partial(_tell, then=on_evaluation),
    )


def _tell(point: Point, *, then: Callable[[Point], None]) -> None:
    steps, success = point.environment_steps, point.validation_success
    print(f"{steps:>10,} steps  {success:6.1%} of held-out layouts  {point.seconds:5.1f} s", file=sys.stderr)
    then(point)
