"""A world: one environment to act in, one step at a time, and what its agent has perceived of it.

The docstrings of a world's perception functions are, word for word, the API text of the prompts (SDG, section 4.2:
"the description of the perception API"), so they are written for a language model to read.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

_CLOCK = re.compile(r"\bstep \d+\b", re.IGNORECASE)


def without_clock(description: str) -> str:
    """A moment's description without its step count: equal before and after a command without effect."""
    return _CLOCK.sub("", description)


class Element(Protocol):
    """A thing that was perceived, as perception functions return it. Domains have records of their own with more."""

    @property
    def id(self) -> int:
        """Its number; it never changes."""
        ...

    @property
    def name(self) -> str:
        """Its name in words."""
        ...

    @property
    def held(self) -> bool:
        """Whether the agent carries it."""
        ...


class CodeView(Protocol):
    """A snapshot as generated code and prompts see it; the methods that `api` names are its perception functions."""

    api: ClassVar[tuple[str, ...]] = ()
    __slots__ = ()

    def functions(self) -> Mapping[str, Callable[..., object]]:
        """The perception functions P by name, bound to this snapshot; their docstrings are the prompt's API text."""
        return {name: getattr(self, name) for name in self.api}

    def describe(self) -> str:
        """The snapshot in a few lines of text, as a guard or a model is shown it. Screen and mission text is data."""
        ...


class Perception(CodeView, Protocol):
    """A read-only snapshot of a robot's knowledge from the views it has received so far."""

    __slots__ = ()

    def elements(self) -> Sequence[Element]:
        """Everything perceived so far that is still in the world: what a gate is shown."""
        return ()


class Observation(Protocol):
    """A guard's or a model's view: never the environment itself, and not the gymnasium observation."""

    @property
    def text(self) -> str:
        """All of it in words, with the elements a line each."""
        ...

    @property
    def image(self) -> object | None:
        """The picture, if there is one: RGB u8 (height, width, 3)."""
        ...

    @property
    def elements(self) -> tuple[Element, ...]:
        """The elements in it."""
        ...

    @property
    def perception(self) -> Perception | None:
        """The snapshot that all of it was read from, for guards that know the kind of world."""
        ...


@dataclass(frozen=True, slots=True)
class PlainObservation:
    """An `Observation` of values that are known when it is made; of a masked one, `raw` is what is really there."""

    text: str
    image: object | None = None
    elements: tuple[Element, ...] = ()
    perception: Perception | None = None
    raw: Observation | None = field(default=None, repr=False, compare=False)


def api_text(about: str, functions: Mapping[str, Callable[..., object]], names: Iterable[str] | None = None) -> str:
    """The perception part of a prompt: what the records are, then `name(arguments): what it gives` a line each.

    `names` picks and orders the functions (all of them by default). ValueError for a name that there isn't.
    """
    selection = tuple(functions) if names is None else tuple(names)
    strangers = [name for name in selection if name not in functions]
    if strangers:
        raise ValueError(f"no perception function is called {strangers[0]!r}; there are {', '.join(functions)}")
    return "\n".join([about, *(api_line(functions[name]) for name in selection)])


def api_line(function: Callable[..., object]) -> str:
    """`name(arguments): docstring` in one line, from the function itself."""
    arguments = [name for name in inspect.signature(function).parameters if name != "self"]
    return f"{function.__name__}({', '.join(arguments)}): {' '.join((function.__doc__ or '').split())}"


ActionValue = int | tuple[float, ...]
"""A primitive action as it is recorded: its number, or the numbers that it is made of."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step's outcome; `reward` is 0 unless the task is done (it may shrink with time, so success is reward > 0)."""

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
    beside_skills: bool = False
    """Whether programs over skills may use it too: what no skill of the world may be able to do."""


class World(Protocol):
    """One environment to act in, one step at a time, and what its agent has perceived of it."""

    @property
    def memory(self) -> Any:
        """The perceptions so far, as one row; opaque outside the domain: policies' inputs are made of it."""
        ...

    @property
    def mission(self) -> str:
        """The instruction in words; data, not instructions to the program."""
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
        """A snapshot of present knowledge; later steps don't change it."""
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
        """The last note of `begin_subgoal`, as a value."""
        ...

    def perception_since(self, began: Any) -> Perception:
        """A snapshot as `perception` gives it to an agent whose subgoal began at `began`."""
        ...
