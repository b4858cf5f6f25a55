"""How well texts in ten scripts are read from pages: python -m training.parser.scripts.

The texts are GTK's own translations, which come with Debian's Chromium (fonts-noto-core and fonts-noto-cjk draw them).
One half of them makes the pages that thresholds are chosen by, the other those with seeds from HELD_OUT on. A row for
each script: `chars`, the share of a text's letters that are read where it stands, and `exact`, texts all read, with
RapidOCR alone (`before`) and with Tesseract; `worse`, texts that Tesseract made worse, in letters of the script and in
others; `pages_same`, pages whose parse is the same to the last box; `cpu_s`, Tesseract's seconds for a page.
"""

from __future__ import annotations

import gettext
import io
import json
import random
import resource
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from html import escape
from typing import Any
from unittest.mock import patch

import numpy as np
from PIL import Image

from sdg.envs.ui.browser import open_browser
from sdg.envs.ui.parser import scripts
from sdg.envs.ui.parser.screen import ScreenElement, parse

LANGUAGES = {
    "Cyrillic": ("ru", "uk", "bg", "sr"),
    "Greek": ("el",),
    "Arabic": ("ar", "fa"),
    "Hebrew": ("he",),
    "Korean": ("ko",),
    "Thai": ("th",),
    "Devanagari": ("hi",),
    "Japanese": ("ja",),
    "Chinese": ("zh_CN", "zh_TW"),
    "Latin": ("en_GB", "de", "fr", "es", "pl", "cs", "tr", "vi", "sv", "pt", "hu"),
}
TRANSLATIONS = "/usr/share/locale"
FONTS = (
    *("Arial", "Liberation Serif", "DejaVu Sans", "DejaVu Serif", "Liberation Sans Narrow", "FreeSans"),
    *("Noto Sans", "Noto Serif", "Noto Sans CJK JP", "Liberation Mono"),
)
HELD_OUT = 10_000
SHORT, LONG = 16, 44
SIZE = {"width": 800, "height": 600}
TEXT_BOXES = """() => [...document.querySelectorAll('span')].map(span => {
    const box = span.getBoundingClientRect();
    return [span.textContent, [box.left, box.top, box.right, box.bottom].map(Math.round)];
}).filter(([, box]) => box[0] >= 0 && box[2] <= 800 && box[3] <= 600)"""


def texts_of(language: str, *, held_out: bool) -> list[str]:
    """One half of the translations that are a line at most."""
    texts = set()
    for domain in ("gtk30", "glib20"):
        catalog = gettext.translation(domain, TRANSLATIONS, [language])._catalog  # type: ignore[attr-defined]
        for key, translation in catalog.items():
            if not isinstance(key, str) or not key or translation == key:
                continue
            if (sum(map(ord, key)) % 2 == 1) == held_out:
                texts.add(str(translation).replace("_", "").replace("\xa0", " "))
    fitting = (text for text in texts if len(text) <= LONG and not set(text) & set("%\n|<>{}\u200c\u200b"))
    return sorted(text for text in fitting if sum(map(str.isalpha, text)) > 1)


