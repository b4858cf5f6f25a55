"""Stage 1, hypothesis: (I, prompt) -> (G, F). A model splits an instruction into subgoals with checks (SDG, 4.2).

Nothing is run here: checks are compiled behind the guard, so that a refusal is told while the model can still mend it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sdg.envs.domain import Domain
from sdg.envs.perception import api_text
from sdg.hypothesis.hypothesis import Feedback, Hypothesis
from sdg.llm.model import LanguageModel, Message, Sampling
from sdg.prompts.fill import conversation, fenced, numbered, one_line, text
from sdg.prompts.replies import CodeBlock, code_blocks, cut_off, functions_in, tidy
from sdg.prompts.sources import needed
from sdg.skills.checks.reward import compiled
from sdg.skills.sandbox.guard import Refused
from sdg.skills.subgoal import CheckFunction, Subgoal

MAX_GOALS = 40
MAX_REFUSALS = 5
"""Checks whose refusals are told in one turn."""

_GOAL_LINE = re.compile(
    r"^[ \t>#*_-]*(?:goal|subgoal|sub-goal|step)[ \t]*#?(\d+)?[ \t]*[*_]*[ \t]*[:.)–—-][ \t*_]*(.*?)[ \t*_]*$",
    re.IGNORECASE | re.MULTILINE,
)
_GOAL_HEADING = re.compile(
    r"^[ \t>#*_-]*(?:goal|subgoal|sub-goal|step)[ \t]*#?(\d+)?[ \t*_:.)–—-]*\n"
    r"[ \t>*_-]*(?!def[ \t])([^\s`~#>*_-][^\n`]*?)[ \t*_]*$",
    re.IGNORECASE | re.MULTILINE,
)
"""A goal's number on one line, its text on the next."""
_NUMBER_LINE = re.compile(r"^[ \t*_]*(\d+)[ \t]*[.):][ \t*_]*(.*?)[ \t*_]*$", re.MULTILINE)
_WRAPPING = re.compile(
    r"\A\s*(?:`{3,}|~{3,})[ \t]*(?:markdown|md|text|plaintext|txt)?[ \t]*\n"
    r"(?=(?:(?!```|~~~).*\n)+[ \t>]*(?:```|~~~)[ \t]*py)"
)
"""A fence around the whole answer, with the fences of its code inside."""
_CHECK_NAME = re.compile(r"check\w*|goal\w*|is_\w+|f_?\d+", re.IGNORECASE)


