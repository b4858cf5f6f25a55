"""The one protocol for phones, and how an action is carried out on any of them."""

from typing import Literal, Protocol

from sdg.envs.phone.actions import Action, ActionError, Point, swipe_ends
from sdg.envs.phone.tree import UiTree
from sdg.errors import SDGError

Key = Literal["Enter", "Home", "Back"]


class DeviceLost(SDGError, RuntimeError):
    """The phone doesn't answer any more: unplugged, crashed or hung. The episode is lost, the next may go well."""


class Device(Protocol):
    """A phone. Every method raises DeviceLost when it is gone; points are (x, y) in pixels of the screenshot."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the screen as it is turned now, in pixels."""
        ...

    def screenshot(self) -> bytes:
        """What is to be seen, as PNG."""
        ...

    def dump(self) -> str:
        """The UI tree as uiautomator's XML, as it was written; "" where the phone gives none."""
        ...

    def activity(self) -> str:
        """What is in front, as package/activity; "" where the phone doesn't say."""
        ...

    def tap(self, point: Point) -> None:
        """Press and let go."""
        ...

    def long_press(self, point: Point) -> None:
        """Press for `LONG_PRESS_SECONDS`."""
        ...

    def swipe(self, start: Point, end: Point) -> None:
        """Drag from one point to the other."""
        ...

    def type_text(self, text: str) -> None:
        """Replace what is in the focused field. Raises ActionError without one, and for letters that it lacks."""
        ...

    def press(self, key: Key) -> None:
        """Press a key of the phone's own."""
        ...

    def wait(self, seconds: int) -> None:
        """Let time pass."""
        ...


def carry_out(device: Device, action: Action, tree: UiTree) -> None:
    """Do on a phone what an action says; its element is looked for in `tree`, the screen of now.

    Raises ActionError when its place isn't there, DeviceLost, and for "finish" ActionError: that is the agent's own.
    """
    match action.name:
        case "Tap":
            device.tap(place_of(action, tree, device.size))
        case "Long Press":
            device.long_press(place_of(action, tree, device.size))
        case "Swipe":
            device.swipe(*swipe_ends(action, place_of(action, tree, device.size), device.size))
        case "Type":
            device.type_text(action.text)
        case "Enter" | "Home" | "Back":
            device.press(action.name)
        case "Wait":
            device.wait(action.seconds)
        case _:
            raise ActionError(f"{action.name} isn't carried out on a phone")


def place_of(action: Action, tree: UiTree, size: tuple[int, int]) -> Point:
    """The point of an action: its element's middle, its own, or the middle of the screen. Raises ActionError."""
    for point in (action.at, action.to):
        if point is not None and not (0 <= point[0] < size[0] and 0 <= point[1] < size[1]):
            raise ActionError(f"{list(point)} is outside the screen of {size[0]} x {size[1]} pixels")
    if action.at is not None:
        return action.at
    if not action.element:
        return size[0] // 2, size[1] // 2
    found = next((each for each in tree.elements if each.id == action.element), None)
    if found is None:
        raise ActionError(f"there is no element {action.element} on the screen now: look at it again")
    x, y = found.middle
    return min(max(x, 0), size[0] - 1), min(max(y, 0), size[1] - 1)
