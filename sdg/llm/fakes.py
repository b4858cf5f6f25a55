"""A fake model that answers from a list: it is no language model, and says so in its name."""

from collections.abc import Callable, Iterable, Sequence

from sdg.llm.model import Completion, Message, Sampling


class FakeModel:
    """Answers with the texts of a list, in order and then always the last one, or by a function of the whole prompt.

    `asked` keeps every conversation that it was sent.
    """

    def __init__(self, answers: Callable[[str], str] | Iterable[str], *, name: str = "fake (scripted)") -> None:
        self._answer = answers if callable(answers) else _in_turn(list(answers))
        self.name = name
        self.asked: list[tuple[Message, ...]] = []

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """The next answer."""
        self.asked.append(tuple(messages))
        prompt = "\n\n".join(message.content for message in messages)
        text = self._answer(prompt)
        return Completion(text, self.name, prompt_tokens=len(prompt) // 4, completion_tokens=len(text) // 4)


def _in_turn(answers: list[str]) -> Callable[[str], str]:
    rest = iter(answers)
    return lambda prompt: next(rest, answers[-1])
