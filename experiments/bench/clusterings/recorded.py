"""Hypotheses and translations that a real model wrote once, frozen: a model that says them again and nothing else.

`recorded.json` has the replies to 24 grounding instructions of seed 31 (five a level of the paper's six; those that two
levels share once), second ones after a failure, and the translations of their subgoals. They were written when the
perception functions had the names that they have now; one that is renamed later gets its line in `RENAMED`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.resources import files
from typing import Any

from sdg.induction.translate import parse
from sdg.llm.model import Completion, Message, ModelError, Sampling
from sdg.skills.subgoal import SkillCall

RENAMED: Mapping[str, str] = {}
"""A perception function as it was called when the replies were written -> as it is called now."""


class RecordedHypotheses:
    """Answers a prompt that ends with a recorded instruction with what the real model answered."""

    name = "a real model of 2026, recorded"
    network = False

    @cached_property
    def content(self) -> dict[str, Any]:
        """The file."""
        text = (files("sdg.experiments.bench.clusterings") / "recorded.json").read_text(encoding="utf-8")
        for old, new in RENAMED.items():
            text = re.sub(rf"\b{old}\b", new, text)
        return dict(json.loads(text))

    @property
    def replies(self) -> Mapping[str, str]:
        """Instruction -> the reply with its first hypothesis."""
        return dict(self.content["hypotheses"])

    def translations(self) -> dict[str, SkillCall]:
        """Subgoal -> how the real model called it."""
        found: dict[str, SkillCall] = {}
        for batch in self.content["translations"]:
            texts = [line.partition(". ")[2] for line in batch["subgoals"].splitlines()]
            calls = parse(batch["reply"], count=len(texts))
            found |= {texts[number - 1]: call for number, call in calls.items()}
        return found

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """The reply to the instruction, its second one after a failure. Raises ModelError for any other question."""
        asked = next((each.content for each in messages if _MISSION in each.content), "")
        mission = asked.partition(_MISSION)[2].partition("\n```")[0]
        if mission not in self.replies:
            raise ModelError(f"there is no recorded hypothesis for {mission[:100]!r}; use --seed 31 --instructions 5")
        if "What happened (data):" in asked:
            return Completion(self.content["second_hypotheses"].get(mission, "No second one was recorded."), self.name)
        return Completion(self.replies[mission], self.name)


_MISSION = "```text\n"
"""What an instruction follows in a prompt."""

RECORDED = RecordedHypotheses()

KINDS = (
    ("look around", "look around"), ("discover an unexplored", "find unexplored door"),
    ("go next to an unexplored", "go to unexplored door"), ("open the unexplored", "open unexplored door"),
    ("enter", "enter unexplored room"), ("discover", "discover"), ("go next to", "go next to"),
    ("pick up", "pick up"), ("face a free cell", "face a free cell next to"), ("open", "open door"),
)  # fmt: skip
"""How subgoals of the recorded hypotheses begin -> their kind, given by hand."""


def kind_of_recorded(description: str) -> str:
    """The true kind of a recorded subgoal, for scoring a clustering and nothing else."""
    kind = next((kind for begin, kind in KINDS if description.startswith(begin)), "")
    if not kind:  # "put the red box down" or "put the grey ball down next to the blue box"
        return "put next to" if "next to" in description else "drop"
    of_doors = {"discover": "discover door", "go next to": "go to door"}
    return of_doors.get(kind, kind) if description.removesuffix(" and face it").endswith("door") else kind


__all__ = ["RECORDED", "RecordedHypotheses", "kind_of_recorded"]
