"""An episode to look at: the world beside the program with its running line, its verdicts and its errors, as a GIF."""

import base64
import importlib.util
import io
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from sdg.deduction.episode import EpisodeResult
from sdg.deduction.program import ENTRY
from sdg.envs.domains import domain_of_data
from sdg.envs.world import World
from sdg.errors import UserError

WIDTH = 560
"""Width of the text panel, in pixels."""
MIN_SIDE = 352
"""Pixels; smaller worlds are drawn larger. With the panel beside it, a film is at most as wide as the report's text."""
MAX_MOMENTS = 240
MAX_ACTIONS = 4000
MAX_TOLD = 200
"""Last lines of an interaction's news that are kept; the panel shows fewer."""
MAX_PROGRAM = 100_000
"""Characters of a program that are shown."""
MIN_HEIGHT = 390
FRAME_MS, NOTE_MS, LAST_MS = 160, 900, 2500
WHITE, BLACK, GREY = (255, 255, 255), (20, 20, 20), (120, 120, 120)
RUNNING, GOOD, BAD = (255, 240, 170), (20, 120, 40), (180, 30, 30)


@dataclass(frozen=True)
class Typeface:
    """Sizes of the panel's text: font and line height in pixels, letters that fit on a line."""

    size: int
    height: int
    columns: int


SMALL, LARGE = Typeface(size=10, height=13, columns=88), Typeface(size=14, height=18, columns=64)
LARGE_LINES = 8
"""Programs of at most that many lines are shown in large type."""


@dataclass(frozen=True)
class FilmText:
    """What is shown beside the world's picture: the program, its line (0: none) and the text below it."""

    step: int
    program: str
    line: int
    told: tuple[tuple[str, bool], ...]
    milliseconds: int = FRAME_MS


def gif_path(path: Path) -> Path:
    """The path of a film. Raises UserError for a name without .gif, which may be another file's."""
    if path.suffix.lower() != ".gif":
        raise UserError(f"a film is a GIF: name it {path.with_suffix('.gif')}, not {path}")
    return path


def episode_gif(row: EpisodeResult, *, domain_name: str) -> bytes:
    """An episode as a GIF. Raises ValueError when it can't be played again, RegistryError as `domain_of_data`."""
    if len(row.actions) > MAX_ACTIONS:
        raise ValueError(f"{len(row.actions)} actions are too many for a film")
    try:
        # The row is gone through twice, because whoever wrote it may have put any number of calls in it.
        count = sum(1 for _ in _moments(row))
        indices = set(np.linspace(0, count - 1, min(count, MAX_MOMENTS)).round().astype(int).tolist())
        world = domain_of_data(domain_name).open(row.level, lift_time_limit=True)
        world.reset(row.seed)
        frames = [(world.render(), moment) for number, moment in enumerate(_moments(row, world)) if number in indices]
        programs = (program.strip().split("\n") for program in {moment.program for _, moment in frames})
        fits = all(len(lines) <= LARGE_LINES and max(map(len, lines)) <= LARGE.columns for lines in programs)
        images = [_draw(picture, moment, row, LARGE if fits else SMALL) for picture, moment in frames]
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"the row of {row.unit} can't be played again: {error!r}") from error
    return animate(images, [moment.milliseconds for _, moment in frames])


def png(picture: np.ndarray) -> bytes:
    """A picture u8 (height, width, 3) as a PNG."""
    out = io.BytesIO()
    Image.fromarray(picture).save(out, format="PNG")
    return out.getvalue()


