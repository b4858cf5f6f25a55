"""A phone as the screen agent's body (`sdg.screen_agent.agent.ScreenBody`), and a record of what it did there."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sdg.envs.phone import tree as trees
from sdg.envs.phone.actions import (
    FORMS,
    Action,
    ActionError,
    Device,
    DeviceLost,
    Point,
    carry_out,
    place_of,
    read_action,
    read_command,
)
from sdg.envs.phone.affordances import SeenPhone
from sdg.envs.phone.tree import DumpError, UiTree, read_dump
from sdg.envs.ui.parser.screen import draw_marks, picture_of, png_of
from sdg.envs.world import Observation
from sdg.gate.executor import Command, IllegalCommand, SkillResult
from sdg.prompts.fill import one_line
from sdg.screen_agent.agent import BrokenDesktop, numbered_lines

MAX_TURNS = 25
"""AndroidLab's limit of turns an episode."""
EMPTY = UiTree((), 0, (), ())
_SAID = {
    "Tap": "press an element",
    "Long Press": "press an element for a second",
    "Swipe": "drag the finger from there, or from the middle: the content goes along; dist is short, medium or long",
    "Type": "replace what is in the focused field",
    "Enter": "press the keyboard's Enter, which begins a search",
    "Home": "go to the home screen with all apps",
    "Back": "go back, or close the keyboard or a dialog",
    "Wait": "let time pass",
    "finish": "end the task with an answer or a report",
}


class PhoneObservation(Observation):
    """A screen: its tree, its original dump, and its picture as PNG (decoded when `image` is read)."""

    __slots__ = ("activity", "png", "tree", "xml")
    png: bytes
    tree: UiTree
    xml: str
    activity: str

    def __init__(self, tree: UiTree, png: bytes, *, xml: str = "", activity: str = "", note: str = "") -> None:
        object.__setattr__(self, "text", note or str(tree))
        object.__setattr__(self, "elements", tree.elements)
        object.__setattr__(self, "perception", SeenPhone(tree))
        for name, value in (("tree", tree), ("png", png), ("xml", xml), ("activity", activity)):
            object.__setattr__(self, name, value)

    @property
    def image(self) -> np.ndarray:  # type: ignore[override]
        """The picture, RGB u8 (h, w, 3)."""
        return picture_of(self.png)


@dataclass(frozen=True, slots=True)
class PhoneStep:
    """An action that was carried out, the screen on which it was decided, its place, and the model's words for it."""

    action: Action
    screen: PhoneObservation
    place: Point | None = None
    bounds: tuple[int, int, int, int] | None = None
    said: str = ""


class PhoneDesktop:
    """A device and a task. `finished` says, given finish's message, whether the task is solved; without it, any message
    counts as solved. `looked` is called with each new screen; `heard` returns what the model said last, to record it.

    Element numbers are looked up on the current screen: an element that has vanished since is refused.
    """

    prompt = "phone"

    def __init__(
        self,
        device: Device,
        instruction: str,
        *,
        finished: Callable[[str], bool] = bool,
        looked: Callable[[UiTree], None] = lambda tree: None,
        heard: Callable[[], str] = str,
        max_completions: int = MAX_TURNS,
    ) -> None:
        self.instruction, self.max_completions = instruction, max_completions
        self.steps: list[PhoneStep] = []
        self.message: str | None = None
        self._device, self._finished, self._looked, self._heard = device, finished, looked, heard
        self._seen: PhoneObservation | None = None
        self._ending: bool | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the screen in pixels."""
        return self._device.size

    @property
    def ending(self) -> bool | None:
        """Whether the task was solved; None while it goes on."""
        return self._ending

    def commands(self) -> str:
        """The nine actions, a line each."""
        return "\n".join(f'{name}: {said}, "args": {FORMS[name]}' for name, said in _SAID.items())

    def command(self, written: object) -> Command:
        """Read an action of a model, with its element's name beside its number. Raises IllegalCommand."""
        try:
            action = read_action(written)
            screen = self.observe()
            if action.element or action.at or action.to:
                place_of(action, screen.tree, self.size)
        except ActionError as error:
            raise IllegalCommand(str(error)) from None
        label = next((each.name for each in screen.elements if each.id == action.element), "")
        spoken = f"{action.argument} {one_line(label, 80)}" if label and action.name != "Swipe" else action.argument
        return Command(action.name, spoken)

    def observe(self) -> PhoneObservation:
        """The screen now. If the dump can't be read, the picture remains and a note replaces the elements."""
        if self._seen is None:
            try:
                xml, png, activity = self._device.dump(), self._device.screenshot(), self._device.activity()
            except DeviceLost as error:
                raise BrokenDesktop(str(error)) from None
            try:
                tree, note = read_dump(xml), ""
            except DumpError as error:
                tree, note = EMPTY, f"(the elements of this screen can't be read: {error})"
            self._seen = PhoneObservation(tree, png, xml=xml, activity=activity, note=note)
            self._looked(tree)
        return self._seen

    def list_marks(self) -> str:
        """The elements that have marks."""
        return numbered_lines(trees.marks(self.observe().tree)) or self.observe().text

    def picture(self, *, marks: bool) -> bytes:
        """The screenshot as PNG, with numbers on the elements if `marks`."""
        seen = self.observe()
        return png_of(draw_marks(seen.image, trees.marks(seen.tree)), compression=1) if marks else seen.png

    def perform(self, command: Command) -> SkillResult:
        """Carry an action out. Raises IllegalCommand where it can't be, BrokenDesktop when the phone is gone."""
        if self._ending is not None:
            return SkillResult(False, 0, 1, "the task is over")
        screen = self.observe()
        try:
            action = read_command(command.name, command.argument)
            if action.name == "finish":
                self.steps.append(PhoneStep(action, screen, said=self._heard()))
                self.message = action.text
                self._ending = self._finished(action.text)
                return SkillResult(True, 0, 1)
            now = read_dump(self._device.dump()) if action.element else screen.tree
            place = place_of(action, now, self.size) if action.name in ("Tap", "Long Press", "Swipe") else None
            carry_out(self._device, action, now)
        except (ActionError, DumpError) as error:
            raise IllegalCommand(str(error)) from None
        except DeviceLost as error:
            raise BrokenDesktop(str(error)) from None
        self.steps.append(PhoneStep(action, screen, place, trees.bounds_in(now, action.element), self._heard()))
        self._seen = None
        return SkillResult(True, 1, 1)
