"""All four stages and the gate in the corridor, from nothing, in one process: prints success on unseen layouts.

Run in a copy of the tree from which BabyAI was taken out (`tests/sdg/test_other_worlds.py`).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.modules["minigrid"] = None  # type: ignore[assignment]  # importing it fails from here on


def lamp_model() -> Any:
    """A fake that knows how a corridor's tasks unfold: it reads the task and the skills' names from the prompt."""
    from sdg.llm.fakes import FakeModel

    return FakeModel(_about_lamps, name="fake (lamps)")


_SEE = "def check_{n}():\n    return len(find_lamps('{lamp}')) > 0"
_STAND = "def check_{n}():\n    return any(lamp.distance == 0 for lamp in find_lamps('{lamp}'))"
_LIT = "def check_{n}():\n    return any(lamp.is_on for lamp in find_lamps('{lamp}'))"
_GOALS = (("see the {lamp}", _SEE), ("stand at the {lamp}", _STAND), ("switch on the {lamp}", _LIT))


def _about_lamps(prompt: str) -> str:
    if "## Subgoals to translate" in prompt:
        lines = re.findall(r"^(\d+)\. (.*) the (\w+ lamp)$", prompt, re.MULTILINE)
        return "\n".join(f"{number}. {what.replace(' ', '_')} | {lamp}" for number, what, lamp in lines)
    verb, lamp = re.findall(r"^(visit|light) the (\w+ lamp)$", prompt, re.MULTILINE)[-1]
    goals = _GOALS[: 3 if verb == "light" else 2]
    if "## Task to split" in prompt:
        return "\n".join(
            f"Goal {n}: {description.format(lamp=lamp)}\n```python\n{check.format(n=n, lamp=lamp)}\n```"
            for n, (description, check) in enumerate(goals, 1)
        )
    if "## Instruction to carry out" in prompt:
        verbs = [description.split(" the ")[0] for description, _ in goals]
        calls = [f"    {name}('{lamp}')" for verb in verbs for name in _skills(prompt, verb)]
        return "```python\ndef program():\n" + "\n".join(calls or ["    return"]) + "\n```"
    return "Yes"


def _skills(prompt: str, what: str) -> list[str]:
    """The first skill whose subgoals begin with these words."""
    return re.findall(rf'^(\w+)\(thing\): .*"{what} the', prompt, re.MULTILINE)[:1]


def main(place: Path) -> None:
    from sdg.agents.agents import PlannerAgent, RandomAgent, Task, play_task
    from sdg.deduction.deduce import Planner
    from sdg.deduction.library_skills import options_of
    from sdg.deduction.planner import Prompts
    from sdg.envs.domains import domain
    from sdg.envs.instructions import seeds
    from sdg.induction.induce import InduceSettings
    from sdg.pipeline.pipeline import Pipeline
    from sdg.pipeline.plan import Plan
    from sdg.skills.learning.train import TrainSettings
    from sdg.skills.library.store import load_library, save_library
    from sdg.skills.search.trial import RandomSearch, SearchSettings
    from sdg.storage import RunFolder, RunSettings

    corridor, model = domain("tests.envs.corridor:CORRIDOR"), lamp_model()
    ppo = {"n_steps": 16, "batch_size": 256, "gamma": 0.95}
    train = TrainSettings(total_timesteps=6_000, n_envs=16, horizon=20, evaluate_every=1_000, ppo=ppo)
    induce = InduceSettings(first_timesteps=4_000, fresh_starts=60, train=train)
    plan = Plan(
        levels=corridor.levels(),
        instructions=6,
        seed=0,
        training_layouts=40,
        validation_layouts=20,
        induce=induce,
        domain=corridor,
    )
    folder = RunFolder.start(place / "run", RunSettings({}, "", 0))
    grounding = Pipeline(plan, folder, model=model, search=RandomSearch(SearchSettings(horizon=20)), progress=Quiet())
    rows = grounding.ground()
    learning = grounding.learning()
    discovery = learning.discover(grounding.experiences())
    save_library(learning.learn(discovery, reserved=("program", *corridor.perceivable.functions)), place / "library")
    skills = options_of(load_library(place / "library"))
    prompts = Prompts(corridor)
    sdg = PlannerAgent("sdg", lambda seed: Planner(model, prompts), skills)
    tasks = [
        Task(level, seed, domain_name="tests.envs.corridor:CORRIDOR")
        for level in corridor.levels()
        for seed in seeds("evaluation", count=10)
    ]
    random = RandomAgent()
    episodes = [play_task(sdg, task) for task in tasks]
    random_episodes = [play_task(random, task) for task in tasks]
    trace = [interaction for row in episodes for interaction in row["trace"]]
    calls = [call for interaction in trace for call in interaction["calls"]]
    success = {
        sdg.name: sum(row["success"] for row in episodes),
        random.name: sum(row["success"] for row in random_episodes),
    }
    report = {
        "verified": sum(bool(row.verified) for row in rows),
        "skills": sorted(skills),
        "success": success,
        "verdicts": sorted({verdict[0] for call in calls for verdict in call["verdicts"]}),
        "babyai": [name for name in sys.modules if "babyai" in name],
    }
    print(json.dumps(report))


class Quiet:
    """Nobody is told of progress."""

    @contextmanager
    def stage(self, name: str, *, total: int | None, unit: str, done: int = 0) -> Iterator[Quiet]:
        yield self

    def advance(self, count: int = 1, *, steps: int = 0) -> None:
        """Nothing is shown."""

    def note(self, text: str) -> None:
        """Nothing is shown."""


if __name__ == "__main__":
    main(Path(sys.argv[1]))
