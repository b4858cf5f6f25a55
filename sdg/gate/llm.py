"""The LLM-based guards: a model is asked with a demonstration and answers {Thought, Feasible | Completeness}.

ResponsibleTA's prompts in substance. The answer is read strictly: anything but one object of the right form is an
error, and an error keeps the gate shut (`sdg.gate.executor.GuardChain`).
"""

import json
from collections.abc import Mapping
from typing import Any

from sdg.envs.world import Element, Observation
from sdg.gate.executor import Command, Verdict
from sdg.llm.model import LanguageModel, Sampling
from sdg.prompts.fill import conversation, fence, one_line
from sdg.skills.strict_json import loads

MAX_ELEMENTS = 120
"""Most elements that a model is shown; the rest are counted."""
MAX_TEXT_CHARS = 6_000
MAX_REPLY_CHARS = 4_000
ANSWERS: Mapping[str, str] = {"feasibility": "Feasible", "completeness": "Completeness"}


class LlmGuard:
    """Asks a model about each command, before and after. `about` says what one command of the world can do."""

    source = "llm"
    kind = "llm"

    def __init__(self, model: LanguageModel, about: str = "") -> None:
        self.model, self.about = model, about

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """The model's verdict. Raises ModelError as the model does, ValueError for a malformed answer."""
        return self.judge("feasibility", question(command, observation))

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """The model's verdict. Raises ModelError as the model does, ValueError for a malformed answer."""
        return self.judge("completeness", question(command, before, after))

    def judge(self, verb: str, asked: str) -> Verdict:
        """The verdict on a `question`; `verb` is a key of ANSWERS."""
        messages = conversation(verb, about=self.about, question=asked)
        reply = self.model.complete(messages, sampling=Sampling(temperature=0.0, stage=verb))
        passed, thought = read_verdict(reply.text, ANSWERS[verb])
        return Verdict(passed, one_line(thought), source=self.source)


def question(command: Command, before: Observation, after: Observation | None = None) -> str:
    """The user's turn: command and observations as fenced data."""
    parts = ["## Command", fence(one_line(str(command)))]
    moments = {"Observed now": before} if after is None else {"Observed before": before, "Observed after": after}
    for name, moment in moments.items():
        parts += [f"## {name}", fence(_elements(moment), "json"), fence(moment.text[:MAX_TEXT_CHARS])]
    return "\n\n".join(parts)


def _elements(moment: Observation) -> str:
    rows = [json.dumps(_row(element), ensure_ascii=False) for element in moment.elements[:MAX_ELEMENTS]]
    beyond = len(moment.elements) - len(rows)
    if beyond:
        rows.append(f"({beyond} more)")
    return "\n".join(rows) or "none"


def _row(element: Element) -> dict[str, Any]:
    state = ["held" if element.held else "", str(getattr(element, "status", ""))]
    location = getattr(element, "position", None)
    return {
        "ID": element.id,
        "Type": one_line(str(getattr(element, "type", "thing")), 40),
        "Content": one_line(", ".join([element.name, *filter(None, state)]), 200),
        "Location": list(location) if isinstance(location, tuple) else None,
    }


def read_verdict(reply: str, key: str) -> tuple[bool, str]:
    """Whether the answer is Yes, and its thought. Raises ValueError for all but {"Thought": text, key: Yes or No}."""
    text = reply[: MAX_REPLY_CHARS + 1].strip()
    if len(text) > MAX_REPLY_CHARS:
        raise ValueError(f"the answer has more than {MAX_REPLY_CHARS} characters")
    if text.startswith("```") and text.endswith("```"):
        text = text.removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    if text.count(f'"{key}"') != 1:  # said twice, the last would win
        raise ValueError(f'"{key}" is to be said once')
    answer = loads(text)
    if not isinstance(answer, dict) or set(answer) != {"Thought", key}:
        raise ValueError(f'the answer is not {{"Thought": ..., "{key}": "Yes" or "No"}}')
    if answer[key] not in ("Yes", "No") or not isinstance(answer["Thought"], str):
        raise ValueError(f'"{key}" is not "Yes" or "No"')
    return answer[key] == "Yes", answer["Thought"]
