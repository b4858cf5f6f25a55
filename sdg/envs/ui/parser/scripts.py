"""Lines in letters that RapidOCR's weights lack, read by Tesseract where it is installed; the one door to that program.

A few lines that the first reader isn't sure of tell which scripts a page is in; most pages end there. On the others the
doubtful lines are read again, and what comes back in letters of these scripts takes the place of what was read first.
RapidOCR's own weights for these scripts lie on a model hub alone; Tesseract's detection of scripts is often wrong about
a word or two.
"""

import io
import os
import subprocess
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from PIL import Image

from sdg.envs.box import Box
from sdg.envs.ui.parser.ocr import LEAST_CONFIDENCE, TextLine

PROGRAM, ENGLISH = "tesseract", "eng"
SCRIPTS = {
    "rus": "CYRILLIC",
    "ukr": "CYRILLIC",
    "ell": "GREEK",
    "ara": "ARABIC",
    "heb": "HEBREW",
    "kor": "HANGUL",
    "tha": "THAI",
    "hin": "DEVANAGARI",
}
"""Tesseract's name of a language, and how Unicode's names of its letters begin."""
ALIKE = frozenset("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοАВЕКМНОРСТУХаеорсухІЇЈЅіїјѕ")
"""Letters that look like Latin ones and so tell nothing."""
DOUBTFUL, SURE = 0.9, 0.98
"""Confidence of the first reader below which a line may tell a page's script, and from which a line stays as it is."""
CJK, CHINESE = ("CJK", "HIRAGANA", "KATAKANA"), 0.75
"""How Unicode's names of Chinese and Japanese letters begin, and the confidence from which a line with them stays."""
PROBED, WIDE, MOST = 5, 6, 80
"""Lines that are read to tell the scripts, and how much of them, in heights; lines of a page that are read at most."""
LIKELY, LETTERS, SHARE = 0.75, 4, 0.5
"""Least confidence of the second reader in a line that tells a script, its least letters in all such lines, and their
least share of those of the most frequent script."""
ENOUGH = 0.4
"""Least confidence of the second reader for a line to be taken from it."""
HIGH, MARGIN, GAP = 36, 2, 0.15
"""Pixels that a line is made high, pixels around it, and the gap between words in heights of the line."""
MARKS = "eOㆍ๑٠ๆ"
"""Letters and digits as which the mark before an item of a list, or a box to tick, is read."""
COLUMNS, WORD = 12, "5"
"""Of Tesseract's table: level, page, block, paragraph, line, word, left, top, width, height, confidence, text."""
LIMIT_S = 5.0
"""Of each of the two calls for a picture."""


@cache
def known_languages() -> tuple[str, ...]:
    """Those of SCRIPTS that are there; none where the program, or its English, isn't."""
    has = _call("--list-langs").split()
    return tuple(language for language in SCRIPTS if language in has) if ENGLISH in has else ()


def languages_of(picture: np.ndarray, lines: Sequence[TextLine]) -> tuple[str, ...]:
    """The languages in whose letters a picture, RGB u8 (h, w, 3), has lines that the first reader can't read."""
    doubtful = [line for line in lines if _is_doubtful(line, DOUBTFUL)] if known_languages() else []
    letters: Counter[str] = Counter()
    widest = sorted((Box(*line.box) for line in doubtful), key=lambda box: -box.width)[:PROBED]
    beginnings = [box._replace(right=min(box.right, box.left + WIDE * box.height)) for box in widest]
    for text, sure in read_as(picture, beginnings, (ENGLISH, *known_languages())):
        if sure >= LIKELY and is_foreign(text):
            letters.update(script for letter in text if letter not in ALIKE and (script := _script(letter)))
    least = max(LETTERS, SHARE * max(letters.values(), default=0))
    return tuple(language for language in known_languages() if letters[SCRIPTS[language]] >= least)


