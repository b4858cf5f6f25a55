"""A task of the screen world as an agent uses it: its parsed screen and its commands, nothing of its HTML."""

import contextlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, zip_longest
from typing import Any, cast

import numpy as np

from sdg.envs.box import Box
from sdg.envs.ui.browser import PageError
from sdg.envs.ui.commands import ARGUMENTS, KEYS, SCREEN, ScreenCommand, ScreenCommandError, command_from_json
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
from sdg.envs.world import Observation
from sdg.gate.executor import Command, IllegalCommand, SkillResult
from sdg.privacy.memory import PLACEHOLDER
from sdg.privacy.protector import ProtectedBody, Protector, masked_record
from sdg.privacy.recognisers import PrivacyError
from sdg.screen_agent.agent import MAX_COMPLETIONS, BrokenDesktop, ScreenBody, numbered_lines

FORMS = (
    '"args" is {"coords": [x, y]} with each _COORDS, {"key": "<Enter>"} with PRESS_KEY, {"text": "..."} with TYPE_TEXT'
)
"""What the arguments of commands look like, said once because every question pays for it."""
COMMANDS: Mapping[str, str] = {
    "MOVE_COORDS": "move the mouse",
    "CLICK_COORDS": "click",
    "DBLCLICK_COORDS": "click twice",
    "MOUSEDOWN_COORDS": "press the mouse button and hold it: a drag begins",
    "MOUSEUP_COORDS": "let the mouse button go: a drag ends",
    "SCROLL_UP_COORDS": "scroll up what lies there",
    "SCROLL_DOWN_COORDS": "scroll down what lies there",
    "PRESS_KEY": f"press a key: {', '.join(KEYS)}",
    "TYPE_TEXT": "type text where the focus is (an open dropdown takes the first letters of an entry)",
}
"""What each command does, as a prompt says it."""
MOST_LETTERS = 50_000
"""Letters of a page's texts in which values are looked for; a screen shows fewer."""


@contextlib.contextmanager
def broken() -> Iterator[None]:
    """Turn a page's error into a BrokenDesktop."""
    try:
        yield
    except PageError as error:
        raise BrokenDesktop(str(error)) from None


class LazyObservation(Observation):
    """A screenshot that is parsed on first use, so that gates that only look at pixels needn't wait."""

    def __init__(self, picture: np.ndarray, parser: Callable[[np.ndarray], Screen]) -> None:
        object.__setattr__(self, "image", picture)
        object.__setattr__(self, "perception", None)
        object.__setattr__(self, "_parse", lambda: parser(picture))

    @cached_property
    def screen(self) -> Screen:
        """The parsed screenshot."""
        found: Screen = self._parse()  # type: ignore[attr-defined]
        return found

    @property
    def text(self) -> str:  # type: ignore[override]
        """The paper's lines."""
        return str(self.screen)

    @property
    def elements(self) -> tuple[ScreenElement, ...]:  # type: ignore[override]
        """The elements."""
        return self.screen.elements


class ScreenDesktop:
    """A world of the screen (`sdg.screen_agent.agent.ScreenBody`); each screen is parsed once, by pixels alone.

    `screenshot` is the latest one, as PNG. `lazy` parses on first use, for parsers that need only the picture. With
    `tells_texts`, `texts` has those on it with their places, as the page's browser lays them out before or after it;
    none where it is no Chromium.
    """

    size: tuple[int, int] = (SCREEN, SCREEN)
    takes: type[ScreenCommand] = ScreenCommand
    prompt, max_completions = "screen", MAX_COMPLETIONS

    def __init__(self, world: UIWorld, *, parser: Callable[[np.ndarray], Screen] = parse, lazy: bool = True) -> None:
        self._world, self._parser, self._lazy = world, parser, lazy
        self._seen: Observation | None = None
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
        """The nine commands, a line each, and what arguments they take."""
        return "\n".join([*(f"{name}: {said}" for name, said in COMMANDS.items()), f"{FORMS}."])

    def command(self, written: object) -> Command:
        """A command as a model wrote it; a mark stands for the middle of its element."""
        try:
            command = command_from_json(self._unmarked(written), of=self.takes, size=self.size)
            argument = command.argument if isinstance(command.argument, str) else ",".join(map(str, command.argument))
            return Command(command.name, argument)
        except ScreenCommandError as error:
            raise IllegalCommand(str(error)) from None

    def _unmarked(self, written: object) -> object:
        arguments = written.get("args") if isinstance(written, dict) else None
        if not (isinstance(written, dict) and isinstance(arguments, dict) and "mark" in arguments):
            return written
        elements = cast(tuple[ScreenElement, ...], self.observe().elements)
        found = [each for each in elements if str(each.id) == str(arguments["mark"])]
        if not found:
            raise IllegalCommand(f"there is no element {arguments['mark']!r:.20}: marks are 1 to {len(elements)}")
        return {**written, "args": {"coords": list(found[0].middle)}}

    def observe(self) -> Observation:
        """The screen now."""
        if self._seen is None or (self._stale and not self._world.done):
            with broken():
                before, png = self._placed(), self._world.screenshot()
                self.texts = [*dict.fromkeys(before + self._placed())]
            if self._seen is None or png != self.screenshot:
                seen = LazyObservation(picture_of(png), self._parser)
                self._seen, self.screenshot = (
                    seen if self._lazy else Observation(seen.text, seen.image, seen.elements),
                    png,
                )
            self._stale = False
        return self._seen

    def _placed(self) -> list[Placed]:
        """The texts on the screen now. Raises PageError."""
        try:
            found = getattr(self._world, "texts", list[Placed])() if self.tells_texts else []
        except PageError as error:
            if "Chromium" not in str(error):  # alone tells of its layout
                raise
            return []
        screen = Box(0, 0, *self.size)
        return [(text, box) for text, box in found if screen.intersection(box).area]

    def list_marks(self) -> str:
        """The elements with their numbers."""
        return numbered_lines(self.observe().elements)

    def picture(self, *, marks: bool) -> bytes:
        """The screenshot as PNG, with the elements' numbers where they are asked for."""
        seen = self.observe()
        return png_of(draw_marks(seen.image, seen.elements)) if marks else self.screenshot  # type: ignore[arg-type]

    def perform(self, command: Command) -> SkillResult:
        """Carry a command out; one step whatever it changed, because guards judge that."""
        if self._world.done:
            return SkillResult(False, 0, 1, "the task is over")
        with broken():
            self._world.step(_as_screen(command))
        self._stale = True
        return SkillResult(True, 1, 1)


