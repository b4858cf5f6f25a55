"""A phone whose private values stay on it: placeholders replace them in the tree, pictures and texts that leave it.

Everything that is shown, recorded or filmed passes through here, and commands get the values back on their way in
(ResponsibleTA's security protector, `sdg.privacy`).
"""

from xml.etree import ElementTree

from sdg.envs.phone.actions import ActionError, Device, Key, Point
from sdg.envs.phone.tree import DumpError, bounds_of, read_dump
from sdg.envs.ui.parser.screen import painted_over, picture_of, png_of
from sdg.privacy.protector import Protector
from sdg.privacy.recognisers import PrivacyError


class PrivateDevice:
    """A device (`sdg.envs.phone.actions.Device`) whose values are masked. Where its tree can't be read, the whole
    picture is hidden, because nobody can know what is on it."""

    def __init__(self, device: Device, protector: Protector) -> None:
        self._device, self._protector = device, protector

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self._device.size

    def dump(self) -> str:
        """The tree with its texts masked; "" where it can't be read."""
        top = self._tree()
        if top is None:
            return ""
        for node in top.iter():
            for name in ("text", "content-desc"):
                node.set(name, self._protector.mask(node.get(name, "")))
        return ElementTree.tostring(top, "unicode")

    def screenshot(self) -> bytes:
        """The picture, painted over wherever text is masked."""
        picture, top = picture_of(self._device.screenshot()), self._tree()
        if top is None:
            return png_of(painted_over(picture, [(0, 0, *self.size)]))
        secret = [bounds_of(node.get("bounds", "")) for node in top.iter() if self._is_secret(node)]
        places = [place for place in secret if place is not None]
        return png_of(painted_over(picture, [[max(edge, 0) for edge in place] for place in places]))

    def _tree(self) -> ElementTree.Element | None:
        xml = self._device.dump()
        try:
            read_dump(xml)
        except DumpError:
            return None
        return ElementTree.fromstring(xml)

    def _is_secret(self, node: ElementTree.Element) -> bool:
        texts = [node.get("text", ""), node.get("content-desc", "")]
        return any(self._protector.mask(text) != text for text in texts)

    def activity(self) -> str:
        """What is in front, masked."""
        return self._protector.mask(self._device.activity())

    def type_text(self, text: str) -> None:
        """Type the text with its values. Raises ActionError for a placeholder without a value."""
        try:
            filled = self._protector.fill(text)
        except PrivacyError as error:
            raise ActionError(str(error)) from None
        self._device.type_text(filled)

    def tap(self, point: Point) -> None:
        """Press."""
        self._device.tap(point)

    def long_press(self, point: Point) -> None:
        """Press long."""
        self._device.long_press(point)

    def swipe(self, start: Point, end: Point) -> None:
        """Drag."""
        self._device.swipe(start, end)

    def press(self, key: Key) -> None:
        """Press a key."""
        self._device.press(key)

    def wait(self, seconds: int) -> None:
        """Let time pass."""
        self._device.wait(seconds)
