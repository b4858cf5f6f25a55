"""A world to try skills, programs and models in, from Python: `sdg.World`."""

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from sdg.agents.agents import rules_gate
from sdg.deduction.deduce import DeductionSettings
from sdg.deduction.episode import UNFINISHED, Episode, EpisodeResult, Interaction
from sdg.deduction.library_skills import options_of
from sdg.deduction.program import Call
from sdg.deduction.robot import Robot
from sdg.envs import domains
from sdg.envs.instructions import check_layout, seeds
from sdg.envs.world import Element
from sdg.errors import UserError
from sdg.experiments.play.film import episode_gif, gif_path, png
from sdg.gate.executor import Command, GatedExecutor
from sdg.skills.library.library import LearnedSkill, SkillLibrary
from sdg.skills.library.store import load_library
from sdg.storage import atomic_write


def load(place: str | Path | None = None) -> SkillLibrary:
    """The library in a library's or a run's folder; without `place`, the one that comes with the package.

    Raises UserError without a library, LibraryError for one that can't be used.
    """
    from sdg.experiments.results.comparison import find_library

    return load_library(find_library(str(place or "")))


@dataclass(frozen=True)
class Done:
    """The result of `World.do`; true if the skill's check fired, otherwise `reason` says why not."""

    call: str
    success: bool
    steps: int
    reason: str = ""

    def __bool__(self) -> bool:
        return self.success

    def __repr__(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        return f"{self.call} -> {self.success} after {self.steps} steps{reason}"


@dataclass(frozen=True)
class Solution:
    """The result of `World.solve`. `success` is the level's own verdict, None if the level can't judge the words.

    `program` is the last program, `calls` are those of all programs, `tokens` counts the prompts' and the replies'.
    """

    instruction: str
    success: bool | None
    steps: int
    program: str = field(repr=False)
    calls: tuple[str, ...]
    tokens: int
    reason: str = ""

    def __bool__(self) -> bool:
        return bool(self.success)

    def __repr__(self) -> str:
        verdict = {True: "solved", False: "failed", None: "not judged"}[self.success]
        reason = f" ({self.reason})" if self.reason else ""
        return (
            f"{self.instruction!r} {verdict} in {self.steps} steps, {len(self.calls)} calls, "
            f"{self.tokens} tokens{reason}"
        )


class World:
    """One episode of a level: an instruction and a robot that has the skills of a library.

        world = sdg.World("GoToLocal", seed=7)
        world.do("walk_up_to", "red ball")

    `domain` is the kind of world: a key of `sdg.envs.domains` or `module:attribute`. `seed` picks a layout that nothing
    was learned from; `layout` names one by the level's own seed instead, which the attribute `seed` holds. `skills` is
    a library, or skills that `sdg.train` returned (default: the shipped ones in the default domain, none elsewhere).
    Each skill call gets up to `attempts` attempts. Raises ValueError, with close matches, for an unknown level,
    UserError for skills of another domain.
    """

    def __init__(
        self,
        level: str,
        *,
        domain: str = domains.DEFAULT,
        seed: int = 0,
        layout: int | None = None,
        skills: SkillLibrary | LearnedSkill | Iterable[LearnedSkill] | None = None,
        attempts: int = 5,
    ) -> None:
        self._domain = domains.domain(domain)
        self.level = self._domain.level_name(level)
        self.seed = (
            check_layout(layout) if layout is not None else seeds("evaluation", count=1, seed=seed, level=self.level)[0]
        )
        self.library = _library(skills, domain)
        self._settings = DeductionSettings(attempts=attempts)
        self._world = self._domain.open(self.level)
        self.reset()

    def reset(self) -> None:
        """Begin the episode again."""
        options = options_of(self.library, self._domain)
        self._world.reset(self.seed)
        self._robot = Robot(
            self._world,
            options,
            domain=self._domain,
            rng=np.random.default_rng(self.seed),
            attempts=self._settings.attempts,
        )
        self._executor = GatedExecutor(self._robot, rules_gate(options, self._domain))
        self._calls: list[Call] = []
        self._episode: EpisodeResult | None = None

    def __repr__(self) -> str:
        state = "solved" if self.solved else f"step {self._world.steps} of {self._world.max_steps}"
        return f"World({self.level}, layout {self.seed}: {self.mission!r}, {state})"

    @property
    def mission(self) -> str:
        """The instruction in words."""
        return self._episode.instruction if self._episode else self._world.mission

    @property
    def solved(self) -> bool:
        """Whether the instruction is carried out, by the level's own verdict."""
        return self._episode.success is True if self._episode else self._robot.ending.done

    @property
    def over(self) -> bool:
        """Whether the episode has ended: solved, failed, or out of time."""
        return self._episode is not None or self._robot.ending.over

    def see(self) -> Sequence[Element]:
        """What the robot has seen so far, a record each: name, position, distance, ..."""
        return tuple(self._world.perception().elements())

    def do(self, skill: str | LearnedSkill, argument: str = "") -> Done:
        """Let the robot use a skill, behind the gate's rules. Raises UserError for a call that makes no sense."""
        name = skill if isinstance(skill, str) else skill.skill.name
        if name not in self._robot.skills:
            raise UserError(f"there is no skill {name!r}; there are {', '.join(self._robot.skills) or 'none'}")
        if self._robot.skills[name].takes_argument != bool(argument):
            takes = "one argument, such as" if not argument else "no argument, not"
            raise UserError(f"{name} takes {takes} {argument or self._domain.language.example!r}")
        try:
            if argument:
                self._domain.language.parse(argument)
        except ValueError as error:
            raise UserError(str(error)) from None
        if self.over:
            raise UserError(f"the episode is over: {self!r}; reset() begins it again")
        command = Command(name, argument)
        began = len(self._robot.actions)
        outcome = self._executor.execute(command)
        reason = outcome.error or outcome.reason
        self._calls.append(
            Call(
                command=command,
                line=len(self._calls) + 1,
                began=began,
                steps=outcome.steps,
                success=outcome.success,
                message=reason,
                refused=bool(outcome.error),
                verdicts=outcome.verdicts,
            )
        )
        return Done(str(command), outcome.success, outcome.steps, "" if outcome.success else reason)

    def solve(self, instruction: str = "", *, model: object = "babylang", interactions: int = 4) -> Solution:
        """Begin again and let a model write programs over the skills until the instruction is carried out.

        `instruction` replaces the level's with your own words. `model` is an object with `complete(messages)` that
        returns text (a message has `role` and `content`), or a text as `sdg run --llm` takes it. Programs run in a
        sealed process. Raises ModelError for an object that is no model or gives no reply, UserError for words that are
        nearly an instruction.
        """
        from sdg.experiments.play.parent_model import lend_model
        from sdg.experiments.play.players import PlannerRecipe
        from sdg.experiments.play.solve import solve

        with tempfile.TemporaryDirectory() as folder, lend_model(model) as model_settings:
            recipe = PlannerRecipe(
                "sdg",
                self.library.save(Path(folder) / "library"),
                model=model_settings,
                settings=replace(self._settings, interactions=interactions),
                domain=self._domain.name,
            )
            row, episode = solve(self.level, self.seed, instruction=instruction, recipe=recipe)
        # Bring our own world to where the episode in the sealed process ended.
        self.reset()
        for step, action in enumerate(episode.actions):
            if step in episode.forgot:
                self._world.forget()
            self._world.step(action)
        self._episode = episode
        return Solution(
            instruction=row["instruction"],
            success=episode.success,
            steps=episode.steps,
            program=episode.program,
            calls=tuple(row["calls"]),
            tokens=episode.tokens,
            reason=row["note"] or row["cause"],
        )

    def render(self) -> np.ndarray:
        """The world from above as it is now, RGB u8 (height, width, 3)."""
        return self._world.render()

    def _repr_png_(self) -> bytes:
        """The picture, for notebooks."""
        return png(self.render())

    def save(self, path: str | Path = "episode.gif") -> Path:
        """Write a film of the episode so far beside its calls or program. Raises UserError for a name without .gif."""
        path = gif_path(Path(path))
        atomic_write(path, episode_gif(self._episode or self._as_played(), domain_name=self._domain.name))
        return path

    def _as_played(self) -> EpisodeResult:
        """The calls so far as an episode: each is a line of its program."""
        interaction = Interaction(
            "\n".join(str(call.command) for call in self._calls),
            cause="" if self.solved else UNFINISHED,
            error="" if self.solved else "so far",
            state="",
            calls=tuple(self._calls),
            began=0,
            ended=len(self._robot.actions),
        )
        episode = Episode(
            self.mission,
            self.solved,
            interaction.cause,
            tuple(self._robot.actions),
            self._world.max_steps,
            (interaction,),
        )
        return EpisodeResult.from_json(
            {
                "unit": f"world/{self.level}/{self.seed}",
                "agent": "by hand",
                "level": self.level,
                "seed": self.seed,
                **episode.row(),
            }
        )


def _library(skills: SkillLibrary | LearnedSkill | Iterable[LearnedSkill] | None, domain: str) -> SkillLibrary:
    if skills is None and domain == domains.DEFAULT:
        return load()
    if isinstance(skills, SkillLibrary):
        return skills
    library = SkillLibrary((), {}, domain=domain)
    for skill in [skills] if isinstance(skills, LearnedSkill) else skills or ():
        if not isinstance(skill, LearnedSkill):
            raise UserError(f"{skill!r:.60} is no skill: give what sdg.load() or sdg.train() gave")
        library = library.add(skill)
    return library
