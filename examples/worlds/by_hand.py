"""Words by hand in place of a language model's, for the worlds of torques: `--llm examples.worlds.by_hand:TABLE`.

What is answered here was written by a person who knows the worlds. It shows that the four stages go through, with
checks that teach torques and programs that live with a body; it says nothing of what a language model would write.
"""

from collections.abc import Callable, Sequence
from typing import Any

from sdg.envs.table.language import THINGS, actions_of
from sdg.experiments.bench.worlds.words import PUSH

FENCE = "```"
NEAR = {"touch": 0.085, "to": 0.075, "next": 0.125, "away": 0.3}


class ByHand:
    """A model (`sdg.llm.registry`) whose every answer is made by hand: hypotheses, names of skills, programs."""

    network = False

    def __init__(self, goals: Callable[[str, str], list[tuple[str, str]]], program: Callable[[str], str]) -> None:
        self._goals, self._program = goals, program

    def complete(self, messages: Sequence[Any]) -> str:
        """The answer; the same again where it is asked to mend one."""
        asked = "\n\n".join(message.content for message in messages)
        if "## Task to split into goals" in asked:
            return reply_with_goals(self._goals(fenced_after(asked, "## Task to split"), asked))
        if "## Subgoals to translate" in asked:
            lines = fenced_after(asked, "## Subgoals to translate").splitlines()
            return "\n".join(f"{line.split('.')[0]}. {call_of(line.split('. ', 1)[1])}" for line in lines)
        return f"{FENCE}python\n{self._program(fenced_after(asked, '## Instruction to carry out'))}\n{FENCE}"


def fenced_after(text: str, heading: str) -> str:
    """What the first block after a heading holds."""
    return text.split(heading, 1)[1].split(FENCE, 2)[1].partition("\n")[2].strip()


def reply_with_goals(goals: list[tuple[str, str]]) -> str:
    """Goals and the expressions of their checks, in the format asked for."""
    return "\n".join(
        f"Goal {n}: {said}\n{FENCE}python\ndef check_{n}():\n    return {check}\n{FENCE}"
        for n, (said, check) in enumerate(goals, 1)
    )


def call_of(subgoal: str) -> str:
    """A subgoal as `name | argument`: they are all worded as "do this: argument"."""
    verb, _, argument = subgoal.partition(": ")
    return f"{verb.replace(' ', '_')} | {argument}"


def table_goals(mission: str, asked: str) -> list[tuple[str, str]]:
    """Come nearer to the block, touch it, push it a little, push it all the way."""
    goals = []
    for action in actions_of(mission):
        block = THINGS[action.block]
        touched = f'distance("{block}") <= {NEAR["touch"]}'
        goals.append((f"approach: {block}", f'progress("{block}") >= 0.1 or {touched}'))
        goals.append((f"touch: {block}", touched))
        if action.verb == "touch":
            continue
        pair = f"{block} {'from' if action.verb == 'away' else 'to'} {THINGS[action.other]}"
        there = f'distance("{pair}") {">=" if action.verb == "away" else "<="} {NEAR[action.verb]}'
        goals.append((f"push a little: {pair}", f'progress("{pair}") >= 0.02'))
        goals.append((f"push all the way: {pair}", there))
    return goals


def table_program(mission: str) -> str:
    """The program of the benchmark, by the names that the skills have here."""
    actions = [(a.verb, THINGS[a.block], THINGS[a.other], NEAR[a.verb]) for a in actions_of(mission)]
    pushed = "push_a_little(pair)" if "push" in mission else "touch(block)"  # a skill that isn't there can't be named
    return PUSH.substitute(actions=actions).replace("push(pair)", pushed)


def ant_goals(mission: str, asked: str) -> list[tuple[str, str]]:
    """Nearer to each spot, then there."""
    spots = ["goal"] if "goal" in mission else [f"{word} spot" for word in mission.split() if word in _COLOURS]
    if "isn't" in mission:
        spots = [next(f"{colour} spot" for colour in _COLOURS if f"{colour} spot" not in spots)]
    goals = []
    for place in spots:
        goals.append((f"get nearer: {place}", f'nearer("{place}") >= 0.25 or distance("{place}") <= 0.45'))
        goals.append((f"reach: {place}", f'distance("{place}") <= 0.45'))
    return goals


_COLOURS = ("red", "green", "blue", "yellow")


def ant_program(mission: str) -> str:
    """A little nearer and a little nearer to each spot; nobody gets up."""
    spots = [goal.split(": ")[1] for goal, _ in ant_goals(mission, "") if goal.startswith("reach")]
    return f"""def program():
    for name in {spots}:
        for turn in range(500):
            if distance(name) <= 0.4 or not is_upright():
                break
            get_nearer(name)
"""


ANT = ByHand(ant_goals, ant_program)
TABLE = ByHand(table_goals, table_program)
