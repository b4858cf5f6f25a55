"""Stage 1, hypothesis: (I, prompt) -> (G, F). A model splits an instruction into subgoals with checks (SDG, 4.2).

Nothing runs here. The guard compiles the checks, so that the model can repair those that are refused.
"""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice

from sdg.envs.domain import Domain
from sdg.envs.world import api_text
from sdg.errors import SDGError
from sdg.hypothesis.hypothesis import Feedback, Hypothesis
from sdg.llm.model import LanguageModel, Message, Sampling
from sdg.prompts.fill import conversation, fence, number_lines, one_line, text
from sdg.prompts.replies import CodeBlock, code_blocks, cut_off, fence_of, functions_in, leading_number, tidy
from sdg.prompts.sources import parts_of, prune_source
from sdg.sandbox.guard import Refused
from sdg.skills.checks.check import compile_check
from sdg.skills.subgoal import CheckFunction, Subgoal

MAX_GOALS = 40
MAX_REFUSALS = 5
"""The most checks whose refusals one repair turn reports."""
CHECKED_BY, SEEN = "Its check:", "What the robot knew where it got stuck:"
"""The lines before the failed goal's check and before the robot's final view, in the report of a failure."""

_WORDS = ("subgoal", "sub-goal", "goal", "step")
_MARKS = " \t*_"
_SIGNS = ":.)\u2013\u2014-"
_WRAPPINGS = frozenset({"", "markdown", "md", "text", "plaintext", "txt"})


class HypothesisError(SDGError, ValueError):
    """The model's reply holds no hypothesis, also after a repair turn; the message says what is wrong with it."""


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
    repairs: int = 2,
    horizon: int = 150,
) -> Hypothesis:
    """Ask `model` how `instruction` unfolds; a reply that can't be read gets up to `repairs` repair turns.

    `skills` are those that an earlier cycle learned, a line each ("" for none); `horizon` is how many steps a goal may
    take where goals are learned.
    Raises HypothesisError when no reply can be read, and whatever `model.complete` raises.
    """
    messages = list(prompt(instruction, domain=domain, feedback=feedback, skills=skills, horizon=horizon))
    for turn in range(repairs + 1):
        reply = model.complete(messages, sampling=sampling)
        try:
            hypothesis = parse(reply.text, instruction=instruction, given=domain.perceivable.functions)
            # All refusals of the guard at once, because there are few turns to mend the checks.
            refusals = []
            for number, subgoal in enumerate(hypothesis.subgoals, 1):
                try:
                    compile_check(subgoal.check, domain)
                except Refused as refusal:
                    refusals.append(f"The check of goal {number} was refused: {one_line(str(refusal))}")
            problem = "\n".join(refusals[:MAX_REFUSALS])
            if not problem or turn == repairs:
                return hypothesis
        except HypothesisError as error:
            problem = f"{error} {cut_off(reply, sampling.max_tokens)}".rstrip()
            if turn == repairs:
                raise HypothesisError(problem) from None
        repair = conversation("hypothesis_repair", problem="\n".join(map(one_line, problem.split("\n"))))
        messages += [Message("assistant", tidy(reply.text) or "(nothing)"), *repair]
    raise AssertionError("the loop above returns or raises")


def prompt(
    instruction: str, *, domain: Domain, feedback: Feedback | None = None, skills: str = "", horizon: int = 150
) -> tuple[Message, ...]:
    """The conversation that asks for a hypothesis: role, tasks, perception functions and format, then the task."""
    more = "" if feedback is None else _feedback_text(feedback)
    uses_torques = domain.can.practises and domain.inputs.bounds is not None
    if skills:
        more += "\n" + text("hypothesis_skills", skills=skills) + "\n"
    return conversation(
        "hypothesis",
        instruction=fence(one_line(instruction, 1000)),
        role=domain.texts["role"],
        unfolding=domain.texts["unfolding"]
        # Where actions are real numbers, checks have to be such as can be learned.
        + ("\n" + text("hypothesis_learned", horizon=str(horizon)) if uses_torques else ""),
        perception_api=api_text(domain.perceivable.about, domain.perceivable.functions),
        feedback=more,
        most=str(MAX_GOALS),
    )


def parse(reply: str, *, instruction: str, given: Collection[str] = ()) -> Hypothesis:
    """Read goals and check functions out of a reply. Raises HypothesisError with what is missing.

    It accepts prose around them, other fence languages, missing numbers and several code blocks for a goal, of which
    the last that defines a function counts. It also accepts goals that are listed first and repeated with their checks,
    checks of several goals in one block, and helpers beside another goal. A goal line without a check function is an
    error.
    """
    clean = _without_outer_fence(tidy(reply))
    if not clean.strip():
        raise HypothesisError("The answer is empty.")
    blocks = code_blocks(clean)
    functions = [(block, functions_in(block.text)) for block in blocks]
    code = {
        goal: [block.text for block, names in functions if names and goal.start <= block.start < goal.end]
        for goal in _goals(clean, blocks)
    }
    # A list of goals before the checks, or notes after them, repeats goals that stand with their code elsewhere.
    numbers_with_code = {goal.number for goal in code if goal.number and code[goal]}
    goals = [goal for goal in code if code[goal] or goal.number not in numbers_with_code]
    if not goals:
        raise HypothesisError('There is no line "Goal 1: ...".')
    if len(goals) > MAX_GOALS:
        raise HypothesisError(f"There are {len(goals)} goals; at most {MAX_GOALS} are allowed.")
    subgoals = list[Subgoal]()
    parts = {block.text: parts_of(block.text) for block in blocks}
    for number, goal in enumerate(goals, 1):
        sources = (
            code[goal]
            or _bare_functions(clean[goal.start : goal.end])
            or [block.text for block, names in functions if f"check_{number}" in names]
        )
        if not sources:
            raise HypothesisError(f"Goal {number} ({goal.text!r}) has no check function in a ```python block.")
        name = _check_name(sources[-1], number)
        source = prune_source(sources[-1], name, parts=parts.get(sources[-1]), others=[*parts.values()], given=given)
        subgoals.append(Subgoal(goal.text, CheckFunction(name, source)))
    return Hypothesis(instruction, tuple(subgoals))


