"""A guard that asks a person before anything that can't be undone: send, buy, delete, pay, or agree to it.

A press counts as final if its label, the name of its icon or the dialog around it holds a word of `words.txt`, which
has a list for each purpose, in the languages that most pages are in; and any command, if the planner calls it final.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from itertools import dropwhile, pairwise
from typing import cast
from unicodedata import category, combining, normalize

from sdg.envs.phone.actions import PRESSING
from sdg.envs.ui.affordances import CLICK, POINTING, asked_for
from sdg.envs.ui.captions import at_point
from sdg.envs.ui.parser.screen import ScreenElement
from sdg.envs.ui.presses import Press
from sdg.envs.world import Observation
from sdg.gate.executor import CONFIRMATION, Command, Verdict
from sdg.gate.phones import element_of


def _folded(text: str) -> str:
    """Without invisible signs and the marks on letters that only help to read them."""
    marked = normalize("NFKC", text).replace("İ", "I")
    return "".join(each for each in marked if category(each) != "Cf" and combining(each) not in _MARKS)


_MARKS = {*range(10, 37), *range(200, 241)}
"""The classes of such marks: those of Hebrew, of Arabic, and what stands over or under any letter."""
WORDS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in re.findall(
        r"(?ms)^\[(\w+)\].*?$(.*?)(?=^\[|\Z)", _folded((resources.files(__package__) / "words.txt").read_text("utf-8"))
    )
}
"""The lists of words.txt by name."""
FINAL, NOUNS, YES, ENDING, OWNED = (WORDS[name] for name in ("final", "nouns", "yes", "ending", "owned"))
STEMS, SIGNS = tuple(WORDS["stems"]), tuple(WORDS["signs"])
MOST_LABEL_WORDS, MOST_BUTTON_WORDS, MOST_TICK_WORDS, SIGNS_A_WORD = 3, 6, 2, 4
"""Most words of a label, of what the page itself calls a button, and beside a checkbox; more is prose, unless it
begins with a final one. Signs that make up a word where nothing parts words."""
LONG, SHORT, MOST_SHOWN = 600, 160, 60
"""Letters of a dialog from which each line is read by itself, up to which a warning is about its buttons, and of any
text in a question."""
_PIECES = re.compile(r"({0})|(?:(?!{0})\w)+".format("|".join(map(re.escape, SIGNS))))
"""Signs and words."""
_MADE_UP = re.compile(r"\b(?:css|sc|jss|svelte|emotion)-[\w-]+|\b(?=\w*[a-z]\d)(?=\w*\d[a-z])\w+")
"""Class names that a build tool made up, which say nothing about an icon."""
PRESSED = ("button", "control", "row")
"""Roles of what is there to be pressed."""


class ConfirmGuard:
    """Asks before a press that can't be undone; `confirm` is asked in words and says whether to go on.

    Without `confirm` the answer is no. `asked` counts the questions. `presses`, or else the observation's `press_of`,
    says what a command presses where more is known than the picture shows: icons without words, Enter in a form.
    """

    source = CONFIRMATION
    kind = "rules"

    def __init__(
        self, confirm: Callable[[str], bool] | None = None, presses: Callable[[Command], Press] | None = None
    ) -> None:
        self._confirm, self._presses, self.asked = confirm, presses, 0

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """Refuses a final press unless `confirm` agrees, and what was asked about is still there, whole."""
        press_of = self._presses or getattr(observation, "press_of", None)
        press = press_of(command) if press_of else Press()
        label = final_press(press) or final_label(command, observation)
        if not label and command.final:
            label = f"{_shown(press.words or press.labels or 'something')!r}, which the model calls final"
        if not label:
            return Verdict(True, "nothing final", source=self.source)
        self.asked += 1
        if self._confirm is not None and self._confirm(f"{command} presses {label}: go on?") is True:
            now = press_of(command) if press_of else press
            if not press.is_still(now) or press.row != now.row:
                # by the rules, not by the person: the agent may look again
                return Verdict(False, f"{label}, or its row, changed while it was asked about: look again")
            return Verdict(True, f"{label} was confirmed", source=self.source)
        return Verdict(False, f"{label} can't be undone and wasn't confirmed", source=self.source)

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """Passes; nobody is asked afterwards."""
        return Verdict(True, "nothing to confirm", source=self.source)


def final_label(command: Command, observation: Observation) -> str:
    """What a command would press for good: its element's name, or the command's own words; "" for anything else."""
    elements, labels = cast(tuple[ScreenElement, ...], observation.elements), []
    if command.name in PRESSING:
        at = re.fullmatch(r"(\d+),(\d+)", command.argument)
        there = element_of(command, elements) or (at_point((int(at[1]), int(at[2])), elements) if at else None)
        labels = [cast(ScreenElement, there).text] if there else []
    elif command.name in (CLICK, *POINTING):
        phrase, found = asked_for({command.name}, command.argument, elements)
        labels = [phrase.words, *(each.caption.words for each in found[:1])]
    for label in labels:
        words = _folded(label).lower().replace("!", " ").replace(".", " ").split()
        if len(words) <= MOST_LABEL_WORDS and _is_final(words):
            return repr(_shown(label))
    return ""


def final_press(press: Press) -> str:
    """What a press would do for good, by the words or labels on it, by the dialog that it agrees to, or by its icon; ""
    for nothing.

    A picture without any words at all may be anything, and so may what nobody can see.
    """
    if press.unseen:
        return "what nobody can see: a closed or drawn part of the page, or Enter where no button says what it sends"
    for text in (press.words, *press.labels.split("\n")):
        if _is_final_text(text, press.role):
            return repr(_shown(text))
    words, hints = words_of(press.words or press.labels), words_of(f"{press.hints} {press.classes}")
    if _agrees(words, hints, press.role) and _asks(press.dialog):
        return f"{' '.join(words) or 'an icon'!r} to {_shown(press.dialog)!r}"
    if press.role in PRESSED and _answers(words, press):
        return f"{' '.join(words)!r} beside {_shown(press.dialog)!r}"
    slid = {"slider": press.dialog, "drop": press.words}.get(press.role, "")
    if WORDS["sliding"] & set(words_of(slid)) and _is_final(words_of(slid)):
        return f"a slider beside {_shown(slid)!r}"
    if words_of(press.words):
        return ""
    if (FINAL | WORDS["icons"]) - (NOUNS if press.role == "a" else set()) & set(hints):
        return f"an icon ({' '.join(hints)[:60]})"
    names = [each for each in words_of(_MADE_UP.sub(" ", press.hints)) if each not in WORDS["nameless"]]
    named = any(len(each) > 2 or not each.isascii() for each in names) or WORDS["clear"] & set(hints)
    glyphs = any(category(each) in ("So", "Co", "Cn") and each not in WORDS["glyphs"] for each in press.words)
    acts = press.role in (*PRESSED, "drop")
    return "a picture without words" if (press.picture or glyphs) and acts and not named else ""


def _shown(text: str) -> str:
    """What a question shows of a text: no more than `MOST_SHOWN` letters, with those around its final word."""
    text = _folded(text) if len(text) > MOST_SHOWN else text
    found = max(_PIECES.finditer(text), key=_weight, default=None)
    start = max(found.start() - MOST_SHOWN // 3, 0) if found and len(text) > MOST_SHOWN else 0
    return text[start : start + MOST_SHOWN]


def _weight(piece: re.Match[str]) -> int:
    """How much a piece of a text says that a press is final."""
    words = {*words_of(piece[0])}
    final = bool(piece[1]) or _is_final([*words])
    return 2 * final + (final and not words & NOUNS) + bool((ENDING | WORDS["done"]) & words)


def _agrees(words: Sequence[str], hints: Sequence[str], role: str) -> bool:
    """Whether a press says yes: by its first word, a link by all of its words, a picture by its name."""
    agreed = set(words) <= YES or (role in PRESSED and words[0] in YES)
    return agreed if words else bool(WORDS["agreeing"] & set(hints))


def _answers(words: Sequence[str], press: Press) -> bool:
    """Whether a button says yes to any question, says a question again ("Unmatch" to "Unmatch Ann?"), doesn't leave a
    dialog that asks about something final, or goes on where a short text warns that there is no way back; a long one
    may warn of something else on the page."""
    if not words or words[0] in WORDS["leaving"]:
        return False
    said, few = f" {' '.join(words_of(press.dialog))}", len(press.dialog) < LONG and press.modal
    asked = [line for line in press.dialog.splitlines() if re.search("[?？؟]", line)]
    again = len(words[0]) > 3 and any(words[0] in words_of(line) for line in asked)
    answers = bool(asked) and (again or words[0] in WORDS["affirming"] or (few and _asks(press.dialog)))
    return answers or (len(press.dialog) < SHORT and any(phrase in said for phrase in _WARNINGS))


def _is_final_text(text: str, role: str) -> bool:
    """Whether the words on an element of this role are final: few with such a word, or any number that begin so; any
    number on a button; those of an entry and beside a checkbox only where they begin so."""
    words, joined = words_of(text), _joined(text)
    if role in ("option", "checkbox"):
        short = role == "option" or len(words) <= MOST_TICK_WORDS
        return short and (_begins_final(words, but=NOUNS) or joined.startswith(SIGNS))
    most = MOST_BUTTON_WORDS if role == "button" else MOST_LABEL_WORDS
    seals = role == "button" and len(words) > 1 and words[0] in WORDS["sealing"]
    if len(words) <= most and (seals or _is_final(words)):
        return True
    if joined.startswith(SIGNS) or (len(joined) <= most * SIGNS_A_WORD and any(each in joined for each in SIGNS)):
        return True
    brief = len(words) <= MOST_BUTTON_WORDS or words[0] in WORDS["affirming"]
    acts = role in ("button", "drop") or (role == "control" and brief)
    blocks = [*map("".join, pairwise(words) if len(words) <= MOST_LABEL_WORDS else ()), "".join(words)]
    if acts and _is_final([each for each in [*words, *blocks] if each not in NOUNS]):  # a word may be set in blocks
        return True
    return (role in ("control", "row") or (role != "a" and len(words) <= MOST_BUTTON_WORDS)) and _begins_final(
        words, but=NOUNS
    )


def _begins_final(words: Sequence[str], but: frozenset[str] = frozenset()) -> bool:
    begins = [each for each in [*dropwhile(YES.__contains__, words)][:1] if each not in but]
    return _is_final(begins) or (bool(ENDING & set(begins)) and bool(OWNED & set(words)))


def _asks(dialog: str) -> bool:
    """Whether a dialog's text begins a line with a final word, or asks about one ("Order 7", not "Order history")."""
    lines = dialog.splitlines()
    for part in [dialog] if len(dialog) < LONG else lines:
        words, signs = words_of(part), any(each in _joined(part) for each in SIGNS)
        if (signs or _is_final(words) or WORDS["done"] & set(words)) and re.search("[?？؟]", part):
            return True
    return any(
        _begins_final(words_of(line), but=frozenset() if re.search(r"\d", line) else NOUNS)
        or _joined(line).startswith(SIGNS)
        for line in lines
    )


def _is_final(words: Sequence[str]) -> bool:
    said = set(words)
    return bool(FINAL & said or (ENDING & said and OWNED & said)) or any(each.startswith(STEMS) for each in words)


def _joined(text: str) -> str:
    return "".join(_folded(text).split())


def words_of(text: str) -> list[str]:
    """Its words in small letters, folded; "makePayment" and "DBDelete" are two each."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", _folded(text))
    return re.findall(r"(?:[^\W\d_]|[\u0e31-\u0e4e])+", parted.lower())


_WARNINGS = tuple(f" {' '.join(words_of(phrase.replace('_', ' ')))}" for phrase in WORDS["warning"])
"""Phrases that say that there is no way back, as `words_of` gives a text's."""
