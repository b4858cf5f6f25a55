"""Defaults for the domain of a simple world: one place in full view, without a batch engine.

Inputs are real numbers in one frame, things have fixed names, a world has a clock. `examples/arm` uses these classes.
"""

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from sdg.envs.batch import Inputs
from sdg.envs.domain import TEXTS, Capabilities, Language, SearchHints
from sdg.envs.world import Action, Perception, StepResult
from sdg.envs.world_rows import SingleDomain

MAX_OPEN = 32
"""Worlds that a batch of a plain domain holds open, because simulators are large (`Capabilities.at_once`)."""


PlainInputs = Inputs
"""Inputs in one frame, as real numbers, unmasked."""
PlainPerception = Perception
"""A snapshot; the methods that `api` names are its perception functions."""


class NamedThings(Language):
    """Descriptions in a world whose few things have names (`sdg.envs.domain.Language`): "the goal", "object"; in any
    case."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.example = self.names[0]

    def parse(self, description: str) -> int:
        """The index of the name. Raises ValueError for anything else."""
        name = re.sub(r"^(the|an?) ", "", str(description).strip().lower())
        names = [own_name.lower() for own_name in self.names]
        if name not in names:
            raise ValueError(f"{description!r:.80} describes nothing: there are {', '.join(self.names)}")
        return names.index(name)

    def text(self, target: int) -> str:
        """The name of a target."""
        return self.names[target]

    def mentions(self, sentence: str) -> list[str]:
        """The names in a sentence, in their order; of those that begin at one place, the longest."""
        by_words = {name.lower(): name for name in self.names}
        pattern = "|".join(map(re.escape, sorted(by_words, key=len, reverse=True)))
        return [by_words[words] for words in re.findall(rf"\b(?:{pattern})\b", sentence.lower())]


def name_of(thing: object) -> str:
    """The name of a record that a program passes to a perception function; a description is returned unchanged."""
    return str(getattr(thing, "name", thing))


class PlainWorld:
    """A world with a clock (`sdg.envs.world.SingleWorld`). Subclasses define `reset`, `advance`, `is_done` and
    `perception_since`."""

    began: Any = None
    """The moment at which the subgoal began, as far as perception asks for it."""

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

    def begin_subgoal(self) -> None:
        """Do nothing: perception doesn't ask when the subgoal began. Set `began` where it does."""

    def keep(self) -> Any:
        """This moment: a copy of all that the world holds. Override it for a simulator, whose state is a small part."""
        return copy.deepcopy(vars(self))

    def restore(self, moment: Any) -> None:
        """Go on from a moment; where `keep` is this class's, nothing stays that was made after it."""
        kept = copy.deepcopy(moment)
        if type(self).keep is PlainWorld.keep:
            vars(self).clear()
        vars(self).update(kept)

    def set_instruction(self, text: str) -> None:
        """Accept the mission itself. Raises ValueError for other words, which the world can't judge."""
        if " ".join(text.lower().split()) != self.mission.lower():
            raise ValueError(f"this world can't judge {text!r:.80}: it is about {self.mission!r:.200}")


class PlainDomain(SingleDomain):
    """A domain of plain worlds. Subclasses define `name` ("module:attribute"), `perceivable`, `inputs`, `language`,
    `role`, `world` and `level_names`."""

    role: str
    world: Callable[..., Any]
    """Called with a level and `lift_time_limit`, as `open` is."""
    level_names: tuple[str, ...]
    can = Capabilities(at_once=MAX_OPEN)

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
        """Pickled as the global that its name names: "my_world:LINE" as LINE of my_world, "table" as TABLE."""
        return self.name.partition(":")[2] or self.name.upper()
