"""The seam: what a world brings so that everything above `envs` fits it.

A `Domain` is a kind of world (a simulated robot in a maze, an arm, web pages): its levels and instructions, what can be
perceived in it and how that is told to a language model, what its policies see, and how n of it step side by side.
`sdg.envs.domains` knows the domains by name. Nothing above this floor may know more of a world than stands here;
`sdg.envs.contract` has the tests that hold a domain to it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Protocol, TypeVar

import numpy as np

from sdg.envs.check_machine import CheckMachine
from sdg.envs.perception import Perception

Rows = TypeVar("Rows", bound="BatchWorld")


@dataclass(frozen=True, slots=True)
class StepResult:
    """What one step gave; `reward` is 0 unless the task is done (it may shrink with time, so success is reward > 0)."""

    reward: float
    terminated: bool
    truncated: bool

    @property
    def success(self) -> bool:
        """Whether the task is done."""
        return self.terminated and self.reward > 0

    @property
    def done(self) -> bool:
        """Whether the episode is over, by success, failure or time."""
        return self.terminated or self.truncated


@dataclass(frozen=True, slots=True)
class Action:
    """A primitive action: the name that programs call it by, what it does, and its number."""

    name: str
    description: str
    number: int
    spoken: str = ""
    """What a model that names one action a turn calls it; the name with spaces where that is empty."""


class World(Protocol):
    """One environment to act in, one step at a time, and what its agent has perceived of it."""

    @property
    def memory(self) -> Any:
        """What was perceived so far, as one row; opaque outside the domain: policies' inputs are made of it."""
        ...

    @property
    def mission(self) -> str:
        """The instruction in words; data, whoever wrote it."""
        ...

    @property
    def max_steps(self) -> int:
        """The time limit of this episode, in steps."""
        ...

    @property
    def steps(self) -> int:
        """Steps since reset."""
        ...

    def reset(self, seed: int) -> None:
        """Begin the episode of this seed (0 or more). The same seed gives the same episode."""
        ...

    def step(self, action: Any) -> StepResult:
        """Take one primitive action. ValueError for one that there isn't, RuntimeError before the first reset."""
        ...

    def perception(self) -> Perception:
        """A snapshot of what is known now; later steps don't change it."""
        ...

    def begin_subgoal(self) -> None:
        """The current subgoal begins now: what perception says of "since the subgoal began" counts from here."""
        ...

    def forget(self) -> None:
        """Forget where the agent has been (`Domain.forgets` says how programs call it)."""
        ...

    def set_instruction(self, text: str) -> None:
        """Replace the mission of a world that was just reset. ValueError for words that it can't judge."""
        ...

    def render(self) -> np.ndarray:
        """A picture of the world, RGB u8 (height, width, 3)."""
        ...


class SingleWorld(World, Protocol):
    """A `World` that is practised in one at a time (`sdg.envs.world_rows`): its moments can be kept and restored."""

    def keep(self) -> Any:
        """This moment, as a value that later steps don't change: the world, and what was perceived of it."""
        ...

    def restore(self, moment: Any) -> None:
        """Go on from a moment that a world of the same level kept."""
        ...

    @property
    def began(self) -> Any:
        """What `begin_subgoal` noted last, as a value."""
        ...

    def perception_since(self, began: Any) -> Perception:
        """A snapshot as `perception` gives it to an agent whose subgoal began at `began`."""
        ...


class Layouts(Protocol):
    """Ready beginnings of a level under their seeds."""

    @property
    def seeds(self) -> np.ndarray:
        """i64 (M,): the seed of each."""
        ...

    def __len__(self) -> int: ...

    def mission(self, layout: int) -> str:
        """The instruction of a layout in words."""
        ...


class BatchWorld(Protocol):
    """n rows of a world that step together, without auto-reset and without a time limit: where skills are practised.

    The true worlds stay inside: policies and checks see `memory` alone, which is built from what the agents perceive.
    """

    @property
    def domain(self) -> Domain:
        """The domain that these are rows of."""
        ...

    @property
    def memory(self) -> Any:
        """What each row's agent has perceived; opaque, see `Inputs` and `CheckMachine`."""
        ...

    def __len__(self) -> int: ...

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Step every row; bool (n,) twice: the task is over, the task succeeded. `Domain.wait` changes nothing."""
        ...

    def take(self: Rows, rows: np.ndarray) -> Rows:
        """Just these rows, copied."""
        ...

    def put(self: Rows, rows: np.ndarray, source: Rows, source_rows: np.ndarray) -> None:
        """Replace rows by rows of another batch: how a moment is restored."""
        ...

    def begin_subgoals(self) -> None:
        """The current subgoal of every row begins now."""
        ...

    def forget(self, row: int) -> None:
        """Row `row` forgets where its agent has been."""
        ...

    def perception(self, row: int) -> Perception:
        """A snapshot of what row `row`'s agent knows now."""
        ...

    def places(self) -> np.ndarray:
        """i64 (n,): a number for the part of the world that each agent is in; all 0 where there is but one."""
        ...

    def holding(self) -> np.ndarray:
        """i64 (n,): the thing that each agent carries, -1 for none."""
        ...

    def spoils(self, actions: np.ndarray) -> np.ndarray:
        """bool (n,): whether an action, taken now, would break something that whoever called a skill counts on."""
        ...

    def novelty(self, row: int) -> Hashable:
        """What makes this moment new to a search that counts where it has been."""
        ...

    def marks(self) -> Any:
        """When each row's subgoal began, as a value that `mark` changes and `since` reads; opaque."""
        ...

    def mark(self, marks: Any, row: int) -> None:
        """In `marks`, row `row`'s subgoal begins now."""
        ...

    def since(self, marks: Any) -> Any:
        """`memory` as it is for agents whose subgoals began at `marks`."""
        ...


