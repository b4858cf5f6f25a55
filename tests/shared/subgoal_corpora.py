"""Subgoals of known kind, which clusterings are measured on: written in many words, by the stand-in, by a real model.

`tests/data/subgoals.json` has wordings ("text|API name", `{x}` the argument, `{y}` what is carried) and bodies of
checks (`{c}` the argument's colour, `{t}` its type) of every kind in three sets: weights were proposed on "tuning", the
default was chosen by its worst case over "held out", and "fresh" was written after every choice. Doors are kinds of
their own, as in the paper's nine skills. `recorded-hypotheses.json` is what a real model wrote for 24 instructions.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.world import instructions
from sdg.hypothesis.hypothesize import hypothesize, parse
from sdg.induction import translate
from sdg.llm.babylang.grammar import meaning
from sdg.llm.babylang.model import BabyLang
from sdg.llm.model import Sampling
from sdg.skills.clustering.embedding import ClusterItem
from sdg.skills.subgoal import CheckFunction, SkillCall, Subgoal

DATA = Path(__file__).parents[1] / "data"
KINDS: list[dict[str, Any]] = json.loads((DATA / "subgoals.json").read_text("utf-8"))
LEVELS = ("GoToLocal", "PickupLoc", "PutNextLocal", "Open")
COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
THINGS = ("ball", "box", "key")

RECORDED_KINDS = (
    ("look around", "look around"),
    ("discover an unexplored", "find unexplored door"),
    ("go next to an unexplored", "go to unexplored door"),
    ("open the unexplored", "open unexplored door"),
    ("enter", "enter unexplored room"),
    ("discover", "discover"),
    ("go next to", "go next to"),
    ("pick up", "pick up"),
    ("face a free cell", "face a free cell next to"),
    ("open", "open door"),
)
"""How subgoals of the recorded hypotheses begin -> their kind, given by hand."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Items and the name of the true kind of each."""

    items: tuple[ClusterItem, ...]
    kinds: tuple[str, ...]


def draw(part: str, *, n_items: int, seed: int) -> Corpus:
    """`n_items` subgoals of "tuning", "held out", "both" or "fresh", kinds in turn, everything else at random."""
    rng = np.random.default_rng(seed)
    chosen = [KINDS[i % len(KINDS)] for i in range(n_items)]
    return Corpus(tuple(_item(kind, part, rng=rng) for kind in chosen), tuple(kind["name"] for kind in chosen))


def _item(kind: dict[str, Any], part: str, *, rng: np.random.Generator) -> ClusterItem:
    def pick(choices: Sequence[str]) -> str:
        return choices[int(rng.integers(len(choices)))]

    parts = ("tuning", "held out") if part == "both" else (part,)
    text, api = pick([wording for name in parts for wording in kind["wordings"][name]]).split("|")
    colour, thing = pick(COLOURS), "door" if kind["argument"] == "door" else pick(THINGS)
    fields = {"x": f"{colour} {thing}", "c": colour, "t": thing, "y": f"{pick(COLOURS)} {pick(THINGS)}"}
    body = pick([check for name in parts for check in kind["checks"][name]]).format(**fields)
    source = f"def is_{api}():\n" + "\n".join("    " + line for line in body.splitlines()) + "\n"
    call = SkillCall(api, "" if kind["argument"] == "none" else fields["x"])
    return ClusterItem(call, Subgoal(text.format(**fields), CheckFunction(f"is_{api}", source)))


def stand_in_corpus(*, n_items: int, seed: int) -> Corpus:
    """Subgoals that the rule-based planner hypothesises for grounding instructions, with kinds as it means them."""
    model, per_level = BabyLang(), n_items // 4 + 1
    by_level = [instructions(level, split="grounding", count=per_level, seed=seed) for level in LEVELS]
    missions = [level_missions[order] for order in range(per_level) for level_missions in by_level]
    hypotheses = [
        hypothesize(mission.text, model=model, domain=BABYAI, sampling=Sampling(seed=1000 * seed + number))
        for number, mission in enumerate(missions)
    ]
    subgoals = [goal for hypothesis in hypotheses for goal in hypothesis.subgoals][:n_items]
    calls = translate.translate([goal.description for goal in subgoals], model=model, domain=BABYAI)
    items = tuple(ClusterItem(call, goal) for call, goal in zip(calls, subgoals, strict=True))
    return Corpus(items, tuple(true_kind(item.subgoal.description, item.call.argument) for item in items))


def true_kind(description: str, argument: str) -> str:
    """The kind that the rule-based planner means by a subgoal; doors have kinds of their own."""
    kind = meaning(description).kind
    names = {"goto": "go next to", "unlock": "open"}
    if argument.endswith("door"):
        names |= {"discover": "discover door", "goto": "go to door"}
    return names.get(kind, kind)


def recorded_corpus() -> Corpus:
    """Every subgoal that a real model hypothesised, with its own translations, and kinds given by hand."""
    content = json.loads((DATA / "recorded-hypotheses.json").read_text("utf-8"))
    names: dict[str, SkillCall] = {}
    for batch in content["translations"]:
        texts = [line.partition(". ")[2] for line in batch["subgoals"].splitlines()]
        calls = translate.parse(batch["reply"], count=len(texts))
        names |= {texts[number - 1]: call for number, call in calls.items()}
    replies = (*content["hypotheses"].items(), *content["second_hypotheses"].items())
    goals = [goal for mission, reply in replies for goal in parse(reply, instruction=mission).subgoals]
    items = tuple(ClusterItem(names[goal.description], goal) for goal in goals if goal.description in names)
    return Corpus(items, tuple(_kind_of_recorded(item.subgoal.description) for item in items))


def _kind_of_recorded(description: str) -> str:
    kind = next((kind for begin, kind in RECORDED_KINDS if description.startswith(begin)), "")
    if not kind:  # "put the red box down" or "put the grey ball down next to the blue box"
        return "put next to" if "next to" in description else "drop"
    of_doors = {"discover": "discover door", "go next to": "go to door"}
    return of_doors.get(kind, kind) if description.removesuffix(" and face it").endswith("door") else kind