def read_again(picture: np.ndarray, lines: Sequence[TextLine], languages: Sequence[str]) -> list[TextLine]:
    """The lines, with those that are in letters of the languages read by them; those that nobody can read go."""
    doubtful = [line for line in lines if _is_doubtful(line, SURE)][:MOST] if languages else []
    texts = read_as(picture, [line.box for line in doubtful], (*languages, ENGLISH))
    foreign = {
        line: replace(line, text=text, confidence=max(sure, LEAST_CONFIDENCE), is_foreign=True)
        for line, (text, sure) in zip(doubtful, texts, strict=True)
        if sure >= ENOUGH and is_foreign(text)
    }
    return [line for line in (foreign.get(line, line) for line in lines) if line.confidence >= LEAST_CONFIDENCE]


def read_as(picture: np.ndarray, boxes: Sequence[Sequence[int]], languages: Sequence[str]) -> list[tuple[str, float]]:
    """What stands in each box by these languages, and how sure that is, in [0, 1]; ("", 0.0) for nothing."""
    words: list[list[list[str]]] = [[] for _ in boxes]
    if boxes:
        (first, *others), data = (_image(picture, box) for box in boxes), io.BytesIO()
        first.save(data, "TIFF", save_all=True, append_images=others)
        table = _call("-l", "+".join(languages), "--psm", "7", "stdin", "stdout", "tsv", data=data.getvalue())
        for columns in (row.split("\t") for row in table.split("\n")):
            if len(columns) == COLUMNS and columns[0] == WORD and columns[-1].strip():
                words[int(columns[1]) - 1].append(columns)
    return [(_join(line), float(np.mean([float(columns[10]) for columns in line] or [0])) / 100) for line in words]


def _join(words: Sequence[Sequence[str]]) -> str:
    """Words of a line in Tesseract's table as one text: some letters come as words, so only gaps are spaces."""
    text, end = "", (0, 0)
    for left, _, wide, _, _, word in (columns[6:] for columns in words):
        begin = (int(left), int(left) + int(wide))
        is_apart = max(begin[0] - end[1], end[0] - begin[1]) > GAP * HIGH
        space = " " if text and is_apart and unicodedata.category(word[0])[0] != "M" else ""
        text, end = text + space + word, begin
    text = "".join(letter for letter in text if unicodedata.category(letter)[0] != "C").removesuffix(" |")
    text = text.replace("\u00b5", "\u03bc").replace("\u0e4d\u0e32", "\u0e33")  # Greek mu, Thai am, as on pages
    head, _, rest = text.partition(" ")
    return rest if rest and len(head) == 1 and (head in MARKS or not head.isalnum()) else text


def _image(picture: np.ndarray, box: Sequence[int]) -> Image.Image:
    """A line by itself, dark on light."""
    image = Image.fromarray(Box(*box).grown(MARGIN, MARGIN).pixels_of(picture)).convert("L")
    image = image.resize((max(round(image.width * HIGH / image.height), 1), HIGH), Image.Resampling.BICUBIC)
    return image if np.median(np.asarray(image)) >= 128 else image.point(lambda value: 255 - value)


def _is_doubtful(line: TextLine, least: float) -> bool:
    is_chinese = any(unicodedata.name(letter, "").startswith(CJK) for letter in line.text)
    return line.confidence < (CHINESE if is_chinese else least)


def _script(letter: str) -> str:
    return name if (name := unicodedata.name(letter, "").partition(" ")[0]) in SCRIPTS.values() else ""


def is_foreign(text: str) -> bool:
    """Whether most of a text's letters are of the scripts, those aside that may be Latin ones."""
    return sum(1 if _script(letter) else -1 for letter in text if letter.isalpha() and letter not in ALIKE) > 0


def _call(*arguments: str, data: bytes = b"") -> str:
    """What the program prints; nothing where it isn't there, fails or takes too long."""
    try:
        return subprocess.run(
            [PROGRAM, *arguments],
            input=data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
            timeout=LIMIT_S,
            check=True,
        ).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.SubprocessError):
        return ""
