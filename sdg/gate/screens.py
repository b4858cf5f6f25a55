"""Guards for screens: learned ones over pixels and the parsed screen, and one that asks a person before anything that
can't be undone. Commands are in words (`click`, `type`) or at coordinates; the page's source is never read.

Answers keep the form of ResponsibleTA's own models: `<s_feasibility> 1 </s_feasibility>` (section 4.1).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from sdg.envs.perception import Observation
from sdg.envs.ui.affordances import (
    CLICK,
    POINTING,
    TYPE,
    TYPING,
    ScreenAffordances,
    SeenScreen,
    asked_for,
    near,
    place_of,
)
from sdg.envs.ui.captions import at_point
from sdg.envs.ui.commands import SCREEN
from sdg.envs.ui.effects import changes
from sdg.envs.ui.page import Press
from sdg.envs.ui.parser.screen import ScreenElement
from sdg.gate.learned import COMPLETENESS, FEASIBILITY, SHIPPED, LearnedGuard
from sdg.gate.phones import element_of
from sdg.gate.rules import Usage
from sdg.gate.verdict import CONFIRMATION, Command, Verdict

PLACE = SHIPPED.parent / "screens.json"
"""The guards that come with the package; `python -m tests.shipping.screens` trains them again."""
JUDGED = (CLICK, TYPE, *POINTING, TYPING)
"""Commands that the learned guards judge; others pass."""
CERTAIN = (*JUDGED, "SCROLL_UP_COORDS", "SCROLL_DOWN_COORDS")
UNCHANGED = "nothing on the screen changed"
LEAST_CHANCE: Mapping[bool, float] = {True: 0.5, False: 0.1}
"""Chances below which a verdict is no, for commands in words and at coordinates: a bare place may mean anything."""
FINAL = frozenset({
    "send", "buy", "purchase", "pay", "order", "checkout", "delete", "remove", "erase", "trash", "discard",
    "publish", "post", "transfer", "donate", "book", "reserve", "unsubscribe", "withdraw", "kündigen", "senden",
    "kaufen", "bezahlen", "bestellen", "löschen", "entfernen", "überweisen", "envoyer", "acheter", "payer",
    "commander", "résilier", "supprimer", "enviar", "comprar", "pagar", "eliminar", "borrar", "invia", "acquista",
    "paga", "elimina", "excluir", "gửi", "mua", "xóa", "发送", "购买", "支付", "删除", "送信", "購入", "支払う", "削除",
})  # fmt: skip
"""Words on an element that is only pressed with a person's yes."""
ENDING = frozenset({"cancel", "close", "deactivate", "empty", "end", "leave", "revoke", "terminate"})
"""Words that are harmless alone ("Cancel" leaves a dialog), but final beside one of OWNED."""
OWNED = frozenset({
    "account", "bin", "booking", "contract", "membership", "order", "plan", "policy", "profile", "registration",
    "reservation", "subscription", "trash",
})  # fmt: skip
FINAL_ICONS = FINAL | {"plane", "bin", "rubbish", "sendmail"}
"""The same for names of icons: a paper plane sends."""
PRESSING = ("Tap", "Long Press")
"""A phone's actions that press something (`sdg.envs.phone.actions`)."""
MOST_LABEL_WORDS, MOST_BUTTON_WORDS = 3, 6
"""Most words of a label, and of what the page itself calls a button; more is prose."""


class ScreenGuard(LearnedGuard):
    """The learned guards of screens: is what a command names there, and does its effect show."""

    source = "screens"

    def __init__(self, *, place: Path = PLACE) -> None:
        super().__init__({}, ScreenAffordances(), place=place)
        self.usages = USAGES

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """Refuses what names nothing on the screen. Raises ValueError for an observation without a screenshot."""
        return super().feasible(command, _as_screen(observation))

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """Doubts what left no trace at its target. Raises ValueError for observations without screenshots.

        A command at coordinates can't reach another element than intended, so on pages unlike those learned from the
        guard only judges what is certain: whether anything changed. For commands in words it judges that first.
        """
        then, now = _pixels(before), _pixels(after)
        if command.name in CERTAIN and then.shape[:2] != (SCREEN, SCREEN):
            changed = then.shape != now.shape or bool(changes(then, now).any())
            if not changed or command.name not in (CLICK, TYPE):
                return Verdict(changed, "the screen changed" if changed else UNCHANGED, 1.0, self.source)
        shifted, found = screens_as_learned(command, before, after)
        verdict = _placed(super().complete(shifted, *found), shifted, command)
        return verdict if verdict.passed else replace(verdict, reason=f"{verdict.reason}; a guess: look at the screen")

    def least_chance(self, verb: str, command: Command) -> float:
        """Half for commands in words; coordinates are refused only where there is next to no hope."""
        return LEAST_CHANCE[command.name in (CLICK, TYPE)]


def _pixels(seen: Observation) -> np.ndarray:
    return cast(SeenScreen, _as_screen(seen).perception).picture


