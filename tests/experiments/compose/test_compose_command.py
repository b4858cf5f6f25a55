"""`sdg compose`: from recorded practice programs to composed skills that are kept, and a run that uses them."""

from __future__ import annotations

import json
import lzma
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sdg.console import progress
from sdg.errors import UserError
from sdg.experiments.bench.models.command import rows
from sdg.experiments.bench.models.recording import SKILLS, FigureKey
from sdg.experiments.compose.command import compose, read_programs
from sdg.experiments.compose.verify import _no_help, _own_fault
from sdg.experiments.config.assembly import run_settings
from sdg.experiments.config.config import find_config, load
from sdg.experiments.play.players import PlannerRecipe
from sdg.experiments.results.comparison import SHIPPED
from sdg.experiments.run.runs import rehearse
from sdg.llm.provider import ModelSettings
from sdg.skills.library.composed import Figures, load_composed, save_composed
from sdg.skills.library.library import LibraryError
from sdg.skills.library.store import load_library, save_library
from sdg.storage import RunFolder, RunFolderError, RunSettings

MODEL = '''
import re

SKILL = """```python
def obtain(what: thing):
    \\"\\"\\"Finds a thing, goes there and takes it. Needs: an empty hand. After: the thing is in the hand.\\"\\"\\"
    search_for(what)
    return walk_up_to(what) and collect(what)


def check_obtain(what):
    held = get_carried()
    return held is not None and held.id in [thing.id for thing in find_objects(what)]


def wave(what: thing):
    \\"\\"\\"Lies. Needs: nothing. After: nothing.\\"\\"\\"
    return scan_room()


def check_wave(what):
    return True
```"""


class Scripted:
    network = False

    def complete(self, messages):
        told = "\\n".join(message.content for message in messages)
        if "Distil what recurs" in told:
            return SKILL
        things = re.findall(r"pick up (?:the|an?) ([a-z ]+?)\\n", told)
        if "are to be rewritten" in told:
            calls = "    wave('{0}')\\n" * ("wave(what" in told) + "    obtain('{0}')"
            parts = [f"def program_{n}():\\n" + calls.format(thing) for n, thing in enumerate(things, 1)]
            return "```python\\n" + "\\n\\n\\n".join(parts) + "\\n```"
        thing = things[-1]
        if "obtain(what" in told:
            return f"```python\\ndef program():\\n    obtain('{thing}')\\n```"
        return (f"```python\\ndef program():\\n    for turn in range(3):\\n        search_for('{thing}')\\n"
                f"        if walk_up_to('{thing}'):\\n            collect('{thing}')\\n```")
'''


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "scripted_composer.py").write_text(MODEL)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    yield "scripted_composer:Scripted"
    sys.modules.pop("scripted_composer", None)


