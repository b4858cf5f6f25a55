"""Published sets of icons, fetched from npm: which are used, and what their icons are called."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

PACKAGE = "@iconify/json@2.2.535"
"""More than 200 sets in one form; the sets of user interfaces are used, if their licence has no conditions on use."""
CATEGORIES = ("Material", "UI 24px", "UI 16px / 32px", "UI Other / Mixed Grid")
LICENCES = ("MIT", "Apache-2.0", "ISC", "BSD-3-Clause", "Unlicense", "OFL-1.1", "CC-BY-4.0")
HELD_OUT = ("ph", "ri", "carbon", "octicon", "ant-design", "clarity", "fluent")
"""Sets that served neither training nor decisions; none of the others is made from them."""
DEVELOPMENT = ("ion", "famicons", "uil", "ep", "heroicons", "sidekickicons", "bi", "majesticons")
"""Sets that settings were chosen by."""
CALLED: Mapping[str, str] = {
    "star": "star", "heart": "heart favorite",
    "trash": "trash trash-can delete bin delete-bin trash-bin trash-empty",
    "search": "search magnify magnifying-glass magnifier magnifying", "reply": "reply mail-reply arrow-reply",
    "share": "share share-android share-nodes share-variant share-node share-fat share-network",
    "more": "more dots-horizontal dots more-horizontal more-horiz ellipsis-horizontal ellipsis-h ellipsis dots-three "
            "overflow-menu-horizontal kebab-horizontal menu-dots three-dots more-vertical dots-vertical more-vert "
            "ellipsis-vertical dots-three-vertical overflow-menu-vertical kebab ellipsis-v three-dots-vertical",
    "close": "close x xmark times x-lg cross dismiss cancel remove-x x-mark multiply",
    "left": "chevron-left caret-left angle-left arrow-left-s",
    "right": "chevron-right caret-right angle-right arrow-right-s",
    "up": "chevron-up caret-up angle-up arrow-up-s", "down": "chevron-down caret-down angle-down arrow-down-s",
    "back": "arrow-left arrow-back", "forward": "arrow-right arrow-forward", "plus": "plus add plus-lg",
    "minus": "minus subtract dash-lg remove dash", "folder": "folder folder-close",
    "file": "file document file-blank file-empty",
    "menu": "menu hamburger hamburger-menu list-menu bars menu-hamburger navigation-menu",
    "settings": "settings setting gear cog settings-gear", "home": "home house home-simple home-1",
    "user": "user person account user-profile profile", "users": "users people group user-group user-multiple",
    "add user": "user-plus user-add person-add add-user account-plus", "cart": "cart shopping-cart",
    "bell": "bell notification notifications", "calendar": "calendar calendar-blank calendar-month calendar-today",
    "edit": "edit pencil pen edit-pencil compose",
    "download": "download cloud-download download-simple file-download",
    "upload": "upload upload-simple file-upload", "camera": "camera photo-camera", "microphone": "microphone mic",
    "lock": "lock lock-closed padlock lock-close", "unlock": "unlock lock-open padlock-open unlocked",
    "eye": "eye visibility view show visible",
    "hidden": "eye-off eye-slash visibility-off view-off hide eye-closed eye-invisible eye-crossed invisible eye-close",
    "play": "play play-arrow", "pause": "pause", "mail": "mail email envelope envelope-simple letter",
    "phone": "phone call telephone", "filter": "filter funnel funnel-simple filter-list",
    "refresh": "refresh reload sync arrow-clockwise refresh-cw arrows-clockwise rotate-right",
    "copy": "copy content-copy duplicate copy-simple",
    "info": "info information info-circle circle-info information-circle circle-information info-square",
    "help": "help question help-circle question-circle question-mark-circle circle-question circle-help",
    "check": "check checkmark tick done check-lg check-mark", "link": "link link-simple",
    "pin": "location map-pin location-pin marker location-on map-marker pin place map-marker-alt geo-alt",
    "image": "image picture photo", "clock": "clock time schedule access-time",
    "send": "send paper-plane paper-airplane paper-plane-tilt send-plane telegram-plane", "print": "print printer",
    "save": "save floppy-disk device-floppy diskette content-save floppy",
    "attach": "paperclip attach attachment attach-file paper-clip",
    "like": "thumbs-up thumb-up like hand-thumbs-up", "dislike": "thumbs-down thumb-down dislike hand-thumbs-down",
    "chat": "chat message comment chat-bubble speech-bubble message-circle chat-circle comment-dots chat-dots "
            "chat-round",
    "bookmark": "bookmark bookmark-simple", "logout": "logout log-out sign-out exit sign-out-alt box-arrow-right",
    "undo": "undo arrow-counterclockwise undo-left", "redo": "redo redo-right",
    "grid": "grid apps squares-four view-grid grid-view layout-grid grid-3x3-gap",
    "list": "list list-bullet list-bulleted format-list-bulleted list-ul list-dashes list-unordered",
    "sun": "sun light-mode sunny brightness", "moon": "moon dark-mode",
    "external": "external-link open-in-new arrow-square-out link-external external launch open-external "
                "box-arrow-up-right arrow-up-right-from-square",
    "volume": "volume-up volume speaker-high volume-high volume-2 sound volume-max",
    "mute": "volume-off volume-mute mute volume-x speaker-slash volume-xmark volume-cross speaker-off",
    "globe": "globe world earth globe-simple", "tag": "tag label price-tag", "flag": "flag",
    "gift": "gift present", "code": "code code-tags code-simple",
    "warning": "warning alert exclamation-triangle triangle-exclamation triangle-alert alert-triangle "
               "warning-triangle danger-triangle triangle-warning",
    "video": "video videocam video-camera camera-video",
    "expand": "fullscreen maximize expand arrows-out enlarge full-screen maximize-2 arrows-fullscreen",
    "shrink": "fullscreen-exit minimize collapse compress arrows-in exit-fullscreen exit-full-screen full-screen-exit "
              "shrink minimize-2",
    "sort": "sort sort-vertical arrow-sort sort-up-down arrows-sort arrow-up-down arrows-down-up unfold-more "
            "chevron-expand up-down chevron-up-down",
    "cloud": "cloud", "key": "key", "wallet": "wallet", "card": "credit-card card payment-card credit-card-alt",
    "bag": "bag shopping-bag handbag bag-simple", "chart": "bar-chart chart-bar chart", "shield": "shield",
    "bulb": "lightbulb bulb light-bulb lamp idea", "wifi": "wifi", "bluetooth": "bluetooth",
    "battery": "battery battery-full", "power": "power power-settings-new shutdown power-off",
    "smile": "smile smiley emoji mood face-smile emotion-happy emoji-smile emoji-happy face-smiling happy",
    "headphones": "headphones headphone headset", "book": "book", "briefcase": "briefcase work",
}  # fmt: skip
"""The name of an icon -> its names in the sets."""
STYLES = frozenset((
    "outline", "outlined", "filled", "fill", "line", "linear", "bold", "regular", "light", "thin", "duotone",
    "rounded", "round", "sharp", "solid", "twotone", "broken", "10", "12", "14", "15", "16", "18", "20", "21", "24",
    "28", "30", "32", "40", "48", "1", "2", "3", "01", "02", "o", "ios", "md", "curved", "stroke", "small", "large",
    "thick", "normal", "w", "r", "s", "l", "glyph", "freehand", "remix", "block", "pixel", "micro", "mini",
))  # fmt: skip
"""Parts of an icon's name that say how it is drawn."""
LETTERS = {"×": "close", "✕": "close", "X": "close", "+": "plus", "−": "minus", "–": "minus", "‹": "left", "<": "left",
           "›": "right", ">": "right", "←": "back", "→": "forward", "⋮": "more", "…": "more", "☰": "menu", "≡": "menu",
           "★": "star", "☆": "star", "♥": "heart", "♡": "heart", "✓": "check", "✔": "check", "⚙": "settings",
           "▼": "down", "▲": "up", "▾": "down", "▴": "up", "⌄": "down", "✎": "edit", "✉": "mail",
           "⚠": "warning"}  # fmt: skip
