"""Hand-written checks of skills, and programs over them, for the worlds of torques, in place of a language model's.

They show what the learner and the robot can do with good checks and programs, and are never mixed with a model's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import Template
from typing import Any

from sdg.envs.domains import domain
from sdg.skills.learning.by_hand import SkillSpec, check_that
from sdg.skills.learning.train import TrainSettings

COLOURS = ("red", "green", "blue", "yellow")


@dataclass(frozen=True, slots=True)
class Words:
    """The hand-written part of a world: its skills, the level they are practised in, and the program for a mission."""

    skills: tuple[SkillSpec, ...]
    level: str
    program: Callable[[str], str]
    settings: TrainSettings


def settings(**ppo: Any) -> TrainSettings:
    """Practice on one core, rewarded by the check alone, until the skill's steps are used up."""
    return TrainSettings(
        n_envs=16,
        patience=10**6,
        target_success=2.0,
        evaluate_every=100_000,
        validation_starts=96,
        learner="sb3",
        side_effect_cost=0.0,
        ppo=ppo,
    )


WALK = Template('''
def next_cell(goal):
    """The cell to make for: the first on a shortest way from the ant's to the goal's, or the goal's own."""
    free = {}
    for cell in get_cells():
        free[(cell.row, cell.column)] = cell
    here = get_cell()
    ways = {(goal.row, goal.column): free[(goal.row, goal.column)]}
    border = [(goal.row, goal.column)]
    while border and (here.row, here.column) not in ways:
        following = []
        for row, column in border:
            for other in [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]:
                if other in free and other not in ways:
                    ways[other] = free[(row, column)]
                    following.append(other)
        border = following
    return here, ways.get((here.row, here.column), here)


def far(x, y):
    here = get_position()
    return ((here[0] - x) ** 2 + (here[1] - y) ** 2) ** 0.5


def visit(name):
    spots = [spot for spot in get_spots() if (spot.name != name[4:] if name[:4] == "not " else spot.name == name)]
    goal = spots[0]
    for turn in range(2000):
        if far(goal.x, goal.y) <= 0.4:
            return
        if not is_upright():
            return
        here, then = next_cell(goal)
        if (here.row, here.column) == (goal.row, goal.column):
            walk(direction_to(goal.x, goal.y))
        elif far((here.x + then.x) / 2, (here.y + then.y) / 2) > 1.2:
            walk(direction_to((here.x + then.x) / 2, (here.y + then.y) / 2))
        else:
            walk(direction_to(then.x, then.y))


def program():
    for name in $names:
        visit(name)
''')


def ant_program(mission: str) -> str:
    """Follow a shortest path over cells, one short walk after another, until the goal or a fall."""
    other_spot = f"not {mission.split()[-1]} spot"
    return WALK.substitute(names=[other_spot] if "isn't" in mission else domain("ant").language.mentions(mission))


ANT = Words(
    skills=(
        SkillSpec(
            "walk",
            "walk a little way in a direction",
            check_that('moved("direction 0") >= 0.25'),
            60,
            2_000_000,
            arguments=tuple(f"direction {degrees}" for degrees in range(0, 360, 15)),
        ),
    ),
    level="Spots_UMaze",
    program=ant_program,
    settings=settings(
        n_steps=256,
        batch_size=1024,
        n_epochs=10,
        learning_rate=3e-4,
        gamma=0.995,
        hidden=[128, 128],
        log_std_init=-0.5,
        chain=500,
        lost_cost=40.0,
    ),
)

PUSH = Template("""
def program():
    for verb, block, other, near in $actions:
        pair = block + (" from " if verb == "away" else " to ") + other
        for turn in range(200):
            if verb == "touch":
                done = distance(block) <= near
            elif verb == "away":
                done = distance(pair) >= near
            else:
                done = distance(pair) <= near
            if done:
                break
            if verb == "touch" or distance(block) > 0.14:
                touch(block)
            else:
                push(pair)
""")


def table_program(mission: str) -> str:
    """Touch the block, push it a little, and so on until it is where it should be."""
    from sdg.envs.table.language import THINGS, actions_of
    from sdg.envs.table.world import AWAY, BESIDE, ON, TOUCH

    near = {"touch": TOUCH, "to": ON - 0.01, "next": BESIDE, "away": AWAY}
    actions = [
        (action.verb, THINGS[action.block], THINGS[action.other], near[action.verb]) for action in actions_of(mission)
    ]
    return PUSH.substitute(actions=actions)


_PAIRS = tuple(
    f"{colour} block {how} {other_colour} {kind}"
    for how, kind in (("to", "spot"), ("to", "block"), ("from", "block"))
    for colour in COLOURS
    for other_colour in COLOURS
    if kind == "spot" or colour != other_colour
)
TABLE = Words(
    skills=(
        SkillSpec(
            "touch",
            "touch a block",
            check_that('distance("red block") <= 0.085'),
            100,
            200_000,
            arguments=tuple(f"{colour} block" for colour in COLOURS),
        ),
        SkillSpec(
            "push",
            "push a block a little the way that a pair says",
            check_that(f'progress("{_PAIRS[0]}") >= 0.02'),
            60,
            600_000,
            after=("touch",),
            arguments=_PAIRS,
            init="touch",
        ),
    ),
    level="PushNextTo",
    program=table_program,
    settings=settings(
        n_steps=128, batch_size=512, n_epochs=5, learning_rate=1e-3, gamma=0.98, hidden=[64, 64], chain=240
    ),
)

WORDS: Mapping[str, Words] = {"ant": ANT, "table": TABLE}
