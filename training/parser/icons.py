"""Training the network that names icons: published sets of icons, drawn by Chromium, a quarter of an hour on a core.

`python -m training.parser.icons OUT` fetches the sets from npm, draws them at the sizes of pages, trains, and writes
the two files that belong beside `icons.py`: `icons.safetensors` and its card, `icons.json`. With `held-out` behind it
the command measures the package's weights on `HELD_OUT`, which are never trained on, with `development` on
`DEVELOPMENT`. Nothing at run time imports this.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sdg.envs.ui.browser import open_browser
from sdg.envs.ui.parser.icons import CARD, NAMES, SIDE, WEIGHTS, ink_of, load_network, network
from sdg.envs.ui.parser.screen import ScreenElement
from training.parser.icon_sets import DEVELOPMENT, HELD_OUT, LETTERS, PACKAGE, fetch, icons_of, sets_of, svgs_of
from training.parser.pages import text

CELL, ROW = 60, 16
"""Pixels of a cell of a sheet; cells in a row and in a column."""
SIZES = (14, 16, 18, 20, 24, 28, 32, 40, 48)
DRAWN, OTHERS, WRITTEN = 4, 16_000, 16_000
"""Pictures of each icon with a name; counter-examples: icons without a name, and texts."""
EPOCHS, BATCH, RATE = 9, 256, 2e-3
Drawn = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Ink u8 (n, SIDE, SIDE), names i64 (n,), 0 for none, and sets i64 (n,)."""
Cell = tuple[str, int, int]
"""HTML of an icon or a text, the number of its name, 0 for none, and the number of its set, -1 for texts."""


