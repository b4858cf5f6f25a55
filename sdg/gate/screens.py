"""Guards for screens, learned from pixels and the parsed screen. Commands are in words (`click`, `type`) or at
coordinates; the page's source is never read.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from sdg.envs.ui.affordances import (
    CLICK,
    POINTING,
    TYPE,
    TYPING,
    ScreenAffordances,
    SeenScreen,
    near,
)
from sdg.envs.ui.commands import SCREEN
from sdg.envs.ui.effects import changes
from sdg.envs.world import Observation, PlainObservation
from sdg.gate.executor import Command, Verdict
from sdg.gate.learned import SHIPPED, LearnedGuard, usages_of

PLACE = SHIPPED.parent / "screens.json"
"""The guards that come with the package; `python -m training.screens` trains them again."""
JUDGED = (CLICK, TYPE, *POINTING, TYPING)
"""Commands that the learned guards judge; others pass."""
CERTAIN = (*JUDGED, "SCROLL_UP_COORDS", "SCROLL_DOWN_COORDS")
MIN_CHANCES: Mapping[bool, float] = {True: 0.5, False: 0.1}
"""Chances below which a verdict is no, for commands in words and at coordinates: a bare place may mean anything."""


class ScreenGuard(LearnedGuard):
    """The learned guards of screens: is what a command names there, and does its effect show."""

    source = "screens"

    def __init__(self, *, place: Path = PLACE) -> None:
        super().__init__(usages_of(JUDGED), ScreenAffordances(), place=place)

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """Refuses a command that names nothing on the screen. Raises ValueError without a screenshot."""
        screen = _screen(observation)
        return super().feasible(
            command, PlainObservation(observation.text, screen.picture, observation.elements, screen)
        )

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """Rejects a command that left no trace at its target. Raises ValueError without screenshots.

        A command at coordinates can't reach another element than intended, so on pages unlike those learned from the
        guard only judges what is certain: whether anything changed. For commands in words it judges that first.
        """
        then = _screen(before).picture
        now = _screen(after).picture
        if command.name in CERTAIN and then.shape[:2] != (SCREEN, SCREEN):
            changed = then.shape != now.shape or bool(changes(then, now).any())
            if not changed:
                return Verdict(False, "nothing on the screen changed", source=self.source)
            if command.name not in (CLICK, TYPE):
                return Verdict(True, "the screen changed", source=self.source)
        shifted, moments = screens_as_learned(command, before, after)
        verdict = super().complete(shifted, *moments)
        reason = verdict.reason.replace(str(shifted), str(command))
        return replace(verdict, reason=reason if verdict.passed else f"{reason}; a guess: look at the screen")

    def least_chance(self, verb: str, command: Command) -> float:
        """0.5 for commands in words; at coordinates 0.1, so that only hopeless ones are refused."""
        return MIN_CHANCES[command.name in (CLICK, TYPE)]


def screens_as_learned(command: Command, *moments: Observation) -> tuple[Command, list[Observation]]:
    """The command and observations with their screens as snapshots; screens larger than those learned from are cut to
    what lies around the command's target, and its point moves accordingly. Raises ValueError without a screenshot."""
    if all(isinstance(moment.perception, SeenScreen) for moment in moments):
        return command, list(moments)
    screens = [_screen(moment) for moment in moments]
    argument, screens = near({command.name} & set(JUDGED), command.argument, *screens)
    return Command(command.name, argument), [
        PlainObservation(moment.text, screen.picture, tuple(screen.parsed), screen)
        for moment, screen in zip(moments, screens, strict=True)
    ]


def _screen(moment: Observation) -> SeenScreen:
    if isinstance(moment.perception, SeenScreen):
        return moment.perception
    if not isinstance(moment.image, np.ndarray):
        raise ValueError("an observation without its screenshot can't be judged")
    return SeenScreen(moment.image, cast(Any, moment.elements))
