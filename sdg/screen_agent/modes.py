"""How a model is shown a screen and asked about it: AndroidLab's four modes, the same for web pages and phones.

XML: the elements as text, an accessibility tree where there is one; on MiniWoB++ the lines of the paper. SoM (set of
marks): numbered marks on the screenshot. ReAct: one question a turn. SeeAct: first describe the action, then ground it.
Private values are painted over in every screenshot that is sent (`ScreenBody.picture`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sdg.llm.model import Message
from sdg.prompts.fill import conversation, fence

_MARKS = (
    "The screenshot is attached. Each element has a mark with its number, the one in [brackets] in the list; "
    '{"mark": 7} may stand in place of {"coords": [x, y]} and means the middle of element 7.'
)
_PLAIN = "The screenshot is attached."


@dataclass(frozen=True, slots=True)
class ShownScreen:
    """What a question is made of: the prompt's texts, the observation, and its picture (PNG), plain and marked.

    `prompt` names the prompt file; the file that asks for a description has "_describe" appended.
    """

    values: Mapping[str, str]
    observation: str
    numbered: str
    picture: bytes
    marked: bytes
    prompt: str = "screen"


@dataclass(frozen=True, slots=True)
class Mode:
    """`name` as in `--mode`; whether pictures are sent, marks are on them, and a description comes first."""

    name: str
    sees: bool = False
    marks: bool = False
    describes: bool = False

    def first(self, shown: ShownScreen) -> tuple[Message, ...]:
        """The first question of a turn."""
        return self._request(f"{shown.prompt}_describe" if self.describes else shown.prompt, shown, "")

    def second(self, shown: ShownScreen, described: str) -> tuple[Message, ...]:
        """The second question of a turn that began with a description."""
        return self._request(shown.prompt, shown, f"You decided on this, now give its commands:\n{fence(described)}")

    def _request(self, prompt: str, shown: ShownScreen, decided: str) -> tuple[Message, ...]:
        look = _MARKS if self.marks else _PLAIN if self.sees else ""
        text = shown.numbered if self.marks else shown.observation
        values = {**shown.values, "look": look, "observation": fence(text)}
        if prompt.endswith("_describe"):
            values = {name: text for name, text in values.items() if name not in ("width", "height", "most", "ends")}
        *before, last = conversation(prompt, **values)
        content = f"{last.content}\n\n{decided}" if decided else last.content
        images = ((shown.marked if self.marks else shown.picture),) if self.sees else ()
        return (*before, replace(last, content=content, images=images))


TEXT = Mode("xml-react")
MODES: Mapping[str, Mode] = {
    each.name: each
    for each in (
        TEXT,
        Mode("xml-seeact", describes=True),
        Mode("som-react", sees=True, marks=True),
        Mode("som-seeact", sees=True, marks=True, describes=True),
        Mode("picture", sees=True),
        Mode("seeact", sees=True, describes=True),
    )
}
"""By name: AndroidLab's four, and pictures without marks, asked in one step or two."""
PHONE_MODES = tuple(MODES)[:4]
"""AndroidLab's four."""
