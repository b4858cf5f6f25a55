"""Nothing above the worlds names one: what skills and sdg say, in code and in prose, holds in any domain."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

WORLD_FLOORS = ("sdg/envs", "sdg/experiments", "sdg/configs", "sdg/api")
"""What knows a world only by its domain: all of `sdg` but these floors."""

WORLDLY = ("sdg/skills/shipped", "sdg/llm/babylang", *WORLD_FLOORS)
"""Weights and texts that were learned in one world, and the stand-in for a model that speaks of one alone."""

WORLDS = re.compile("babyai|minigrid", re.IGNORECASE)
THINGS = frozenset({"door", "doors", "room", "rooms", "box", "boxes", "ball", "balls"})
WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""Words as they stand in prose and as parts of identifiers: find_exit, BatchReward, N_ACTIONS."""


def sources() -> list[Path]:
    """All Python and Markdown above the worlds."""
    paths = []
    for place, _, names in os.walk(ROOT / "sdg"):
        if not Path(place).relative_to(ROOT).as_posix().startswith(WORLDLY):
            paths += [Path(place, name) for name in names if name.endswith((".py", ".md"))]
    return sorted(path for path in paths if path.name != "console.py")  # rich's tables have a `box`


def world_words(text: str) -> list[str]:
    """What a text says of one world."""
    return WORLDS.findall(text) + [word for word in WORDS.findall(text) if word.lower() in THINGS]


def test_no_world_is_named_above_the_worlds() -> None:
    paths = sources()
    assert len(paths) > 80
    faults = []
    for path in paths:
        place = path.relative_to(ROOT)
        for number, line in enumerate([str(place), *path.read_text(encoding="utf-8").splitlines()]):
            faults += [f"{place}:{number}: {word!r} in {line.strip()}" for word in world_words(line)]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("from sdg.envs.babyai.domain import BABYAI", ["babyai", "BABYAI"]),
        ("MiniGridWorld", ["MiniGrid"]),
        ("keeps_to_its_room(BoxOpener, OPEN_DOORS)", ["room", "Box", "DOORS"]),
        ("Two red balls, a box.", ["balls", "box"]),
        ("the sandbox's bedroom, a balloon, indoors, boxing", []),
    ],
)
def test_words_are_found_in_prose_and_in_names(text: str, words: list[str]) -> None:
    assert world_words(text) == words
