"""Training the detector: screenshots of the 59 tasks, of further and of made-up pages, labelled from the DOM, half an
hour on a core; an accelerator is taken where updates take less time on it.

`python -m training.parser.detector OUT` gathers, trains and writes the two files that belong beside `detector.py`:
`detector.safetensors` and its card, `detector.json`. With `kits` behind it the pages include those of UI kits'
components, fetched from npm (`kits.py`). With `devices` it only prints the seconds of a hundred updates on each device,
and how far the weights are then apart. Nothing at run time imports this.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from sdg.envs.ui.boxes import TrueElement, true_elements
from sdg.envs.ui.browser import Browser, PageError
from sdg.envs.ui.commands import SCREEN, ScreenCommand
from sdg.envs.ui.parser.detector import CARD, KINDS, STRIDE, WEIGHTS, as_input, network
from sdg.envs.ui.parser.screen import picture_of
from sdg.envs.ui.tasks import SEEN, TASKS, UNSEEN
from sdg.experiments.bench.scale.accelerator import distance
from sdg.skills.learning.sb3 import devices
from training.parser.kits import HELD_OUT, ICON_FONTS, KITS, fetch, kit_page
from training.parser.pages import made_up_page

FIRST_SEED = 1_000_000
"""Seeds of training begin here; evaluated ones are small numbers."""
PER_TASK, MADE_UP, KIT_PAGES = 14, 1400, 700
EPOCHS, BATCH, RATE = 11, 8, 3e-3
SHIFT, ZOOM = 20, 1.35
Labelled = tuple[np.ndarray, Sequence[TrueElement]]


def gather(
    browser: Browser,
    *,
    tasks: Sequence[str] = (),
    per_task: int = PER_TASK,
    made_up: int = MADE_UP,
    seed: int = FIRST_SEED,
    kit_pages: int = 0,
    styles: Mapping[str, str] | None = None,
    held_out: bool = False,
) -> Iterator[Labelled]:
    """Screenshots u8 (320, 320, 3) with their true elements: pages after a few random commands, then made-up ones, then
    those of UI kits, whose `styles` `kits.fetch` gives; `held_out`: of the kits that nothing is trained on."""
    rng = np.random.default_rng(seed)
    for task in (tasks or (*SEEN, *further_pages(browser))) if per_task else ():
        for number in range(per_task):
            try:
                browser.begin(task, seed + number)
                for _ in range(int(rng.integers(4))):
                    _do_something(browser, rng)
                if browser.state()["done"]:
                    browser.begin(task, seed + number)
                yield _labelled(browser)
            except PageError:
                continue
    for number in range(made_up):
        browser.show(made_up_page(seed + number))
        yield _labelled(browser)
    for number in range(kit_pages):
        browser.show(kit_page(seed + number, styles or {}, held_out=held_out))
        yield _labelled(browser)


def further_pages(browser: Browser) -> Sequence[str]:
    """Pages of the package that the paper's tasks don't have; variants of the 15 that nobody looks at are left out."""
    return [page for page in browser.pages if page not in TASKS and not page.startswith(UNSEEN)]


def _labelled(browser: Browser) -> Labelled:
    return picture_of(browser.screenshot()), true_elements(browser)


def _do_something(browser: Browser, rng: np.random.Generator) -> None:
    elements = true_elements(browser)
    if not elements or rng.random() < 0.2:
        browser.perform(ScreenCommand("TYPE_TEXT", "abc " * int(rng.integers(1, 4))))
        return
    x0, y0, x1, y1 = elements[int(rng.integers(len(elements)))].box
    name = str(rng.choice(["CLICK_COORDS", "CLICK_COORDS", "CLICK_COORDS", "MOVE_COORDS", "SCROLL_DOWN_COORDS"]))
    middle = min((x0 + x1) // 2, SCREEN - 1), min((y0 + y1) // 2, SCREEN - 1)
    browser.perform(ScreenCommand(name, middle))


def kind_of(element: TrueElement) -> str | None:
    """The detector's kind for a true element, None for text, which is read instead."""
    if element.kind == "icon":
        return f"{element.text} icon" if f"{element.text} icon" in KINDS else "icon"
    return element.kind if element.kind in KINDS else None


