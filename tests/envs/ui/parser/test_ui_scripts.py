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
    """A second reader that says by the box's left edge what it is given; it keeps what it was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, said: dict[int, tuple[str, float]]) -> None:
        self.said = said
        self.asked: list[tuple[list[int], tuple[str, ...]]] = []
        monkeypatch.setattr(scripts, "read_as", self)

    def __call__(
        self, picture: np.ndarray, boxes: Sequence[Sequence[int]], languages: Sequence[str]
    ) -> list[tuple[str, float]]:
        if boxes:
            self.asked.append(([box[0] for box in boxes], tuple(languages)))
        return [self.said.get(box[0], ("", 0.0)) for box in boxes]


def line(text: str, x: int, confidence: float, wide: int = 90) -> TextLine:
    return TextLine(text, (x, 20, x + wide, 40), confidence)


@pytest.fixture
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripts, "known_languages", lambda: ("rus", "kor"))


@pytest.mark.usefixtures("_installed")
def test_the_widest_doubtful_lines_tell_the_scripts_of_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [line("Home", 0, 0.99), line("Yapanb", 10, 0.7), line("", 20, 0.0, 200), line("設定する", 30, 0.85)]
    read = Reader(monkeypatch, {10: ("Удалить", 0.9), 20: ("Сохранить", 0.9)})
    assert scripts.languages_of(WHITE, lines) == ("rus",)
    assert read.asked == [([20, 10], ("eng", "rus", "kor"))]


@pytest.mark.usefixtures("_installed")
@pytest.mark.parametrize("said", [("Delete", 0.95), ("ΙΕΥΙΟΙ", 0.95), ("Уда", 0.95), ("Удалить", 0.5), ("", 0.0)])
def test_a_page_whose_doubtful_lines_are_no_other_letters_for_sure_stays(
    said: tuple[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Reader(monkeypatch, {10: said})
    assert scripts.languages_of(WHITE, [line("De1ete", 10, 0.7)]) == ()
    assert len(read.asked) == 1


def test_without_the_program_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripts, "known_languages", lambda: ())
    read = Reader(monkeypatch, {10: ("Удалить", 0.9)})
    assert scripts.languages_of(WHITE, [line("Yapanb", 10, 0.7)]) == ()
    assert not read.asked


def test_what_the_second_reader_says_is_put_where_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        line("Yapanb", 10, 0.7),
        line("OK", 20, 0.99),
        line("", 30, 0.0),
        line("", 40, 0.0),
        line("Abuse", 50, 0.8),
        line("設定", 60, 0.9),
    ]
    said = {10: ("Удалить", 0.9), 30: ("Файл", 0.8), 40: ("Фа", 0.3), 50: ("Abuse", 0.9), 60: ("Ею", 0.9)}
    read = Reader(monkeypatch, said | {20: ("ОК", 0.99)})
    lines_read = scripts.read_again(WHITE, lines, ("rus",))
    assert [(line.text, line.box[0], line.is_foreign) for line in lines_read] == [
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
    assert scripts.known_languages.__wrapped__() == ()
    assert scripts.read_as(WHITE, [(10, 20, 90, 40)], ("rus", "eng")) == [("", 0.0)]
    assert scripts.read_again(WHITE, lines, ("rus",)) == lines


def test_the_table_of_the_program_becomes_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    head = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"
    rows = [
        *("1\t1\t0\t0\t0\t0\t0\t0\t300\t36\t-1\t", "5\t1\t1\t1\t1\t1\t0\t0\t9\t36\t60\t«"),
        *("5\t1\t1\t1\t1\t2\t30\t0\t60\t36\t90\tУдалить", "5\t1\t1\t1\t1\t3\t99\t0\t50\t36\t90\tфайл"),
        *("5\t2\t1\t1\t1\t1\t200\t0\t60\t36\t80\tاحفظ\u202e", "5\t2\t1\t1\t1\t2\t100\t0\t80\t36\t80\tالاسم"),
        *(
            "5\t3\t1\t1\t1\t1\t0\t0\t20\t36\t90\tแ",
            "5\t3\t1\t1\t1\t2\t22\t0\t20\t36\t90\tร\u0e4d\u0e32",
            "5\tnot a row",
            "",
        ),
    ]
    monkeypatch.setattr(scripts, "_call", lambda *_, data: "\n".join((head, *rows)))
    readings = scripts.read_as(WHITE, [(0, 20, 90, 40)] * 4, ("rus", "eng"))
    assert [text for text, _ in readings] == ["Удалить файл", "احفظ الاسم", "แร\u0e33", ""]
    assert [round(sure, 2) for _, sure in readings] == [0.8, 0.8, 0.9, 0.0]


def draw_page(*texts: str) -> np.ndarray:
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
    if not {"rus", "ell"} <= set(scripts.known_languages()):
        pytest.skip("no tesseract with tesseract-ocr-rus and tesseract-ocr-ell")
    russian = parse(draw_page("Настройки страницы", "Удалить файл", "Help and support")).elements
    assert [element.text for element in russian] == ["Настройки страницы", "Удалить файл", "Help and support"]
    greek = parse(draw_page("Αποθήκευση αρχείου", "Settings")).elements
    assert "Αποθήκευση αρχείου" in [element.text for element in greek]


def test_a_latin_page_is_read_the_same_with_the_program_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rapidocr")
    page = draw_page("Paramètres généraux", "Größe ändern", "Delete 3 files", "→ # ×")
    screen = parse(page)
    monkeypatch.setattr(scripts, "known_languages", lambda: ())
    assert parse(page) == screen
