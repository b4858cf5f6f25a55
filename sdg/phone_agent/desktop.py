"""A phone as the screen agent's body (`sdg.screen_agent.agent.ScreenBody`), and a record of what it did there."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from sdg.envs.phone.actions import (
    FORMS,
    Device,
    PhoneAction,
    Point,
    carry_out,
    pixels_of,
    place_of,
    read_action,
    read_command,
)
from sdg.envs.phone.affordances import SeenPhone
from sdg.envs.phone.presses import press_on, reached_element
from sdg.envs.phone.tree import DumpError, UiTree, bounds_in, marked_elements, read_dump
from sdg.envs.ui.effects import share_changed
from sdg.envs.ui.parser.screen import ScreenElement, draw_marks, png_of
from sdg.envs.ui.presses import Press
from sdg.gate.confirm import final_label, final_press
from sdg.gate.executor import Command, IllegalCommand, SkillResult
from sdg.prompts.fill import one_line
from sdg.screen_agent.agent import numbered_lines

MAX_TURNS = 25
"""AndroidLab's limit of turns an episode."""
PATCH = 16
"""Pixels around a point that are compared."""
MIN_DIFFERENCE = 40
"""How much a colour, in [0, 255], may differ."""
MAX_CHANGED_SHARE = 0.1
"""Which share of the pixels may differ more."""
EMPTY = UiTree((), (), ())
_ACTION_HELP = {
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


@dataclass(frozen=True, slots=True)
class PhoneObservation:
    """A screen: its tree, its picture as PNG (decoded when `image` is read), its original dump, the picture's size; a
    `note` stands in place of elements that can't be read. Of a masked one, `raw` is what is really there."""

    tree: UiTree
    png: bytes
    xml: str = ""
    activity: str = ""
    note: str = ""
    size: Point = (0, 0)
    raw: "PhoneObservation | None" = field(default=None, repr=False, compare=False)

    @property
    def text(self) -> str:
        """The elements, a line each, or the note."""
        return self.note or str(self.tree)

    @property
    def elements(self) -> tuple[ScreenElement, ...]:
        """The elements."""
        return self.tree.elements

    @property
    def perception(self) -> SeenPhone:
        """The tree, for guards that know phones."""
        return SeenPhone(self.tree)

    def press_of(self, command: Command) -> Press:
        """What a command presses on this screen, for guards that ask about it."""
        return press_on(read_command(command.name, command.argument), self.tree, self.size)

    @property
    def image(self) -> np.ndarray:
        """The picture, RGB u8 (h, w, 3)."""
        return pixels_of(self.png)


@dataclass(frozen=True, slots=True)
class PhoneStep:
    """An action that was carried out, the screen on which it was decided, its place, and the model's words for it."""

    action: PhoneAction
    screen: PhoneObservation
    place: Point | None = None
    bounds: tuple[int, int, int, int] | None = None
    said: str = ""


class PhoneDesktop:
    """A device and a task. `finished` says, given finish's message, whether the task is solved; without it, any message
    counts as solved. `looked` is called with each new screen; `heard` returns what the model said last, to record it.

    An action is carried out on the screen that it was judged on: if what it reaches has changed since, it is refused.
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
        self.protect = getattr(device, "protect", lambda gate: gate)
        self._seen: PhoneObservation | None = None
        self.ending: bool | None = None
        """Whether the task was solved; None while it goes on."""
        self._reported_steps = -1

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the screen in pixels."""
        return self._device.size

    def commands(self) -> str:
        """The nine actions, a line each."""
        return "\n".join(f'{name}: {words}, "args": {FORMS[name]}' for name, words in _ACTION_HELP.items())

    def command(self, written: object) -> Command:
        """Read an action of a model, with its element's name beside its number. Raises IllegalCommand."""
        action, screen = read_action(written), self.observe()
        if action.element or action.at or action.to:
            place_of(action, screen.tree, self.size)
        label = next((element.name for element in screen.elements if element.id == action.element), "")
        is_named = label and action.name != "Swipe"
        return Command(action.name, f"{action.argument} {one_line(label, 80)}" if is_named else action.argument)

    def observe(self) -> PhoneObservation:
        """The screen now. If the dump can't be read, the picture remains and a note replaces the elements."""
        if self._seen is None:
            screen, raw = self._glance()
            png, raw_png = self._screenshot()
            pixels_of(png)
            activity = self._device.activity()
            raw = replace(raw, png=raw_png, activity=activity)
            self._seen = replace(screen, png=png, activity=activity, raw=raw)
            if self._reported_steps < len(self.steps):  # once a step, however often one is refused
                self._reported_steps = len(self.steps)
                self._looked(screen.tree)
        return self._seen

    def _glance(self) -> tuple[PhoneObservation, PhoneObservation]:
        """The screen now, without its picture: as it is shown and as it is, its elements with the same numbers."""
        xml = self._device.dump()
        raw_xml = getattr(self._device, "raw_dump", xml)
        tree, note = _read(xml)
        raw_tree = tree if raw_xml == xml else _read(raw_xml)[0]
        pairs = zip(raw_tree.elements, tree.elements, strict=False)  # none are shown where that can't be read
        raw_tree = replace(raw_tree, elements=tuple(replace(element, id=shown.id) for element, shown in pairs))
        shown = PhoneObservation(tree, b"", xml, note=note, size=self.size)
        return shown, replace(shown, tree=raw_tree, xml=raw_xml)

    def _screenshot(self) -> tuple[bytes, bytes]:
        """The picture as it is shown, and as it is."""
        png = self._device.screenshot()
        return png, getattr(self._device, "raw_screenshot", png)

    def list_marks(self) -> str:
        """The elements that have marks."""
        return numbered_lines(marked_elements(self.observe().tree)) or self.observe().text

    def picture(self, *, marks: bool) -> bytes:
        """The screenshot as PNG, with numbers on the elements if `marks`."""
        screen = self.observe()
        return png_of(draw_marks(screen.image, marked_elements(screen.tree)), compression=1) if marks else screen.png

    def perform(self, command: Command) -> SkillResult:
        """Carry an action out. Raises IllegalCommand where it can't be, DeviceLost when the phone is gone."""
        if self.ending is not None:
            return SkillResult(False, 0, 1, "the task is over")
        screen = self.observe()
        raw = screen.raw or screen
        action = read_command(command.name, command.argument)
        if action.name == "finish":
            self.steps.append(PhoneStep(action, screen, said=self._heard()))
            self.message = action.text
            self.ending = self._finished(action.text)
            return SkillResult(True, 0, 1)
        reaches = action.element or action.at or action.name in ("Type", "Enter")
        now = self._glance()[1].tree if reaches else raw.tree
        place = place_of(action, now, self.size) if action.name in ("Tap", "Long Press", "Swipe") else None
        if reaches and not self._is_same(command, action, raw, now, place):
            self._seen = None
            raise IllegalCommand("what it reaches changed since it was looked at: look again")
        fields = [element for element in now.elements if element.kind == "textbox"]
        # It would empty what has the focus; not every device tells of the focus where there is a field.
        if action.name == "Type" and (reached_element(action, now) or next(iter(fields), None)) not in fields:
            raise IllegalCommand("no field has the focus: tap the field first")
        carry_out(self._device, action, now)
        self.steps.append(PhoneStep(action, screen, place, bounds_in(now, action.element), self._heard()))
        self._seen = None
        return SkillResult(True, 1, 1)

    def _is_same(
        self, command: Command, action: PhoneAction, screen: PhoneObservation, now: UiTree, place: Point | None
    ) -> bool:
        """Whether an action reaches what was judged, by the trees and by the pixels around its place, because a model
        or a person may think for an hour. Fields have a cursor that blinks, and what is in them may change; but what a
        person was asked about is all that the screen said, numbers too."""
        target = reached_element(action, now)
        judged = press_on(action, screen.tree, self.size)
        is_final = command.final or final_press(judged) or final_label(command, screen)
        is_known = _sign(reached_element(action, screen.tree), judged) == _sign(
            target, press_on(action, now, self.size)
        )
        if not is_known or (is_final and _words(screen.tree) != _words(now)):
            return False
        if place is None or (target is not None and target.kind == "textbox"):
            return True
        before = place_of(action, screen.tree, self.size)
        now_there = _patch(pixels_of(self._screenshot()[1]), place)
        return share_changed(_patch(screen.image, before), now_there, least=MIN_DIFFERENCE) <= MAX_CHANGED_SHARE


def _read(xml: str) -> tuple[UiTree, str]:
    """The tree of a dump, or an empty one and a note that says why it can't be read."""
    try:
        return read_dump(xml), ""
    except DumpError as error:
        return EMPTY, f"(the elements of this screen can't be read: {error})"


def _sign(target: ScreenElement | None, press: Press) -> tuple[object, ...]:
    """The attributes by which a target is recognised at the press: all but its place, a field's content, and what isn't
    a letter in the words beside it, because numbers run, as on a stopwatch."""
    letters = "".join(filter(str.isalpha, f"{press.labels}\n{press.dialog}"))
    shown = target and (target.id, target.kind, target.look, "" if target.kind == "textbox" else target.text)
    return shown, press.role, press.words, press.classes, press.unseen, letters


def _words(tree: UiTree) -> list[str]:
    return [words for node in tree.nodes for words in (node.text, node.description)]


def _patch(picture: np.ndarray, place: Point) -> np.ndarray:
    x, y = place
    return picture[max(y - PATCH, 0) : y + PATCH, max(x - PATCH, 0) : x + PATCH]
