"""Agents under one harness: each has the same world, the same limit and the same judge."""

import re
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import Any, Protocol, cast

import numpy as np

from sdg.deduction.deduce import DeductionSettings, Planner, Toolkit, deduce
from sdg.deduction.episode import (
    MISSION_FAILED,
    OUT_OF_TIME,
    UNFINISHED,
    WORKER_LOST,
    Episode,
    Interaction,
    UnjudgedWorld,
    is_judged,
)
from sdg.deduction.protocols import CalledSkill
from sdg.envs import domains
from sdg.envs.domain import Domain
from sdg.envs.world import Action, World, without_clock
from sdg.gate.executor import GateGuard
from sdg.gate.registry import gate_of
from sdg.llm.model import Completion, LanguageModel, Message, Sampling
from sdg.prompts.fill import conversation, fence, one_line
from sdg.prompts.replies import tidy
from sdg.skills.library.composed import ComposedSkill

MAX_SHOWN_TURNS = 16
"""Latest turns that the model is shown, as in BALROG."""


@dataclass(frozen=True, slots=True)
class Task:
    """One episode to play: `seed` picks the level's layout and mission; `repeat` varies the agent's own randomness.

    `instruction` replaces the level's own mission; the world may be unable to judge it. `domain_name` is one of
    `sdg.envs.domains`.
    """

    level: str
    seed: int
    repeat: int = 0
    instruction: str = ""
    domain_name: str = domains.DEFAULT

    @property
    def domain(self) -> Domain:
        """The kind of world of this level."""
        return domains.domain(self.domain_name)

    @property
    def random_seed(self) -> int:
        """The seed of the agent's own randomness."""
        return self.seed * 1009 + self.repeat

    def unit(self, agent: str) -> str:
        """The name of this episode in a journal."""
        words = f"/{sha256(self.instruction.encode()).hexdigest()[:12]}" if self.instruction else ""
        return f"{agent}/{self.level}/{self.seed}/{self.repeat}{words}"


class Agent(Protocol):
    """Plays one instruction in one episode."""

    @property
    def name(self) -> str:
        """Its name in tables."""
        ...

    def play(self, world: World, task: Task) -> Episode:
        """Play a world that was just reset to the task's seed."""
        ...


def play_task(agent: Agent, task: Task, *, bot_steps: int | None = None) -> dict[str, Any]:
    """Play one task in a fresh world: a row for the journal of episodes. Raises `ModelError` from planners."""
    return _row(agent.name, task, agent.play, bot_steps)


def lost_task(name: str, task: Task, *, reason: str, bot_steps: int | None = None) -> dict[str, Any]:
    """The row of a task whose process hung or died while agent `name` played it: it counts as a failure."""
    return _row(name, task, lost_episode, bot_steps) | {"success": False, "error": reason}


def lost_episode(world: World, task: Task) -> Episode:
    """The episode of a task whose process hung or died."""
    return Episode(world.mission, False, WORKER_LOST, (), world.max_steps, judged=is_judged(world))


def _row(name: str, task: Task, play: Callable[[World, Task], Episode], bot_steps: int | None) -> dict[str, Any]:
    began = time.perf_counter()
    level, world = open_world(task)
    return {
        "unit": task.unit(name),
        "agent": name,
        "level": level,
        "seed": task.seed,
        **play(world, task).row(),
        "repeat": task.repeat,
        "bot_steps": bot_steps,
        "seconds": round(time.perf_counter() - began, 4),
    }


def open_world(task: Task) -> tuple[str, World]:
    """The task's level name and its world, just reset; an instruction that the world can't verify makes it unjudged.

    Raises ValueError for a level that doesn't exist and for an instruction that is blank or over 500 characters.
    """
    level = task.domain.level_name(task.level)
    world = task.domain.open(level)
    try:
        begin(world, task)
    except ValueError:
        return level, cast(World, UnjudgedWorld(world, task.instruction))
    return level, world


def begin(world: World, task: Task) -> None:
    """Reset a world to the task's beginning, with the task's instruction."""
    world.reset(task.seed)
    if task.instruction and is_judged(world):
        world.set_instruction(task.instruction)


def gate_by_names(
    guards: Sequence[str], skills: Mapping[str, CalledSkill], domain: Domain, *, model: LanguageModel | None = None
) -> GateGuard:
    """The gate of `guards` over an agent's skills; `model` is asked where one of them is a language model's."""
    return gate_of(
        guards,
        usages={name: skill.usage for name, skill in skills.items()},
        resolve=domain.language.resolve,
        affordances=domain.affordances,
        model=model,
        about=domain.texts["executor"],
    )


rules_gate = partial(gate_by_names, ("rules",))
"""The gate of plain rules."""


@dataclass(frozen=True)
class PlannerAgent:
    """SDG's deduction with whatever skills it is given; `gate_of` makes the gate for them."""

    name: str
    planner_of: Callable[[int], Planner]
    skills: Mapping[str, CalledSkill]
    gate_of: Callable[[Mapping[str, CalledSkill], Domain], GateGuard] = rules_gate
    settings: DeductionSettings = field(default_factory=DeductionSettings)
    restarts: bool = False
    composed: Mapping[str, ComposedSkill] = field(default_factory=dict)

    def play(self, world: World, task: Task) -> Episode:
        """Play one instruction within the settings' number of interactions; the task's random seed is the planner's."""
        return deduce(
            world,
            planner=self.planner_of(task.random_seed),
            toolkit=Toolkit(task.domain, self.skills, self.gate_of(self.skills, task.domain), self.composed),
            seed=task.random_seed,
            settings=self.settings,
            restart=(lambda: begin(world, task)) if self.restarts else None,
        )