def targets(elements: Sequence[TrueElement]) -> tuple[np.ndarray, np.ndarray]:
    """Maps of one screenshot: heat f32 (kinds, 80, 80), 1 at centres; f32 (7, 80, 80): sides, states, a mask."""
    side = SCREEN // STRIDE
    heat = np.zeros((len(KINDS), side, side), np.float32)
    rest = np.zeros((7, side, side), np.float32)
    grid = np.arange(side)
    for element in elements:
        kind = kind_of(element)
        if kind is None:
            continue
        x0, y0, x1, y1 = (value / STRIDE for value in element.box)
        cx, cy = min(int((x0 + x1) / 2), side - 1), min(int((y0 + y1) / 2), side - 1)
        across = (grid - cx) ** 2 / (2 * max((x1 - x0) / 8, 0.6) ** 2)
        down = (grid - cy) ** 2 / (2 * max((y1 - y0) / 8, 0.6) ** 2)
        kind_heat = heat[KINDS.index(kind)]
        np.maximum(kind_heat, np.exp(-across[None, :] - down[:, None]), out=kind_heat)
        kind_heat[cy, cx] = 1
        for x, y in ((cx + dx, cy + dy) for dy in (-1, 0, 1) for dx in (-1, 0, 1)):
            sides = (x + 0.5 - x0, y + 0.5 - y0, x1 - x - 0.5, y1 - y - 0.5)
            if 0 <= x < side and 0 <= y < side and min(sides) > 0.05:
                rest[:, y, x] = (*np.log(sides), element.checked, element.focused, 1)
    return heat, rest


def loss_of(maps: Any, heat: Any, rest: Any) -> Any:
    """Focal loss of the centres (arXiv 1904.07850, eq. 1), L1 of the log sides, cross entropy of the states."""
    from torch.nn import functional as F

    logits, heat = maps[:, : len(KINDS)].contiguous().flatten(), heat.flatten()
    beside = (1 - heat).square().square() * logits.sigmoid().square() * F.softplus(logits)  # 0 at centres
    centres = logits[heat == 1]
    focal = beside.sum() + ((1 - centres.sigmoid()) ** 2 * F.softplus(-centres)).sum()
    mask = rest[:, 6:7]
    sides = ((maps[:, len(KINDS) : len(KINDS) + 4] - rest[:, :4]).abs() * mask).sum() / mask.sum().clamp(min=1)
    states = F.binary_cross_entropy_with_logits(maps[:, len(KINDS) + 4 :], rest[:, 4:6], reduction="none") * mask
    return focal / max(len(centres), 1) + sides + states.sum() / mask.sum().clamp(min=1)


