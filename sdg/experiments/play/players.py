"""The agents of the benchmarks by name, as recipes that travel to worker processes.

| name | who plays |
|---|---|
| sdg | the planner with the library's skills, behind the gate's rules |
| sdg-restart | sdg, with the world reset before every interaction (the other reading of the paper) |
| sdg-ungated | sdg with an open gate |
| sdg-action | sdg's planner with the primitive actions in place of skills |
| scripted | the planner with skills that walk shortest paths on the robot's map: learning can't surpass it |
| sdg-repeats | sdg without the rule that the action taken least often is taken |
| random-skills | the planner with the library's skills and random weights |
| random:SKILL | random weights in this skill alone |
| chat | the model names one action a turn and is shown what it changed (BALROG's setting); no program, skills or gate |
| ppo-flat | a policy a level, trained by PPO on the task's own reward with the mission as text (`sdg bench evidence`) |
| random | each action with equal chance |
| random-masked | random, among actions that change something, as far as the robot knows (skills have this mask) |
| bot | minigrid's bot, which sees the hidden state |
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from sdg.agents.agents import Agent, ChatAgent, PlannerAgent, RandomAgent, Task, act_out, gate_by_names
from sdg.deduction.deduce import DeductionSettings, Planner
from sdg.deduction.episode import Episode
from sdg.deduction.library_skills import options_of, random_options_of
from sdg.deduction.planner import Prompts
from sdg.deduction.protocols import CalledSkill, primitive_skills
from sdg.envs.babyai.levels import level_name
from sdg.envs.domain import Domain
from sdg.envs.domains import DEFAULT, domain, domain_of_data
from sdg.envs.world import World
from sdg.errors import UserError
from sdg.experiments.play.episodes import BOT, BOT_RECIPE, PlainRecipe, Recipe
from sdg.experiments.play.parent_model import model_of
from sdg.llm.fakes import FakeModel
from sdg.llm.model import Sampling
from sdg.llm.provider import ModelSettings
from sdg.llm.registry import is_rule_based
from sdg.sandbox.guard import Refused
from sdg.skills.checks.check import compile_check
from sdg.skills.library.composed import ComposedSkill, load_composed, require_fit
from sdg.skills.library.library import LibraryError
from sdg.skills.library.store import library_checksum, load_library

FLAT = Path("runs/flat-0")
"""Where to look for flat policies."""

LEARNED, RANDOM_WEIGHTS, PRIMITIVES, SCRIPTED = "learned", "random weights", "primitives", "scripted"


@dataclass(frozen=True, slots=True)
class PlannerRecipe:
    """A planner: which skills it has, which model writes its programs, and how long it may try.

    `skills` is one of LEARNED, RANDOM_WEIGHTS, PRIMITIVES and SCRIPTED; the first two come from the library in
    `library`. Skills named after RANDOM_WEIGHTS have them, the others are learned. `guards` are names of
    `sdg.gate.registry.GUARDS` or `module:attribute`.
    """

    agent: str
    library: Path | None
    skills: str = LEARNED
    model: ModelSettings = field(default_factory=ModelSettings)
    sampling: Sampling = field(default_factory=partial(Sampling, stage="solve"))
    settings: DeductionSettings = field(default_factory=DeductionSettings)
    guards: tuple[str, ...] = ("rules",)
    restarts: bool = False
    domain: str = DEFAULT
    composed: Path | None = None

    def build(self) -> Agent:
        """The agent. Raises LibraryError for an unusable library, ModelError for an unusable model."""
        world = domain(self.domain)
        model, prompts = model_of(self.model), Prompts(world)
        return PlannerAgent(
            self.agent,
            lambda seed: Planner(model, prompts, replace(self.sampling, seed=seed % 2**31)),
            self._skills(world),
            gate_of=partial(gate_by_names, self.guards, model=model),
            settings=self.settings,
            restarts=self.restarts,
            composed=self._composed_skills(),
        )

    def _composed_skills(self) -> Mapping[str, ComposedSkill]:
        """The composed skills, where the recipe names a file of them. Raises LibraryError for those that don't fit."""
        if self.composed is None or self.library is None:
            return {}
        library = load_composed(self.composed)
        # A replay repeats replies to an author that was checked when they were recorded.
        author = library.rule_based if self.model.kind == "replay" else is_rule_based(self.model.kind)
        require_fit(library, learned=library_checksum(self.library), domain=self.domain, rule_based=author)
        return library.by_name()

    def _skills(self, world: Domain) -> Mapping[str, CalledSkill]:
        if self.skills == PRIMITIVES:
            return primitive_skills(world)
        if self.skills == SCRIPTED:
            from sdg.experiments.baselines.scripted_skills import room_skills

            return {**primitive_skills(world, beside_skills=True), **room_skills()}
        if self.library is None:
            raise ValueError(f"the agent {self.agent} needs a skill library")
        library = load_library(self.library)
        try:
            for skill in library.skills:
                for template in skill.checks:
                    compile_check(template.check, domain_of_data(library.domain))
            options = options_of(library, world)
            if self.skills != LEARNED:
                names = self.skills.removeprefix(RANDOM_WEIGHTS).split() or list(options)
                options |= {name: random_options_of(library, seed=0)[name] for name in names}
            return {**primitive_skills(world, beside_skills=True), **options}
        except KeyError as error:
            raise LibraryError(f"{self.library} has no skill {error}") from error
        except (ValueError, Refused) as error:  # weights of another network, a check that the guard doesn't admit
            raise LibraryError(f"the skills of {self.library} can't be played: {error}") from error