"""Icons that pages write as letters."""


def fetch(folder: Path) -> Path:
    """The folder of the sets, fetched from npm if need be. Raises CalledProcessError without npm or the network."""
    if not (folder / "package").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        packed = subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, capture_output=True)
        subprocess.run(["tar", "xzf", packed.stdout.decode().split()[-1]], cwd=folder, check=True)
    return folder / "package"


def sets_of(package: Path) -> Sequence[str]:
    """The sets of user interfaces in one colour, by their short names."""
    collections = json.loads((package / "collections.json").read_text("utf-8"))
    return [name for name, about in collections.items() if _is_used(about)]


def _is_used(about: Mapping[str, Any]) -> bool:
    if about.get("palette") or about.get("category") not in CATEGORIES:
        return False
    return about["license"]["spdx"] in LICENCES


_NAMES = {word: name for name, words in CALLED.items() for word in words.split()}


def name_of(set_name: str) -> str | None:
    """The name of an icon by its name in a set; "" for an icon with another meaning, None where that is unclear."""
    words = set_name.split("-")
    plain = "-".join(word for word in words if word not in STYLES)
    name = _NAMES.get(set_name) or _NAMES.get(plain)
    if name:
        return name
    return "" if set(words).isdisjoint(_NAMES) else None


def icons_of(package: Path, set_name: str) -> Iterator[tuple[str, str, str]]:
    """The usable icons of a set: their names, "" for none; the viewBox and the body of their SVG."""
    collection = json.loads((package / f"json/{set_name}.json").read_text("utf-8"))
    for icon_name, icon in collection["icons"].items():
        name = name_of(icon_name)
        if name is None or icon.get("hidden"):
            continue
        width, height = (icon.get(side, collection.get(side, 16)) for side in ("width", "height"))
        yield name, f"0 0 {width} {height}", icon["body"]


def svgs_of(package: Path, set_name: str) -> dict[str, list[str]]:
    """A set's icons with a name, as SVG with {size} left open."""
    svgs: dict[str, list[str]] = {}
    for name, view, body in icons_of(package, set_name):
        if name:
            escaped = body.replace("{", "{{").replace("}", "}}")
            svg = f"<svg width={{size}} height={{size}} viewBox='{view}'>{escaped}</svg>"
            svgs.setdefault(name, []).append(svg)
    return svgs
