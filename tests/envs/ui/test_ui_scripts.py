"""Lines in letters that RapidOCR lacks: which are doubtful, where the second reader's texts go, and the program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from sdg.envs.ui.parser import scripts
from sdg.envs.ui.parser.ocr import TextLine
from sdg.envs.ui.parser.screen import parse

WHITE = np.full((200, 600, 3), 255, np.uint8)


class Reader:
    """A second reader that says by the line's left edge what it is told to; it keeps what it was asked."""

    def __init__(self, said: dict[int, tuple[str, float]]) -> None:
        self.said = said
        self.asked: list[tuple[list[int], tuple[str, ...]]] = []

    def __call__(
        self, picture: np.ndarray, lines: Sequence[TextLine], languages: Sequence[str]
    ) -> list[tuple[str, float]]:
        self.asked.append(([line.box[0] for line in lines], tuple(languages)))
        return [self.said.get(line.box[0], ("", 0.0)) for line in lines]


def line(text: str, x: int, confidence: float, wide: int = 90) -> TextLine:
    return TextLine(text, (x, 20, x + wide, 40), confidence)


@pytest.fixture
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripts, "installed", lambda: ("rus", "kor"))


@pytest.mark.usefixtures("_installed")
def test_the_widest_doubtful_lines_tell_the_scripts_of_a_page() -> None:
    lines = [line("Home", 0, 0.99), line("Yapanb", 10, 0.7), line("", 20, 0.0, 200), line("設定する", 30, 0.85)]
    read = Reader({10: ("Удалить", 0.9), 20: ("Сохранить", 0.9)})
    assert scripts.languages_of(WHITE, lines, read) == ("rus",)
    assert read.asked == [([20, 10], ("eng", "rus", "kor"))]


@pytest.mark.usefixtures("_installed")
@pytest.mark.parametrize("said", [("Delete", 0.95), ("Уда", 0.95), ("Удалить", 0.5), ("", 0.0)])
def test_a_page_whose_doubtful_lines_are_no_other_letters_for_sure_stays(said: tuple[str, float]) -> None:
    assert scripts.languages_of(WHITE, [line("De1ete", 10, 0.7)], Reader({10: said})) == ()


def test_without_the_program_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripts, "installed", lambda: ())
    read = Reader({10: ("Удалить", 0.9)})
    assert scripts.languages_of(WHITE, [line("Yapanb", 10, 0.7)], read) == ()
    assert not read.asked


def test_what_the_second_reader_says_is_put_where_it_stands() -> None:
    lines = [
        line("Yapanb", 10, 0.7),
        line("OK", 20, 0.99),
        line("", 30, 0.0),
        line("", 40, 0.0),
        line("Abuse", 50, 0.8),
        line("設定", 60, 0.9),
    ]
    said = {10: ("Удалить", 0.9), 30: ("Файл", 0.8), 40: ("Фа", 0.3), 50: ("Abuse", 0.9), 60: ("Ею", 0.9)}
    read = Reader(said | {20: ("ОК", 0.99)})
    found = scripts.read_again(WHITE, lines, ("rus",), read)
    assert [(each.text, each.box[0], each.is_foreign) for each in found] == [
        ("Удалить", 10, True),
        ("OK", 20, False),
        ("Файл", 30, True),
        ("Abuse", 50, False),
        ("設定", 60, False),
    ]
    assert read.asked == [([10, 30, 40, 50], ("rus", "eng"))]


@pytest.mark.parametrize("program", ["/nowhere/tesseract", "false", "true"])
def test_a_program_that_fails_or_says_nothing_leaves_all_as_it_is(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, "PROGRAM", program)
    lines = [line("Yapanb", 10, 0.7)]
    assert scripts.installed.__wrapped__() == ()
    assert scripts.read_as(WHITE, lines, ("rus", "eng")) == [("", 0.0)]
    assert scripts.read_again(WHITE, lines, ("rus",)) == lines


def drawn(*texts: str) -> np.ndarray:
    """A page with a text a line, in letters that this machine has; RGB u8 (300, 500, 3)."""
    try:
        font = ImageFont.truetype("DejaVuSans.ttf", 18)
    except OSError:
        pytest.skip("no DejaVu fonts")
    image = Image.new("RGB", (500, 300), "white")
    for n, text in enumerate(texts):
        ImageDraw.Draw(image).text((30, 20 + 50 * n), text, fill=(20, 20, 20), font=font)
    return np.asarray(image)


def test_cyrillic_and_greek_are_read_where_the_program_is_installed() -> None:
    pytest.importorskip("rapidocr")
    if not {"rus", "ell"} <= set(scripts.installed()):
        pytest.skip("no tesseract with tesseract-ocr-rus and tesseract-ocr-ell")
    russian = parse(drawn("Настройки страницы", "Удалить файл", "Help and support")).elements
    assert [each.text for each in russian] == ["Настройки страницы", "Удалить файл", "Help and support"]
    assert "Αποθήκευση αρχείου" in [each.text for each in parse(drawn("Αποθήκευση αρχείου", "Settings")).elements]


def test_a_latin_page_is_read_the_same_with_the_program_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rapidocr")
    page = drawn("Paramètres généraux", "Größe ändern", "Delete 3 files", "→ # ×")
    found = parse(page)
    monkeypatch.setattr(scripts, "installed", lambda: ())
    assert parse(page) == found
