"""A model whose replies are given, and a question to one."""

from __future__ import annotations

from collections.abc import Sequence

from sdg.llm.model import Completion, LanguageModel, Message, ModelError, Sampling


class Scripted:
    """Answers with its replies in turn; an exception among them is raised."""

    def __init__(self, *replies: str | ModelError) -> None:
        self.replies = list(replies)
        self.calls = 0

    @property
    def name(self) -> str:
        return "scripted"

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        reply = self.replies[min(self.calls, len(self.replies) - 1)]
        self.calls += 1
        if isinstance(reply, ModelError):
            raise reply
        return Completion(reply, self.name, prompt_tokens=100, completion_tokens=10)


def ask(model: LanguageModel, text: str = "hi", *, seed: int = 0) -> str:
    return model.complete((Message("user", text),), sampling=Sampling(seed=seed)).text
