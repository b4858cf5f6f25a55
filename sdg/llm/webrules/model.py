"""The stand-in itself: it reads the prompt `screen`, asks its rules in turn and answers in the prompt's JSON.

It is no language model. It knows no task by name: rules go by the words of the task and the elements on the screen, and
it refuses prompts that show it an example.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from sdg.llm.model import Completion, Message, Sampling
from sdg.llm.provider import Provider
from sdg.llm.webrules import figures, forms, pages
from sdg.llm.webrules.acts import Plan
from sdg.llm.webrules.situation import Situation, read_situation

NAME = "webrules (rule-based stand-in, no language model)"
RULES: tuple[Callable[[Situation], Plan | None], ...] = (*pages.RULES, *figures.RULES, *forms.RULES, *pages.LAST)


class WebRules:
    """A `sdg.llm.model.LanguageModel` made of rules."""

    name = NAME

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """The first rule's commands as JSON; prose where no rule knows what to do."""
        now = read_situation(messages[-1].content)
        plan = next((plan for rule in RULES if (plan := rule(now)) is not None and plan.commands), None)
        if plan is None:
            return Completion("No rule of mine knows what to do here.", NAME)
        thoughts = {"text": f"{len(now.elements)} elements", "plan": plan.note}
        return Completion(json.dumps({"thoughts": thoughts, "commands": list(plan.commands)[:30]}), NAME)


WEBRULES = Provider(lambda settings: WebRules(), rule_based=True)