def cells_of(package: Path, sets: Sequence[str], rng: random.Random) -> list[Cell]:
    """What the network learns from: icons with a name, icons without one, texts."""
    named: list[Cell] = []
    unnamed: list[Cell] = []
    for number, set_name in enumerate(sets):
        for name, view, body in icons_of(package, set_name):
            for size in rng.sample(SIZES, DRAWN if name else 1):
                svg = f"<svg width={size} height={size} viewBox='{view}'>{body}</svg>"
                if name:
                    named.append((svg, 1 + NAMES.index(name), number))
                else:
                    unnamed.append((svg, 0, number))
    texts = [_text_cell(rng) for _ in range(WRITTEN * len(sets) // 100)]
    return [*named, *rng.sample(unnamed, min(len(unnamed), OTHERS * len(sets) // 100)), *texts]


def _text_cell(rng: random.Random) -> Cell:
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


def draw(page: Any, cells: Sequence[Cell], rng: random.Random) -> Drawn:
    """The ink of all cells, drawn in sheets on a page and cut out loosely, as finders do."""
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
        sheet_cells = cells[first : first + ROW * ROW]
        body = "".join(f"<div>{html}</div>" for html, _, _ in sheet_cells)
        page.set_content(f"<!doctype html><meta charset=utf-8><style>{style}</style>{body}")
        sheet = np.asarray(Image.open(io.BytesIO(page.screenshot(timeout=60_000))).convert("RGB"))
        for n, (_, name, set_number) in enumerate(sheet_cells):
            y, x = CELL * (n // ROW), CELL * (n % ROW)
            cut = [
                x + rng.randint(0, 2),
                y + rng.randint(0, 2),
                x + CELL - rng.randint(0, 2),
                y + CELL - rng.randint(0, 2),
            ]
            ink = ink_of(sheet, cut)
            if ink is not None:
                inks.append(ink)
                names.append(name)
                sets.append(set_number)
    return np.stack(inks), np.array(names), np.array(sets)


def train(drawn: Drawn, *, epochs: int = EPOCHS, seed: int = 0) -> Any:
    """The trained network; each epoch shifts, squeezes, thins and blurs the ink anew."""
    import torch
    from torch.nn import functional

    torch.manual_seed(seed)
    inks, names = torch.from_numpy(drawn[0]), torch.from_numpy(drawn[1])
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=1e-3)
    updates = epochs * (len(inks) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=updates)
    for epoch in range(epochs):
        total = 0.0
        for rows in torch.randperm(len(inks)).split(BATCH)[: len(inks) // BATCH]:
            loss = functional.cross_entropy(model(augment(inks[rows])), names[rows], label_smoothing=0.05)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss.detach())
        print(f"epoch {epoch + 1} of {epochs}: loss {total / (len(inks) // BATCH):.4f}", file=sys.stderr, flush=True)
    return model.eval()


def augment(inks: Any) -> Any:
    """Ink u8 (n, SIDE, SIDE) as f32 (n, 1, SIDE, SIDE), each picture changed a little."""
    import torch
    from torch.nn import functional

    n = len(inks)
    pictures = inks[:, None].float() / 255
    affine = torch.zeros(n, 2, 3)
    affine[:, 0, 0] = 1 + 0.12 * torch.randn(n).clamp(-2, 2)
    affine[:, 1, 1] = affine[:, 0, 0] * (1 + 0.05 * torch.randn(n))
    affine[:, 0, 1], affine[:, 1, 0] = 0.03 * torch.randn(2, n)
    affine[:, :, 2] = 0.06 * torch.randn(n, 2)
    grid = functional.affine_grid(affine, [n, 1, SIDE, SIDE], False)
    pictures = functional.grid_sample(pictures, grid, align_corners=False)
    blurred = functional.avg_pool2d(pictures, 3, 1, 1)
    pictures = torch.lerp(pictures, blurred, torch.rand(n, 1, 1, 1) * 0.7)
    pictures = pictures.clamp(0, 1) ** torch.exp(0.4 * torch.randn(n, 1, 1, 1))
    return (pictures + 0.04 * torch.randn_like(pictures)).clamp(0, 1)


def measure(drawn: Drawn, model: Any, sets: Sequence[str]) -> dict[str, Any]:
    """How often named icons are named right, in all and set by set, and how often something else gets a name."""
    import torch

    inks, names, set_numbers = drawn
    with torch.inference_mode():
        logits = torch.cat([model(batch[:, None].float() / 255) for batch in torch.from_numpy(inks).split(512)])
    right, named = logits.argmax(1).numpy() == names, names > 0
    by_set = {name: float(right[named & (set_numbers == n)].mean().round(4)) for n, name in enumerate(sets)}
    by_name = {name: float(right[names == n].mean()) for n, name in enumerate(NAMES, 1) if (names == n).any()}
    rounded = [(name, round(share, 2)) for name, share in by_name.items()]
    icons = named & (set_numbers >= 0)
    return {
        "icons": round(float(right[icons].mean()), 4),
        "n": int(icons.sum()),
        "mean_over_names": round(float(np.mean(list(by_name.values()))), 4),
        "worst": dict(sorted(rounded, key=lambda pair: pair[1])[:12]),
        "others_left_alone": round(float(right[~named].mean()), 4),
        "sets": by_set,
    }


def icon_page(seed: int, drawn: Mapping[str, Sequence[str]]) -> str:
    """A page with icons as sites have them, in bars, buttons, tables, lists and fields, with words beside some; the
    `data-icon` of each is its name. `drawn`: name -> SVGs, {size} left open."""
    rng = random.Random(seed)
    ground, ink, tone = rng.choice(
        (("#fff", "#222", "#0d6efd"), ("#f6f8fa", "#444", "#198754"), ("#1e1e1e", "#ddd", "#6f42c1"))
    )

    def icon(size: int) -> str:
        name = rng.choice(sorted(drawn))
        return f"<i data-icon='{name}'>{rng.choice(drawn[name]).format(size=size)}</i>"

    def button(size: int, label: str = "") -> str:
        look = rng.choice(
            (f"border:1px solid {ink};background:none;color:{ink}", f"border:0;background:{tone};color:#fff")
        )
        look += f";padding:{rng.randint(4, 10)}px;border-radius:{rng.choice((0, 4, 20))}px"
        return f"<button style='{look}'>{icon(size)}{label}</button>"

    def words(most: int) -> str:
        return text(rng, most)

    size = rng.choice((16, 18, 20, 24))
    tools = f"<span>{''.join(icon(size) for _ in range(rng.randint(2, 5)))}</span>"
    bar = f"<header>{icon(size)} <b>{words(2)}</b>{tools}</header>"
    field = f"<label>{icon(16)} <input placeholder='{words(2)}'></label>"
    buttons = "".join(button(rng.choice((16, 20, 24)), f" {words(1)}" * (rng.random() < 0.4)) + " " for _ in range(5))
    rows = "".join(f"<tr><td>{words(3)}<td>{words(2)}<td>{icon(16)} {icon(16)} {icon(16)}" for _ in range(4))
    menu = "".join(f"<li>{icon(size)} {words(2)}" for _ in range(4))
    blocks = [field, f"<p>{buttons}", f"<table>{rows}</table>", f"<ul>{menu}</ul>"]
    style = (
        f"body{{background:{ground};color:{ink};font:{rng.randint(13, 17)}px {rng.choice(('sans-serif', 'serif'))}}}"
        "body{margin:0 16px}header{display:flex;gap:12px;align-items:center;padding:10px 0}"
        "header span{margin-left:auto;display:flex;gap:18px}i{display:inline-flex;vertical-align:middle}"
        "td{padding:6px 14px;border-bottom:1px solid #9994}td i{margin:0 6px}ul{list-style:none;padding:0}"
        "li{display:inline-block;margin:8px 22px 8px 0}input{padding:6px}button{margin:4px}"
    )
    rng.shuffle(blocks)
    return f"<!doctype html><meta charset=utf-8><style>{style}</style>{bar}{''.join(blocks)}"


def measure_pages(page: Any, package: Path, sets: Sequence[str], *, pages: int = 40, seed: int = 0) -> dict[str, Any]:
    """On pages of 800 by 600 pixels, a set each: the share of icons that the parser finds by name at their place, and
    the share of its names that are right."""
    import io

    from PIL import Image

    from sdg.envs.ui.parser.screen import parse

    right = shown = guesses = 0
    page.set_viewport_size({"width": 800, "height": 600})
    for number in range(seed, seed + pages):
        drawn = svgs_of(package, sets[number % len(sets)])
        page.set_content(icon_page(number, drawn))
        boxes = page.evaluate(
            "() => [...document.querySelectorAll('[data-icon]')].map(node => {"
            " const box = node.firstElementChild.getBoundingClientRect();"
            " return [node.dataset.icon, [box.left, box.top, box.right, box.bottom]]; })"
        )
        screen = parse(np.asarray(Image.open(io.BytesIO(page.screenshot(timeout=60_000))).convert("RGB")))
        named = [element for element in screen.elements if element.kind.removesuffix(" icon") in NAMES]
        right += sum(_is_found(name, box, named) for name, box in boxes)
        shown, guesses = shown + len(boxes), guesses + len(named)
    return {
        "found_and_named": round(right / shown, 4),
        "icons": shown,
        "precision": round(right / max(guesses, 1), 4),
        "pages": pages,
    }


def _is_found(name: str, box: Sequence[float], elements: Sequence[ScreenElement]) -> bool:
    """Whether an icon of this name has its middle in a box."""
    middles = [element.middle for element in elements if element.kind == f"{name} icon"]
    return any(box[0] <= x < box[2] and box[1] <= y < box[3] for x, y in middles)


def main(out: Path, group: str = "") -> None:
    """Draw and train, or measure the package's weights on a group of sets; print the figures as a line of JSON."""
    package, rng = fetch(out / "iconify"), random.Random(0)
    apart = {"held-out": HELD_OUT, "development": DEVELOPMENT}
    sets = apart.get(group) or [name for name in sets_of(package) if name not in (*HELD_OUT, *DEVELOPMENT)]
    with open_browser() as browser:
        drawn = draw(browser.new_page(), cells_of(package, sets, rng), rng)
    if group:
        figures = measure(drawn, load_network(), sets)
        with open_browser() as browser:
            figures |= {"on_pages": measure_pages(browser.new_page(), package, sets)}
    else:
        model = train(drawn)
        save(model, out, sets=sets, count=len(drawn[0]))
        figures = measure(drawn, model, sets)
    print(json.dumps(figures))


def save(model: Any, out: Path, *, sets: Sequence[str], count: int) -> None:
    """Write weights, in half precision, and their card: learned from `count` pictures of these sets."""
    from safetensors.torch import save_file

    state = model.state_dict()
    save_file(
        {name: value.half() if value.is_floating_point() else value for name, value in state.items()}, out / WEIGHTS
    )
    card = {
        "about": "Names wordless icons on screenshots. Figures: docs/results.md.",
        "command": "python -m training.parser.icons OUT",
        "package": PACKAGE,
        "sets": list(sets),
        "never_trained_on": [*DEVELOPMENT, *HELD_OUT],
        "drawn": count,
        "training": {"epochs": EPOCHS, "batch": BATCH, "rate": RATE},
    }
    (out / CARD).write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