def test_what_recurs_is_composed_verified_and_used(model: str, tmp_path: Path) -> None:
    played = {"llm": model, "levels": ("PickupLoc",), "seed": 777, "processes": 1}
    practice = tmp_path / "practice"
    list(rows(**played, interfaces=("skills",), instructions=6, split="training", out=practice))  # type: ignore[arg-type]
    config = load(find_config("models"), overlay=[f"model.kind={model}"])
    options: dict[str, Any] = {"source": practice, "count": 4, "layouts": 2, "seed": 778}
    composed_rows = list(compose(config, **options, folder=tmp_path / "c", to=tmp_path / "composed.json", processes=1))
    by_skill = {row["skill"]: row for row in composed_rows}
    assert by_skill["obtain(what: thing)"]["kept"], by_skill
    assert by_skill["obtain(what: thing)"]["solved_with"] >= by_skill["obtain(what: thing)"]["solved_without"] > 0
    assert "never says no" in by_skill["wave(what: thing)"]["why"]
    library = load_composed(tmp_path / "composed.json")
    assert [skill.name for skill in library.skills] == ["obtain"]
    assert library.skills[0].origins[0].startswith("practice line ")
    assert not library.rule_based

    more = {"interfaces": ("skills+composed", "skills"), "instructions": 2, "out": tmp_path / "run"}
    with_it, without = rows(**played, **more, composed=tmp_path / "composed.json")  # type: ignore[arg-type]
    assert with_it["program_lines"] == 2 < without["program_lines"]
    assert with_it["success_rate"] >= without["success_rate"]
    assert with_it["calls_per_episode"] >= 1, "its inner calls are calls"
    assert list(rows(recordings=tmp_path / "run/kept", replay=True, processes=1)) == [with_it, without]

    mixed = PlannerRecipe("sdg", SHIPPED, model=ModelSettings("babylang"), composed=tmp_path / "composed.json")
    with pytest.raises(LibraryError, match="only planners of that kind"):
        mixed.build()
    save_composed(replace(library, rule_based=True), tmp_path / "stand-in.json")
    with pytest.raises(LibraryError, match="only planners of that kind"):
        replace(mixed, model=ModelSettings(model), composed=tmp_path / "stand-in.json").build()
    save_composed(replace(library, library="0" * 64), tmp_path / "other.json")
    with pytest.raises(LibraryError, match="other skills"):
        replace(mixed, composed=tmp_path / "other.json").build()
    for change, says in (
        ({"uses": ("nothing",)}, "uses 'nothing', which isn't"),
        ({"source": "#" * 2**20}, "at most"),
        ({"source": "#" * 2**16}, "obtain: it takes .* at most 65536 are kept"),
    ):
        with pytest.raises(LibraryError, match=says):
            save_composed(replace(library, skills=(replace(library.skills[0], **change),)), tmp_path / "stand-in.json")
    assert load_composed(tmp_path / "stand-in.json").rule_based, "what can't be read replaces nothing"
    (tmp_path / "edited.json").write_text((tmp_path / "composed.json").read_text().replace("search_for", "scan_room"))
    with pytest.raises(LibraryError, match="damaged or edited"):
        replace(mixed, composed=tmp_path / "edited.json").build()

    warmer = load(find_config("models"), overlay=[f"model.kind={model}", "model.temperature=0.9"])
    with pytest.raises(RunFolderError, match=r"model.temperature was"):
        list(compose(warmer, **options, folder=tmp_path / "c", to=tmp_path / "e.json"))
    described = (practice / "run.json").read_text()
    (practice / "run.json").write_text(re.sub(r'"library": "\w+"', '"library": null', described))
    save_library(
        replace(load_library(SHIPPED), provenance={**load_library(SHIPPED).provenance, "seed": 9}), tmp_path / "lib"
    )
    with pytest.raises(RunFolderError, match=r"library was"):
        list(compose(config, **options, library=str(tmp_path / "lib"), folder=tmp_path / "c", to=tmp_path / "e.json"))

    transcript = practice / "kept/transcript.jsonl.xz"
    text = lzma.decompress(transcript.read_bytes())
    transcript.write_bytes(lzma.compress(text.replace(b"## How it is judged", b"## How it was judged")))
    with pytest.raises(UserError, match="prompts have changed"):
        list(compose(config, **options, folder=tmp_path / "d", to=tmp_path / "e.json"))
    stand_in = load(find_config("models"), overlay=["model.kind=babylang"])
    with pytest.raises(UserError, match="stand-in"):
        list(compose(stand_in, **options, folder=tmp_path / "f", to=tmp_path / "e.json"))


