"""The translation job: a subgoal's text becomes an API name and one argument."""

from __future__ import annotations

import re

from sdg.llm.babylang import reading
from sdg.llm.babylang.phrases import meaning


def answer(text: str) -> str:
    """The reply to a translation prompt: a line `N. api_name | argument` for each subgoal."""
    listed = reading.block(reading.section(text, "Subgoals to translate")).splitlines()
    numbered = [match.groups() for line in listed if (match := re.match(r"\s*(\d+)\.\s*(.*)", line))]
    return "\n".join(_line(number, subgoal) for number, subgoal in numbered)


def _line(number: str, subgoal: str) -> str:
    read = meaning(subgoal)
    return f"{number}. {read.api} | {read.argument}".rstrip()
