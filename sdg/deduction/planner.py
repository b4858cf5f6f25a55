"""How a planner is asked for programs: the prompts of `sdg/prompts` with a library's skills and the perception text.

What doesn't change from prompt to prompt comes first and is the same byte for byte, so that servers can cache it; the
instruction, its limits and what went wrong come last.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from sdg.deduction.episode import Interaction
from sdg.deduction.program import Call, ProgramLimits
from sdg.deduction.protocols import Documented, Primitive
from sdg.envs.domain import Domain
from sdg.envs.world import api_text
from sdg.llm.model import Message
from sdg.prompts.fill import conversation, fence, one_line, text

MAX_EXAMPLES, MAX_EXAMPLE_CHARS = 2, 200
FIRST_CALLS, LAST_CALLS, MAX_FAILED_CALLS = 4, 8, 16
"""Calls that a debug prompt lists one by one: the first, the last, and the latest failed ones in between."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """The generation and debug prompts (SDG, section 4.5) for a domain."""

    domain: Domain

    def ask(
        self,
        instruction: str,
        *,
        skills: Sequence[Documented],
        limits: ProgramLimits,
        failure: Interaction | None = None,
    ) -> tuple[Message, ...]:
        """The conversation whose reply should hold a program: role, rules, skills, perception functions, example and
        output format; then the instruction as data, with what is known now, and after a failure the failed program, its
        error and its calls."""
        values = {
            "steps": str(limits.steps),
            "programs": str(limits.programs),
            "state": fence(failure.state if failure is not None else limits.state or "nothing"),
        }
        if failure is not None:
            lines = [f"{number:3} {line}".rstrip() for number, line in enumerate(failure.program.splitlines(), start=1)]
            values |= {
                "program": fence("\n".join(lines), "python"),
                "error": fence(failure.error),
                "calls": fence("\n".join(call_lines(failure.calls)) or "none"),
                "began": str(failure.began),
                "ended": str(failure.ended),
            }
        task = text("program" if failure is None else "debug", instruction=fence(one_line(instruction, 1000)), **values)
        # One turn: some servers' chat templates refuse two user turns in a row.
        return (Message("user", f"{self.rules(skills, budget=limits.budget, attempts=limits.attempts)}\n\n{task}"),)

    def mend(self, messages: Sequence[Message], *, reply: str, problem: str) -> tuple[Message, ...]:
        """The conversation with the reply that couldn't be used and why."""
        return (
            *messages,
            Message("assistant", reply or "(nothing)"),
            *conversation("program_repair", problem=fence(problem)),
        )

    def rules(self, skills: Sequence[Documented], *, budget: int, attempts: int) -> str:
        """The part of prompts that all instructions share. A skill call makes `attempts` tries before it gives up."""
        texts = self.domain.texts
        are_actions = bool(skills) and all(isinstance(skill, Primitive) for skill in skills)
        kind = "actions" if are_actions else "skills"
        example = texts["moves_example" if are_actions else "example"]
        tries = "a few tries" if attempts > 1 else "one try"
        return text(
            "planner",
            calls=kind,
            heading=kind.capitalize(),
            usage=text("moves") if are_actions else text("skills", thing=self.domain.language.example, tries=tries),
            skills="\n".join(describe_skill(skill) for skill in skills),
            perception_api=program_api(self.domain),
            role=texts["role"],
            judging=texts["judging"] or "- The world itself tells when the instruction is carried out.",
            programs=texts["moves" if are_actions else "programs"],
            example=f"## An example\n\n{example}\n\n" if example else "",
            budget=f"{budget:,}",
        )


def program_api(domain: Domain) -> str:
    """The perception functions that programs may call: all but those about a current subgoal, which only checks use."""
    names = [name for name in domain.perceivable.functions if name not in domain.perceivable.for_checks]
    return api_text(domain.perceivable.about, domain.perceivable.functions, names)


def describe_skill(skill: Documented) -> str:
    """`name(thing): two of its subgoals, its description, success rate`, on one line; then the check that ends a call,
    where the skill has that text."""
    examples = ", ".join(
        '"' + one_line(example, MAX_EXAMPLE_CHARS).replace('"', "'") + '"'
        for example in pick_varied([_unconditional(example) for example in skill.examples])
    )
    description = one_line(skill.description).rstrip(".")
    rate = getattr(skill, "success_rate", None)
    sentences = [
        f"{examples}." if examples else "",
        f"{description[:1].upper()}{description[1:]}." if description else "",
        f"{100 * rate:.0f} % of trials succeeded." if isinstance(rate, float) else "",
    ]
    parameters = getattr(skill, "parameters", ("thing",) if skill.takes_argument else ())
    line = f"{skill.name}({', '.join(parameters)}): {' '.join(filter(None, sentences))}"
    return "\n".join(filter(None, (line, getattr(skill, "ends_when", ""))))


def pick_varied(examples: Sequence[str]) -> tuple[str, ...]:
    """At most MAX_EXAMPLES of the examples, first one for each distinct pair of first words, then the rest in order."""
    first = {" ".join(example.split()[:2]): example for example in reversed(examples)}
    distinct = [example for example in dict.fromkeys(examples) if example in first.values()]
    return tuple(dict.fromkeys([*distinct, *examples]))[:MAX_EXAMPLES]


def call_lines(calls: Sequence[Call]) -> Iterator[str]:
    """The first, last and failed calls, one a line; equal calls in a row share a line, the rest are only counted."""
    runs = [
        list(group)
        for _, group in groupby(calls, key=lambda call: (call.command, call.success, call.message, call.lines))
    ]
    failures = [n for n, run in enumerate(runs) if not run[0].success and FIRST_CALLS <= n < len(runs) - LAST_CALLS]
    # The last call for each reason.
    failures = sorted({(runs[n][0].command, runs[n][0].message): n for n in failures}.values())
    numbers = {*range(FIRST_CALLS), *range(len(runs) - LAST_CALLS, len(runs)), *failures[-MAX_FAILED_CALLS:]}
    for is_shown, group in groupby(enumerate(runs), key=lambda numbered: numbered[0] in numbers):
        group_runs = [run for _, run in group]
        for run in group_runs if is_shown else ():
            count = f"{len(run)} times alike, {sum(call.steps for call in run)} steps in all: " if len(run) > 1 else ""
            yield one_line(f"{count}{run[0]}")
        if not is_shown:
            left_out = [call for run in group_runs for call in run]
            yield f"({len(left_out)} calls, {sum(call.steps for call in left_out)} steps)"


def _unconditional(example: str) -> str:
    """A subgoal without its leading "unless ...: ", because a skill has no such condition."""
    if example[:7].lower().startswith(("if ", "unless ")):
        for sign in (": ", ", "):
            _, _, rest = example.partition(sign)
            if " " in rest:
                return rest
    return example
