"""A model that makes the mistakes real models make, at a seeded rate, to exercise repair and debugging."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

from sdg.llm import exchange
from sdg.llm.model import Completion, LanguageModel, Message, Sampling

_CALL_LINE = re.compile(r"^(    )(\w+)\((.*)\)[ \t]*$", re.MULTILINE)
_GOAL = re.compile(r"^Goal \d+: .*\n```python\n(?:.*\n)*?```[ \t]*\n?", re.MULTILINE)
_NAME = re.compile(r"\b([a-z]\w*_\w+)\(")


def missing_step(text: str, rng: Random) -> str:
    """One step is left out: of goals the first (often the discovery), of a program one call of its last function."""
    goals = list(_GOAL.finditer(text))
    if len(goals) > 1:
        return text[: goals[0].start()] + text[goals[0].end() :]
    calls = _main_calls(text)
    chosen = rng.choice(calls) if len(calls) > 1 else None
    return text if chosen is None else text[: chosen.start()] + text[chosen.end() + 1 :]


def wrong_name(text: str, rng: Random) -> str:
    """A function is called by a name that there isn't."""
    chosen = rng.choice(_called(text) or [""])
    return re.sub(rf"\b{chosen}\(", f"{chosen.rsplit('_', 1)[0]}s(", text) if chosen else text


def wrong_order(text: str, rng: Random) -> str:
    """Two neighbouring steps are swapped."""
    steps = list(_GOAL.finditer(text)) or _main_calls(text)
    if len(steps) < 2:
        return text
    first = rng.randrange(len(steps) - 1)
    first_step, second_step = steps[first : first + 2]
    before, after = text[: first_step.start()], text[second_step.end() :]
    between = text[first_step.end() : second_step.start()]
    return before + second_step.group() + between + first_step.group() + after


def wrong_arity(text: str, rng: Random) -> str:
    """A call has an argument too many."""
    chosen = rng.choice(_called(text) or [""])
    many = re.sub(rf"(?<!def )\b{chosen}\((?=[^)])", f"{chosen}(None, ", text, count=1)
    return many if many != text else re.sub(rf"(?<!def )\b{chosen}\(\)", f"{chosen}(None)", text, count=1)


def syntax_error(text: str, rng: Random) -> str:
    """A colon is lost."""
    colons = [match.start() for match in re.finditer(r":[ \t]*$", text, re.MULTILINE)]
    return text if not colons else text[: (at := rng.choice(colons))] + text[at + 1 :]


def prose_around(text: str, rng: Random) -> str:
    """Friendly words before and after; the answer itself is right."""
    before = rng.choice(["Sure! Here is what I came up with:", "Let me think about this step by step.", "Of course."])
    return f"{before}\n\n{text}\n\nLet me know if you need anything else! Note that `check` may need tuning."


MISTAKES: Mapping[str, Callable[[str, Random], str]] = {
    "missing step": missing_step,
    "wrong name": wrong_name,
    "wrong order": wrong_order,
    "wrong arity": wrong_arity,
    "syntax error": syntax_error,
    "prose around": prose_around,
}


class Faulty:
    """Passes on what another model says, with a mistake in a share `rate` of the replies.

    Which reply and which mistake follow from `seed` and the conversation, so a run can be repeated and resumed.
    """

    def __init__(self, model: LanguageModel, *, rate: float, seed: int = 0) -> None:
        if not 0 <= rate <= 1:
            raise ValueError(f"a rate of mistakes lies between 0 and 1, not {rate}")
        self._model, self._rate, self._seed = model, rate, seed

    @property
    def name(self) -> str:
        """Says that mistakes are made on purpose."""
        return f"{self._model.name} with faults at {self._rate:g}"

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """The model's reply, perhaps spoilt; `extra["fault"]` names the mistake. Raises what the model raises."""
        completion = self._model.complete(messages, sampling=sampling)
        rng = Random(f"{self._seed}|{exchange.key(self._model.name, messages, sampling)}")
        if rng.random() >= self._rate:
            return completion
        fault = rng.choice(sorted(MISTAKES))
        spoilt = MISTAKES[fault](completion.text, rng)
        return replace(completion, text=spoilt, extra=completion.extra | {"fault": fault})


def _called(text: str) -> list[str]:
    """Names of two words or more that are called and not defined in the text: skills and perception functions."""
    return sorted(set(_NAME.findall(text)) - set(re.findall(r"\bdef (\w+)\(", text)))


def _main_calls(text: str) -> list[re.Match[str]]:
    start = text.rfind("\ndef ")
    return list(_CALL_LINE.finditer(text, max(start, 0)))
