"""The trace of an episode as a GIF: every call is seen, the running line is lit, hostile text is only drawn."""

from __future__ import annotations

import io
import time
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sdg.agents.agents import RandomAgent, Task, play_task
from sdg.deduction.episode import EpisodeResult
from sdg.envs.babyai.world import BabyAIWorld
from sdg.experiments.play import film
from sdg.experiments.play.film import BAD, LAST_MS, RUNNING, episode_gif

SEED = 2_000_000
CALL = {"name": "discover", "argument": "the red ball", "line": 2, "began": 0, "steps": 3, "success": True,
        "refused": False, "message": "", "verdicts": [["rules", True, "fine", 1.0]]}  # fmt: skip
REFUSED = CALL | {"line": 3, "steps": 0, "success": False, "refused": True, "verdicts": [["rules", False, "no", 1.0]]}
PROGRAM = "def program():\n    discover('the red ball')\n    discover('the grey door')\n"


def row(*calls: dict, **changes: object) -> dict:
    steps = sum(call["steps"] for call in calls)
    trace = [{"program": PROGRAM, "error": "line 3: no", "began": 0, "ended": steps, "calls": [*calls]}]
    base = {
        "unit": "u", "agent": "sdg", "level": "GoToLocal", "seed": SEED, "instruction": "go to", "max_steps": 64,
        "success": False, "steps": steps, "actions": [0] * steps, "cause": "refused", "trace": trace,
    }  # fmt: skip
    return base | changes


def gif(row: dict) -> bytes:
    return episode_gif(EpisodeResult.from_json(row), domain_name="babyai")


def frames(data: bytes) -> list[np.ndarray]:
    image: Any = Image.open(io.BytesIO(data))
    pictures = []
    for number in range(image.n_frames):
        image.seek(number)
        pictures.append(np.array(image.convert("RGB")))
    return pictures


def shows(picture: np.ndarray, colour: tuple[int, int, int]) -> bool:
    return bool((np.abs(picture.astype(int) - colour).sum(axis=2) < 12).sum() > 20)


def test_every_step_and_call_is_shown_with_its_line() -> None:
    pictures = frames(gif(row(CALL, REFUSED)))
    # The start, three steps, the end of either call, and the end of the program.
    assert len(pictures) == 1 + 3 + 2 + 1
    assert [shows(picture, RUNNING) for picture in pictures] == [False, True, True, True, True, True, False]
    assert shows(pictures[-1], BAD)
    assert not shows(pictures[1], BAD)
    assert not np.array_equal(pictures[0][:, :380], pictures[1][:, :380])


def test_an_agent_without_programs_is_shown_too() -> None:
    played = play_task(RandomAgent(), Task("GoToLocal", SEED))
    assert len(frames(gif(played))) == played["steps"] + 2


def test_interactions_that_restarted_begin_from_the_start() -> None:
    twice = row(CALL)
    twice["trace"] = twice["trace"] * 2
    twice["actions"] = twice["actions"] * 2
    pictures = frames(gif(twice))
    world = [picture[:, :380] for picture in pictures]
    assert np.array_equal(world[1], world[6])


def test_long_episodes_are_thinned_and_the_last_frame_stays() -> None:
    long = row(CALL | {"steps": 900}, max_steps=2880)
    image: Any = Image.open(io.BytesIO(gif(long)))
    assert image.n_frames <= 240
    image.seek(image.n_frames - 1)
    assert image.info["duration"] == LAST_MS


@pytest.mark.parametrize("number", [20_000, 900])
def test_only_what_is_shown_is_rendered(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    rendered: list[int] = []
    monkeypatch.setattr(film, "MAX_MOMENTS", 12)
    render = BabyAIWorld.render
    monkeypatch.setattr(BabyAIWorld, "render", lambda world: rendered.append(world.steps) or render(world))
    idle = CALL | {"steps": 0}
    many = row(*[idle] * number)
    apart = row() | {"trace": [part | {"calls": [idle]} for part in row()["trace"] * (number // 2)]}
    for episode in (many, apart):
        rendered.clear()
        image: Any = Image.open(io.BytesIO(gif(episode)))
        assert len(rendered) == 12 >= image.n_frames


def test_megabytes_of_text_are_drawn_in_moments() -> None:
    long = "word " * 400_000
    hostile = row(*[CALL | {"steps": 0, "message": long, "success": False}] * 20, instruction=long)
    hostile["trace"][0] |= {"program": "a\n" * 2_000_000, "error": long}
    began = time.process_time()
    gif(hostile)
    assert time.process_time() - began < 20.0


@pytest.mark.parametrize("wrong", [{"program": 5}, {"error": 5}, {"program": ["x"]}])
def test_texts_that_are_none_are_refused(wrong: dict) -> None:
    broken = row(CALL)
    broken["trace"][0] |= wrong
    with pytest.raises(ValueError, match="can't be played"):
        gif(broken)


def test_hostile_text_is_only_drawn() -> None:
    nasty = "\x00\x1b[31m\u202e雪" + "A" * 100_000 + "\n" * 500
    hostile = row(CALL | {"argument": nasty, "name": nasty})
    hostile["trace"][0] |= {"program": nasty, "error": nasty}
    assert frames(gif(hostile | {"instruction": nasty}))


@pytest.mark.parametrize("missing", ["actions", "seed", "level"])
def test_a_row_that_is_no_episode_is_refused(missing: str) -> None:
    broken = row(CALL)
    del broken[missing]
    with pytest.raises(ValueError, match=r"can't be played|Field required"):
        gif(broken)


def test_too_few_actions_are_refused() -> None:
    with pytest.raises(ValueError, match="can't be played"):
        gif(row(CALL, actions=[0]))


def test_a_film_of_many_pictures_is_drawn_one_picture_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = [film.png(np.full((64, 64, 3), 6 * shade, np.uint8)) for shade in range(40)]
    pictures[5] = film.png(np.zeros((32, 64, 3), np.uint8))
    opened: list[Any] = []
    alive: list[int] = []

    def decoded(file: Any) -> Image.Image:
        picture = Image.open(file)
        opened.append(weakref.ref(picture))
        alive.append(sum(reference() is not None for reference in opened))
        return picture

    monkeypatch.setattr(film, "Image", SimpleNamespace(**vars(Image) | {"open": decoded}))
    gif = film.animate_pictures(pictures, [100] * 39 + [300])
    assert max(alive) <= 6
    monkeypatch.undo()
    same = [Image.open(io.BytesIO(picture)) for number, picture in enumerate(pictures) if number != 5]
    assert gif == film.animate(same, [100] * 38 + [300])
