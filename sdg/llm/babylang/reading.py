"""The rule-based planner's reader: of the conversation it uses the text and nothing else.

Sections are Markdown headings, data are fenced blocks, functions are signatures followed by their descriptions.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sdg.llm.babylang.grammar import meaning, type_of
from sdg.llm.model import Message

_FENCE = re.compile(r"^(`{3,})[^\n`]*\n(.*?)^\1\s*$", re.MULTILINE | re.DOTALL)
_SIGNATURE = re.compile(
    r"^[ \t]*(?:[-*][ \t]+)?`?(?:def[ \t]+)?([A-Za-z_]\w*)"
    r"\(([^()\n]*(?:\([^()\n]*\)[^()\n]*)*)\)[ \t]*(?:->[^\n:`]*)?[:`]?",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Function:
    """A function that a prompt offers: its name, the number of its arguments, and its description."""

    name: str
    arity: int
    description: str


def whole(messages: Sequence[Message]) -> str:
    """The conversation without the model's own turns."""
    return "\n\n".join(message.content for message in messages if message.role != "assistant")


def section(text: str, title: str) -> str:
    """The last section whose heading begins with `title` (any case), subsections included; "" when there is none."""
    body: list[str] | None = None
    level = 0
    for line, heading, depth in _lines(text):
        if heading is not None and heading.lower().startswith(title.lower()):
            body = []
            level = depth
        elif heading is not None and depth <= level:
            level = 0
        elif body is not None and level:
            body.append(line)
    return "\n".join(body or ())


def has_section(text: str, title: str) -> bool:
    """Whether a heading of `text` begins with `title` (any case)."""
    return any(heading is not None and heading.lower().startswith(title.lower()) for _, heading, _ in _lines(text))


def block(text: str) -> str:
    """The content of the first fenced block in `text`, or "" when there is none."""
    match = _FENCE.search(text)
    return match.group(2).strip("\n") if match else ""


def functions(text: str) -> tuple[Function, ...]:
    """Every function signature at the beginning of a line, with the text up to the next signature."""
    matches = list(_SIGNATURE.finditer(text))
    ends = [*(match.start() for match in matches[1:]), len(text)]
    offers = [_function(match, text[match.end() : end]) for match, end in zip(matches, ends, strict=False)]
    return tuple({function.name: function for function in offers}.values())


def _function(match: re.Match[str], description: str) -> Function:
    parameters = (text.split(":")[0].split("=")[0].strip() for text in re.split(r",(?![^\[\]]*\])", match.group(2)))
    paragraph = re.split(r"\n[ \t]*\n", description.lstrip("\n"), maxsplit=1)[0]
    arity = sum(parameter not in {"", "self", "*", "/"} for parameter in parameters)
    return Function(match.group(1), arity, paragraph.strip())


def _lines(text: str) -> Iterator[tuple[str, str | None, int]]:
    """Each line, its text as a heading (None for others) and its depth; lines in fenced blocks are no headings."""
    fence = ""
    for line in text.split("\n"):
        ticks = re.match(r"`{3,}", line)
        if fence or ticks:
            opened = fence or (ticks.group() if ticks else "")
            fence = "" if line.rstrip() == fence else opened
            yield line, None, 0
            continue
        heading = re.match(r"(#{1,6})\s+(.*\S)", line)
        yield (line, heading.group(2), len(heading.group(1))) if heading else (line, None, 0)


@dataclass(frozen=True, slots=True)
class Part:
    """A part that a function may play: how many arguments, and cues (pattern -> weight) in its description."""

    arity: int
    cues: Mapping[str, float]


PERCEPTION: Mapping[str, Part] = {
    "observed": Part(
        0, {r"\b(?:all|every)\b": 2, r"objects?\b": 1, r"\blist\b": 1, r"seen so far|observed": 2, r"\broom": -1}
    ),
    "find": Part(1, {r"match": 3, r"descri": 2, r"nearest": 2, r"\blist\b": 1}),
    "carried": Part(0, {r"\bcarr|\bholds?\b|in (?:its|the) hand": 4, r"\bNone\b": 1, r"\brecord": 1}),
    "facing": Part(
        0,
        {
            r"\bahead\b|in front|\bfac(?:es|ing)\b": 3,
            r"\bNone\b": 2,
            r"\brecord|\bobject or door": 1,
            r"\(x, y\)|coordinates": -4,
            r"\bcarr|\bholds?\b": -3,
        },
    ),
    "position": Part(
        0,
        {
            r"\(x, y\)|coordinates|position": 3,
            r"robot (?:is|stands)|of the robot|robot's": 2,
            r"\bahead\b|in front": -4,
            r"\broom": -1,
        },
    ),
    "front_position": Part(0, {r"\(x, y\)|coordinates|position": 3, r"\bahead\b|in front|\bfac": 3, r"\bNone\b": -2}),
    "is_free": Part(1, {r"\bTrue\b|whether": 2, r"\bfree\b|\bempty\b": 3, r"\bcell\b|position": 2, r"match": -3}),
    "room": Part(0, {r"number of the room": 5, r"\bcurrent\b|robot is in": 1, r"visited": -2, r"\bcells?\b": -4}),
    "visited": Part(
        0, {r"\brooms\b": 2, r"visited": 3, r"numbers": 1, r"subgoal began|before": -2, r"^\W*(?:Forget|Clear)": -6}
    ),
    "visited_before": Part(
        0, {r"\brooms\b": 2, r"visited": 2, r"subgoal began|when this": 4, r"^\W*(?:Forget|Clear)": -6}
    ),
    "unseen": Part(0, {r"not seen|unseen|never (?:seen|in view)": 4, r"\bcells?\b": 2, r"\brobot is\b": -2}),
    "steps": Part(0, {r"\bsteps?\b": 3, r"so far|since|until now": 2, r"subgoal began|when this": -3, r"\broom": -3}),
    "start_steps": Part(0, {r"\bsteps?\b": 3, r"subgoal began|when this": 4, r"\brooms?\b": -3}),
    "in_view": Part(0, {r"\bsees now\b|\bin view\b": 3, r"\bballs?\b|\bthings\b": 2, r"\bcells?\b|seen so far": -4}),
    "doors_in_view": Part(
        0, {r"\bsees now\b|\bin view\b": 3, r"\bdoors\b": 2, r"\bballs?\b|\bcells?\b|seen so far": -4}
    ),
}