class _Usages(dict[str, Usage]):
    def __missing__(self, name: str) -> Usage:
        return Usage()


USAGES = _Usages({name: Usage(asks=frozenset({name})) for name in JUDGED})


def screens_as_learned(command: Command, *moments: Observation) -> tuple[Command, list[Observation]]:
    """The command and observations with their screens as snapshots; screens larger than those learned from are cut to
    what lies around the command's target, and its point moves accordingly. Raises ValueError without a screenshot."""
    if all(isinstance(each.perception, SeenScreen) for each in moments):
        return command, list(moments)
    screens = [cast(SeenScreen, _as_screen(each).perception) for each in moments]
    argument, screens = near({command.name} & set(JUDGED), command.argument, *screens)
    return Command(command.name, argument), [
        Observation(each.text, screen.picture, tuple(screen.parsed), screen)
        for each, screen in zip(moments, screens, strict=True)
    ]


def _as_screen(seen: Observation) -> Observation:
    if isinstance(seen.perception, SeenScreen):
        return seen
    if not isinstance(seen.image, np.ndarray):
        raise ValueError("an observation without its screenshot can't be judged")
    return Observation(seen.text, seen.image, seen.elements, SeenScreen(seen.image, cast(Any, seen.elements)))


def _placed(verdict: Verdict, shifted: Command, command: Command) -> Verdict:
    """The verdict, whose reason names the command itself, not the shifted one."""
    return replace(verdict, reason=verdict.reason.replace(str(shifted), str(command)))


class ConfirmGuard:
    """Asks before a press that can't be undone; `confirm` is asked in words and says whether to go on.

    Without `confirm` the answer is no. `asked` counts the questions. `presses` says what a command presses where more
    is known than the picture shows: icons without words, Enter in a form.
    """

    source = CONFIRMATION
    kind = "rules"

    def __init__(
        self, confirm: Callable[[str], bool] | None = None, presses: Callable[[Command], Press] | None = None
    ) -> None:
        self._confirm, self._presses, self.asked = confirm, presses, 0

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """Refuses a final press unless `confirm` agrees."""
        label = (final_press(self._presses(command)) if self._presses else "") or final_label(command, observation)
        if not label:
            return Verdict(True, "nothing final", source=self.source)
        self.asked += 1
        if self._confirm is not None and self._confirm(f"{command} presses {label}: go on?") is True:
            return Verdict(True, f"{label} was confirmed", source=self.source)
        return Verdict(False, f"{label} can't be undone and wasn't confirmed", source=self.source)

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """Passes; nobody is asked afterwards."""
        return Verdict(True, "nothing to confirm", source=self.source)


def final_label(command: Command, observation: Observation) -> str:
    """What a command would press for good: its element's name, or the command's own words; "" for anything else."""
    elements = cast(tuple[ScreenElement, ...], observation.elements)
    if command.name in PRESSING:
        pressed = element_of(command, elements)
        at = re.fullmatch(r"(\d+),(\d+)", command.argument)
        there = pressed or (at_point((int(at[1]), int(at[2])), elements) if at else None)
        labels = [cast(ScreenElement, there).text] if there else []
    elif command.name in (CLICK, *POINTING):
        phrase, found = asked_for({command.name}, command.argument, elements)
        labels = [phrase.words, *([found[0].caption.words] if found else [])]
    else:
        return ""
    for label in labels:
        words = label.lower().replace("!", " ").replace(".", " ").split()
        if len(words) <= MOST_LABEL_WORDS and _is_final(words):
            return f"{label[:60]!r}"
    return ""


def final_press(press: Press) -> str:
    """What a press would do for good, by the words on it or else by its icon; "" for nothing, and for typing.

    A picture without any words at all may be anything.
    """
    words, hints = _words(press.words), _words(press.hints)
    most = MOST_BUTTON_WORDS if press.role == "button" else MOST_LABEL_WORDS
    if words:  # in scripts without spaces a word may be anywhere
        final = _is_final(words) or any(each in press.words for each in FINAL if not each.isascii())
        return repr(press.words[:60]) if len(words) <= most and final else ""
    if FINAL_ICONS & set(hints):
        return f"an icon ({' '.join(hints)[:60]})"
    return "a picture without words" if press.picture and press.role == "button" and not hints else ""


def _is_final(words: Sequence[str]) -> bool:
    return bool(FINAL & set(words) or (ENDING & set(words) and OWNED & set(words)))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).lower())


def answer_text(verb: str, verdict: Verdict) -> str:
    """A verdict as the paper's models write it."""
    token = {FEASIBILITY: "s_feasibility", COMPLETENESS: "s_completeness"}[verb]
    return f"<{token}> {int(verdict.passed)} </{token}>"


def locate(command: Command, observation: Observation) -> str:
    """The place of the element that a command means, [x0, y0, x1, y1] in pixels, as the paper's models write it."""
    found = place_of({command.name}, command.argument, cast(tuple[ScreenElement, ...], observation.elements))
    return f"<locate_element> {list(found)} </locate_element>"
