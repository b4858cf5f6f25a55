"""Defaults for the domain of a simple world: one place in full view, without a batch engine.

Inputs are real numbers in one frame, things have fixed names, a world has a clock. `examples/arm` uses these classes.
"""

import re
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from typing import Any, Self

import numpy as np

from sdg.envs.domain import TEXTS, Capabilities, SearchHints
from sdg.envs.world import Action, Element, StepResult
from sdg.envs.world_rows import SingleDomain

MAX_OPEN = 32
"""Worlds that a batch of a plain domain holds open, because simulators are large (`Capabilities.at_once`)."""


class PlainInputs:
    """Inputs in one frame, as real numbers, unmasked (`sdg.envs.batch.Inputs`). Subclasses implement `write_row`."""

    size: int
    actions: int
    dtype: Any = np.float32
    bounds: np.ndarray | None = None
    mostly_on = slice(0, 0)

    def write_row(self, memory: Any, row: int, target: np.ndarray, out: np.ndarray) -> int:
        """Inputs of one row into `out` (size,); returns the frame."""
        raise NotImplementedError

    def write(self, memory: Any, targets: np.ndarray, frames: np.ndarray, out: np.ndarray) -> None:
        """Inputs of all rows."""
        for row in range(len(targets)):
            frames[row] = self.write_row(memory, row, targets[row], out[row])

    def to_world(self, logits: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """A copy: there is one frame."""
        return logits.copy()

    def to_world_row(self, logits: np.ndarray, frame: int) -> None:
        """Leave the logits unchanged."""

    def actions_to_world(self, actions: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """The same actions."""
        return actions

    def mask_noops(self, memory: Any, logits: np.ndarray) -> None:
        """Mask nothing."""

    def mask_noops_row(self, memory: Any, row: int, logits: np.ndarray) -> None:
        """Mask nothing."""


class Descriptions:
    """Descriptions whose target is a few small numbers (`sdg.envs.domain.Language`). Subclasses define `parse`, `text`,
    `example` and `mentions`; `nothing` is the row for no thing."""

    example: str
    nothing: tuple[int, ...] = (-1,)
    parts: Mapping[str, tuple[str, ...]] = {}
    anything = ""

    def parse(self, description: str) -> Any:
        """The target of a description. Raises ValueError for text that describes nothing."""
        raise NotImplementedError

    def text(self, target: Any) -> str:
        """The description of a target."""
        raise NotImplementedError

    def part(self, target: Any, part: str) -> str | None:
        """Names have no parts."""
        return None

    def row(self, argument: str) -> np.ndarray:
        """The argument's target as i16 (w,); `nothing` if it describes nothing."""
        try:
            return np.atleast_1d(np.array(self.parse(argument), np.int16))
        except ValueError:
            return np.array(self.nothing, np.int16)

    def description_of(self, row: np.ndarray) -> str:
        """The description that a row encodes, "" for `nothing`."""
        target = tuple(row.tolist())
        return "" if target == self.nothing else self.text(target if len(target) > 1 else target[0])

    def kind(self, argument: str) -> Hashable:
        """True if the argument describes something: all things are of one kind."""
        return tuple(self.row(argument).tolist()) != self.nothing

    def relation(self, argument: str) -> Hashable:
        """None: all things are meant in one way."""
        return None

    def name_of(self, element: Any) -> str:
        """Its name."""
        return element.name

    def kinds_of(self, element: Any) -> str:
        """Its name: nothing else is like it."""
        return self.name_of(element)

    def resolve(self, argument: str, elements: Sequence[Any]) -> Sequence[Any]:
        """The thing of that name. Raises ValueError if there is none."""
        name = self.text(self.parse(argument))
        return [element for element in elements if element.name == name]


class NamedThings(Descriptions):
    """Descriptions in a world whose few things have names (`sdg.envs.domain.Language`): "the goal", "object"."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.example = self.names[0]

    def parse(self, description: str) -> int:
        """The index of the name. Raises ValueError for anything else."""
        name = re.sub(r"^(the|an?) ", "", str(description).strip().lower())
        if name not in self.names:
            raise ValueError(f"{description!r:.80} describes nothing: there are {', '.join(self.names)}")
        return self.names.index(name)

    def text(self, target: int) -> str:
        """The name of a target."""
        return self.names[target]

    def mentions(self, sentence: str) -> list[str]:
        """The names in a sentence, in their order."""
        return re.findall(rf"\b(?:{'|'.join(map(re.escape, self.names))})\b", sentence.lower())


class OnePlace:
    """A world that is one place in full view (`sdg.envs.domain.Persistence`): no command is given up early."""

    reasons: Mapping[str, str] = {"unseen": "", "elsewhere": "", "strayed": ""}

    def knowledge(self, memory: Any) -> int:
        """0: everything is known from the beginning."""
        return 0

    def place(self, perception: Any) -> int:
        """The one place."""
        return 0

    def is_known(self, perception: Any, argument: str) -> bool:
        """True: everything is in view."""
        return True

    def patience(self, perception: Any, argument: str) -> int | None:
        """None: only the skill's horizon counts."""
        return None

    def is_elsewhere(self, perception: Any, argument: str) -> bool:
        """False: there is one place."""
        return False

    def is_possible(self, perception: Any, argument: str) -> bool:
        """True: nothing is ruled out."""
        return True


class NothingKnown:
    """A world that can't tell what is possible in it (`sdg.envs.domain.Affordances`)."""

    def obstacle(self, asks: Set[str], argument: str, seen: Any) -> str:
        """The empty text: nothing is ruled out."""
        return ""

    def shortfall(self, asks: Set[str], argument: str, before: Any, after: Any) -> str | None:
        """None: it can't tell."""
        return None

    def features(self, asks: Set[str], argument: str, before: Any, after: Any = None) -> np.ndarray:
        """No features."""
        return np.zeros(0, np.float32)


def name_of(thing: object) -> str:
    """The name of a record that a program passes to a perception function; a description is returned unchanged."""
    return str(getattr(thing, "name", thing))


class PlainPerception:
    """A snapshot (`sdg.envs.world.Perception`); the methods that `api` names are its perception functions."""

    __slots__ = ()
    api: tuple[str, ...] = ()

    def functions(self) -> Mapping[str, Callable[..., object]]:
        """The perception functions by name."""
        return {name: getattr(self, name) for name in self.api}

    def elements(self) -> Sequence[Element]:
        """No elements: things have no records."""
        return ()

    def describe(self) -> str:
        """The snapshot in a few lines."""
        raise NotImplementedError


class PlainWorld:
    """A world with a clock (`sdg.envs.world.SingleWorld`). Subclasses define `reset`, `advance`, `is_done` and
    `perception_since`."""

    began: Any

    def __init__(self, mission: str, *, max_steps: int, lift_time_limit: bool) -> None:
        self.mission, self.max_steps, self.lift_time_limit = mission, max_steps, lift_time_limit
        self.steps = -1

    @property
    def memory(self) -> Self:
        """The world itself. A property, because a world with a reference to itself isn't freed after its last use."""
        return self

    def advance(self, action: Any) -> None:
        """Make one step. Raises ValueError for an unknown action."""
        raise NotImplementedError

    def is_done(self) -> bool:
        """Whether the mission is done."""
        raise NotImplementedError

    def step(self, action: Any) -> StepResult:
        """Take one action. Raises RuntimeError before the first reset."""
        if self.steps < 0:
            raise RuntimeError("reset the world before stepping in it")
        self.advance(action)
        self.steps += 1
        is_over = self.is_done()
        return StepResult(
            float(is_over), is_over, not (is_over or self.lift_time_limit) and self.steps >= self.max_steps
        )

    def perception(self) -> PlainPerception:
        """A snapshot of the present state."""
        return self.perception_since(self.began)

    def perception_since(self, began: Any) -> PlainPerception:
        """A snapshot for an agent whose subgoal began at `began`."""
        raise NotImplementedError

    def forget(self) -> None:
        """Do nothing: all is in view."""

    def set_instruction(self, text: str) -> None:
        """Accept the mission itself. Raises ValueError for other words, which the world can't judge."""
        if " ".join(text.lower().split()) != self.mission.lower():
            raise ValueError(f"this world can't judge {text!r:.80}: it is about {self.mission!r:.200}")


class PlainDomain(SingleDomain):
    """A domain of plain worlds. Subclasses define `name` ("module:attribute"), `perceivable`, `inputs`, `language`,
    `role`, `world` and `level_names`."""

    name: str
    role: str
    inputs: PlainInputs
    world: Callable[..., Any]
    """Called with a level and `lift_time_limit`, as `open` is."""
    level_names: tuple[str, ...]
    can = Capabilities(at_once=MAX_OPEN)
    persistence = OnePlace()
    affordances = NothingKnown()

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions, named by their numbers."""
        return tuple(Action(f"action_{n}", f"action {n}", n) for n in range(self.inputs.actions))

    @property
    def hints(self) -> SearchHints:
        """No action is preferred."""
        return SearchHints(prior=(0.0,) * self.inputs.actions)

    @property
    def texts(self) -> Mapping[str, str]:
        """The role; all other texts are empty."""
        return dict.fromkeys(TEXTS, "") | {"role": self.role}

    def levels(self) -> tuple[str, ...]:
        """The levels."""
        return self.level_names

    def open(self, level: str, *, lift_time_limit: bool = False) -> Any:
        """A world of a level, not reset yet."""
        return type(self).world(self.level_name(level), lift_time_limit=lift_time_limit)

    def level_name(self, name: str) -> str:
        """The level itself. Raises ValueError if there is none."""
        if name not in self.levels():
            raise ValueError(f"there is no level {name!r:.80}; there are {', '.join(self.levels())}")
        return name

    def __reduce__(self) -> str:
        return self.name.partition(":")[2] or self.name.upper()