def _feedback_text(feedback: Feedback) -> str:
    parts = {"number": str(feedback.failed_goal + 1), "subgoals": fence(number_lines(feedback.subgoals))}
    observations = {CHECKED_BY: (feedback.check, "python"), SEEN: (feedback.seen, "text")}
    more = [f"{head}\n\n{fence(data, label)}\n\n" for head, (data, label) in observations.items() if data]
    return "\n" + text("hypothesis_feedback", reason=fence(feedback.reason), more="".join(more), **parts) + "\n"


def _goals(reply: str, blocks: Sequence[CodeBlock]) -> list[_Goal]:
    """The goal lines outside of code; where there are none, those that are comments in it."""
    lines, offsets = reply.split("\n"), [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line) + 1)
    inside = {
        place for block in blocks for place in range(bisect_left(offsets, block.start), bisect_left(offsets, block.end))
    }
    outside = [place for place in range(len(lines)) if place not in inside]
    for parse_line, places in (
        (_goal, outside),
        (_goal_on_two_lines, outside),
        (_list_item, outside),
        (_goal, range(len(lines))),
    ):
        goals = ((place, *goal) for place in places if (goal := parse_line(lines, place)) is not None)
        if matches := list(islice(goals, 5 * MAX_GOALS)):  # more than anybody asks for: the rest would only take time
            stops = [offsets[place] for place, *_ in matches[1:]] + [len(reply)]
            return [
                _Goal(number, one_line(words), offsets[place + n_lines] - 1, stop)
                for (place, number, words, n_lines), stop in zip(matches, stops, strict=True)
            ]
    return []


def _goal(lines: Sequence[str], place: int) -> tuple[str, str, int] | None:
    """Number, text and lines used of `Goal 1: ...`, however it is marked."""
    rest = lines[place].lstrip(" \t>#*_-")
    if not rest[:8].lower().startswith(_WORDS):
        return None
    word = next(word for word in _WORDS if rest[: len(word)].lower() == word)
    number, rest = leading_number(rest[len(word) :].lstrip(" \t").removeprefix("#"))
    rest = rest.lstrip(_MARKS)
    words = rest[1:].strip(_MARKS)
    return (number, words, 1) if rest and rest[0] in _SIGNS and words else None


def _goal_on_two_lines(lines: Sequence[str], place: int) -> tuple[str, str, int] | None:
    """A goal's number on one line, its text on the next."""
    words = lines[place + 1].lstrip(" \t>*_-") if place + 1 < len(lines) else ""
    if words.startswith(("def ", "def\t")) or words[:1] in ("", "`", "~", "#", ">") or "`" in words:
        return None
    goal = _goal([lines[place].rstrip(_MARKS + _SIGNS) + ": ."], 0)
    return (goal[0], words.strip(_MARKS), 2) if goal is not None and goal[1] == "." else None


def _list_item(lines: Sequence[str], place: int) -> tuple[str, str, int] | None:
    """`1. ...`"""
    number, rest = leading_number(lines[place].lstrip(_MARKS))
    rest = rest.lstrip(" \t")
    words = rest[1:].strip(_MARKS)
    return (number, words, 1) if number and rest[:1] in (".", ")", ":") and words else None


def _without_outer_fence(reply: str) -> str:
    """A reply without the fence around the whole of it, where there are fences of code inside."""
    first, _, rest = reply.lstrip().partition("\n")
    outer = fence_of(first)
    inner = next((opening for line in rest.split("\n")[1:] if (opening := fence_of(line))), None)
    is_wrapped = outer is not None and outer[1] in _WRAPPINGS
    return rest if is_wrapped and inner is not None and inner[1].startswith("py") else reply


def _bare_functions(stretch: str) -> list[str]:
    """Functions written without a fence: the def line and the indented lines that follow."""
    functions: list[list[str]] = []
    for line in stretch.split("\n"):
        if line.startswith("def "):
            functions.append([line])
        elif functions and functions[-1] and (line[:1] in (" ", "\t") or not line):
            functions[-1].append(line)
        elif functions:
            functions.append([])
    return [source for lines in functions if functions_in(source := "\n".join(lines).rstrip())]


def _check_name(source: str, number: int) -> str:
    names = functions_in(source)
    if f"check_{number}" in names:
        return f"check_{number}"
    return ([name for name in names if name.lower().startswith(("check", "goal", "is_"))] or list(names))[-1]
