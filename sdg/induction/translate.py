"""Induction's first step: a model translates subgoal texts into API names and arguments (SDG, section 4.4)."""

from collections.abc import Mapping, Sequence

from sdg.envs.domain import Domain, Language
from sdg.llm.model import LanguageModel, Message, Sampling
from sdg.prompts.fill import conversation, fence, number_lines, one_line
from sdg.prompts.replies import leading_number, tidy
from sdg.skills.checks.check import is_description
from sdg.skills.subgoal import SkillCall

BATCH_SIZE = 40
"""Subgoals in one question, so that a reply stays under the usual limit of tokens."""

MAX_NAMES = 60
"""Most names already in use that a question lists."""

_MARKS = " \t`*"
_NO_ARGUMENT = frozenset({"", "none", "n/a", "-", "empty", "null", "no argument"})


def translate(
    texts: Sequence[str], *, domain: Domain, model: LanguageModel, sampling: Sampling = Sampling()
) -> tuple[SkillCall, ...]:
    """One SkillCall for each text, in order. Equal texts are asked once.

    A line that is missing from the reply is asked for once more, by itself; if it is still missing, the subgoal's own
    words become the API name, so that one bad line never stops an induction. Raises whatever `model.complete` raises.
    """
    distinct = list(dict.fromkeys(one_line(text) for text in texts))
    calls: dict[str, SkillCall] = {}
    for start in range(0, len(distinct), BATCH_SIZE):
        batch = distinct[start : start + BATCH_SIZE]
        calls |= _request_calls(batch, known=calls, domain=domain, model=model, sampling=sampling)
    for text in distinct:
        if text not in calls:
            calls |= _request_calls([text], known=calls, domain=domain, model=model, sampling=sampling)
    return tuple(calls.get(one_line(text)) or SkillCall(snake(text), "") for text in texts)


def prompt(texts: Sequence[str], *, domain: Domain, used: Sequence[str] = ()) -> tuple[Message, ...]:
    """The conversation that asks for translations; `used` are names that earlier translations got."""
    sentence = f"- These names are in use; take them again where the same is done: {', '.join(used)}." if used else ""
    return conversation(
        "translate", translation=domain.texts["translation"], used=sentence, subgoals=fence(number_lines(texts))
    )


def parse(reply: str, *, count: int) -> dict[int, SkillCall]:
    """Line number (1 to `count`) -> SkillCall, for the lines that can be read; the first of equal numbers counts.

    Rows of a table, calls such as `discover("it")`, and lines without numbers, if there are exactly `count`, are read
    like the form that was asked for.
    """
    lines = tidy(reply).split("\n")
    calls: dict[int, SkillCall] = {}
    for line in lines:
        number, rest = _number(line)
        call = _call(rest) if number else None
        if call is not None and 1 <= int(number) <= count:
            calls.setdefault(int(number), call)
    if calls:
        return calls
    unmarked = [line.lstrip(" \t>*`-") for line in lines]
    rows = [line for line in unmarked if "|" in line and line.partition("|")[0].strip(_MARKS).isidentifier()]
    calls_in_order = [call for line in rows if line[0].islower() and (call := _call(line)) is not None]
    return dict(enumerate(calls_in_order, 1)) if len(calls_in_order) == count else {}


def _number(line: str) -> tuple[str, str]:
    """The number that a line or a row of a table begins with ("" for none), and what follows it."""
    row = line.strip(" \t")
    number, rest = leading_number(row[1:].lstrip(" \t") if row.startswith("|") else row.lstrip(" \t>*`-"))
    rest = rest.lstrip(" \t")
    if row.startswith("|"):
        rest = rest[1:].lstrip(" \t") if rest[:1] in (".", ")") else rest
        return (number, rest[1:]) if rest.startswith("|") else ("", line)
    return (number, rest[1:]) if rest[:1] in (".", ")", ":") else ("", line)


def _call(text: str) -> SkillCall | None:
    """`api | argument` or `api("argument")`, None for anything else."""
    cells = [cell.strip(_MARKS) for cell in text[:1000].split("|")]
    if len(cells) > 1 and not cells[-1]:
        del cells[-1]
    if len(cells) == 1 and cells[0].endswith(")") and cells[0].count("(") == cells[0].count(")") == 1:
        cells = cells[0][:-1].split("(")
    api, argument = (cells[0].strip(), cells[1]) if len(cells) == 2 else (cells[0], "")
    is_name = api[:1].isascii() and api[:1].isalpha() and all(sign.isalnum() or sign in "_ \t-" for sign in api)
    name = snake(api) if is_name and len(cells) <= 2 else ""
    return SkillCall(name, _argument(argument)) if name else None


def snake(words: str) -> str:
    """Words as an identifier: lower case, at most eight words and 60 characters; "" when there is no letter in them."""
    text = words[:1000]
    words_apart = "".join(
        f" {sign}" if sign.isupper() and before.isascii() and (before.islower() or before.isdigit()) else sign
        for before, sign in zip(f" {text}", text, strict=False)
    )
    letters = "".join(sign if sign.isascii() and sign.isalnum() else " " for sign in words_apart.lower())
    return "_".join([bare for word in letters.split() if (bare := word.lstrip("0123456789"))][:8])[:60]


def _argument(text: str) -> str:
    words = one_line(text.strip().strip("\"'`()<>[]"), 80)
    article, _, rest = words.partition(" ")
    words = rest.lstrip() if article.lower() in ("the", "an", "a") and rest.strip() else words
    return "" if words.lower() in _NO_ARGUMENT else words


def _request_calls(
    texts: Sequence[str], *, known: Mapping[str, SkillCall], domain: Domain, model: LanguageModel, sampling: Sampling
) -> dict[str, SkillCall]:
    names = tuple(dict.fromkeys(call.api for call in known.values()))[:MAX_NAMES]
    calls = parse(model.complete(prompt(texts, domain=domain, used=names), sampling=sampling).text, count=len(texts))
    return {texts[number - 1]: _about_a_thing(call, domain.language) for number, call in calls.items()}


def _about_a_thing(call: SkillCall, language: Language) -> SkillCall:
    """The call with its argument in the domain's language: "lamp" for "lamp at (2, -7)", none without a thing."""
    if not call.argument or is_description(call.argument, language):
        return call
    return SkillCall(call.api, next(iter(language.mentions(call.argument)), ""))
