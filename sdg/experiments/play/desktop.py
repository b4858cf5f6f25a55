"""A task of the screen world as an agent uses it: its parsed screen and its commands, nothing of its HTML."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, zip_longest
from typing import cast

import numpy as np

from sdg.envs.box import Box
from sdg.envs.ui.browser import SCALE, SCROLL
from sdg.envs.ui.commands import ARGUMENTS, KEYS, SCREEN, ScreenCommand, command_from_json
from sdg.envs.ui.domain import UIWorld
from sdg.envs.ui.parser.screen import (
    FIELDS,
    Screen,
    ScreenElement,
    draw_marks,
    painted_over,
    parse,
    picture_of,
    png_of,
)
from sdg.envs.ui.presses import Press
from sdg.envs.ui.texts import MOST_TEXT, Placed
from sdg.envs.world import Observation, PlainObservation
from sdg.errors import BrokenDesktop, UserError
from sdg.gate.executor import Command, IllegalCommand, SkillResult
from sdg.privacy.memory import PLACEHOLDER
from sdg.privacy.protector import ProtectedBody, Protector, masked_record
from sdg.screen_agent.agent import MAX_COMPLETIONS, numbered_lines
from sdg.screen_agent.modes import MODES

FORMS = (
    '"args" is {"coords": [x, y]} with each _COORDS, {"key": "<Enter>"} with PRESS_KEY, {"text": "..."} with TYPE_TEXT'
)
"""The arguments of commands, described once because every question pays for the text."""
COMMANDS: Mapping[str, str] = {
    "MOVE_COORDS": "move the mouse",
    "CLICK_COORDS": "click",
    "DBLCLICK_COORDS": "click twice",
    "MOUSEDOWN_COORDS": "press the mouse button and hold it: a drag begins",
    "MOUSEUP_COORDS": "let the mouse button go: a drag ends",
    "SCROLL_UP_COORDS": f"scroll up what lies there, {SCALE * SCROLL} pixels",
    "SCROLL_DOWN_COORDS": f"scroll down what lies there, {SCALE * SCROLL} pixels",
    "PRESS_KEY": f"press a key: {', '.join(KEYS)}",
    "TYPE_TEXT": "type text where the focus is (an open dropdown takes the first letters of an entry)",
}
"""Each command and its description in prompts."""
MAX_LETTERS = 50_000
"""Letters of a page's texts in which values are looked for; a screen shows fewer."""


def check_mode(mode: str) -> None:
    """Raises UserError for a mode in which no model can be asked."""
    if mode not in MODES:
        raise UserError(f"mode {mode!r:.40} is none of {', '.join(MODES)}")


@dataclass(frozen=True, eq=False)
class LazyObservation:
    """A screenshot that is parsed on first use, so that gates that only look at pixels don't wait for the parser."""

    image: np.ndarray
    parser: Callable[[np.ndarray], Screen]
    perception: None = None

    @cached_property
    def screen(self) -> Screen:
        """The parsed screenshot."""
        return self.parser(self.image)

    @property
    def text(self) -> str:
        """The screen as text, in the paper's lines."""
        return str(self.screen)

    @property
    def elements(self) -> tuple[ScreenElement, ...]:
        """The elements."""
        return self.screen.elements


