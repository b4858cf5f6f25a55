"""Induction's first step: a model translates subgoal texts into API names and arguments (SDG, section 4.4)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sdg.envs.domain import Domain
from sdg.llm.model import LanguageModel, Message, Sampling
from sdg.prompts.fill import conversation, fenced, numbered, one_line
from sdg.prompts.replies import tidy
from sdg.skills.subgoal import SkillCall

BATCH = 40
"""How many subgoals are asked at once, so that a reply stays under the usual limit of tokens."""

_LINE = re.compile(
    r"^[ \t>*`-]*(\d+)[ \t]*[.):][ \t`*]*([A-Za-z][\w \t-]*?)[ \t`*]*(?:\|[ \t`]*([^|\n]*?)[ \t`*]*)?\|?[ \t]*$",
    re.MULTILINE,
)
_CALL = re.compile(r"^([ \t>*`-]*\d+[ \t]*[.):][ \t`*]*\w+)[ \t]*\([ \t]*([^()\n]*?)[ \t]*\)[ \t`*]*$", re.MULTILINE)
_TABLE_ROW = re.compile(r"^[ \t]*\|[ \t]*(\d+)[.)]?[ \t]*\|", re.MULTILINE)
_UNNUMBERED = re.compile(r"^[ \t>*`-]*(?=[a-z]\w*[ \t`*]*\|)", re.MULTILINE)
_NOTHING = frozenset({"", "none", "n/a", "-", "empty", "null", "no argument"})


def translate(
    texts: Sequence[str], *, domain: Domain, model: LanguageModel, sampling: Sampling = Sampling()
) -> tuple[SkillCall, ...]:
    """One SkillCall for each text, in order. Equal texts are asked once.

    A line that is missing from the reply is asked again once, by itself; if it is missing still, the subgoal's own
    words become the API name, so that one bad line never stops an induction. Raises whatever `model.complete` raises.
    """
    distinct = list(dict.fromkeys(one_line(text) for text in texts))
    known: dict[str, SkillCall] = {}
    for start in range(0, len(distinct), BATCH):
        known |= _asked(distinct[start : start + BATCH], domain=domain, model=model, sampling=sampling)
    for text in distinct:
        if text not in known:
            known |= _asked([text], domain=domain, model=model, sampling=sampling)
    return tuple(known.get(one_line(text)) or SkillCall(snake(text), "") for text in texts)


def prompt(texts: Sequence[str], *, domain: Domain) -> tuple[Message, ...]:
    """The conversation that asks for translations."""
    return conversation("translate", translation=domain.texts["translation"], subgoals=fenced(numbered(texts)))


def parse(reply: str, *, count: int) -> dict[int, SkillCall]:
    """Line number (1 to `count`) -> SkillCall, for the lines that can be read; the first of equal numbers counts.

    Rows of a table, calls such as `discover("it")`, and as many lines as there should be but without numbers are read
    like the lines that were asked for.
    """
    calls: dict[int, SkillCall] = {}
    for match in _LINE.finditer(_as_asked(tidy(reply), count)):
        number, api = int(match.group(1)[:6]), snake(match.group(2))
        if 1 <= number <= count and api:
            calls.setdefault(number, SkillCall(api, _argument(match.group(3) or "")))
    return calls


def _as_asked(reply: str, count: int) -> str:
    lines = _CALL.sub(r"\1 | \2", _TABLE_ROW.sub(r"\1. ", reply))
    if _LINE.search(lines) or len(_UNNUMBERED.findall(lines)) != count:
        return lines
    numbers = iter(range(1, count + 1))
    return _UNNUMBERED.sub(lambda _: f"{next(numbers)}. ", lines)


def snake(words: str) -> str:
    """Words as an identifier: lower case, at most eight words and 60 characters; "" when there is no letter in them."""
    parts = re.findall(r"[a-z][a-z0-9]*", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", words).lower())
    return "_".join(parts[:8])[:60]


def _argument(text: str) -> str:
    plain = one_line(text.strip().strip("\"'`()<>[]"), 80)
    plain = re.sub(r"^(?:the|an|a)\s+", "", plain, flags=re.IGNORECASE)
    return "" if plain.lower() in _NOTHING else plain


def _asked(texts: Sequence[str], *, domain: Domain, model: LanguageModel, sampling: Sampling) -> dict[str, SkillCall]:
    reply = model.complete(prompt(texts, domain=domain), sampling=sampling).text
    return {texts[number - 1]: call for number, call in parse(reply, count=len(texts)).items()}
