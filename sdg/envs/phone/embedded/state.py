"""What is on the embedded phone at the start: the hand-written `state.json`, and more of its kind drawn by a seed."""

import json
import random
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def initial_state(seed: int) -> dict[str, Any]:
    """The whole state under a seed (0 or more), as JSON: another seed has other people, songs, notes and entries beside
    those that tasks are about, a clock some minutes on, and another serial number."""
    if seed < 0:
        raise ValueError(f"a seed is 0 or more, not {seed}")
    rng = random.Random(seed)
    state = json.loads((FOLDER / "state.json").read_text("utf-8"))
    more: dict[str, Any] = state.pop("more")
    for place, items in more.items():
        app, _, name = place.partition(".")
        collection: list[dict[str, Any]] = state[app][name]
        for item in rng.sample(items, len(items) // 2):
            collection.append({"id": 1 + max(entry["id"] for entry in collection)} | item)
    state["os"]["now"] += 60 * rng.randrange(40)
    state["settings"]["serial"] = f"SDG{rng.randrange(10**8):08d}"
    return dict(state)
