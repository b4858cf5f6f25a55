"""Stage 1, hypothesis: (I, prompt) -> (G, F). A model splits an instruction into subgoals with checks (SDG, 4.2).

Nothing is run here: checks are compiled behind the guard by whoever tests them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sdg.hypothesis import Feedback, Hypothesis
from sdg.llm.model import LanguageModel, Message, Sampling
from sdg.prompting import conversation, fenced, numbered, one_line, text
from sdg.replies import CodeBlock, code_blocks, functions_in, tidy
from skills.subgoal import CheckFunction, Subgoal

MAX_GOALS = 40

_GOAL_LINE = re.compile(
    r"^[ \t>#*_-]*(?:goal|subgoal|sub-goal|step)[ \t]*#?(\d+)?[ \t]*[*_]*[ \t]*[:.)–-][ \t*_]*(.*?)[ \t*_]*$",
    re.IGNORECASE | re.MULTILINE,
)
_NUMBER_LINE = re.compile(r"^[ \t*_]*(\d+)[ \t]*[.):][ \t*_]*(.*?)[ \t*_]*$", re.MULTILINE)
_CHECK_NAME = re.compile(r"check\w*|goal\w*|is_\w+|f_?\d+", re.IGNORECASE)


class HypothesisError(ValueError):
    """The model's reply holds no hypothesis, also after a repair turn; the message says what is wrong with it."""

    def __init__(self, problem: str, reply: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.reply = reply


@dataclass(frozen=True, slots=True)
class _Goal:
    """A goal line of a reply and the stretch of text that belongs to it."""

    text: str
    start: int
    end: int


def hypothesize(
    instruction: str,
    *,
    model: LanguageModel,
    perception_api: str,
    sampling: Sampling = Sampling(),
    feedback: Feedback | None = None,
    skills: str = "",
    repairs: int = 1,
) -> Hypothesis:
    """Ask `model` how `instruction` unfolds; a reply that can't be read gets up to `repairs` turns to be put right.

    `skills` are those that an earlier cycle learned, a line each ("" for none).
    Raises HypothesisError when no reply can be read, and whatever `model.complete` raises.
    """
    messages = list(prompt(instruction, perception_api=perception_api, feedback=feedback, skills=skills))
    for turn in range(repairs + 1):
        reply = model.complete(messages, sampling=sampling).text
        try:
            return parse(reply, instruction=instruction)
        except HypothesisError as error:
            if turn == repairs:
                raise
            messages += [Message("assistant", reply or "(nothing)"), *_repair_turn(error)]
    raise AssertionError("the loop above returns or raises")


def prompt(
    instruction: str, *, perception_api: str, feedback: Feedback | None = None, skills: str = ""
) -> tuple[Message, ...]:
    """The conversation that asks for a hypothesis: role, tasks, perception functions and format, then the task."""
    told = "" if feedback is None else _told(feedback)
    if skills:
        told += "\n" + text("hypothesis_skills", skills=skills) + "\n"
    task = fenced(one_line(instruction, 1000))
    return conversation("hypothesis", instruction=task, perception_api=perception_api, feedback=told)


def parse(reply: str, *, instruction: str) -> Hypothesis:
    """Read goals and check functions out of a reply. Raises HypothesisError with what is missing.

    Prose around them, other fence languages, missing numbers and several code blocks for a goal are put up with: of
    several blocks the last that defines a function counts. A goal line without a check function is an error.
    """
    clean = tidy(reply)
    if not clean.strip():
        raise HypothesisError("The answer is empty.", reply)
    goals = _goals(clean)
    if not goals:
        raise HypothesisError('There is no line "Goal 1: ...".', reply)
    if len(goals) > MAX_GOALS:
        raise HypothesisError(f"There are {len(goals)} goals; at most {MAX_GOALS} are allowed.", reply)
    blocks = code_blocks(clean)
    subgoals = [_subgoal(goal, number, blocks=blocks, reply=clean) for number, goal in enumerate(goals, 1)]
    return Hypothesis(instruction, tuple(subgoals))


def _told(feedback: Feedback) -> str:
    shown = {"number": str(feedback.failed_goal + 1), "subgoals": fenced(numbered(feedback.subgoals))}
    return "\n" + text("hypothesis_feedback", reason=fenced(feedback.reason), **shown) + "\n"


def _repair_turn(error: HypothesisError) -> tuple[Message, ...]:
    return conversation("hypothesis_repair", problem=one_line(error.problem))


def _goals(reply: str) -> list[_Goal]:
    fences = [(block.start, block.end) for block in code_blocks(reply)]

    def outside(match: re.Match[str]) -> bool:
        return bool(match.group(2).strip()) and not any(start <= match.start() < end for start, end in fences)

    for pattern in (_GOAL_LINE, _NUMBER_LINE):
        found = [match for match in pattern.finditer(reply) if outside(match)]
        if found:
            return _spans(found, len(reply))
    return []


def _spans(lines: Sequence[re.Match[str]], end: int) -> list[_Goal]:
    stops = [match.start() for match in lines[1:]] + [end]
    return [_Goal(one_line(match.group(2)), match.end(), stop) for match, stop in zip(lines, stops, strict=True)]


def _subgoal(goal: _Goal, number: int, *, blocks: Sequence[CodeBlock], reply: str) -> Subgoal:
    sources = [block.text for block in blocks if goal.start <= block.start < goal.end]
    sources = [source for source in sources if functions_in(source)]
    if not sources:
        sources = _unfenced(reply[goal.start : goal.end])
    if not sources:
        raise HypothesisError(f"Goal {number} ({goal.text!r}) has no check function in a ```python block.", reply)
    source = sources[-1]
    return Subgoal(goal.text, CheckFunction(_check_name(source, number), source))


def _unfenced(stretch: str) -> list[str]:
    """Functions written without a fence: the def line and the indented lines that follow."""
    return [match.group(0).rstrip() for match in re.finditer(r"^def .*\n(?:(?:[ \t]+.*)?\n?)*", stretch, re.MULTILINE)]


def _check_name(source: str, number: int) -> str:
    names = functions_in(source)
    if f"check_{number}" in names:
        return f"check_{number}"
    likely = [name for name in names if _CHECK_NAME.fullmatch(name)]
    return (likely or list(names))[-1]
