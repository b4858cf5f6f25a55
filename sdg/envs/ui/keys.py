"""The keys of a page: what the browser calls them, which put in a letter, and the events that strike one."""

from collections.abc import Mapping

from sdg.envs.ui.commands import KEYS

PAGE_KEYS: Mapping[str, str] = {
    **KEYS,
    "<Tab>": "Tab",
    "<Escape>": "Escape",
    "<Delete>": "Delete",
    "<Space>": "Space",
    "<Up>": "ArrowUp",
    "<Down>": "ArrowDown",
    "<Left>": "ArrowLeft",
    "<Right>": "ArrowRight",
}
KEY_LETTERS = {"<Enter>": "\r", "<Space>": " "}
"""Keys that put in a letter."""
_SIGNS = ";=,-./`[\\]':+<_>?~{|}\")!@#$%^&*("
_CODES = dict(zip(_SIGNS, [*[*range(186, 193), *range(219, 223)] * 2, *range(48, 58)], strict=True))
"""Codes of the signs; those of letters and digits are their own."""


def key_event(letter: str) -> dict[str, object]:
    """A key as the browser's protocol describes it, by the letter that it puts in."""
    code = {"\r": "Enter", " ": "Space"}.get(letter, f"Key{letter.upper()}" if letter.isalpha() else "")
    key = "Enter" if letter == "\r" else letter
    return {"key": key, "code": code, "windowsVirtualKeyCode": _CODES.get(letter, ord(letter.upper()))}
