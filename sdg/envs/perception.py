"""What can be perceived: the roles of perception functions and of the records that they return.

The docstrings of a world's perception functions are, word for word, the API text of the prompts (SDG, section 4.2:
"the description of the perception API"), so they are written for a language model to read.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


class Element(Protocol):
    """A thing that was perceived, as perception functions return it. Domains have records of their own with more."""

    @property
    def id(self) -> int:
        """Its number; it never changes."""
        ...

    @property
    def name(self) -> str:
        """What it is, in words."""
        ...

    @property
    def held(self) -> bool:
        """Whether the agent carries it."""
        ...


class Shown(Protocol):
    """What generated code and prompts see of a snapshot."""

    def functions(self) -> Mapping[str, Callable[..., object]]:
        """The perception functions P by name, bound to this snapshot; their docstrings are the prompt's API text."""
        ...

    def describe(self) -> str:
        """The snapshot in a few lines of text, as a guard or a model is shown it. Screen and mission text is data."""
        ...


class Perception(Shown, Protocol):
    """A read-only snapshot of what a robot knows from the views it has received so far."""

    def elements(self) -> Sequence[Element]:
        """Everything perceived so far that is still in the world: what a gate is shown."""
        ...


@dataclass(frozen=True, slots=True)
class Observation:
    """What a guard or a model is shown: never the environment itself, and not the gymnasium observation.

    `perception` is the snapshot that all of it was read from, for guards that know the kind of world.
    """

    text: str
    image: object | None = None
    elements: tuple[Element, ...] = ()
    perception: Perception | None = None


def api_text(about: str, functions: Mapping[str, Callable[..., object]], names: Iterable[str] | None = None) -> str:
    """The perception part of a prompt: what the records are, then `name(arguments): what it gives` a line each.

    `names` picks and orders the functions (all of them by default). ValueError for a name that there isn't.
    """
    chosen = tuple(functions) if names is None else tuple(names)
    unknown = [name for name in chosen if name not in functions]
    if unknown:
        raise ValueError(f"no perception function is called {unknown[0]!r}; there are {', '.join(functions)}")
    return "\n".join([about, *(render(functions[name]) for name in chosen)])


def render(function: Callable[..., object]) -> str:
    """`name(arguments): docstring` in one line, from the function itself."""
    arguments = [name for name in inspect.signature(function).parameters if name != "self"]
    return f"{function.__name__}({', '.join(arguments)}): {' '.join((function.__doc__ or '').split())}"