class ScreenDesktop:
    """A world of the screen (`sdg.screen_agent.agent.ScreenBody`); each screen is parsed once, by pixels alone.

    `screenshot` is the latest one, as PNG. `lazy` parses on first use, for parsers that need only the picture. With
    `tells_texts` each new screen comes with `texts`, the page's own with their boxes, as they are laid out before or
    after the screenshot.
    """

    size: tuple[int, int] = (SCREEN, SCREEN)
    takes: type[ScreenCommand] = ScreenCommand
    prompt, max_completions = "screen", MAX_COMPLETIONS

    def __init__(self, world: UIWorld, *, parser: Callable[[np.ndarray], Screen] = parse, lazy: bool = True) -> None:
        self._world, self._parser, self._lazy = world, parser, lazy
        self._seen: Observation | None = None
        self._asked: Observation | None = None
        self._stale = self.tells_texts = False
        self.screenshot = b""
        self.texts: list[Placed] = []

    @property
    def instruction(self) -> str:
        """The task in words."""
        return self._world.mission

    @property
    def ending(self) -> bool | None:
        """Whether the task was solved; None while it goes on."""
        return self._world.reward > 0 if self._world.done else None

    def commands(self) -> str:
        """The nine commands, a line each, and what arguments they take. Keeps the screen, which the answer is about."""
        self._asked = self.observe()
        return "\n".join([*(f"{name}: {help_text}" for name, help_text in COMMANDS.items()), f"{FORMS}."])

    def command(self, written: object) -> Command:
        """A command as a model wrote it; a mark stands for the middle of its element."""
        command = command_from_json(self._without_marks(written), of=self.takes, size=self.size)
        argument = command.argument if isinstance(command.argument, str) else ",".join(map(str, command.argument))
        return Command(command.name, argument)

    def _without_marks(self, written: object) -> object:
        """The command with coordinates in place of a mark. Raises IllegalCommand for an unknown mark."""
        arguments = written.get("args") if isinstance(written, dict) else None
        if not (isinstance(written, dict) and isinstance(arguments, dict) and "mark" in arguments):
            return written
        elements = cast(tuple[ScreenElement, ...], (self._asked or self.observe()).elements)
        marked = [element for element in elements if str(element.id) == str(arguments["mark"])]
        if not marked:
            raise IllegalCommand(f"there is no element {arguments['mark']!r:.20}: marks are 1 to {len(elements)}")
        return {**written, "args": {"coords": list(marked[0].middle)}}

    def observe(self) -> Observation:
        """The screen now."""
        if self._seen is None or (self._stale and not self._world.done):
            texts_before = self._texts_on_screen()
            png = self._world.screenshot()
            self.texts = [*dict.fromkeys(texts_before + self._texts_on_screen())]
            if self._seen is None or png != self.screenshot:
                lazy = LazyObservation(picture_of(png), self._parser)
                self._seen = lazy if self._lazy else PlainObservation(lazy.text, lazy.image, lazy.elements)
                self.screenshot = png
            self._stale = False
        return self._seen

    def press_of(self, command: Command) -> Press:
        """Nothing: the pages of tasks aren't asked."""
        return Press()

    def _texts_on_screen(self) -> list[Placed]:
        """The texts on the screen now. Raises PageError."""
        texts = self._world.texts() if self.tells_texts else []
        screen = Box(0, 0, *self.size)
        return [(text, box) for text, box in texts if screen.intersection(box).area]

    def list_marks(self) -> str:
        """The elements with their numbers."""
        return numbered_lines(self.observe().elements)

    def picture(self, *, marks: bool) -> bytes:
        """The screenshot as PNG; with `marks`, the elements' numbers are drawn on it."""
        screen = self.observe()
        return png_of(draw_marks(screen.image, screen.elements)) if marks else self.screenshot  # type: ignore[arg-type]

    def perform(self, command: Command) -> SkillResult:
        """Carry a command out; one step whatever it changed, because guards judge that."""
        self._world.step(_as_screen(command))
        self._stale = True
        return SkillResult(True, 1, 1)


