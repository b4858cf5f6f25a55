"""How a model is shown a screen and asked about it: as text, with numbered marks on the picture, in two steps.

`text` is the paper's own. SoM (set of marks) and SeeAct (describe first, ground then) are AndroidLab's, for models that
see; a screenshot that is sent has the values that are kept here painted over (`Desktop.picture`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sdg.llm.model import Message
from sdg.prompts.fill import conversation, fenced

_MARKS = (
    "The screenshot is attached. Each element has a mark with its number, the one in [brackets] in the list; "
    '{"mark": 7} may stand in place of {"coords": [x, y]} and means the middle of element 7.'
)
_PLAIN = "The screenshot is attached."


@dataclass(frozen=True, slots=True)
class Shown:
    """What a question is made of: the prompt's texts, the observation, and its picture (PNG), plain and marked."""

    values: Mapping[str, str]
    observation: str
    numbered: str
    picture: bytes
    marked: bytes


@dataclass(frozen=True, slots=True)
class Mode:
    """`name` as `--mode` has it; whether pictures are sent, marks are on them, and a description comes first."""

    name: str
    sees: bool = False
    marks: bool = False
    describes: bool = False

    def first(self, shown: Shown) -> tuple[Message, ...]:
        """The first question of a turn."""
        return self._asked("screen_describe" if self.describes else "screen", shown, "")

    def second(self, shown: Shown, described: str) -> tuple[Message, ...]:
        """The second question of a turn that began with a description."""
        return self._asked("screen", shown, f"You decided on this, now give its commands:\n{fenced(described)}")

    def _asked(self, prompt: str, shown: Shown, decided: str) -> tuple[Message, ...]:
        look = _MARKS if self.marks else _PLAIN if self.sees else ""
        text = shown.numbered if self.marks else shown.observation
        values = {**shown.values, "look": look, "observation": fenced(text)}
        if prompt == "screen_describe":
            values = {name: text for name, text in values.items() if name not in ("width", "height", "most")}
        *before, last = conversation(prompt, **values)
        content = f"{last.content}\n\n{decided}" if decided else last.content
        images = ((shown.marked if self.marks else shown.picture),) if self.sees else ()
        return (*before, replace(last, content=content, images=images))


TEXT = Mode("text")
MODES: Mapping[str, Mode] = {
    each.name: each
    for each in (
        TEXT,
        Mode("som", sees=True, marks=True),
        Mode("seeact", sees=True, describes=True),
        Mode("som-seeact", sees=True, marks=True, describes=True),
    )
}
"""By name: AndroidLab's two prompts, each with and without marks."""
