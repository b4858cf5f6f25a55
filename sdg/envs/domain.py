"""The interface that every kind of world implements.

A `Domain` is a kind of world (a simulated robot in a maze, an arm, web pages): its levels and instructions, what can be
perceived in it and how prompts describe that, what its policies see, and how n of its worlds step side by side.
`sdg.envs.domains` finds domains by name. Skills and stages use only this interface; `sdg.envs.contract` tests that a
domain implements it.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Protocol

import numpy as np

from sdg.envs.batch import BatchWorld, ColumnReader, Inputs, Layouts
from sdg.envs.world import Action, CodeView, Perception, World


class _Itself(Protocol):
    """Equal to itself alone, so that results computed for it can be cached by it."""

    __hash__: Any = object.__hash__


class Language(_Itself, Protocol):
    """How a skill's argument names a thing. A *target* is the meaning of a description: hashable and comparable.

    Inherit it where a target is a few small numbers; `parse`, `text`, `mentions` and `example` are left to say.
    """

    example: str
    """A description that is valid in every level."""
    nothing: tuple[int, ...] = (-1,)
    """The row for no thing."""
    parts: Mapping[str, tuple[str, ...]] = {}
    """The words of descriptions, by part (colour, type).

    Where a description in a check is replaced, such a word that the check names alone is replaced with it.
    """
    anything: str = ""
    """A description that fits every thing, "" if there is none."""

    def parse(self, description: str) -> Any:
        """The target of a description. Raises ValueError, with the grammar in the message, if it describes nothing."""
        ...

    def text(self, target: Any) -> str:
        """The shortest description of a target."""
        ...

    def mentions(self, sentence: str) -> list[str]:
        """The descriptions in a sentence such as a mission, in their order and in their shortest form."""
        ...

    def part(self, target: Any, part: str) -> str | None:
        """The target's word for a part; None if the target leaves it open."""
        return None

    def row(self, argument: str) -> np.ndarray:
        """The argument as kernels and inputs take it, i16 (w,); "" and text that describes nothing give one row."""
        try:
            return np.atleast_1d(np.array(self.parse(argument), np.int16))
        except ValueError:
            return np.array(self.nothing, np.int16)

    def description_of(self, row: np.ndarray) -> str:
        """The description that a row encodes, "" for the row of no thing."""
        target = tuple(row.tolist())
        return "" if target == self.nothing else self.text(target if len(target) > 1 else target[0])

    def kind(self, argument: str) -> Hashable:
        """The kind of thing that an argument names, because some skills were learned on some kinds only; here all
        things are of one."""
        return tuple(self.row(argument).tolist()) != self.nothing

    def relation(self, argument: str) -> Hashable:
        """How an argument's things are meant (one thing, or one on its way to another): a skill learns one relation."""
        return None

    def name_of(self, element: Any) -> str:
        """The description that names exactly this thing."""
        return element.name

    def kinds_of(self, element: Any) -> str:
        """The description of all things like this one; here nothing else is like it."""
        return self.name_of(element)

    def resolve(self, argument: str, elements: Sequence[Any]) -> Sequence[Any]:
        """The elements that a description fits, by their records. Raises ValueError if it describes nothing."""
        name = self.text(self.parse(argument))
        return [element for element in elements if element.name == name]


class Persistence:
    """When a body gives up a command: a world's knowledge about attempts that fail.

    Inherit it and say what your world knows better: here it is one place in full view, and nothing is given up early.
    """

    reasons: Mapping[str, str] = {"unseen": "", "elsewhere": "", "strayed": ""}
    """The text for each reason to give up a command."""

    def knowledge(self, memory: Any) -> int:
        """How much of the world is known; an attempt that leaves this number unchanged showed nothing new."""
        return 0

    def place(self, perception: Any) -> Hashable:
        """The part of the world that the agent is in; skills are practised within one."""
        return 0

    def is_known(self, perception: Any, argument: str) -> bool:
        """Whether the argument names anything that was seen so far."""
        return True

    def patience(self, perception: Any, argument: str) -> int | None:
        """Steps after which an attempt at the argument is hopeless; None: only the skill's horizon counts."""
        return None

    def is_elsewhere(self, perception: Any, argument: str) -> bool:
        """Whether the things that the argument names were seen, but only outside the agent's present place."""
        return False

    def is_possible(self, perception: Any, argument: str) -> bool:
        """False if perception rules out that a command with this argument succeeds from here."""
        return True


class Affordances:
    """Facts about a command for the gate, only from perception. This class knows none.

    `asks` are the questions of the skill's check (`sdg.skills.checks.shape.signature`); `argument` is the command's.
    """

    def obstacle(self, asks: Set[str], argument: str, seen: Any) -> str:
        """Why the command can't succeed from here, never what to do instead; "" if nothing rules it out."""
        return ""

    def features(self, asks: Set[str], argument: str, before: Any, after: Any = None) -> np.ndarray:
        """f32 (k,): facts in numbers, for learned guards; with `after`, numbers about the change (another k).

        k is 0 if the world can't tell anything.
        """
        return np.zeros(0, np.float32)

    def shortfall(self, asks: Set[str], argument: str, before: Any, after: Any) -> str | None:
        """The effect that is missing between two snapshots, "" if none is; None if the world can't tell."""
        return None


