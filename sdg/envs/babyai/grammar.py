"""BabyAI's `Language`: how a skill's argument names a thing (`description.py` has the grammar)."""

from collections.abc import Mapping, Sequence

from sdg.envs.babyai.cells import COLOURS, TYPES
from sdg.envs.babyai.perception.description import LOCATIONS, Target, mentions, parse, text
from sdg.envs.babyai.perception.snapshot import Object
from sdg.envs.babyai.practice.inputs import NO_TARGET
from sdg.envs.domain import Language


class BabyAIDescriptions(Language):
    """Descriptions such as "the red ball on your left" (`sdg.envs.domain.Language`)."""

    example = "red key"
    anything = "object"
    nothing = NO_TARGET
    parts: Mapping[str, tuple[str, ...]] = {"color": COLOURS, "type": TYPES}

    parse = staticmethod(parse)
    mentions = staticmethod(mentions)

    def text(self, target: tuple[int, ...]) -> str:
        """The shortest description of a target."""
        return text(Target(*target))

    def part(self, target: Target, part: str) -> str | None:
        """The colour or type word of a target; None where it leaves that open."""
        index = target.color if part == "color" else target.type
        return self.parts[part][index] if index >= 0 else None

    def kind(self, argument: str) -> int:
        """The type that an argument names, as its index; one of its own for an argument that describes nothing."""
        try:
            return parse(argument).type
        except ValueError:
            return NO_TARGET[3]

    def name_of(self, element: Object) -> str:
        """`name #id`, which names exactly this thing."""
        return f"{element.name} #{element.id}"

    def kinds_of(self, element: Object) -> str:
        """The description of all things of its colour and type."""
        return element.name

    def resolve(self, argument: str, elements: Sequence[Object]) -> Sequence[Object]:
        """The records that a description fits, for guards; ValueError with the grammar when it is none.

        Location words are judged by the side alone: a record doesn't say in which room the mission began, and a guard
        must not refuse what may be right.
        """
        target = parse(argument)
        return [thing for thing in elements if _fits(thing, target)]


def _fits(thing: Object, target: Target) -> bool:
    x, y = thing.start_position
    side = {"": True, "on your left": x < 0, "on your right": x > 0, "in front of you": y > 0, "behind you": y < 0}
    return (
        target.type in (-1, TYPES.index(thing.type))
        and target.color in (-1, COLOURS.index(thing.color))
        and target.id in (-1, thing.id)
        and side[LOCATIONS[target.location]]
    )
