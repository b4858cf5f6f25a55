"""Fake models for tests and for reading: one that answers from a list, and one that knows the corridor of `envs/fakes`.

Nothing here is a language model, and everything says so in its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from sdg.llm.model import Completion, Message, Sampling


class FakeModel:
    """Answers with the texts of a list, in order and then the last one always, or by a function of the whole prompt.

    `asked` keeps every conversation that it was asked with.
    """

    def __init__(self, answers: Callable[[str], str] | Iterable[str], *, name: str = "fake (scripted)") -> None:
        self._answer = answers if callable(answers) else _in_turn(list(answers))
        self._name = name
        self.asked: list[tuple[Message, ...]] = []

    @property
    def name(self) -> str:
        """It is labelled as a fake wherever it appears."""
        return self._name

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """The next answer."""
        self.asked.append(tuple(messages))
        prompt = "\n\n".join(message.content for message in messages)
        text = self._answer(prompt)
        return Completion(text, self.name, prompt_tokens=len(prompt) // 4, completion_tokens=len(text) // 4)


def _in_turn(answers: list[str]) -> Callable[[str], str]:
    left = iter(answers)
    return lambda prompt: next(left, answers[-1])


def lamp_model() -> FakeModel:
    """A fake that knows how a corridor's tasks unfold: it reads the task and the skills' names from the prompt."""
    return FakeModel(_about_lamps, name="fake (lamps)")


_SEE = "def check_{n}():\n    return len(find_lamps('{lamp}')) > 0"
_STAND = "def check_{n}():\n    return any(lamp.distance == 0 for lamp in find_lamps('{lamp}'))"
_LIT = "def check_{n}():\n    return any(lamp.is_on for lamp in find_lamps('{lamp}'))"
_GOALS = (("see the {lamp}", _SEE), ("stand at the {lamp}", _STAND), ("switch on the {lamp}", _LIT))


def _about_lamps(prompt: str) -> str:
    if "## Subgoals to translate" in prompt:
        lines = re.findall(r"^(\d+)\. (.*) the (\w+ lamp)$", prompt, re.MULTILINE)
        return "\n".join(f"{number}. {what.replace(' ', '_')} | {lamp}" for number, what, lamp in lines)
    verb, lamp = re.findall(r"^(visit|light) the (\w+ lamp)$", prompt, re.MULTILINE)[-1]
    goals = _GOALS[: 3 if verb == "light" else 2]
    if "## Task to split" in prompt:
        return "\n".join(
            f"Goal {n}: {told.format(lamp=lamp)}\n```python\n{check.format(n=n, lamp=lamp)}\n```"
            for n, (told, check) in enumerate(goals, 1)
        )
    if "## Instruction to carry out" in prompt:
        calls = [f"    {name}('{lamp}')" for told, _ in goals for name in _skills(prompt, told.split(" the ")[0])]
        return "```python\ndef program():\n" + "\n".join(calls or ["    return"]) + "\n```"
    return "Yes"


def _skills(prompt: str, what: str) -> list[str]:
    """The first skill whose subgoals begin with these words."""
    return re.findall(rf'^(\w+)\(thing\): .*"{what} the', prompt, re.MULTILINE)[:1]