class ProtectedDesktop:
    """A desktop whose task has private values: instruction, screens and messages show placeholders in their place, and
    commands get the values on their way to it (ResponsibleTA's security protector).

    What only looks like a value is hidden on screens, too (`Placeholders.mask_screen`), and in pictures what nobody can
    read who looks at them, but the page says where it stands.
    """

    def __init__(self, desktop: ScreenBody, protector: Protector) -> None:
        self._desktop, self._body, self._memory = desktop, ProtectedBody(desktop, protector), protector.memory
        self._typed: set[str] = set()
        self._placed, self._hidden = list[Placed](), list[tuple[int, int, int, int]]()
        self.instruction, self.size = protector.admit(desktop.instruction), desktop.size
        self.prompt, self.max_completions = desktop.prompt, desktop.max_completions
        cast(Any, desktop).tells_texts = any(self._memory)

    @property
    def ending(self) -> bool | None:
        """Whether the task was solved; None while it goes on."""
        return self._desktop.ending

    def commands(self) -> str:
        """The available commands."""
        return self._desktop.commands()

    def command(self, written: object) -> Command:
        """A command as a model wrote it, with placeholders."""
        return self._desktop.command(written)

    def press_of(self, command: Command) -> Press:
        """What a command presses on a page with its values, which are what is typed."""
        with contextlib.suppress(PrivacyError):  # an unknown placeholder stays as it is
            command = replace(command, argument=self._memory.fill(command.argument))
        return cast(Press, cast(Any, self._desktop).press_of(command))

    def observe(self) -> Observation:
        """The screen now, values masked in its texts and painted over in its picture."""
        seen = self._desktop.observe()
        elements = cast(tuple[ScreenElement, ...], seen.elements)
        masked = self._masked(elements)
        lines = {str(each): str(shown) for each, shown in zip(elements, masked, strict=True)}
        others = [line for line in seen.text.split("\n") if not lines.get(line)]  # notices, entries of a dropdown
        lines |= dict(zip(others, self._memory.mask_lines(others), strict=True))
        text = "\n".join(lines[line] for line in seen.text.split("\n"))
        hidden = [_room(each) for each, shown in zip(elements, masked, strict=True) if each.text != shown.text]
        hidden += self._covered(getattr(self._desktop, "texts", []))  # beside what is read: faint letters aren't
        return Observation(text, painted_over(cast(np.ndarray, seen.image), hidden), masked)

    def _covered(self, placed: list[Placed]) -> list[tuple[int, int, int, int]]:
        """Where values stand by these texts, once for each picture; what was cut, or is too much, may be one."""
        if placed is not self._placed:
            texts = [text for text, _ in placed]
            ends = list(accumulate(map(len, texts)))
            rows = zip_longest(placed, self._memory.mask_screen(texts[: bisect_right(ends, MOST_LETTERS)]))
            self._placed = placed
            self._hidden = [box for (text, box), shown in rows if text != shown or len(text) >= MOST_TEXT]
        return self._hidden

    def _masked(self, elements: Sequence[ScreenElement]) -> tuple[ScreenElement, ...]:
        fields = [each for each in elements if each.kind in FIELDS]
        boxes = [Box(*each.box) for each in elements]
        typed = [n for n, box in enumerate(boxes) if any(box.intersection(field.box).area for field in fields)]
        texts = self._memory.mask_screen([each.text for each in elements], fields=typed, typed=self._typed)
        records = (masked_record(each, self._memory.mask) for each in elements)
        return tuple(replace(each, text=text) for each, text in zip(records, texts, strict=True))

    def list_marks(self) -> str:
        """The elements with their numbers, values masked."""
        return numbered_lines(self.observe().elements)

    def picture(self, *, marks: bool) -> bytes:
        """The screenshot as PNG, values painted over."""
        seen = self.observe()
        picture = cast(np.ndarray, seen.image)
        return png_of(draw_marks(picture, cast(tuple[ScreenElement, ...], seen.elements)) if marks else picture)

    def perform(self, command: Command) -> SkillResult:
        """Carry a command out with its values."""
        if command.name == "TYPE_TEXT":
            self._typed.update(PLACEHOLDER.findall(command.argument))
        try:
            return self._body.perform(command)
        except RuntimeError as error:
            raise BrokenDesktop(str(error)) from None


def _room(element: ScreenElement) -> tuple[int, int, int, int]:
    """What is painted over for an element; all but lines of text may reach farther to the sides than they seem to."""
    box = Box(*element.box)
    return box.grown(0 if element.kind == "text" else box.height, 0)


def _as_screen(command: Command) -> ScreenCommand:
    if ARGUMENTS.get(command.name) != "coords":
        return ScreenCommand(command.name, command.argument)
    x, y = map(int, command.argument.split(","))
    return ScreenCommand(command.name, (x, y))
