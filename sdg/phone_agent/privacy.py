"""A phone whose private values stay on it: placeholders replace them in the tree, pictures and texts that leave it.

Everything that is shown, recorded or filmed passes through here, and commands get the values back on their way in
(ResponsibleTA's security protector, `sdg.privacy`).
"""

from xml.etree import ElementTree

from sdg.envs.phone.actions import Device, DeviceLost, IllegalCommand, pixels_of
from sdg.envs.phone.tree import FIELDS, FLAGS, MAX_TEXT_CHARS, Bounds, DumpError, bounds_of, parse_dump
from sdg.envs.ui.parser.screen import painted_over, png_of
from sdg.gate.executor import GateGuard
from sdg.privacy.memory import PLACEHOLDER
from sdg.privacy.protector import ProtectedGate, Protector
from sdg.privacy.recognisers import PrivacyError

_FIXED_NAMES = ("class", "package", "resource-id")
"""Attributes that begin with fixed names, which are compared with whole values only."""
_NEVER_MASKED = {*FLAGS, *_FIXED_NAMES[:2], "bounds", "index", "rotation"}
"""Attributes of which no part is masked: apps can't write into them, or not while they run."""


class PrivateDevice:
    """A device (`sdg.envs.phone.actions.Device`) whose values are masked. Where its tree can't be read, the whole
    picture is hidden, because nobody can know what is on it; without any values it is the device itself.

    `raw_dump` and `raw_screenshot` are the device's own latest ones, for guards, which judge what is really there.
    """

    def __init__(self, device: Device, protector: Protector) -> None:
        self._device, self._protector = device, protector
        self._typed: set[str] = set()
        self._hidden: list[Bounds] = []
        self.raw_dump, self.raw_screenshot = "", b""
        # What carries no text goes to the device as it is.
        self.tap, self.long_press, self.swipe = device.tap, device.long_press, device.swipe
        self.press, self.wait = device.press, device.wait

    def protect(self, gate: GateGuard) -> GateGuard:
        """The gate as it is asked about this device."""
        return ProtectedGate(gate, self._protector)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self._device.size

    def dump(self) -> str:
        """The tree with its texts masked; "" where it can't be read."""
        xml = self.raw_dump = self._device.dump()
        if not any(self._protector.memory):
            return xml
        self._hidden = [(0, 0, *self.size)]
        try:
            top = parse_dump(xml)
        except DumpError:
            return ""
        self._hidden = [place for node in self._mask(top) if (place := bounds_of(node.get("bounds", "")))]
        return ElementTree.tostring(top, "unicode")

    def screenshot(self) -> bytes:
        """The picture, painted over wherever text was masked just before it, or is right after it."""
        png = self.raw_screenshot = self._device.screenshot()
        if not any(self._protector.memory):
            return png
        hidden_before = self._hidden
        self.dump()
        hidden = [[max(edge, 0) for edge in place] for place in (*hidden_before, *self._hidden)]
        return png_of(painted_over(pixels_of(png), hidden))

    def _mask(self, top: ElementTree.Element) -> list[ElementTree.Element]:
        """Mask a tree, and say which nodes show something else now: labels as texts that stand side by side on the
        screen, then each attribute by itself. Classes and packages are fixed: they are compared with whole values."""
        nodes = list(top.iter())
        names = dict.fromkeys(name for node in nodes for name in node.attrib if name not in _NEVER_MASKED)
        places = [(node, "text" if node.get("text") else "content-desc") for node in nodes]
        places += [(node, name) for name in names for node in nodes]
        texts = [node.get(name, "").rpartition("/" if name == "resource-id" else "\n") for node, name in places]
        fields = [
            n for n, (node, name) in enumerate(places) if name == "text" and node.get("class", "").endswith(FIELDS)
        ]
        memory = self._protector.memory
        masked = memory.mask_screen([text for _, _, text in texts], fields=fields, typed=self._typed)
        changed = [n for n, (_, _, text) in enumerate(texts) if text != masked[n] or len(text) >= MAX_TEXT_CHARS]
        for n in changed:
            node, name = places[n]
            package, mark, _ = texts[n]
            node.set(name, package + mark + masked[n])
        for node in nodes:
            node.text = node.tail = None
            node.attrib.update({name: memory.mask(node.attrib[name]) for name in _FIXED_NAMES if name in node.attrib})
        return [places[n][0] for n in changed]

    def activity(self) -> str:
        """What is in front, masked."""
        return self._protector.mask(self._device.activity())

    def type_text(self, text: str) -> None:
        """Type the text with its values. Raises IllegalCommand for a placeholder without a value, and the device's
        errors, masked."""
        try:
            filled = self._protector.fill(text)
        except PrivacyError as error:
            raise IllegalCommand(str(error)) from None
        self._typed.update(PLACEHOLDER.findall(text))
        try:
            return self._device.type_text(filled)
        except (IllegalCommand, DeviceLost) as error:
            masked = type(error)(self._protector.memory.mask_parts(str(error)))
        raise masked  # without the device's own error, whose frames hold the values