@dataclass(frozen=True)
class RandomAgent:
    """Draws primitive actions with equal chance until the episode is over.

    `masked`: only actions that change something, as far as the agent knows; learned skills have the same mask.
    """

    name: str = "random"
    masked: bool = False

    def play(self, world: World, task: Task) -> Episode:
        """Act until the mission is done, failed or out of time."""
        rng, domain = np.random.default_rng(task.random_seed), task.domain
        logits = np.zeros(len(domain.actions), np.float32)

        def choose() -> int:
            logits[:] = 0
            if self.masked:
                domain.inputs.mask_noops_row(world.memory, 0, logits)
            return int(rng.choice([action.number for action in domain.actions if logits[action.number] >= 0]))

        return act_out(world, choose)


@dataclass(frozen=True)
class ReplayAgent:
    """Plays the actions that `actions_for(level, seed)` gives: this is how an oracle or a recording is played."""

    name: str
    actions_for: Callable[[str, int], list[int] | None] = field(repr=False)

    def play(self, world: World, task: Task) -> Episode:
        """Play these actions; without any, the episode has no steps."""
        actions = iter(self.actions_for(task.level, task.seed) or ())
        return act_out(world, lambda: next(actions, None))


def act_out(world: World, choose: Callable[[], int | None]) -> Episode:
    """Step a world as `choose` says until the episode is over or it returns None."""
    actions: list[int] = []
    success, cause = False, UNFINISHED
    while (action := choose()) is not None:
        result = world.step(action)
        actions.append(action)
        if result.done:
            success = result.success
            failure = MISSION_FAILED if result.terminated else OUT_OF_TIME
            cause = "" if success else failure
            break
    return Episode(world.mission, success, cause, tuple(actions), world.max_steps, judged=is_judged(world))


@dataclass(frozen=True)
class ChatAgent:
    """A model that acts directly: it is shown what the robot knows and names one action, turn by turn. It has as many
    turns as the level has steps, those without a readable action included.

    That is the setting of BALROG (Paglieri et al. 2024, arXiv 2411.13543): no program, no skills, no gate. Perception
    is the same as for planners: things with names.
    """

    model: LanguageModel
    sampling: Sampling = field(default_factory=Sampling)
    name: str = "chat"

    def play(self, world: World, task: Task) -> Episode:
        """Ask and act until the mission is done, failed or out of turns. Raises what the model raises."""
        chat = _Chat(world, task.domain, self.model, replace(self.sampling, seed=task.random_seed % 2**31))
        episode = act_out(world, chat.choose)
        result = replace(episode, cause=OUT_OF_TIME) if chat.turns_left == 0 and not episode.success else episode
        return replace(
            result,
            interactions=(
                Interaction(
                    program="",
                    cause=result.cause,
                    error="",
                    state=task.domain.perceivable.code_view(world.perception()).describe(),
                    calls=(),
                    began=0,
                    ended=result.steps,
                    prompt_tokens=sum(reply.prompt_tokens for reply in chat.replies),
                    completion_tokens=sum(reply.completion_tokens for reply in chat.replies),
                ),
            ),
            llm_calls=len(chat.replies),
        )


class _Chat:
    """One conversation: each turn is a new prompt with only the latest actions, so that prompts stay short."""

    def __init__(self, world: World, domain: Domain, model: LanguageModel, sampling: Sampling) -> None:
        self._world, self._domain = world, domain
        self._model, self._sampling = model, sampling
        self._latest: deque[str] = deque(maxlen=MAX_SHOWN_TURNS)
        self._before = ""
        self.replies: list[Completion] = []

    @property
    def turns_left(self) -> int:
        """Turns that may still be asked for."""
        return self._world.max_steps - len(self.replies)

    def choose(self) -> int | None:
        """The model's next action, or None when no turn is left."""
        # Time always passes, so descriptions are compared without the step count.
        description = without_clock(self._world.perception().describe())
        if self._latest and description == self._before:
            self._latest[-1] += " (nothing changed)"
        while self.turns_left > 0:
            self.replies.append(self._model.complete(self._prompt(), sampling=self._sampling))
            action = action_named(self.replies[-1].text, self._domain.actions)
            entry = action_text(action) if action else "your answer named no action, or several; the robot waited"
            self._latest.append(f"turn {len(self.replies)}: {entry}")
            if action:
                self._before = description
                return action.number
        return None

    def _prompt(self) -> tuple[Message, ...]:
        return conversation(
            "chat",
            role=self._domain.texts["role"],
            choices="\n".join(f"- {action_text(action)}: {action.description}." for action in self._domain.actions),
            actions=self._domain.texts["actions"],
            instruction=fence(one_line(self._world.mission, 1000)),
            latest=fence("\n".join(self._latest) or "none yet"),
            state=fence(self._domain.perceivable.code_view(self._world.perception()).describe()),
            turns_left=str(self.turns_left),
        )


def action_text(action: Action) -> str:
    """An action's name in the prompt."""
    return action.spoken or action.name.replace("_", " ")


def action_named(reply: str, actions: Sequence[Action]) -> Action | None:
    """The one action that the reply, or else its last line, names; None where that is none or several."""
    for text in (tidy(reply), tidy(reply).strip().rpartition("\n")[2]):
        matches = [action for action in actions if _pattern(action).search(text)]
        if len(matches) == 1:
            return matches[0]
    return None


def _pattern(action: Action) -> re.Pattern[str]:
    words = "[ _-]?".join(map(re.escape, action_text(action).split()))
    return re.compile(rf"\b{words}\b", re.IGNORECASE)