class ProtectedDesktop:
    """A desktop whose task has private values: instruction, screens and messages show placeholders in their place, and
    commands get the values on their way to it (ResponsibleTA's security protector).

    Screens also hide texts that resemble a value (`Placeholders.mask_screen`). Pictures hide values whose place the
    page reports, even when they are too small to read.
    """

    def __init__(self, desktop: ScreenDesktop, protector: Protector) -> None:
        self._desktop, self._body, self._memory = desktop, ProtectedBody(desktop, protector), protector.memory
        self.protect, self._typed = self._body.protect, set[str]()
        self._placed, self._hidden = list[Placed](), list[tuple[int, int, int, int]]()
        self.instruction, self.size = protector.admit(desktop.instruction), desktop.size
        self.prompt, self.max_completions = desktop.prompt, desktop.max_completions
        # What a model reads and writes of commands has placeholders already.
        self.commands, self.command = desktop.commands, desktop.command
        desktop.tells_texts = any(self._memory)

    @property
    def ending(self) -> bool | None:
        """Whether the task was solved; None while it goes on."""
        return self._desktop.ending

    def press_of(self, command: Command) -> Press:
        """What a command presses on a page."""
        return self._desktop.press_of(command)

    def observe(self) -> Observation:
        """The screen now, values masked in its texts and painted over in its picture."""
        observation = self._desktop.observe()
        elements = cast(tuple[ScreenElement, ...], observation.elements)
        masked = self._mask(elements)
        pairs = list(zip(elements, masked, strict=True))
        text = self._mask_text(observation.text, {str(element): str(shown) for element, shown in pairs})
        hidden = [_area_to_hide(element) for element, shown in pairs if element.text != shown.text]
        # The parser doesn't read faint letters, so the page's own texts are searched, too.
        hidden += self._places_of_values(self._desktop.texts)
        picture = painted_over(cast(np.ndarray, observation.image), hidden)
        return PlainObservation(text, picture, masked, raw=observation)

    def _mask_text(self, text: str, lines_of_elements: Mapping[str, str]) -> str:
        """A screen's text with its elements' lines masked as they are; others are notices and a dropdown's entries."""
        lines = text.split("\n")
        others = [line for line in lines if not lines_of_elements.get(line)]
        masked = dict(zip(others, self._memory.mask_lines(others), strict=True))
        return "\n".join(masked[line] if line in masked else lines_of_elements[line] for line in lines)

    def _places_of_values(self, placed: list[Placed]) -> list[tuple[int, int, int, int]]:
        """Boxes of texts that hold values, once for each picture; texts that were cut, or exceed the limit, count."""
        if placed is not self._placed:
            texts = [text for text, _ in placed]
            ends = list(accumulate(map(len, texts)))
            rows = zip_longest(placed, self._memory.mask_screen(texts[: bisect_right(ends, MAX_LETTERS)]))
            self._placed = placed
            self._hidden = [box for (text, box), masked_text in rows if text != masked_text or len(text) >= MOST_TEXT]
        return self._hidden

    def _mask(self, elements: Sequence[ScreenElement]) -> tuple[ScreenElement, ...]:
        fields = [element for element in elements if element.kind in FIELDS]
        boxes = [Box(*element.box) for element in elements]
        typed = [n for n, box in enumerate(boxes) if any(box.intersection(field.box).area for field in fields)]
        texts = self._memory.mask_screen([element.text for element in elements], fields=typed, typed=self._typed)
        records = (masked_record(element, self._memory.mask) for element in elements)
        return tuple(replace(record, text=text) for record, text in zip(records, texts, strict=True))

    def list_marks(self) -> str:
        """The elements with their numbers, values masked."""
        return numbered_lines(self.observe().elements)

    def picture(self, *, marks: bool) -> bytes:
        """The screenshot as PNG, values painted over."""
        observation = self.observe()
        picture = cast(np.ndarray, observation.image)
        return png_of(draw_marks(picture, cast(tuple[ScreenElement, ...], observation.elements)) if marks else picture)

    def perform(self, command: Command) -> SkillResult:
        """Carry a command out with its values."""
        if command.name == "TYPE_TEXT":
            self._typed.update(PLACEHOLDER.findall(command.argument))
        try:
            return self._body.perform(command)
        except RuntimeError as error:
            raise BrokenDesktop(str(error)) from None


def _area_to_hide(element: ScreenElement) -> tuple[int, int, int, int]:
    """The area to paint over for an element; only lines of text surely end where their boxes do."""
    box = Box(*element.box)
    return box.grown(0 if element.kind == "text" else box.height, 0)


def _as_screen(command: Command) -> ScreenCommand:
    if ARGUMENTS.get(command.name) != "coords":
        return ScreenCommand(command.name, command.argument)
    x, y = map(int, command.argument.split(","))
    return ScreenCommand(command.name, (x, y))