class Inputs(Protocol):
    """What a domain's policies see, (n, size): made of what was perceived and of the thing that a skill is about.

    A row may be shown in a *frame* (mirrored, say, so that half of the situations are the other half); what was chosen
    there is translated back by `to_world` and `actions_to_world`.
    """

    @property
    def size(self) -> int:
        """Length of an input vector."""
        ...

    @property
    def actions(self) -> int:
        """How many primitive actions a policy chooses from; they are numbered from 0."""
        ...

    @property
    def dtype(self) -> Any:
        """u8 for bits, f32 for an observation of real numbers (which the project's own PPO doesn't take)."""
        ...

    @property
    def mostly_on(self) -> slice:
        """Inputs that are 1 more often than 0: stored negated, so that an input is a short list."""
        ...

    def write(self, memory: Any, targets: np.ndarray, frames: np.ndarray, out: np.ndarray) -> None:
        """Inputs of all rows for `targets` i16 (n, w) into `out` u8 (n, size), their frames into `frames` i64 (n,)."""
        ...

    def write_row(self, memory: Any, row: int, target: np.ndarray, out: np.ndarray) -> int:
        """The same for one row and `out` u8 (size,); the frame is returned."""
        ...

    def to_world(self, logits: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """Logits f32 (n, actions) of inputs as actions of the world, as a new array."""
        ...

    def to_world_row(self, logits: np.ndarray, frame: int) -> None:
        """The same for one row, in place: logits f32 (actions,)."""
        ...

    def actions_to_world(self, actions: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """The same for actions (n,) that were chosen."""
        ...

    def mask_noops(self, memory: Any, logits: np.ndarray) -> None:
        """Set logits f32 (n, actions) of actions that would change nothing, as far as is known, to very little."""
        ...

    def mask_noops_row(self, memory: Any, row: int, logits: np.ndarray) -> None:
        """The same for one row: logits f32 (actions,)."""
        ...


class Language(Hashable, Protocol):
    """How a skill's argument names a thing. A *target* is what a description means: hashable and comparable."""

    @property
    def example(self) -> str:
        """A description that means something in every level."""
        ...

    @property
    def parts(self) -> Mapping[str, tuple[str, ...]]:
        """Words that a description is put together from, by part (colour, type): a lone one follows its description."""
        ...

    def parse(self, description: str) -> Hashable:
        """The target that a description names. ValueError, with the grammar in the message, when it names none."""
        ...

    def text(self, target: Any) -> str:
        """The shortest description of a target."""
        ...

    def part(self, target: Any, part: str) -> str | None:
        """The word of a part in a target; None where the target leaves it open."""
        ...

    def row(self, argument: str) -> np.ndarray:
        """The argument of a skill as kernels and inputs take it, i16 (w,); "" and what names nothing mark nothing."""
        ...

    def described(self, row: np.ndarray) -> str:
        """The description that a row stands for, "" for none."""
        ...

    def mentions(self, sentence: str) -> list[str]:
        """The descriptions in a sentence such as a mission, in their order and in their shortest form."""
        ...

    def kind(self, argument: str) -> Hashable:
        """What kind of thing an argument names, for skills that were learned on some kinds alone."""
        ...

    def name_of(self, element: Any) -> str:
        """The description that names exactly this thing."""
        ...

    def kinds_of(self, element: Any) -> str:
        """The description of all things like this one."""
        ...

    def resolve(self, argument: str, elements: Sequence[Any]) -> Sequence[Any]:
        """The elements that a description fits, as far as their records tell. ValueError when it describes nothing."""
        ...


class Persistence(Protocol):
    """When a body gives a command up: what the world's own sense says of an attempt that came to nothing."""

    def known(self, memory: Any) -> int:
        """How much of the world is known; an attempt after which this is the same showed nothing new."""
        ...

    def place(self, perception: Any) -> Hashable:
        """The part of the world that the agent is in; skills are practised within one."""
        ...

    def is_known(self, perception: Any, argument: str) -> bool:
        """Whether anything seen so far is what an argument names."""
        ...

    def is_elsewhere(self, perception: Any, argument: str) -> bool:
        """Whether what an argument names was seen, and only where the agent can't act on it without leaving."""
        ...

    @property
    def reasons(self) -> Mapping[str, str]:
        """What is said of a command that was given up: `unseen`, `elsewhere`, `strayed`."""
        ...


@dataclass(frozen=True, slots=True)
class SearchHints:
    """What a search that knows nothing begins with: the ways of the world's actions, nothing of its tasks.

    `prior` are first preferences (logits) over the actions; `walks` an action that is often worth repeating (-1: none);
    `hands` actions that take or drop; `stroll` actions that move without touching anything.
    """

    prior: tuple[float, ...]
    walks: int = -1
    hands: tuple[int, ...] = ()
    stroll: tuple[int, ...] = ()
    about_hands: tuple[str, ...] = ()
    """Words in a check that asks what is, or was, in the hand."""


@dataclass(frozen=True, slots=True)
class Perceivable:
    """The perception API: functions by name (their docstrings are the prompt's API text), and the records they return.

    Only signatures and docstrings of `functions` are read. `about` explains the records.
    """

    functions: Mapping[str, Callable[..., object]]
    records: tuple[type, ...]
    about: str


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a domain can: keep and restore a moment, be practised in (policies), be stepped many at once cheaply."""

    restores: bool = True
    practises: bool = True
    batches: bool = True


TEXTS: Mapping[str, str] = {
    "role": "where the agent is, what there is, what it can do: a few sentences",
    "unfolding": "how tasks unfold into subgoals, for stage 1",
    "translation": "how things are named in API names and arguments, with an example, for stage 3",
    "programs": "what a planner keeps in mind, for stage 4, a list",
    "example": "one worked example: an instruction, the skills it has, the program that carried it out",
    "debug": "hints for whoever mends a program that failed, a list",
    "actions": "what a model that names one action a turn has to know beside the actions",
    "forgets": "what the function that programs call `Domain.forgets` does, one sentence or two",
}
"""What prompts say of a world, by name: each is Markdown, written for a language model."""


class PromptTexts(Mapping[str, str]):
    """The texts of a domain, read from the files NAME.md in a package's folder when they are asked for."""

    def __init__(self, package: str) -> None:
        self.package = package

    def __getitem__(self, name: str) -> str:
        if name not in TEXTS:
            raise KeyError(f"no text is called {name!r}; there are {', '.join(TEXTS)}")
        place = files(self.package) / f"{name}.md"
        return place.read_text(encoding="utf-8").strip() if place.is_file() else ""

    def __iter__(self) -> Iterator[str]:
        return iter(TEXTS)

    def __len__(self) -> int:
        return len(TEXTS)


class Domain(Hashable, Protocol):
    """A kind of world. Instances are values: pickled by `name`, which `sdg.envs.domains` finds again."""

    @property
    def name(self) -> str:
        """The name by which `sdg.envs.domains` finds it."""
        ...

    @property
    def can(self) -> Capabilities:
        """What it can."""
        ...

    @property
    def actions(self) -> tuple[Action, ...]:
        """The primitive actions, numbered from 0."""
        ...

    @property
    def wait(self) -> int:
        """The number of an action that changes nothing in a `BatchWorld`."""
        ...

    @property
    def perceivable(self) -> Perceivable:
        """The perception API."""
        ...

    @property
    def language(self) -> Language:
        """How arguments name things."""
        ...

    @property
    def inputs(self) -> Inputs:
        """What policies see."""
        ...

    @property
    def machine(self) -> CheckMachine | None:
        """What checks are lowered to; None: they are interpreted."""
        ...

    @property
    def hints(self) -> SearchHints:
        """What a search begins with."""
        ...

    @property
    def persistence(self) -> Persistence:
        """When a body gives up."""
        ...

    @property
    def texts(self) -> Mapping[str, str]:
        """What prompts say of the world, see `TEXTS`."""
        ...

    @property
    def forgets(self) -> str:
        """The name under which programs call `World.forget`; "" where they can't."""
        ...

    def levels(self) -> tuple[str, ...]:
        """The levels that tables show, in their order."""
        ...

    def level_name(self, name: str) -> str:
        """The canonical name of a level. ValueError, with close matches, when there is none."""
        ...

    def open(self, level: str, *, lift_time_limit: bool = False) -> World:
        """A world of a level, not reset yet; without its time limit for grounding, never for evaluation."""
        ...

    def layouts(self, level: str, seeds: Sequence[int], *, workers: int = 1) -> Layouts:
        """The beginnings of a level under these seeds, in their order."""
        ...

    def begin(self, layouts: Any, chosen: np.ndarray) -> BatchWorld:
        """Row i as layout `chosen[i]` begins: its agent has looked, no step was made."""
        ...

    def blank(self, n: int) -> BatchWorld:
        """n rows to `put` moments into."""
        ...

    def join(self, parts: Iterable[Any]) -> BatchWorld:
        """All rows of all parts, in order."""
        ...

    def snapshot(self, memory: Any, row: int) -> Perception:
        """What row `row` of a memory knows."""
        ...