def test_a_run_s_last_rehearsals_are_composed_with_its_own_library(model: str, tmp_path: Path) -> None:
    overlay = [f"model.kind={model}", "levels=[PickupLoc]", "induce.rehearsals=3", "processes=1", "cycles=2"]
    config, learned = load(find_config("models"), overlay=overlay), load_library(SHIPPED)
    with RunFolder.start(tmp_path / "run", run_settings(config)) as folder:
        other_words = tuple(replace(skill, members=("go on",)) for skill in learned.skills)
        rehearse(config, folder, progress(quiet=True), replace(learned, skills=other_words), 1)
        played = rehearse(config, folder, progress(quiet=True), learned, 2)
    solved = sum(bool(row["success"]) for row in played)
    assert solved, "or nothing is tested"
    measured_again = tuple(replace(skill, success_rate=0.5, success_interval=(0.1, 0.9)) for skill in learned.skills)
    save_library(replace(learned, skills=measured_again), tmp_path / "run/library")
    programs = read_programs(tmp_path / "run", cell=FigureKey(SKILLS, "map", ""))
    assert (len(programs.solved), len(programs.rules)) == (solved, 1), "programs of the first cycle have other skills"

    options: dict[str, Any] = {"folder": tmp_path / "c", "to": tmp_path / "composed.json", "processes": 1}
    own = list(compose(config, tmp_path / "run", **options, library=str(tmp_path / "run"), count=1, layouts=1))
    assert {row["skill"]: row["played"] for row in own}["obtain(what: thing)"] == 1
    with pytest.raises(UserError, match=r"other skills than those of .*shipped: name theirs with --library"):
        list(compose(config, tmp_path / "run", **options))


def test_programs_of_a_folder_from_anybody_are_read_or_refused_by_file(tmp_path: Path) -> None:
    row = {"unit": "e", "agent": "sdg", "level": "L", "seed": 3_000_007, "success": True, "steps": 4, "max_steps": 9}
    cell = FigureKey(SKILLS, "map", "")
    with RunFolder.start(tmp_path / "run", RunSettings({"model": 5}, "", 0)) as folder:
        folder.journal("episodes").append(row | {"interactions": 1, "trace": []})
    exchange = {"schema": 3, "key": "k", "model": "m", "stage": "induce"}
    exchange |= {"messages": [{"role": "user", "content": "x"}]}
    lines = [exchange | {"sampling": sampling, "error": "e"} for sampling in ({}, {"seed": None})]
    (tmp_path / "run/transcript.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    programs = read_programs(tmp_path / "run", cell=cell)
    assert ([program.calls for program in programs.solved], programs.kind, programs.rules) == ([()], "", {""})
    with RunFolder.start(tmp_path / "run", RunSettings({"model": 5}, "", 0)) as folder:
        folder.journal("rehearsals").append(row | {"trace": [{"calls": 5}]})
    with pytest.raises(RunFolderError, match=r"rehearsals.jsonl has a row"):
        read_programs(tmp_path / "run", cell=cell)


@pytest.mark.parametrize(
    ("figures", "calls", "says"),
    [
        (Figures(calls=0, done=0), [("f", True, True, True)] * 9, "never says no"),
        (Figures(calls=9, done=2), [("f", False, True, False)] * 9, "disagrees"),
        (Figures(calls=2, done=2), [("f", False, True, True)] * 2, "called 2 times"),
        (Figures(calls=9, done=2), [("f", False, False, False)] * 9, "2 of 9"),
        (Figures(9, 9, 8, 4, 5, 10, 20), [("f", False, True, True)] * 9, "without it 5"),
        (Figures(9, 9, 20, 18, 19, 11, 20), [("f", False, True, True)] * 9, "without it 19"),
        (Figures(9, 9, 20, 18, 19, 10, 20), [("f", False, True, True)] * 9, ""),
        (Figures(9, 9, 20, 17, 19, 5, 20), [("f", False, True, True)] * 9, "without it 19"),
        (Figures(9, 9, 8, 5, 5, 20, 20), [("f", False, True, True)] * 9, "no better"),
        (Figures(9, 9, 8, 5, 5, 10, 20), [("f", False, True, True)] * 9, ""),
    ],
)
def test_a_skill_is_kept_for_what_it_does(figures: Figures, calls: list[tuple[object, ...]], says: str) -> None:
    reason = _own_fault(figures, calls) or _no_help(figures)
    assert says in reason
    assert bool(reason) == bool(says)
