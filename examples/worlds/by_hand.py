"""Words by hand in place of a language model's, for the worlds of torques: `--llm examples.worlds.by_hand:TABLE`.

A person who knows the worlds wrote these answers. They show that the four stages go through, with checks that teach
torques and programs that live with a body; they don't show what a language model would write.
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
        """The answer; the same again where the prompt asks to mend one."""
        prompt = "\n\n".join(message.content for message in messages)
        if "## Task to split into goals" in prompt:
            return reply_with_goals(self._goals(fenced_after(prompt, "## Task to split"), prompt))
        if "## Subgoals to translate" in prompt:
            lines = fenced_after(prompt, "## Subgoals to translate").splitlines()
            numbered = [line.split(". ", 1) for line in lines]
            return "\n".join(f"{number}. {call_of(subgoal)}" for number, subgoal in numbered)
        program = self._program(fenced_after(prompt, "## Instruction to carry out"))
        return f"{FENCE}python\n{program}\n{FENCE}"


def fenced_after(text: str, heading: str) -> str:
    """The text in the first fence after a heading."""
    return text.split(heading, 1)[1].split(FENCE, 2)[1].partition("\n")[2].strip()


def reply_with_goals(goals: list[tuple[str, str]]) -> str:
    """Goals and the expressions of their checks, in the format asked for."""
    return "\n".join(
        f"Goal {n}: {goal}\n{FENCE}python\ndef check_{n}():\n    return {check}\n{FENCE}"
        for n, (goal, check) in enumerate(goals, 1)
    )


def call_of(subgoal: str) -> str:
    """A subgoal as `name | argument`: they are all worded as "do this: argument"."""
    verb, _, argument = subgoal.partition(": ")
    return f"{verb.replace(' ', '_')} | {argument}"


def table_goals(mission: str, prompt: str) -> list[tuple[str, str]]:
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
    actions = [
        (action.verb, THINGS[action.block], THINGS[action.other], NEAR[action.verb]) for action in actions_of(mission)
    ]
    call = "push_a_little(pair)" if "push" in mission else "touch(block)"  # a program can't name a missing skill
    return PUSH.substitute(actions=actions).replace("push(pair)", call)


def ant_goals(mission: str, prompt: str) -> list[tuple[str, str]]:
    """Nearer to each spot, then there."""
    spots = ["goal"] if "goal" in mission else [f"{word} spot" for word in mission.split() if word in _COLOURS]
    if "isn't" in mission:
        spots = [next(f"{colour} spot" for colour in _COLOURS if f"{colour} spot" not in spots)]
    goals = []
    for spot in spots:
        goals.append((f"get nearer: {spot}", f'nearer("{spot}") >= 0.25 or distance("{spot}") <= 0.45'))
        goals.append((f"reach: {spot}", f'distance("{spot}") <= 0.45'))
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