class HypothesisError(ValueError):
    """The model's reply holds no hypothesis, also after a repair turn; the message says what is wrong with it."""

    def __init__(self, problem: str, reply: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.reply = reply


@dataclass(frozen=True, slots=True)
class _Goal:
    """A goal line of a reply, its number ("" for none) and the stretch of text that belongs to it."""

    number: str
    text: str
    start: int
    end: int


def hypothesize(
    instruction: str,
    *,
    model: LanguageModel,
    domain: Domain,
    sampling: Sampling = Sampling(),
    feedback: Feedback | None = None,
    skills: str = "",
    repairs: int = 1,
) -> Hypothesis:
    """Ask `model` how `instruction` unfolds; a reply that can't be read gets up to `repairs` turns to be put right.

    `skills` are those that an earlier cycle learned, a line each ("" for none).
    Raises HypothesisError when no reply can be read, and whatever `model.complete` raises.
    """
    messages = list(prompt(instruction, domain=domain, feedback=feedback, skills=skills))
    for turn in range(repairs + 1):
        reply = model.complete(messages, sampling=sampling)
        try:
            hypothesis = parse(reply.text, instruction=instruction)
            problem = _refusals(hypothesis, domain)
            if not problem or turn == repairs:
                return hypothesis
        except HypothesisError as error:
            problem = f"{error.problem} {cut_off(reply, sampling.max_tokens)}".rstrip()
            if turn == repairs:
                raise HypothesisError(problem, reply.text) from None
        messages += [Message("assistant", tidy(reply.text) or "(nothing)"), *_repair_turn(problem)]
    raise AssertionError("the loop above returns or raises")


def prompt(
    instruction: str, *, domain: Domain, feedback: Feedback | None = None, skills: str = ""
) -> tuple[Message, ...]:
    """The conversation that asks for a hypothesis: role, tasks, perception functions and format, then the task."""
    told = "" if feedback is None else _told(feedback)
    if skills:
        told += "\n" + text("hypothesis_skills", skills=skills) + "\n"
    task = fenced(one_line(instruction, 1000))
    return conversation(
        "hypothesis",
        instruction=task,
        role=domain.texts["role"],
        unfolding=domain.texts["unfolding"],
        perception_api=api_text(domain.perceivable.about, domain.perceivable.functions),
        feedback=told,
    )


def parse(reply: str, *, instruction: str) -> Hypothesis:
    """Read goals and check functions out of a reply. Raises HypothesisError with what is missing.

    Prose around them, other fence languages, missing numbers and several code blocks for a goal are put up with: of
    several blocks the last that defines a function counts. So are goals that are listed first and told again with their
    checks, checks of several goals in one block, and helpers that stand with another goal. A goal line without a check
    function is an error.
    """
    clean = _WRAPPING.sub("", tidy(reply))
    if not clean.strip():
        raise HypothesisError("The answer is empty.", reply)
    blocks = code_blocks(clean)
    goals = _told_once(_goals(clean, blocks), blocks)
    if not goals:
        raise HypothesisError('There is no line "Goal 1: ...".', reply)
    if len(goals) > MAX_GOALS:
        raise HypothesisError(f"There are {len(goals)} goals; at most {MAX_GOALS} are allowed.", reply)
    subgoals = [_subgoal(goal, number, blocks=blocks, reply=clean) for number, goal in enumerate(goals, 1)]
    return Hypothesis(instruction, tuple(subgoals))


def _told(feedback: Feedback) -> str:
    shown = {"number": str(feedback.failed_goal + 1), "subgoals": fenced(numbered(feedback.subgoals))}
    return "\n" + text("hypothesis_feedback", reason=fenced(feedback.reason), **shown) + "\n"


def _refusals(hypothesis: Hypothesis, domain: Domain) -> str:
    """What the guard says of the checks that it refuses, all at once: there are few turns to mend them."""
    told = []
    for number, subgoal in enumerate(hypothesis.subgoals, 1):
        try:
            compiled(subgoal.check, domain)
        except Refused as refusal:
            told.append(f"The check of goal {number} was refused: {one_line(str(refusal))}")
    return "\n".join(told[:MAX_REFUSALS])


def _repair_turn(problem: str) -> tuple[Message, ...]:
    return conversation("hypothesis_repair", problem="\n".join(map(one_line, problem.split("\n"))))


def _goals(reply: str, blocks: Sequence[CodeBlock]) -> list[_Goal]:
    """The goal lines outside of code; where there are none, those that are comments in it."""

    def outside(match: re.Match[str]) -> bool:
        return not any(block.start <= match.start() < block.end for block in blocks)

    for pattern in (_GOAL_LINE, _GOAL_HEADING, _NUMBER_LINE):
        found = [match for match in pattern.finditer(reply) if match.group(2).strip() and outside(match)]
        if found:
            return _spans(found, len(reply))
    return _spans([match for match in _GOAL_LINE.finditer(reply) if match.group(2).strip()], len(reply))


def _spans(lines: Sequence[re.Match[str]], end: int) -> list[_Goal]:
    stops = [match.start() for match in lines[1:]] + [end] * bool(lines)
    return [
        _Goal(match.group(1) or "", one_line(match.group(2)), match.end(), stop)
        for match, stop in zip(lines, stops, strict=True)
    ]


def _told_once(goals: Sequence[_Goal], blocks: Sequence[CodeBlock]) -> list[_Goal]:
    """Without the goals that have no code where the same number has: a list before the checks, or notes after them."""
    with_code = {goal.number for goal in goals if goal.number and _blocks_of(goal, blocks)}
    return [goal for goal in goals if goal.number not in with_code or _blocks_of(goal, blocks)]


def _blocks_of(goal: _Goal, blocks: Sequence[CodeBlock]) -> list[str]:
    texts = [block.text for block in blocks if goal.start <= block.start < goal.end]
    return [source for source in texts if functions_in(source)]


def _subgoal(goal: _Goal, number: int, *, blocks: Sequence[CodeBlock], reply: str) -> Subgoal:
    named = [block.text for block in blocks if f"check_{number}" in functions_in(block.text)]
    sources = _blocks_of(goal, blocks) or _unfenced(reply[goal.start : goal.end]) or named
    if not sources:
        raise HypothesisError(f"Goal {number} ({goal.text!r}) has no check function in a ```python block.", reply)
    name = _check_name(sources[-1], number)
    source = needed(sources[-1], name, others=[block.text for block in blocks])
    return Subgoal(goal.text, CheckFunction(name, source))


def _unfenced(stretch: str) -> list[str]:
    """Functions written without a fence: the def line and the indented lines that follow."""
    return [match.group(0).rstrip() for match in re.finditer(r"^def .*\n(?:(?:[ \t]+.*)?\n?)*", stretch, re.MULTILINE)]


def _check_name(source: str, number: int) -> str:
    names = functions_in(source)
    if f"check_{number}" in names:
        return f"check_{number}"
    likely = [name for name in names if _CHECK_NAME.fullmatch(name)]
    return (likely or list(names))[-1]