def script_page(script: str, seed: int) -> str:
    """The HTML of a page of headings, links, buttons, labels and lists."""
    rng = random.Random(seed)
    texts = texts_of(rng.choice(LANGUAGES[script]), held_out=seed >= HELD_OUT)
    short = [text for text in texts if len(text) <= SHORT]
    is_dark = rng.random() < 0.25
    ink, ground, link = ("#e8e8e8", "#202428", "#8ab4f8") if is_dark else ("#222", "#fafafa", "#1a0dab")

    def span(choices: Sequence[str]) -> str:
        return f"<span>{escape(rng.choice(choices))}</span>"

    def block() -> str:
        colours = rng.choice(("#1a73e8;color:#fff", "#eee;color:#222", "#2e7d32;color:#fff"))
        buttons = "".join(f"<button style='background:{colours}'>{span(short)}</button>" for _ in range(2))
        return rng.choice(
            (
                f"<div>{buttons}</div>",
                f"<div><label>{span(short)}</label> <input size=20></div>",
                f"<div><input type=checkbox> <label>{span(texts)}</label></div>",
                f"<p>{span(texts)}</p>",
                f"<ul>{''.join(f'<li>{span(texts)}</li>' for _ in range(3))}</ul>",
            )
        )

    body = f"<h2>{span(texts)}</h2><nav>{''.join(f'<a>{span(short)}</a>' for _ in range(4))}</nav>"
    body += "".join(block() for _ in range(rng.randint(5, 8)))
    return (
        f"<html><meta charset=utf-8><style>nav a{{margin:0 14px;color:{link}}} input,button{{font:inherit}} p,ul,div"
        "{margin:6px} button{margin:4px;padding:5px 12px;border:1px solid #999}</style>"
        f"<body dir={'rtl' if script in ('Arabic', 'Hebrew') else 'ltr'} style='margin:12px;white-space:nowrap;"
        f'font:{rng.choice((12, 13, 14, 16, 18))}px "{rng.choice(FONTS)}";color:{ink};background:{ground}\'>'
        f"{body}</body></html>"
    )


def letters(text: str) -> str:
    """Letters, their marks and digits of a text, large and small alike."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(letter for letter in folded if unicodedata.category(letter)[0] in "LMN")


def share_read(text: str, box: Sequence[int], elements: Sequence[ScreenElement]) -> float:
    """The share of a text that the parser read where it stands, in [0, 1]."""
    wanted, best = letters(text), 0.0
    for element in elements:
        x0, y0, x1, y1 = element.box
        if min(x1, box[2]) > max(x0, box[0]) and min(y1, box[3]) > max(y0, box[1]):
            have = letters(element.text)
            blocks = SequenceMatcher(None, wanted, have, False).get_matching_blocks()
            same = sum(block.size for block in blocks)
            best = max(best, same / max(len(wanted), len(have), 1))
    return best


def script_rows(first: int = 0, pages: int = 8) -> Iterator[Mapping[str, Any]]:
    """A row for each script, over pages of seeds from `first` on."""
    with open_browser() as browser:
        page = browser.new_page()
        page.set_viewport_size(SIZE)
        for script in LANGUAGES:
            shots = []
            for seed in range(first, first + pages):
                page.set_content(script_page(script, seed))
                picture = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
                shots.append((picture, page.evaluate(TEXT_BOXES)))
            yield {"script": script} | script_figures(shots)


def script_figures(shots: Sequence[tuple[np.ndarray, Sequence[tuple[str, Sequence[int]]]]]) -> dict[str, Any]:
    """The figures over pictures and their texts with boxes."""
    own: list[tuple[float, float]] = []
    others: list[tuple[float, float]] = []
    same, seconds = 0, []
    for picture, texts in shots:
        with patch.object(scripts, "known_languages", tuple):
            before = parse(picture)
        scripts.known_languages()
        began = resource.getrusage(resource.RUSAGE_CHILDREN)
        after = parse(picture)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime)
        same += before == after
        for text, box in texts:
            shares = share_read(text, box, before.elements), share_read(text, box, after.elements)
            (own if scripts.is_foreign(text) else others).append(shares)
    shares_before, shares_after = np.array(own or others).T
    return {
        "texts": len(shares_after),
        "chars_before": round(float(np.mean(shares_before)), 3),
        "chars": round(float(np.mean(shares_after)), 3),
        "exact_before": round(float(np.mean(shares_before == 1)), 3),
        "exact": round(float(np.mean(shares_after == 1)), 3),
        "worse": sum(after < before for before, after in own),
        "others": len(others),
        "others_worse": sum(after < before for before, after in others),
        "pages_same": same,
        "pages": len(shots),
        "cpu_s": round(float(np.mean(seconds)), 2),
        "cpu_s_most": round(max(seconds), 2),
    }


if __name__ == "__main__":
    for script_row in script_rows(*map(int, sys.argv[1:])):
        print(json.dumps(script_row), flush=True)