@dataclass(frozen=True, slots=True)
class ChatRecipe:
    """The model acts directly, one action a turn."""

    model: ModelSettings = field(default_factory=ModelSettings)
    sampling: Sampling = field(default_factory=partial(Sampling, stage="solve"))
    agent: str = "chat"

    def build(self) -> Agent:
        """The agent. Raises ModelError for a model that can't be used."""
        return ChatAgent(model_of(self.model), self.sampling, self.agent)


@dataclass(frozen=True, slots=True)
class FlatAgent:
    """The baseline without grounding: a policy for each level, which `sdg bench evidence` left in `folder`, acts on the
    mission's words."""

    name: str
    folder: Path

    def play(self, world: World, task: Task) -> Episode:
        """Act until the mission is done, failed or out of time. Raises ValueError for a level without a policy."""
        policy = _flat_policy(self.folder, level_name(task.level))
        rng = np.random.default_rng(task.random_seed)
        return act_out(world, lambda: policy.act_on_text(world.memory, 0, world.mission, rng))


@lru_cache(maxsize=32)
def _flat_policy(folder: Path, level: str) -> Any:
    """A policy of the paper's model, which alone acts on texts."""
    from sdg.pipeline.records import load_policy

    return load_policy(folder, level, domain(), "paper-model")


@dataclass(frozen=True, slots=True)
class ProgramRecipe:
    """Programs over a library's skills and composed ones, one per interaction."""

    agent: str
    library: Path
    sources: tuple[str, ...]
    domain: str = DEFAULT
    composed: tuple[ComposedSkill, ...] = ()
    guards: tuple[str, ...] = ("rules",)
    settings: DeductionSettings = field(default_factory=DeductionSettings)

    def build(self) -> Agent:
        """The agent. Raises LibraryError for a library that can't be used."""
        world = domain(self.domain)
        model = FakeModel([f"```python\n{source}\n```" for source in self.sources], name="recorded program")
        return PlannerAgent(
            self.agent,
            lambda seed: Planner(model, Prompts(world)),
            {**primitive_skills(world, beside_skills=True), **options_of(load_library(self.library), world)},
            gate_of=partial(gate_by_names, self.guards, model=model_of(ModelSettings())),
            composed={skill.name: skill for skill in self.composed},
            settings=replace(self.settings, interactions=len(self.sources)),
        )


def recipes(names: Sequence[str], base: PlannerRecipe, *, flat: Path = FLAT) -> list[Recipe]:
    """The recipes of agents by name; planners differ from `base` (which is `sdg`) as their name says.

    `flat` is the folder of the policies of ppo-flat. Raises UserError for an unknown name.
    """
    makers: Mapping[str, Callable[[], Recipe]] = {
        "sdg": lambda: replace(base, agent="sdg"),
        "sdg-restart": lambda: replace(base, agent="sdg-restart", restarts=True),
        "sdg-ungated": lambda: replace(base, agent="sdg-ungated", guards=("open",)),
        "sdg-action": lambda: replace(base, agent="sdg-action", skills=PRIMITIVES),
        "sdg-repeats": lambda: replace(base, agent="sdg-repeats", settings=replace(base.settings, draws=1)),
        "random-skills": lambda: replace(base, agent="random-skills", skills=RANDOM_WEIGHTS),
        "chat": lambda: ChatRecipe(base.model, base.sampling),
        "ppo-flat": lambda: PlainRecipe("ppo-flat", FlatAgent, (flat,)),
        "scripted": lambda: replace(base, agent="scripted", skills=SCRIPTED, library=None),
        "random": lambda: PlainRecipe("random", RandomAgent),
        "random-masked": lambda: PlainRecipe("random-masked", RandomAgent, (True,)),
        BOT: lambda: BOT_RECIPE,
    }
    random_skills = {name: name.partition(":")[2] for name in names if name.startswith("random:")}
    if unknown := [name for name in names if name not in makers and not random_skills.get(name)]:
        raise UserError(f"there is no agent {unknown[0]!r}; there are {', '.join(makers)} and random:SKILL")
    return [
        replace(base, agent=name, skills=f"{RANDOM_WEIGHTS} {random_skills[name]}")
        if name in random_skills
        else makers[name]()
        for name in dict.fromkeys(names)
    ]
