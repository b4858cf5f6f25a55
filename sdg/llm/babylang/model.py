"""The rule-based planner behind the protocol of a language model."""

from collections.abc import Callable, Sequence

from sdg.llm.babylang.grammar import NotBabyLanguage
from sdg.llm.babylang.hypothesis import split_task, translate_subgoals
from sdg.llm.babylang.program import repair_program, write_program
from sdg.llm.babylang.reading import has_section, whole
from sdg.llm.model import Completion, Message, Sampling

_JOBS: tuple[tuple[str, Callable[..., str]], ...] = (
    ("Task to split", lambda text, seed: split_task(text, seed=seed)),
    ("Subgoals to translate", lambda text, seed: translate_subgoals(text)),
    ("Program that failed", lambda text, seed: repair_program(text)),
    ("Instruction to carry out", lambda text, seed: write_program(text)),
)


class BabyLang:
    """Reads nothing but the conversation and answers in the formats that the prompts ask for.

    The prompt's headings say which job is asked for. What it can't do it says in words, as a model would.
    """

    name = "babylang (rule-based, hand-written planner)"

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """The reply that the rules give; equal conversations and seeds get equal replies. Never raises."""
        text = whole(messages)
        reply = _reply(text, sampling.seed)
        return Completion(reply, self.name, prompt_tokens=len(text) // 4, completion_tokens=len(reply) // 4)


def _reply(text: str, seed: int) -> str:
    for heading, job in _JOBS:
        if has_section(text, heading):
            try:
                return job(text, seed)
            except NotBabyLanguage as error:
                return f"I can't do that. {error}"
            except KeyError as error:
                return f"I can't do that: the prompt offers no function for {error}."
    return "Yes"
