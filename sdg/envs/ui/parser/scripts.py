"""Lines in letters that RapidOCR's weights lack, read by Tesseract where it is installed; the one door to that program.

A few lines that the first reader isn't sure of tell which scripts a page is in; most pages end there. On the others the
lines are read again, and what comes back in letters of these scripts takes the place of what was read first.
"""

import io
import os
import subprocess
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from PIL import Image

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
DOUBTFUL, SURE = 0.9, 0.98
"""Confidence of the first reader below which a line may tell a page's script, and from which a line stays as it is."""
CJK, CHINESE = ("CJK", "HIRAGANA", "KATAKANA"), 0.75
"""How Unicode's names of Chinese and Japanese letters begin, and the confidence from which a line with them stays."""
PROBED, WIDE, MOST = 5, 6, 80
"""Lines that are read to tell the scripts, and how much of them, in heights; lines of a page that are read at most."""
LIKELY, LETTERS, SHARE = 0.75, 4, 0.5
"""Least confidence of the second reader in a line that tells a script, its least letters in all such lines, and their
least share of those of the most frequent script."""
ENOUGH = 0.6
"""Least confidence of the second reader for a line to be taken from it."""
HIGH, MARGIN, GAP = 36, 2, 0.15
"""Pixels that a line is made high, pixels around it, and the gap between words in heights of the line."""
COLUMNS, WORD = 12, "5"
"""Of Tesseract's table: level, page, block, paragraph, line, word, left, top, width, height, confidence, text."""
LIMIT_S = 5.0
"""Of each of the two calls for a picture."""
Read = Callable[[np.ndarray, Sequence[TextLine], Sequence[str]], Sequence[tuple[str, float]]]


@cache
def installed() -> tuple[str, ...]:
    """Those of SCRIPTS that are there; none where the program, or its English, isn't."""
    has = _call("--list-langs").split()
    return tuple(each for each in SCRIPTS if each in has) if ENGLISH in has else ()


def languages_of(picture: np.ndarray, lines: Sequence[TextLine], read: Read | None = None) -> tuple[str, ...]:
    """The languages in whose letters a picture, RGB u8 (h, w, 3), has lines that the first reader can't read."""
    doubtful = [line for line in lines if _is_doubtful(line, DOUBTFUL)]
    if not doubtful or not installed():
        return ()
    widest = sorted(doubtful, key=lambda line: line.box[0] - line.box[2])[:PROBED]
    found: Counter[str] = Counter()
    for text, sure in (read or read_as)(picture, [_begun(line) for line in widest], (ENGLISH, *installed())):
        if sure >= LIKELY and is_foreign(text):
            found.update(script for letter in text if (script := _script(letter)))
    least = max(LETTERS, SHARE * max(found.values(), default=0))
    return tuple(each for each in installed() if found[SCRIPTS[each]] >= least)


def read_again(
    picture: np.ndarray, lines: Sequence[TextLine], languages: Sequence[str], read: Read | None = None
) -> list[TextLine]:
    """The lines, with those that are in letters of the languages read by them; those that nobody can read go."""
    doubtful = [line for line in lines if _is_doubtful(line, SURE)][:MOST]
    found: dict[TextLine, TextLine] = {}
    for line, (text, sure) in zip(doubtful, (read or read_as)(picture, doubtful, (*languages, ENGLISH)), strict=True):
        if sure >= ENOUGH and is_foreign(text):
            found[line] = replace(line, text=text, confidence=sure, is_foreign=True)
    return [line for each in lines if (line := found.get(each, each)).confidence >= LEAST_CONFIDENCE]


def read_as(picture: np.ndarray, lines: Sequence[TextLine], languages: Sequence[str]) -> list[tuple[str, float]]:
    """What stands in each line by these languages, and how sure that is, in [0, 1]; ("", 0.0) for nothing."""
    images, data = [_image(picture, line.box) for line in lines], io.BytesIO()
    if images:
        images[0].save(data, "TIFF", save_all=True, append_images=images[1:])
    said = _call("-l", "+".join(languages), "--psm", "7", "stdin", "stdout", "tsv", data=data.getvalue())
    words: list[list[Sequence[str]]] = [[] for _ in lines]
    for columns in (row.split("\t") for row in said.split("\n")[1:]):
        if len(columns) == COLUMNS and columns[0] == WORD and columns[-1].strip():
            words[int(columns[1]) - 1].append(columns)
    return [_joined(each) for each in words]


def _joined(words: Sequence[Sequence[str]]) -> tuple[str, float]:
    """Words of a line in Tesseract's table as one text: some letters come as words, so only gaps are spaces."""
    text, end = "", (0, 0)
    for left, _, wide, _, _, word in (columns[6:] for columns in words):
        begin = (int(left), int(left) + int(wide))
        gap = max(begin[0] - end[1], end[0] - begin[1])
        is_apart = bool(text) and gap > GAP * HIGH and unicodedata.category(word[0])[0] != "M"
        text, end = text + (" " if is_apart else "") + word, begin
    kept = "".join(letter for letter in text if unicodedata.category(letter)[0] != "C")
    return kept, float(np.mean([float(columns[10]) for columns in words])) / 100 if words else 0.0


def _image(picture: np.ndarray, box: Sequence[int]) -> Image.Image:
    """A line by itself, dark on light."""
    x0, y0, x1, y1 = box
    part = picture[max(y0 - MARGIN, 0) : y1 + MARGIN, max(x0 - MARGIN, 0) : x1 + MARGIN]
    image = Image.fromarray(part).convert("L")
    image = image.resize((max(round(image.width * HIGH / image.height), 1), HIGH), Image.Resampling.BICUBIC)
    pixels = np.asarray(image)
    return Image.fromarray(255 - pixels) if np.median(pixels) < 128 else image


def _is_doubtful(line: TextLine, least: float) -> bool:
    is_chinese = any(unicodedata.name(letter, "").startswith(CJK) for letter in line.text)
    has_room = line.box[0] < line.box[2] and line.box[1] < line.box[3]
    return has_room and line.confidence < (CHINESE if is_chinese else least)


def _begun(line: TextLine) -> TextLine:
    x0, y0, x1, y1 = line.box
    return replace(line, box=(x0, y0, min(x1, x0 + WIDE * (y1 - y0)), y1))


def _script(letter: str) -> str:
    name = unicodedata.name(letter, "").partition(" ")[0]
    return name if name in SCRIPTS.values() else ""


def is_foreign(text: str) -> bool:
    """Whether half of a text's letters are of the scripts."""
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum(bool(_script(letter)) for letter in letters) > len(letters)


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