def data_address(kind: str, content: bytes) -> str:
    """A file of a media type as an address that holds it."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _moments(row: EpisodeResult, world: World | None = None) -> Iterator[FilmText]:
    """A moment for each step, call and error, in order; the steps before it are played in a world that was reset, if
    there is one."""
    alone: Mapping[str, Any] = {"program": "", "calls": [], "error": row.cause, "began": 0, "ended": row.steps}
    trace = row.trace or (alone,)
    actions, steps = list(row.actions), 0

    def play(count: int, line: int) -> Iterator[FilmText]:
        nonlocal steps
        for _ in range(count):
            steps += 1
            action = actions.pop(0)
            if world is not None:
                world.step(action)
            yield FilmText(steps, program, line, tuple(news))

    yield FilmText(0, trace[0]["program"][:MAX_PROGRAM], 0, (), NOTE_MS)
    for interaction in trace:
        program = interaction["program"][:MAX_PROGRAM]
        if interaction["began"] == 0 and steps:
            steps = 0
            if world is not None:
                world.reset(row.seed)
        news: list[tuple[str, bool]] = []
        for call in interaction["calls"]:
            yield from play(call["began"] - steps + call["steps"], call["line"])
            news = [*news, *_call_lines(call)][-MAX_TOLD:]
            yield FilmText(steps, program, call["line"], tuple(news), NOTE_MS)
        yield from play(interaction["ended"] - steps, 0)
        end = (interaction["error"], False) if interaction["error"] else ("done", True)
        yield FilmText(steps, program, 0, (*news, end), LAST_MS)


def _call_lines(call: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """A call and its verdicts as lines, each with whether it is good news."""
    name = f"{call['name']}({call['argument']!r})" if call["argument"] else f"{call['name']}()"
    result = "refused" if call["refused"] else str(call["success"])
    yield f"{name} -> {result}, {call['steps']} steps", bool(call["success"])
    for when, (source, passed, reason, _) in zip(("before", "after"), call["verdicts"], strict=False):
        yield f"  {when}, {source}: {'passed' if passed else reason}", bool(passed)
    if call["message"] and not call["success"] and all(passed for _, passed, *_ in call["verdicts"]):
        yield f"  {call['message']}", False


def _draw(world: np.ndarray, moment: FilmText, row: EpisodeResult, kind: Typeface) -> Image.Image:
    scale = -(-MIN_SIDE // min(world.shape[:2]))
    picture = Image.fromarray(np.kron(world, np.ones((scale, scale, 1), np.uint8)))
    canvas = Image.new("RGB", (picture.width + WIDTH, max(picture.height, MIN_HEIGHT)), WHITE)
    canvas.paste(picture, (0, 0))
    draw = ImageDraw.Draw(canvas)
    left, room = picture.width + 10, canvas.height // kind.height - 1
    for number, (text, colour, running) in enumerate(_lines(moment, row, room=room, columns=kind.columns)):
        top = 6 + number * kind.height
        if running:
            draw.rectangle((left - 4, top - 1, canvas.width - 4, top + kind.height - 2), fill=RUNNING)
        draw.text((left, top), _latin_letters(text[: kind.columns]), fill=colour, font=_font(kind.size))
    return canvas


def _lines(
    moment: FilmText, row: EpisodeResult, *, room: int, columns: int
) -> list[tuple[str, tuple[int, int, int], bool]]:
    """The panel's lines: heading, the program around its running line, and the latest news."""
    heading = [(f"{row.agent}  {row.level} {row.seed}  step {moment.step} of {row.max_steps}", GREY, False)]
    fits = room * columns  # Whoever wrote the row may have put megabytes into it; no more letters have room.
    heading += [(text, BLACK, False) for text in textwrap.wrap(row.instruction[:fits], columns)[:3]]
    news = [
        (wrapped, GOOD if is_good else BAD, False)
        for text, is_good in moment.told[-room:]
        for line in text[-fits:].split("\n")
        for wrapped in textwrap.wrap(line, columns) or [""]
    ]
    news = news[-max(4, room // 3) :]
    space = max(3, room - len(heading) - len(news) - 2)
    program = [(text, BLACK, number == moment.line) for number, text in enumerate(moment.program.split("\n"), 1)]
    # Before the first call the program itself is shown, not the helpers that stand above it.
    entry = next((number for number, line in enumerate(program) if line[0].startswith(f"def {ENTRY}(")), 0)
    first = max(0, min(moment.line - space // 2 if moment.line else entry, len(program) - space))
    blank = ("", BLACK, False)
    return [*heading, blank, *program[first : first + space], blank, *news]


def _latin_letters(text: str) -> str:
    """Latin letters alone, which every font has, and no control characters."""
    return "".join(sign if sign.isprintable() else " " for sign in text).encode("latin-1", "replace").decode("latin-1")


@cache
def _font(size: int) -> Any:
    """The monospaced font that comes with matplotlib; Pillow's own bitmap font if that is missing."""
    spec = importlib.util.find_spec("matplotlib")
    folder = Path(spec.origin).parent if spec is not None and spec.origin else Path()
    try:
        return ImageFont.truetype(folder / "mpl-data" / "fonts" / "ttf" / "DejaVuSansMono.ttf", size)
    except OSError:
        return ImageFont.load_default_imagefont()


def animate(
    images: Sequence[Any], durations: Sequence[int], read: Callable[[Any], Image.Image] = lambda image: image
) -> bytes:
    """Pictures of one size as a GIF, each shown for its duration in milliseconds, and `read` only when it is drawn."""
    sample_indices = sorted({0, len(images) // 3, 2 * len(images) // 3, len(images) - 1})
    palette = _palette([read(images[index]) for index in sample_indices]).quantize(128, dither=Image.Dither.NONE)
    frames = (read(image).quantize(palette=palette, dither=Image.Dither.NONE) for image in images)
    out = io.BytesIO()
    next(frames).save(
        out, format="GIF", save_all=True, append_images=frames, duration=list(durations), loop=0, optimize=False
    )
    return out.getvalue()


def animate_pictures(pictures: Sequence[bytes], durations: Sequence[int]) -> bytes:
    """PNGs as a GIF; those of another size than the first are left out."""

    def read(data: bytes) -> Image.Image:
        return Image.open(io.BytesIO(data))

    same = [picture for picture in pictures if read(picture).size == read(pictures[0]).size]
    return animate(same, durations[-len(same) :], read)


def _palette(samples: Sequence[Image.Image]) -> Image.Image:
    """Some of the pictures and a stripe of each panel colour, because colours outside the palette come out wrong."""
    height = samples[0].height
    sheet = Image.new("RGB", (samples[0].width, height * len(samples) + 6 * 40))
    for number, image in enumerate(samples):
        sheet.paste(image, (0, number * height))
    for number, colour in enumerate((WHITE, BLACK, GREY, RUNNING, GOOD, BAD)):
        sheet.paste(
            colour, (0, len(samples) * height + 40 * number, sheet.width, len(samples) * height + 40 * number + 40)
        )
    return sheet
