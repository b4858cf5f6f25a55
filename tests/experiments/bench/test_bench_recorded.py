"""`sdg bench recorded`: programs of an earlier robot, with today's names and arguments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sdg.experiments.bench.models.corpus import EARLIER, adapted, read_episodes, rows
from sdg.experiments.cli.errors import UserError

PROGRAM = "```python\ndef program():\n    do = open_door\n    do('door') and enter_room_behind_door()\n```"


def test_names_and_arguments_are_todays() -> None:
    assert "earlier" not in adapted(PROGRAM, EARLIER)
    now = dict(EARLIER) | {"enter_room_behind_door": 1}
    changed = adapted(PROGRAM, now)
    assert "do('door') and earlier_enter_room_behind_door()" in changed
    assert "def earlier_enter_room_behind_door():\n    return enter_room_behind_door(get_facing())" in changed
    gone = {name: count for name, count in EARLIER.items() if name != "open_door"}
    assert "do = earlier_open_door" in adapted(PROGRAM, gone), "also where it is handed on"
    renamed = adapted(PROGRAM, gone | {"swing_open_door": 1})
    assert "def earlier_open_door(thing):\n    return swing_open_door(thing)" in renamed
    assert adapted("no program", now) == "no program"


def test_episodes_are_played_in_the_order_of_their_replies(tmp_path: Path) -> None:
    episode = {"level": "GoToLocal", "seed": 2770000, "instruction": "go", "success": True}
    replies = [("00002", "def program():\n    scan_room()"), ("00001", "def program():\n    1 / 0")]
    lines = [
        {"setting": "S1", "id": name, "reply": f"```python\n{source}\n```", "episode": episode}
        for name, source in replies
    ]
    file = tmp_path / "replies.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (found,) = read_episodes(file, settings=["S1"])
    assert "1 / 0" in found.replies[0]
    *each, total = rows(file, settings=("S1",), out=tmp_path / "out", processes=1)
    assert len(each) == 1
    assert each[0]["steps"] > 0, "the second program was played after the first"
    assert total["then"] == 1
    assert total["in_vain"] == each[0]["in_vain"] <= each[0]["steps"]
    with pytest.raises(UserError, match="no guard 'nobody'"):
        list(rows(file, guards=("nobody",), out=tmp_path / "out"))
    for bad in (tmp_path / "nothing", tmp_path / "empty"):
        (tmp_path / "empty").write_text("{}\n")
        with pytest.raises(UserError):
            read_episodes(bad, settings=["S1"])