def assign_parts(functions: Iterable[Function], parts: Mapping[str, Part]) -> dict[str, str]:
    """Part -> function name: best fits first, at most one part for a function. Parts without a function are absent."""
    offers = _with_references(list(functions))
    fits = sorted(
        (
            (sum(weight for cue, weight in part.cues.items() if re.search(cue, function.description)), role, number)
            for role, part in parts.items()
            for number, function in enumerate(offers)
            if function.arity == part.arity
        ),
        key=lambda fit: (-fit[0], fit[1], offers[fit[2]].description),
    )
    names: dict[str, str] = {}
    numbers: set[int] = set()
    for fit, role, number in fits:
        if fit >= _ENOUGH and role not in names and number not in numbers:
            names[role] = offers[number].name
            numbers.add(number)
    return names


_ENOUGH = 3.0


def _with_references(functions: list[Function]) -> list[Function]:
    """Descriptions that begin "What other() gave ..." get that of other() too."""
    descriptions = {function.name: function.description for function in functions}
    pairs = ((function, re.match(r"\W*What (\w+)\(\)", function.description)) for function in functions)
    return [
        replace(function, description=f"{function.description} {descriptions.get(match.group(1), '')}")
        if match
        else function
        for function, match in pairs
    ]


ARITY: Mapping[str, int] = {
    "discover": 1,
    "goto": 1,
    "pick": 1,
    "face": 1,
    "put": 1,
    "open": 1,
    "unlock": 1,
    "drop": 0,
    "find_exit": 0,
    "goto_exit": 0,
    "open_exit": 0,
    "enter": 1,
    "look": 0,
}
"""Arguments that a skill of each kind takes."""

DOOR = " door"
ON_DOORS = frozenset({"discover", "goto"})
"""Kinds that a library may have learned separately for doors."""

PRIMITIVES: Mapping[str, str] = {
    "left": r"turn\w* left",
    "right": r"turn\w* right",
    "forward": r"(?:move|step|go|walk)\w* (?:one cell |one step )?(?:ahead|forward)",
    "grab": r"pick\w* up",
    "lay": r"put\w* .*down|drop",
    "toggle": r"open\w* or close|toggle",
}
"""How a description shows which primitive action it is."""


def by_kind(functions: Iterable[Function]) -> dict[str, str]:
    """Kind of subgoal -> the skill that reaches it: the one with the largest share of such subgoals among its own.

    Kinds with a separate skill for doors occur a second time with DOOR appended, such as "goto door".
    """
    best: dict[str, tuple[float, str]] = {}
    for function in functions:
        for kind, share in _shares(function).items():
            fits = function.arity == ARITY[kind.removesuffix(DOOR)]
            if fits and (share, function.name) > best.get(kind, (0.0, "")):
                best[kind] = (share, function.name)
    skills = {kind: name for kind, (_, name) in best.items()}
    for kind in ON_DOORS & {name.removesuffix(DOOR) for name in skills if name.endswith(DOOR)}:
        skills.setdefault(kind, skills[kind + DOOR])
    return skills


def primitives(functions: Iterable[Function]) -> dict[str, str]:
    """Primitive action -> the function without arguments whose description says that it does it."""
    texts = [(function.name, function.description.lower()) for function in functions if function.arity == 0]
    candidates = {part: [name for name, text in texts if re.search(cue, text)] for part, cue in PRIMITIVES.items()}
    return {part: names[0] for part, names in candidates.items() if names}


def _shares(function: Function) -> dict[str, float]:
    """Share of each kind among the quoted subgoals of a skill's description; rare ones, under a tenth, are left out."""
    texts = re.findall(r'"([^"\n]+)"', function.description)
    subgoals = [(goal.kind, goal.kind in ON_DOORS and type_of(goal.argument) == "door") for goal in map(meaning, texts)]
    kinds = Counter(kind + DOOR if is_on_door else kind for kind, is_on_door in subgoals)
    kinds.pop("", None)
    return {kind: count / len(texts) for kind, count in kinds.items() if 10 * count >= len(texts)}
