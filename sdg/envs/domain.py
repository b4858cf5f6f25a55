"""The seam: what a kind of world brings so that everything above `envs` fits it.

A `Domain` is a kind of world (a simulated robot in a maze, an arm, web pages): its levels and instructions, what can be
perceived in it and how that is described to a language model, what its policies see, and how n of it step side by side.
`sdg.envs.domains` knows the domains by name. No layer above may know more of a world than stands here;
`sdg.envs.contract` has the tests that hold a domain to it.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Protocol

import numpy as np

from sdg.envs.batch import BatchWorld, ColumnReader, Inputs, Layouts
from sdg.envs.world import Action, Perception, Shown, World


class Language(Hashable, Protocol):
    """How a skill's argument names a thing. A *target* is what a description means: hashable and comparable."""

    @property
    def example(self) -> str:
        """A description that means something in every level."""
        ...

    @property
    def anything(self) -> str:
        """A description that fits every thing, "" where there is none."""
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

    def description_of(self, row: np.ndarray) -> str:
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

    def knowledge(self, memory: Any) -> int:
        """How much of the world is known; an attempt after which this is the same showed nothing new."""
        ...

    def place(self, perception: Any) -> Hashable:
        """The part of the world that the agent is in; skills are practised within one."""
        ...

    def is_known(self, perception: Any, argument: str) -> bool:
        """Whether anything seen so far is what an argument names."""
        ...

    def patience(self, perception: Any, argument: str) -> int | None:
        """Steps after which an attempt at what an argument names is hopeless; None: only the skill's horizon counts."""
        ...

    def is_elsewhere(self, perception: Any, argument: str) -> bool:
        """Whether what an argument names was seen, and only where the agent can't act on it without leaving."""
        ...

    def is_possible(self, perception: Any, argument: str) -> bool:
        """Whether nothing that was perceived rules out that a command about this can be done from here."""
        ...

    @property
    def reasons(self) -> Mapping[str, str]:
        """What is said of a command that was given up: `unseen`, `elsewhere`, `strayed`."""
        ...


class Affordances(Protocol):
    """What the world's own sense says of a command: facts for the gate, from what was perceived alone.

    `asks` is what the skill's check asks (`sdg.skills.checks.shape.signature`), `argument` what the command names.
    """

    def obstacle(self, asks: Set[str], argument: str, seen: Any) -> str:
        """Why the command can't succeed from here, never what to do instead; "" where nothing speaks against it."""
        ...

    def features(self, asks: Set[str], argument: str, before: Any, after: Any = None) -> np.ndarray:
        """f32 (k,): the same in numbers, for guards that learn; with `after` of what is different then (another k).

        k is 0 where the world has nothing to say.
        """
        ...

    def shortfall(self, asks: Set[str], argument: str, before: Any, after: Any) -> str | None:
        """Which effect wasn't observed between two snapshots, "" when all were; None where the world can't tell."""
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

    Only signatures and docstrings of `functions` are read. `about` explains the records. A `preset` answers the
    functions otherwise than the domain's snapshots do: it is made of one, and is what generated code sees of it.
    """

    functions: Mapping[str, Callable[..., object]]
    records: tuple[type, ...]
    about: str
    for_checks: frozenset[str] = frozenset()
    """Functions that tell of the current subgoal: programs aren't told of them."""
    gauge: str = ""
    """The function that tells how far from done a skill's argument is, for those who ask why a call came to nothing."""
    preset: Callable[[Any], Shown] | None = None

    def code_view(self, snapshot: Perception) -> Shown:
        """What generated code and prompts see of a snapshot."""
        return snapshot if self.preset is None else self.preset(snapshot)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a domain can: keep and restore a moment, be practised in (policies), play so many rows side by side."""

    restores: bool = True
    practises: bool = True
    at_once: int = 512


TEXTS: Mapping[str, str] = {
    "role": "where the agent is, what there is, what it can do: a few sentences",
    "unfolding": "how tasks unfold into subgoals, for stage 1",
    "translation": "how things are named in API names and arguments, with an example, for stage 3",
    "judging": "when an instruction counts as carried out: what its words mean, for stage 4, a list",
    "programs": "what a planner over skills keeps in mind, for stage 4, a list",
    "example": "one short example: an instruction, the skills it has, the program that carried it out",
    "moves": "what a planner over primitive actions keeps in mind, a list",
    "moves_example": "one short example of a program over primitive actions",
    "actions": "what a model that names one action a turn has to know beside the actions",
    "executor": "what one command can and can't do, for a model that judges commands: a few sentences",
}
"""What prompts say of a world, by name: each is Markdown, written for a language model."""


class PromptTexts(Mapping[str, str]):
    """The texts of a domain, read from the files NAME.md in a package's folder when they are asked for.

    A preset of perception has files of its own, NAME.PRESET.md, for what it tells otherwise.
    """

    def __init__(self, package: str, *, preset: str = "") -> None:
        self.package, self.preset = package, preset

    def __getitem__(self, name: str) -> str:
        if name not in TEXTS:
            raise KeyError(f"no text is called {name!r}; there are {', '.join(TEXTS)}")
        endings = (f".{self.preset}.md", ".md") if self.preset else (".md",)
        places = [files(self.package) / f"{name}{ending}" for ending in endings]
        return next((place.read_text(encoding="utf-8").strip() for place in places if place.is_file()), "")

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
    def column_reader(self) -> ColumnReader | None:
        """How checks are asked about many rows at once; None: they are asked row by row."""
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
    def affordances(self) -> Affordances:
        """What the gate's rules go by."""
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

    def facts(self, snapshot: Any, argument: str) -> Mapping[str, bool]:
        """What holds of a moment, by short sentences in which "it" is what an argument names: what skills are found to
        need and to bring about is told in them."""
        ...
