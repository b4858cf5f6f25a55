"""A real phone or emulator by adb (`sdg.envs.phone.actions.Device`), through the client library adbutils.

    AdbPhone("emulator-5554").screenshot()

Letters beyond ASCII need ADBKeyboard on the phone: Android's own `input text` can't type them.
"""

import base64
import re
import time
from typing import Any

from sdg.envs.phone.actions import LONG_PRESS_SECONDS, DeviceLost, IllegalCommand, Key, Point

TIMEOUT_SECONDS = 20.0
SWIPE_MS = 400
SETTLE_SECONDS = 1.0
"""What the phone gets after each action before it is looked at."""
MAX_DUMPS = 3
"""Times that a tree is asked for while the app in front doesn't come to rest."""
KEY_CODES: dict[Key, int] = {"Enter": 66, "Home": 3, "Back": 4}
_PNG = b"\x89PNG\r\n\x1a\n"
_DUMP = "/sdcard/sdg_window.xml"
_KEYBOARD = "com.android.adbkeyboard"


class AdbPhone:
    """The phone with a serial number, or the only one that is connected. Raises DeviceLost where there is none.

    `host` and `port` are the adb server's, by default those of adb's own environment variables.
    """

    def __init__(
        self,
        serial: str = "",
        *,
        host: str | None = None,
        port: int | None = None,
        settle_seconds: float = SETTLE_SECONDS,
    ) -> None:
        try:
            import adbutils
        except ImportError:
            raise DeviceLost("adb needs the library adbutils: pip install 'sdg[phone]'") from None
        self.errors = (adbutils.AdbError, OSError, EOFError, RuntimeError)
        self._settle = settle_seconds
        self._size = (0, 0)
        try:
            server = adbutils.AdbClient(host=host, port=port, socket_timeout=TIMEOUT_SECONDS)
            self._device = server.device(serial or None)
            self._shell("true")
        except self.errors as error:
            raise DeviceLost(f"no phone answers by adb: {error}") from None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the last screenshot, as the screen was turned then."""
        if self._size == (0, 0):
            self.screenshot()
        return self._size

    def screenshot(self) -> bytes:
        """The screen as PNG."""
        png = self._ask(["screencap", "-p"])
        if not png.startswith(_PNG) or len(png) < 24:
            raise DeviceLost(f"the phone gives no picture, but {png[:60]!r}")
        self._size = int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
        return png

    def dump(self) -> str:
        """The UI tree; "" where no new one is said to be there, as when the app in front doesn't come to rest."""
        for _ in range(MAX_DUMPS):
            self._ask(["rm", "-f", _DUMP])  # uiautomator says that it dumped where the phone is full, too
            if b"dumped to" in self._ask(["uiautomator", "dump", _DUMP]):
                return self._ask(["cat", _DUMP]).decode("utf-8", "replace")
        return ""

    def activity(self) -> str:
        """The app and page in front."""
        activities = self._ask(["dumpsys", "activity", "activities"]).decode("utf-8", "replace")
        match = re.search(r"(?:topResumedActivity|mResumedActivity)\S*\s*\S*\{\S+ \S+ (\S+/\S+)", activities)
        return match[1] if match else ""

    def tap(self, point: Point) -> None:
        """Press and let go."""
        self._act("tap", *point)

    def long_press(self, point: Point) -> None:
        """Press for a second: a swipe that stays where it is."""
        self._act("swipe", *point, *point, 1000 * LONG_PRESS_SECONDS)

    def swipe(self, start: Point, end: Point) -> None:
        """Drag."""
        self._act("swipe", *start, *end, SWIPE_MS)

    def type_text(self, text: str) -> None:
        """Replace what is in the focused field, or in whatever has the focus."""
        is_typable = text.isascii() and text.isprintable()
        keyboards = b"" if is_typable else self._ask(["pm", "list", "packages", _KEYBOARD])
        if not is_typable and _KEYBOARD.encode() not in keyboards:
            raise IllegalCommand("this phone types printable ASCII alone: other letters need ADBKeyboard on it")
        self._ask(["input", "keycombination", "113", "29"])  # Control and A
        self._ask(["input", "keyevent", "67"])  # delete
        if is_typable:
            for part in re.split("(?<=%)(?=s)", text):  # %s is typed as a blank, and nothing else is typed as %s
                self._act("text", part.replace(" ", "%s"))
        else:
            encoded = base64.b64encode(text.encode()).decode()
            self._ask(["am", "broadcast", "-a", "ADB_INPUT_B64", "--es", "msg", encoded])
            time.sleep(self._settle)

    def press(self, key: Key) -> None:
        """Press a key."""
        self._act("keyevent", KEY_CODES[key])

    def wait(self, seconds: int) -> None:
        """Let time pass."""
        time.sleep(seconds)

    def _act(self, *words: Any) -> None:
        self._ask(["input", *map(str, words)])
        time.sleep(self._settle)

    def _ask(self, command: list[str]) -> bytes:
        try:
            return self._shell(command)
        except self.errors as error:
            raise DeviceLost(f"the phone went away at {command[0]}: {str(error) or type(error).__name__}") from None

    def _shell(self, command: str | list[str]) -> bytes:
        return bytes(self._device.shell(command, encoding=None, timeout=TIMEOUT_SECONDS))
