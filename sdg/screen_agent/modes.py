"""How a model is shown a screen and asked about it: AndroidLab's four modes, the same for web pages and phones.

XML: the elements as text, an accessibility tree where there is one; on MiniWoB++ the lines of the paper. SoM (set of
marks): numbered marks on the screenshot. ReAct: one question a turn. SeeAct: first describe the action, then ground it.
Private values are painted over in every screenshot that is sent (`ScreenBody.picture`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sdg.llm.model import Message
from sdg.prompts.fill import conversation, fence

_WITH_MARKS = (
    "The screenshot is attached. Each element has a mark with its number, the one in [brackets] in the list; "
    '{"mark": 7} may stand in place of {"coords": [x, y]} and means the middle of element 7.'
)
_WITHOUT_MARKS = "The screenshot is attached."


@dataclass(frozen=True, slots=True)
class Mode:
    """`name` as in `--mode`; whether pictures are sent, marks are on them, and a description comes first."""

    name: str
    sees: bool = False
    marks: bool = False
    describes: bool = False

    def question(
        self, prompt: str, values: Mapping[str, str], picture: bytes, described: str | None
    ) -> tuple[Message, ...]:
        """A question of a turn, made of a prompt's texts and the picture (PNG): with what was `described` the second.

        `prompt` names the prompt file; the file that asks for a description has "_describe" appended.
        """
        picture_text = _WITHOUT_MARKS if self.sees else ""
        values = {**values, "look": _WITH_MARKS if self.marks else picture_text}
        if self.describes and described is None:
            values = {name: text for name, text in values.items() if name not in ("width", "height", "most", "ends")}
            prompt = f"{prompt}_describe"
        *before, last = conversation(prompt, **values)
        decided = (
            f"\n\nYou decided on this, now give its commands:\n{fence(described)}" if described is not None else ""
        )
        return (*before, replace(last, content=last.content + decided, images=(picture,) if self.sees else ()))


TEXT = Mode("xml-react")
MODES: Mapping[str, Mode] = {
    mode.name: mode
    for mode in (
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
