"""How well texts in ten scripts are read from pages: python -m training.parser.scripts.

The texts are GTK's own translations, which come with Debian's Chromium (fonts-noto-core and fonts-noto-cjk draw them).
One half of them makes the pages that thresholds are chosen by, the other those with seeds from HELD_OUT on. A row for
each script: `chars`, how much of a text is read where it stands, letter by letter, and `exact`, texts all read, with
RapidOCR alone (`before`) and with Tesseract; `worse`, texts that Tesseract made worse, in letters of the script and in
others; `pages_same`, pages whose parse is the same to the last box; `cpu_s`, what Tesseract takes for a page.
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

from sdg.envs.box import Box
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
WHERE = """() => [...document.querySelectorAll('span')].map(each => {
    const box = each.getBoundingClientRect();
    return [each.textContent, [box.left, box.top, box.right, box.bottom].map(Math.round)];
}).filter(([, box]) => box[0] >= 0 && box[2] <= 800 && box[3] <= 600)"""


def texts_of(language: str, *, held_out: bool) -> list[str]:
    """One half of the translations that are a line at most."""
    found = set()
    for domain in ("gtk30", "glib20"):
        known = gettext.translation(domain, TRANSLATIONS, [language])._catalog  # type: ignore[attr-defined]
        for key, said in known.items():
            if isinstance(key, str) and key and said != key and (sum(map(ord, key)) % 2 == 1) == held_out:
                found.add(str(said).replace("_", "").replace("\xa0", " "))
    fits = (text for text in found if len(text) <= LONG and not set(text) & set("%\n|<>{}\u200c\u200b"))
    return sorted(text for text in fits if sum(map(str.isalpha, text)) > 1)


def page(script: str, seed: int) -> str:
    """The HTML of a page of headings, links, buttons, labels and lists."""
    rng = random.Random(seed)
    texts = texts_of(rng.choice(LANGUAGES[script]), held_out=seed >= HELD_OUT)
    short = [text for text in texts if len(text) <= SHORT]
    is_dark = rng.random() < 0.25
    ink, ground, link = ("#e8e8e8", "#202428", "#8ab4f8") if is_dark else ("#222", "#fafafa", "#1a0dab")

    def span(of: Sequence[str]) -> str:
        return f"<span>{escape(rng.choice(of))}</span>"

    def part() -> str:
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
    body += "".join(part() for _ in range(rng.randint(5, 8)))
    return (
        f"<html><meta charset=utf-8><style>nav a{{margin:0 14px;color:{link}}} input,button{{font:inherit}} p,ul,div"
        "{margin:6px} button{margin:4px;padding:5px 12px;border:1px solid #999}</style>"
        f"<body dir={'rtl' if script in ('Arabic', 'Hebrew') else 'ltr'} style='margin:12px;white-space:nowrap;"
        f'font:{rng.choice((12, 13, 14, 16, 18))}px "{rng.choice(FONTS)}";color:{ink};background:{ground}\'>'
        f"{body}</body></html>"
    )


def letters(text: str) -> str:
    """Letters, their marks and digits of a text, large and small alike."""
    same = unicodedata.normalize("NFKC", text).casefold()
    return "".join(letter for letter in same if unicodedata.category(letter)[0] in "LMN")


def read(text: str, box: Sequence[int], elements: Sequence[ScreenElement]) -> float:
    """How much of a text was read where it stands, in [0, 1]."""
    asked, best = letters(text), 0.0
    for each in elements:
        if Box(*each.box).intersection(box).area:
            has = letters(each.text)
            same = sum(part.size for part in SequenceMatcher(None, asked, has, False).get_matching_blocks())
            best = max(best, same / max(len(asked), len(has), 1))
    return best


def rows(first: int = 0, pages: int = 8) -> Iterator[Mapping[str, Any]]:
    """A row for each script, over pages of seeds from `first` on."""
    with open_browser() as browser:
        shown = browser.new_page()
        shown.set_viewport_size(SIZE)
        for script in LANGUAGES:
            shots = []
            for seed in range(first, first + pages):
                shown.set_content(page(script, seed))
                picture = np.asarray(Image.open(io.BytesIO(shown.screenshot())).convert("RGB"))
                shots.append((picture, shown.evaluate(WHERE)))
            yield {"script": script} | figures(shots)


def figures(shots: Sequence[tuple[np.ndarray, Sequence[tuple[str, Sequence[int]]]]]) -> dict[str, Any]:
    """The figures over pictures and their texts with boxes."""
    marks: list[tuple[bool, float, float]] = []
    same, took = 0, []
    for picture, texts in shots:
        with patch.object(scripts, "known_languages", tuple):
            before = parse(picture)
        scripts.known_languages()
        began = resource.getrusage(resource.RUSAGE_CHILDREN)
        after = parse(picture)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime)
        same += before == after
        marks += [
            (scripts.is_foreign(text), read(text, box, before.elements), read(text, box, after.elements))
            for text, box in texts
        ]
    own = [mark for mark in marks if mark[0]] or marks
    return {
        "texts": len(own),
        "chars_before": round(float(np.mean([mark[1] for mark in own])), 3),
        "chars": round(float(np.mean([mark[2] for mark in own])), 3),
        "exact_before": round(float(np.mean([mark[1] == 1 for mark in own])), 3),
        "exact": round(float(np.mean([mark[2] == 1 for mark in own])), 3),
        "worse": sum(mark[2] < mark[1] for mark in marks if mark[0]),
        "others": sum(not mark[0] for mark in marks),
        "others_worse": sum(mark[2] < mark[1] for mark in marks if not mark[0]),
        "pages_same": same,
        "pages": len(shots),
        "cpu_s": round(float(np.mean(took)), 2),
        "cpu_s_most": round(max(took), 2),
    }


if __name__ == "__main__":
    for each in rows(*map(int, sys.argv[1:])):
        print(json.dumps(each), flush=True)
