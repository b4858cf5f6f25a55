"""BabyAI as a domain: a robot in a maze of rooms, levels made by minigrid and stepped many at once by the engine."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sdg.envs.babyai.affordances import RoomAffordances, RoomPersistence, facts
from sdg.envs.babyai.cells import COLOURS, DROP, FORWARD, LEFT, PICKUP, RIGHT, TOGGLE, TYPES
from sdg.envs.babyai.engine import state
from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.levels import PAPER_LEVELS, level_name
from sdg.envs.babyai.perception import memory, paper
from sdg.envs.babyai.perception.description import LOCATIONS, Target, mentions, parse, text
from sdg.envs.babyai.perception.pixels import PixelWorld
from sdg.envs.babyai.perception.snapshot import FOR_CHECKS, FUNCTIONS, RECORD_TEXT, BabyAIPerception, Object
from sdg.envs.babyai.practice.batch_world import COLUMN_READER, NO_LIMIT, WAIT, BabyAIRows, begin_rows
from sdg.envs.babyai.practice.inputs import MAP_INPUTS, NO_TARGET
from sdg.envs.babyai.world import BabyAIWorld
from sdg.envs.batch import ColumnReader
from sdg.envs.domain import Capabilities, Domain, Language, Perceivable, SearchHints, prompt_texts
from sdg.envs.world import Action


class BabyAIDescriptions(Language):
    """Descriptions such as "the red ball on your left" (`sdg.envs.domain.Language`), by the grammar of
    `perception/description.py`."""

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


class BabyAI(Domain):
    """The domain `babyai` (`sdg.envs.domain.Domain`)."""

    name = "babyai"
    can = Capabilities(bot=True)
    actions = (
        Action("turn_left", "turn left on the spot", LEFT),
        Action("turn_right", "turn right on the spot", RIGHT, beside_skills=True),
        Action("move_forward", "move one cell ahead, if it is free", FORWARD, "go forward"),
        Action("pick", "pick up the object in the cell straight ahead, if nothing is carried", PICKUP, "pick up"),
        Action(
            "put",
            "put the carried object down into the cell straight ahead, if it is empty and no doorway",
            DROP,
            "drop",
            beside_skills=True,
        ),
        Action(
            "toggle",
            "open or close the door straight ahead; a locked one needs the key of its color in the hand",
            TOGGLE,
        ),
    )
    wait = WAIT
    perceivable = Perceivable(FUNCTIONS, (Object,), RECORD_TEXT, for_checks=FOR_CHECKS)
    language = BabyAIDescriptions()
    inputs = MAP_INPUTS
    hints = SearchHints(
        # What is grabbed in passing spoils later goals.
        prior=(0.0, 0.0, 0.7, -1.5, -1.5, -1.5),
        walks=FORWARD,
        hands=(PICKUP, DROP),
        stroll=(LEFT, RIGHT, FORWARD, FORWARD),
        about_hands=("carried", "held", "picked_up", "dropped"),
    )
    persistence = RoomPersistence()
    affordances = RoomAffordances()
    texts = prompt_texts("sdg.envs.babyai.prompts")
    forgets = "forget_visited_rooms"
    level_name = staticmethod(level_name)
    snapshot = BabyAIPerception
    facts = staticmethod(facts)

    column_reader: ColumnReader | None = COLUMN_READER

    def levels(self) -> tuple[str, ...]:
        """The six levels of SDG's table 1, in its order; any other registered BabyAI level works as well."""
        return PAPER_LEVELS

    def open(self, level: str, *, lift_time_limit: bool = False) -> BabyAIWorld:
        """One minigrid environment, not reset yet."""
        return BabyAIWorld(level, lift_time_limit=lift_time_limit)

    def layouts(self, level: str, seeds: Sequence[int], *, workers: int = 1) -> LevelBank:
        """A bank of the layouts of these seeds, in their order."""
        return LevelBank.build(level, seeds, workers=workers)

    def begin(self, layouts: LevelBank, chosen: np.ndarray) -> BabyAIRows:
        """Row i as layout `chosen[i]` begins."""
        rows, numbers = self.blank(len(chosen)), np.asarray(chosen, np.int64)
        begin_rows(rows.state, rows.memory, layouts.layouts, np.arange(len(numbers)), numbers, rows.views, NO_LIMIT)
        return rows

    def blank(self, n: int) -> BabyAIRows:
        """n rows to `put` moments into."""
        return BabyAIRows(self, state.create(n), memory.create(n))

    def join(self, parts: Iterable[BabyAIRows]) -> BabyAIRows:
        """All rows of all parts, in order."""
        return BabyAIRows.join(list(parts))

    def __reduce__(self) -> str:
        return self.name.upper().replace("-", "_")


class PaperBabyAI(BabyAI):
    """BabyAI with the paper's five perception functions, for generated code and prompts; all else is the same.

    Its checks are asked row by row: the columns are those of the other preset.
    """

    name = "babyai-paper"
    perceivable = paper.PERCEIVABLE
    texts = prompt_texts("sdg.envs.babyai.prompts", preset="paper")

    column_reader = None


class PixelBabyAI(BabyAI):
    """BabyAI seen through a camera: views are read from pictures. Practice in the engine, which draws none, has the
    views themselves."""

    name = "babyai-pixels"

    def open(self, level: str, *, lift_time_limit: bool = False) -> PixelWorld:
        """One minigrid environment behind a camera, not reset yet."""
        return PixelWorld(level, lift_time_limit=lift_time_limit)


BABYAI = BabyAI()
BABYAI_PIXELS = PixelBabyAI()
BABYAI_PAPER = PaperBabyAI()