def train(
    data: Sequence[Labelled],
    *,
    epochs: int = EPOCHS,
    seed: int = 0,
    say: Any = print,
    device: str = "cpu",
    most: int | None = None,
) -> Any:
    """A trained network. The rate rises, then falls to 0 along a cosine; pictures are moved about and tinted.

    It ends after `most` updates, if given."""
    import torch

    torch.backends.cudnn.allow_tf32, torch.backends.cudnn.deterministic = False, True
    torch.manual_seed(seed)
    rng, model = np.random.default_rng(seed), network().to(device)
    with torch.no_grad():
        model[-1].bias[: len(KINDS)] = -4.0
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=1e-4)
    steps = epochs * (len(data) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps + 1, pct_start=0.1)
    began = time.monotonic()
    for epoch in range(epochs):
        order, total = rng.permutation(len(data)), 0.0
        for start in range(0, len(order) - BATCH + 1, BATCH):
            if most is not None and epoch * (len(order) // BATCH) + start // BATCH >= most:
                return model.cpu().eval()
            rows = [augment(data[row][0], data[row][1], rng) for row in order[start : start + BATCH]]
            pictures = as_input(np.stack([picture for picture, _ in rows]))
            pictures *= torch.from_numpy(rng.uniform(0.85, 1.05, (BATCH, 3, 1, 1)).astype(np.float32))
            maps = zip(*(targets(elements) for _, elements in rows), strict=True)
            heat, rest = (torch.from_numpy(np.stack(arrays)).to(device) for arrays in maps)
            loss = loss_of(model(pictures.to(device)), heat, rest)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimiser.step()
            schedule.step()
            total += loss.item()
        spent = time.monotonic() - began
        remaining = spent / (epoch + 1) * (epochs - epoch - 1)
        mean_loss = total / max(len(order) // BATCH, 1)
        say(f"epoch {epoch + 1} of {epochs}: loss {mean_loss:.3f}, {remaining:.0f} s left")
    return model.cpu().eval()


def compare_devices(data: Sequence[Labelled], updates: int = 100) -> dict[str, tuple[float, float]]:
    """For each device: seconds of the first updates, and how far the weights are then from a core's (`distance`)."""
    measured: dict[str, tuple[float, float]] = {}
    expected: dict[str, Any] = {}
    for device in devices():
        train(data, say=lambda _: None, device=device, most=2)  # kernels are loaded with the first updates
        began = time.monotonic()
        weights = train(data, say=lambda _: None, device=device, most=updates).state_dict()
        seconds = time.monotonic() - began
        expected = expected or weights
        measured[device] = seconds, distance(weights, expected)
    return measured


def augment(picture: np.ndarray, elements: Sequence[TrueElement], rng: np.random.Generator) -> Labelled:
    """The screenshot at another size and place, at times its colours swapped, cut off at the edges of the screen.

    Half of the pictures are enlarged or made smaller by up to `ZOOM`; all are shifted by up to `SHIFT` pixels each way.
    """
    zoom = float(np.exp(rng.uniform(-1, 1) * np.log(ZOOM))) if rng.random() < 0.5 else 1.0
    dx, dy = (int(value) for value in rng.integers(-SHIFT, SHIFT + 1, 2))
    if rng.random() < 0.3:
        picture = picture[..., rng.permutation(3)]
    frame = (1 / zoom, 0, -dx / zoom, 0, 1 / zoom, -dy / zoom)
    ground = tuple(int(value) for value in np.median(picture[-1], axis=0))
    moved = Image.fromarray(picture).transform(
        (SCREEN, SCREEN), Image.Transform.AFFINE, frame, Image.Resampling.BILINEAR, fillcolor=ground
    )
    visible = []
    for element in elements:
        x0, y0, x1, y1 = (round(value * zoom) for value in element.box)
        box = max(x0 + dx, 0), max(y0 + dy, 0), min(x1 + dx, SCREEN), min(y1 + dy, SCREEN)
        if box[2] - box[0] >= 6 and box[3] - box[1] >= 6:
            visible.append(replace(element, box=box))
    return np.asarray(moved), visible


def main(out: Path, *, kits: bool = False, devices: bool = False) -> None:
    """Gather pages unless OUT/data.npz has them, train, save the weights and their card."""
    from safetensors.torch import save_file

    out.mkdir(parents=True, exist_ok=True)
    cache = out / "data.npz"
    if not cache.exists():
        styles = fetch(out / "kits") if kits else None
        with Browser() as browser:
            keep(list(gather(browser, kit_pages=KIT_PAGES if kits else 0, styles=styles)), cache)
    data = load_labelled(cache)
    measured = compare_devices(data)
    print(json.dumps(measured))
    if devices:
        return
    model = train(data, device=min(measured, key=lambda device: measured[device][0]))
    save_file({name: value.contiguous() for name, value in model.state_dict().items()}, out / WEIGHTS)
    about_kits = {"kits": [*KITS, *ICON_FONTS], "kits_held_out": list(HELD_OUT)} if kits else {}
    (out / CARD).write_text(json.dumps(card(data) | about_kits, indent=1) + "\n", encoding="utf-8")


def keep(data: Sequence[Labelled], place: Path) -> None:
    """Write labelled screenshots to a file."""
    rows = [[_row_of(element) for element in elements] for _, elements in data]
    pictures = np.stack([picture for picture, _ in data])
    np.savez_compressed(place, pictures=pictures, labels=np.array(json.dumps(rows)))


def _row_of(element: TrueElement) -> list[Any]:
    return [element.kind, element.text, element.box, element.checked, element.focused]


def load_labelled(place: Path) -> list[Labelled]:
    """The labelled screenshots of a file that `keep` wrote."""
    stored = np.load(place)
    labels = [tuple(_element_of(*row) for row in rows) for rows in json.loads(str(stored["labels"]))]
    return list(zip(stored["pictures"], labels, strict=True))


def _element_of(kind: str, text: str, box: Sequence[int], checked: bool, focused: bool) -> TrueElement:
    x0, y0, x1, y1 = box
    return TrueElement(kind, text, (x0, y0, x1, y1), checked, focused)


def card(data: Sequence[Labelled]) -> dict[str, Any]:
    """The data and the settings of a training."""
    counts = Counter(kind_of(element) or element.kind for _, elements in data for element in elements)
    return {
        "about": "Finds elements on screenshots of 320 by 320 pixels. Figures: docs/results.md.",
        "command": "python -m training.parser.detector OUT",
        "tasks": list(SEEN),
        "further_pages": "those of the package that are no task of the 74, variants of unseen tasks left out",
        "screenshots": {"tasks": len(data) - MADE_UP, "made-up pages": MADE_UP},
        "first_seed": FIRST_SEED,
        "labels": "boxes of the DOM (`sdg.envs.ui.boxes`), for training alone",
        "elements": dict(counts.most_common()),
        "training": {"epochs": EPOCHS, "batch": BATCH, "rate": RATE, "shift": SHIFT, "zoom": ZOOM},
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), kits="kits" in sys.argv[2:], devices="devices" in sys.argv[2:])
