"""A small run folder for tests of the report: real episodes of the bot, everything else made up."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

from sdg.envs.babyai.bot import bot_actions
from sdg.envs.babyai.world import BabyAIWorld
from sdg.envs.instructions import seeds
from sdg.storage import RunFolder, RunSettings

LEVELS = ("GoToLocal", "Open")
PROGRAM = (
    "def program():\n    discover('{x}')\n    if not go_next_to('{x}'):\n        return False\n    return pick('{x}')\n"
)
CHECK = "def check():\n    return any(o.visible for o in find_objects('{x}'))\n"
API_NAMES = ("discover", "go_next_to", "pick", "put_next_to", "open_door")


def make_run(path: Path, *, levels: tuple[str, ...] = LEVELS, episodes: int = 6) -> Path:
    """Write a finished run."""
    rng = random.Random(0)
    config = {"name": path.name, "levels": list(levels), "model": {"kind": "babylang"}}
    settings = RunSettings(config, json.dumps(config), 0, ("sdg", "run", "--config", "example"))
    with RunFolder.start(path, settings) as folder:
        for level in levels:
            _verifications(folder, level, rng)
            for seed in seeds("evaluation", count=episodes):
                _episodes(folder, level, seed, rng)
        _induction(folder, rng)
        _metrics(folder, rng)
        stages = {name: {"seconds": rng.uniform(1, 200)} for name in ("hypothesize", "verify", "induce", "solve")}
        folder.write_json("results.json", {"rows": _results(levels, rng), "stages": stages})
    return path


def _verifications(folder: RunFolder, level: str, rng: random.Random) -> None:
    for n in range(8):
        good = rng.random() < 0.85
        goals = [f"discover the red ball {n}", "go next to the red ball"]
        subgoals = [
            {"description": goal, "check": CHECK.format(x="red ball"), "reached": True, "actions": [2, 2]}
            for goal in goals
        ]
        folder.journal("verifications").append(
            {
                "unit": f"{level}/{n}",
                "level": level,
                "seed": n,
                "instruction": "go to the red ball",
                "verified": good,
                "searched_steps": rng.randrange(40, 2900),
                "replayed_steps": rng.randrange(200),
                "subgoals": subgoals,
                "cause": "" if good else "goal 2 ('go next to the red ball') was not reached in 2000 steps",
            }
        )


def _episodes(folder: RunFolder, level: str, seed: int, rng: random.Random) -> None:
    world = BabyAIWorld(level)
    world.reset(seed)
    actions = bot_actions(level, seed) or []
    for agent in ("sdg", "random"):
        good = agent == "sdg" and rng.random() < 0.8
        played = actions if good else [2] * 10
        folder.journal("episodes").append(
            {
                "unit": f"{agent}/{level}/{seed}/0",
                "agent": agent,
                "level": level,
                "seed": seed,
                "instruction": world.mission,
                "success": good,
                "steps": len(played),
                "max_steps": world.max_steps,
                "bot_steps": len(actions),
                "actions": played,
                "program": PROGRAM.format(x=world.mission),
                "error": "" if good else "Pick error! There is nothing to pick up here.",
                "interactions": 1 if good else 5,
                "cause": "" if good else "refused",
            }
        )


def _induction(folder: RunFolder, rng: random.Random) -> None:
    clusters = []
    for index, name in enumerate(API_NAMES):
        x, y = 10 * math.cos(index * 1.3), 10 * math.sin(index * 1.3)
        points = [[x + rng.gauss(0, 1), y + rng.gauss(0, 1)] for _ in range(20)]
        names = {name: 12, f"{name}_object": 8}
        clusters.append({"name": name, "api_names": names, "members": [f"m{n}" for n in range(20)], "points": points})
    scores = {str(k): 100 - (k - 5) ** 2 + rng.random() for k in range(2, 17)}
    for name in API_NAMES:
        best = {"environment_steps": 300_000, "validation_success": 0.97, "episodes": 400}
        folder.journal("skills").append({"unit": f"1/{name}", "name": name, "best": best})
    folder.write_json("induction.json", {"k": 5, "scores": scores, "stability": 0.97, "clusters": clusters})


def _metrics(folder: RunFolder, rng: random.Random) -> None:
    for name in API_NAMES:
        folder.metrics.begin(name)
        scale = rng.uniform(5e4, 3e5)
        for step in range(0, 600_000, 16_384):
            rate = 1 - math.exp(-step / scale)
            row: dict[str, Any] = {"skill": name, "environment_steps": step, "train_success": rate}
            folder.metrics.write(row | {"validation_success": max(0.0, rate - rng.random() * 0.05), "loss": 1 - rate})


def _results(levels: tuple[str, ...], rng: random.Random) -> list[dict[str, Any]]:
    rows = []
    for level in levels:
        for agent, rate in (("sdg", 0.97), ("sdg_action", 0.5), ("random", 0.2), ("random_skills", 0.3), ("bot", 1.0)):
            value = max(0.0, min(1.0, rate - rng.random() * 0.05))
            low, high = max(0.0, value - 0.06), min(1.0, value + 0.04)
            row = {"level": level, "agent": agent, "success_rate": value, "low": low, "high": high}
            rows.append(row | {"episodes": 100, "median_steps": rng.randrange(5, 60)})
    return rows
