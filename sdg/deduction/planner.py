"""How a planner is asked for programs: the prompts of `sdg/prompts` with a library's skills and the perception text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sdg.deduction.deduce import Failure
from sdg.deduction.protocols import Skill
from sdg.envs.domain import Domain
from sdg.envs.perception import api_text
from sdg.llm.model import Message
from sdg.prompts.fill import fenced, one_line, text

MAX_EXAMPLES = 10
MAX_CALLS = 40
PARAMETER = "thing"


@dataclass(frozen=True, slots=True)
class Prompts:
    """The generation and debug prompts (SDG, section 4.5) for a domain."""

    domain: Domain

    def generate(self, instruction: str, *, skills: Sequence[Skill]) -> tuple[Message, ...]:
        """Role, skills, perception functions, worked example, hints, output format; then the instruction as data."""
        return self._asked(skills, text("program", instruction=_task(instruction)))

    def debug(self, instruction: str, *, skills: Sequence[Skill], failure: Failure) -> tuple[Message, ...]:
        """The same rules; then instruction, failed program, its error, its calls, what is known now, and hints."""
        calls = [one_line(call) for call in failure.calls[-MAX_CALLS:]]
        left_out = len(failure.calls) - len(calls)
        shown = [f"({left_out} earlier calls are left out)"] * bool(left_out) + calls
        told = text(
            "debug",
            instruction=_task(instruction),
            program=fenced(failure.program, "python"),
            error=fenced(failure.error),
            calls=fenced("\n".join(shown) or "none"),
            state=fenced(failure.state),
            steps_left=str(failure.steps_left),
            hints=self.domain.texts["debug"],
        )
        return self._asked(skills, told)

    def _asked(self, skills: Sequence[Skill], task: str) -> tuple[Message, ...]:
        # One turn: some servers' chat templates refuse two user turns in a row.
        listed = "\n".join(describe_skill(skill) for skill in skills)
        texts = self.domain.texts
        rules = text(
            "planner",
            skills=listed,
            perception_api=program_api(self.domain),
            thing=self.domain.language.example,
            role=texts["role"],
            programs=texts["programs"],
            example=texts["example"] or "There is none for this world.",
        )
        return (Message("user", f"{rules}\n\n{task}"),)


def program_api(domain: Domain) -> str:
    """What programs may ask: the perception functions, and the function that makes the agent forget where it was."""
    perception = api_text(domain.perceivable.about, domain.perceivable.functions)
    return f"{perception}\n{domain.forgets}(): {domain.texts['forgets']}" if domain.forgets else perception


def describe_skill(skill: Skill) -> str:
    """`name(thing): what it does, subgoals it reaches, success rate`, on one line."""
    examples = ", ".join(f'"{_quotable(example)}"' for example in varied(skill.examples))
    parts = [
        _sentence(skill.description) if not examples else "",
        f"Reaches subgoals such as {examples}." if examples else "",
        _success(skill),
    ]
    signature = f"{skill.name}({PARAMETER if skill.takes_argument else ''})"
    return f"{signature}: {' '.join(part for part in parts if part)}"


def varied(examples: Sequence[str]) -> tuple[str, ...]:
    """At most MAX_EXAMPLES of the examples, one for each beginning of two words first, then the rest in order."""
    first = {" ".join(example.split()[:2]): example for example in reversed(examples)}
    leading = [example for example in dict.fromkeys(examples) if example in first.values()]
    return tuple(dict.fromkeys([*leading, *examples]))[:MAX_EXAMPLES]


def _success(skill: Skill) -> str:
    rate = getattr(skill, "success_rate", None)
    return f"Succeeds in {100 * rate:.0f} % of trials." if isinstance(rate, float) else ""


def _sentence(description: str) -> str:
    plain = one_line(description).rstrip(".")
    return f"{plain[:1].upper()}{plain[1:]}." if plain else ""


def _quotable(example: str) -> str:
    return one_line(example, 100).replace('"', "'")


def _task(instruction: str) -> str:
    return fenced(one_line(instruction, 1000))


__all__ = ["Prompts", "describe_skill", "program_api", "varied"]