@dataclass(frozen=True, slots=True)
class SearchHints:
    """The start of a search: hints about the world's actions, none about its tasks.

    `prior` are first preferences (logits) over the actions; `walks` is an action that is often worth repeating (-1:
    none); `hands` are actions that take or drop; `stroll` are actions that move without touching anything.
    """

    prior: tuple[float, ...]
    walks: int = -1
    hands: tuple[int, ...] = ()
    stroll: tuple[int, ...] = ()
    about_hands: tuple[str, ...] = ()
    """Words in a check that ask about the hand, now or earlier."""


@dataclass(frozen=True, slots=True)
class Perceivable:
    """The perception API: functions by name (their docstrings are the prompt's API text), and the records they return.

    Only signatures and docstrings of `functions` are read. `about` explains the records. A `preset` wraps a snapshot:
    generated code and prompts then use its functions in place of the snapshot's own.
    """

    functions: Mapping[str, Callable[..., object]]
    records: tuple[type, ...]
    about: str
    for_checks: frozenset[str] = frozenset()
    """Functions about the current subgoal: only checks may call them."""
    gauge: str = ""
    """The function that measures how far a skill's argument is from done; the note on a failed call reports it."""
    preset: Callable[[Any], CodeView] | None = None

    def code_view(self, snapshot: Perception) -> CodeView:
        """The view of a snapshot for generated code and prompts."""
        return snapshot if self.preset is None else self.preset(snapshot)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Abilities of a domain: to save and restore a state, to be practised in, to step `at_once` rows side by side, to
    be played by an oracle, the `bot`."""

    restores: bool = True
    practises: bool = True
    at_once: int = 512
    bot: bool = False


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
"""The texts about a world in prompts, by name: each is Markdown, written for a language model."""


def prompt_texts(package: str, *, preset: str = "") -> Mapping[str, str]:
    """The texts of a domain, from the files NAME.md in a package's folder; "" where there is none.

    For a preset of perception, a file NAME.PRESET.md takes the place of NAME.md.
    """
    endings = (f".{preset}.md", ".md") if preset else (".md",)
    places = {name: [files(package) / f"{name}{ending}" for ending in endings] for name in TEXTS}
    return {
        name: next((place.read_text(encoding="utf-8").strip() for place in paths if place.is_file()), "")
        for name, paths in places.items()
    }


class Domain(_Itself, Protocol):
    """A kind of world. Instances are values: pickled by `name`, which `sdg.envs.domains` finds again."""

    name: str
    """The name by which `sdg.envs.domains` finds it."""
    can: Capabilities = Capabilities()
    """The domain's abilities."""
    wait: int = -1
    """The number of an action that changes nothing in a `BatchWorld`."""
    perceivable: Perceivable
    """The perception API."""
    language: Language
    """How arguments name things."""
    inputs: Inputs
    """The inputs of policies."""
    column_reader: ColumnReader | None = None
    """How checks are evaluated on many rows at once; None: they are evaluated row by row."""
    persistence: Persistence = Persistence()
    """When a body gives up a command."""
    affordances: Affordances = Affordances()
    """Facts for the gate's rules."""
    forgets: str = ""
    """The name under which programs call `World.forget`; "" if they can't."""

    @property
    def actions(self) -> tuple[Action, ...]:
        """The primitive actions, numbered from 0."""
        ...

    @property
    def hints(self) -> SearchHints:
        """Hints that a search starts with."""
        ...

    @property
    def texts(self) -> Mapping[str, str]:
        """The texts about the world in prompts, see `TEXTS`."""
        ...

    def levels(self) -> tuple[str, ...]:
        """The levels that tables show, in their order."""
        ...

    def level_name(self, name: str) -> str:
        """The canonical name of a level. Raises ValueError, with close matches, if there is none."""
        ...

    def open(self, level: str, *, lift_time_limit: bool = False) -> World:
        """A world of a level, not reset yet. `lift_time_limit` is for grounding, never for evaluation."""
        ...

    def layouts(self, level: str, seeds: Sequence[int], *, workers: int = 1) -> Layouts:
        """The starts of a level under these seeds, in their order."""
        ...

    def begin(self, layouts: Any, chosen: np.ndarray) -> BatchWorld:
        """A batch whose row i is at the start of layout `chosen[i]`: its agent has looked but not acted."""
        ...

    def blank(self, n: int) -> BatchWorld:
        """n rows without content, into which `put` copies states."""
        ...

    def join(self, parts: Iterable[Any]) -> BatchWorld:
        """All rows of all parts, in order."""
        ...

    def snapshot(self, memory: Any, row: int) -> Perception:
        """A snapshot of row `row` of a memory."""
        ...

    def facts(self, snapshot: Any, argument: str) -> Mapping[str, bool]:
        """Facts about a state, by short sentences in which "it" is the thing that the argument names; prompts
        describe with them what a skill needs and what it brings about."""
        return {}
