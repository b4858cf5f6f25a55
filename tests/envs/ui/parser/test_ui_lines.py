"""Lines that hold more than one text, and ticks that look like letters."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from sdg.envs.ui.parser.lines import cut_lines
from sdg.envs.ui.parser.ocr import TextLine

FONT = ImageFont.load_default(16)


def draw_line(*words: tuple[int, str], rings: tuple[int, ...] = (), frames: tuple[int, ...] = ()) -> np.ndarray:
    """A line of words at x, with radio buttons and checkboxes, RGB u8 (60, 400, 3)."""
    image = Image.new("RGB", (400, 60), (255, 255, 255))
    draw = ImageDraw.Draw(image)
    for x, word in words:
        draw.text((x, 20), word, fill=(20, 20, 20), font=FONT)
    for x in rings:
        draw.ellipse((x, 22, x + 17, 39), outline=(100, 100, 100), width=1)
    for x in frames:
        draw.rectangle((x, 22, x + 17, 39), outline=(100, 100, 100), width=1)
    return np.asarray(image)


def test_labels_side_by_side_are_texts_of_their_own_and_a_sentence_is_one() -> None:
    labels = draw_line((20, "Adults"), (110, "Children"), (220, "Groups"))
    cut, ticks = cut_lines(labels, [TextLine("AdultsChildrenGroups", (18, 20, 290, 40), 0.9)], ())
    assert [line.text for line in cut] == ["Adults", "Children", "Groups"]
    assert not ticks
    sentence = TextLine("The O level group meets on Oak Street", (18, 20, 330, 40), 0.9)
    assert cut_lines(draw_line((20, sentence.text)), [sentence], ()) == ([sentence], [])


def test_rings_and_frames_in_a_line_are_ticks() -> None:
    picture = draw_line((46, "Post"), (156, "Pick up"), (276, "LED"), rings=(20, 130), frames=(250,))
    cut, ticks = cut_lines(picture, [TextLine("O Post O Pick up LED", (18, 20, 320, 40), 0.9)], ())
    assert [line.text for line in cut] == ["Post", "Pick up", "LED"]
    assert [(tick.kind, tick.checked) for tick in ticks] == [("radio", False), ("radio", False), ("checkbox", False)]
    assert cut_lines(picture, [TextLine("", (18, 20, 320, 40), 0.9)], ticks)[1] == [], "those that are there already"
