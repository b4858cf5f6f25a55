"""A guard that asks a person before anything that can't be undone: send, buy, delete, pay, or agree to it.

A press counts as final if its label, the name of its icon or the dialog around it holds a word of `words.txt`, which
has a list for each purpose, in the languages that most pages are in; and any command, if the planner calls it final.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from itertools import dropwhile, pairwise
from typing import cast
from unicodedata import category, combining, normalize

from sdg.envs.phone.actions import PRESSING
from sdg.envs.ui.affordances import CLICK, POINTING, asked_for
from sdg.envs.ui.captions import at_point
from sdg.envs.ui.commands import AT_POINTS
from sdg.envs.ui.parser.screen import ScreenElement
from sdg.envs.ui.presses import Press, texts_on
from sdg.envs.world import Observation
from sdg.gate.executor import CONFIRMATION, MAX_ERROR_CHARS, Command, Verdict
from sdg.gate.phones import element_of


def _fold(text: str) -> str:
    """Without invisible signs and the marks on letters that only help to read them."""
    marked = normalize("NFKC", text).replace("İ", "I")
    shown = _BLANK.sub("", marked)
    return "".join(letter for letter in shown if category(letter) != "Cf" and combining(letter) not in _MARKS)


_MARKS = {1, *range(10, 37), *range(200, 241)}
"""The classes of such marks: what strikes a letter out, those of Hebrew, of Arabic, and what stands over or under any
letter."""
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Letters, marks and signs that show nothing: Unicode's fillers, selectors of variants and the empty Braille sign."""
WORDS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in re.findall(
        r"(?ms)^\[(\w+)\].*?$(.*?)(?=^\[|\Z)", _fold((resources.files(__package__) / "words.txt").read_text("utf-8"))
    )
}
"""The lists of words.txt by name."""
FINAL, NOUNS, YES, ENDING, OWNED = (WORDS[name] for name in ("final", "nouns", "yes", "ending", "owned"))
STEMS = tuple(WORDS["stems"])
SIGNS = tuple(WORDS["signs"])
MAX_LABEL_WORDS = 3
"""Most words of a label; more is prose, unless it begins with a final one."""
MAX_BUTTON_WORDS = 6
"""Most words of what the page itself calls a button."""
MAX_TICK_WORDS = 2
"""Most words beside a checkbox."""
CHARACTERS_PER_WORD = 4
"""Signs that make up a word where nothing parts words."""
LONG_DIALOG = 600
"""Letters of a dialog from which each line is read by itself."""
SHORT_DIALOG = 160
"""Letters of a dialog up to which a warning is about its buttons."""
MAX_SHOWN_CHARS = 60
"""Letters of any text in a question."""
_PIECES = re.compile(r"({0})|(?:(?!{0})\w)+".format("|".join(map(re.escape, SIGNS))))
"""Signs and words."""
_MADE_UP = re.compile(r"\b(?:css|sc|jss|svelte|emotion)-[\w-]+|\b(?=\w*[a-z]\d)(?=\w*\d[a-z])\w+")
"""Class names that a build tool made up, which say nothing about an icon."""
_QUESTION_MARK = re.compile("[?？؟]")
_CURRENCY = f"[$£¥֏৳฿₠-⃀]|{'|'.join(map(re.escape, WORDS['money']))}"
_SUM = re.compile(rf"(?<![^\W\d_])(?:{_CURRENCY})\s?\d|\d\s?(?:{_CURRENCY})(?![^\W\d_])", re.IGNORECASE)
"""A currency beside a number."""
PRESSED = ("button", "control", "row")
"""Roles of what is there to be pressed."""


class ConfirmGuard:
    """Asks before a press that can't be undone; `confirm` is asked in words and says whether to go on.

    Without `confirm` the answer is no. `presses`, or else the observation's `press_of`, says what a command presses
    where more is known than the picture shows: icons without words, Enter in a form.
    """

    source = "confirm"
    kind = "rules"

    def __init__(
        self, confirm: Callable[[str], bool] | None = None, presses: Callable[[Command], Press] | None = None
    ) -> None:
        self._confirm, self._presses = confirm, presses

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """Refuses a final press unless `confirm` agrees and the element is still as it was when it was asked about."""
        press_of = self._presses or getattr(observation, "press_of", None)
        press = press_of(command) if press_of else Press()
        label = final_press(press) or final_picture(press, command, observation) or final_label(command, observation)
        if not label and command.final:
            label = f"{_visible_part(press.words or press.labels or 'something')!r}, which the model calls final"
        if not label:
            return Verdict(True, "nothing final", source=self.source)
        if self._confirm is not None and self._confirm(f"{_shortened(str(command))} presses {label}: go on?") is True:
            now = press_of(command) if press_of else press
            if not press.is_still(now) or press.row != now.row:
                # by the rules, not by the person: the agent may look again, and isn't told the page's own words
                return Verdict(False, "what it presses, or its row, changed while it was asked about: look again")
            return Verdict(True, f"{label} was confirmed", source=CONFIRMATION)
        return Verdict(False, f"{label} can't be undone and wasn't confirmed", source=CONFIRMATION)

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """Passes; nobody is asked afterwards."""
        return Verdict(True, "nothing to confirm", source=self.source)


def final_label(command: Command, observation: Observation) -> str:
    """What a command would press for good: its element's name, or the command's own words; "" for anything else."""
    elements = cast(tuple[ScreenElement, ...], observation.elements)
    labels: list[str] = []
    if command.name in PRESSING:
        point = re.fullmatch(r"(\d+),(\d+)", command.argument)
        at = at_point((int(point[1]), int(point[2])), elements) if point else None
        target = element_of(command, elements) or at
        labels = [cast(ScreenElement, target).text] if target else []
    elif command.name in (CLICK, *AT_POINTS):
        asks = {CLICK} if command.name == CLICK else {*POINTING}
        phrase, matches = asked_for(asks, command.argument, elements)
        labels = [phrase.words, *(match.caption.words for match in matches[:1])]
    for label in labels:
        words = _fold(label).lower().replace("!", " ").replace(".", " ").split()
        if len(words) <= MAX_LABEL_WORDS and _is_final(words):
            return repr(_visible_part(label))
    return ""


def final_picture(press: Press, command: Command, observation: Observation) -> str:
    """What a press on a picture without words would do for good, by the words that are drawn on it, judged as the
    page's own; "" for nothing."""
    if not press.picture or words_of(press.words):
        return ""
    elements = cast(tuple[ScreenElement, ...], observation.elements)
    texts = texts_on(press, elements)
    if command.name in AT_POINTS:
        x, y = map(int, command.argument.split(","))
        target = at_point((x, y), elements)
        texts.append(target.text if target else "")
    role = "control" if press.role == "a" else press.role
    written = replace(press, role=role, labels="", hints="", classes="", icons="", picture=False)
    said = [" ".join(dict.fromkeys(filter(None, texts))), texts[-1] if texts else ""]
    return next(filter(None, (final_press(replace(written, words=text, others=())) for text in said if text)), "")


def final_press(press: Press) -> str:
    """What a press would do for good, by the words or labels on it, by the dialog that it agrees to, or by its icon; ""
    for nothing.

    A picture without any words at all may be anything, and so may what nobody can see.
    """
    if press.unseen:
        return "what nobody can see: a closed or drawn part of the page, or Enter where no button says what it sends"
    for other in press.others:
        if label := final_press(other):
            return label
    for text in (press.words, *press.labels.split("\n")):
        if _is_final_text(text, press.role):
            return repr(_visible_part(text))
    words = words_of(press.words or press.labels)
    hints = words_of(f"{press.hints} {press.classes}")
    if _is_agreement(words, hints, press.role) and _is_final_question(press.dialog):
        return f"{' '.join(words) or 'an icon'!r} to {_visible_part(press.dialog)!r}"
    if press.role in PRESSED and _is_answer(words, press):
        return f"{' '.join(words)!r} beside {_visible_part(press.dialog)!r}"
    slider_text = (press.dialog or press.words) if press.role in ("slider", "drop") else ""
    if WORDS["sliding"] & set(words_of(slider_text)) and _is_final(words_of(slider_text)):
        return f"a slider beside {_visible_part(slider_text)!r}"
    if words_of(press.words):
        names = words_of(press.icons)
        drawn = WORDS["drawn"] & {*names, *map("".join, pairwise(names))}
        return f"an icon ({' '.join(sorted(drawn))})" if drawn and press.role != "a" else ""
    if (FINAL | WORDS["icons"]) - (NOUNS if press.role == "a" else set()) & set(hints):
        return f"an icon ({' '.join(hints)[:60]})"
    names = [name for name in words_of(_MADE_UP.sub(" ", press.hints)) if name not in WORDS["nameless"]]
    is_named = any(len(name) > 2 or not name.isascii() for name in names) or WORDS["clear"] & set(hints)
    has_glyph = any(category(sign) in ("So", "Co", "Cn") and sign not in WORDS["glyphs"] for sign in press.words)
    acts = press.role in (*PRESSED, "drop")
    return "a picture without words" if (press.picture or has_glyph) and acts and not is_named else ""


def _shortened(text: str) -> str:
    """A text whose middle is left out, and counted, if it is long."""
    return (
        f"{text[: MAX_ERROR_CHARS // 2]} [{len(text) - MAX_ERROR_CHARS} letters left out] "
        f"{text[-MAX_ERROR_CHARS // 2 :]}"
        if len(text) > MAX_ERROR_CHARS
        else text
    )


def _visible_part(text: str) -> str:
    """What a question shows of a text: no more than `MAX_SHOWN_CHARS` letters, with those around its final word."""
    text = _fold(text) if len(text) > MAX_SHOWN_CHARS else text
    piece = max(_PIECES.finditer(text), key=_weight, default=None)
    start = max(piece.start() - MAX_SHOWN_CHARS // 3, 0) if piece and len(text) > MAX_SHOWN_CHARS else 0
    return text[start : start + MAX_SHOWN_CHARS]


def _weight(piece: re.Match[str]) -> int:
    """How much a piece of a text says that a press is final: final words most, of these verbs more than nouns."""
    words = {*words_of(piece[0])}
    weight = 1 if (ENDING | WORDS["done"]) & words else 0
    if piece[1] or _is_final([*words]):
        weight += 2 if words & NOUNS else 3
    return weight


def _is_agreement(words: Sequence[str], hints: Sequence[str], role: str) -> bool:
    """Whether a press says yes: by its first word, a link by all of its words, a picture by its name."""
    if not words:
        return bool(WORDS["agreeing"] & set(hints))
    return set(words) <= YES or (role in PRESSED and words[0] in YES)


def _is_answer(words: Sequence[str], press: Press) -> bool:
    """Whether a button says yes to any question, says a question again ("Unmatch" to "Unmatch Ann?"), doesn't leave a
    dialog that asks about something final, or goes on where a short text warns that there is no way back; a long one
    may warn of something else on the page."""
    if not words or words[0] in WORDS["leaving"]:
        return False
    questions = list(filter(_QUESTION_MARK.search, press.dialog.splitlines()))
    repeats = len(words[0]) > 3 and any(words[0] in words_of(line) for line in questions)
    is_about_buttons = len(press.dialog) < LONG_DIALOG and press.modal and _is_final_question(press.dialog)
    answers = bool(questions) and (repeats or words[0] in WORDS["affirming"] or is_about_buttons)
    dialog_words = f" {' '.join(words_of(press.dialog))}"
    return answers or (len(press.dialog) < SHORT_DIALOG and any(phrase in dialog_words for phrase in _WARNINGS))


def _is_final_text(text: str, role: str) -> bool:
    """Whether the words on an element of this role are final: few with such a word, or any number that begin so; any
    number on a button, or that tell to do so; those of an entry and beside a checkbox only where they begin so."""
    words = words_of(text)
    joined = _join_letters(text)
    if role == "command":
        return _is_final_name(words) or _is_final_text(text, "button")
    if role in ("option", "checkbox"):
        is_short = role == "option" or len(words) <= MAX_TICK_WORDS
        return is_short and (_begins_final(words, but=NOUNS) or joined.startswith(SIGNS))
    max_words = {"button": MAX_BUTTON_WORDS, "search": 0}.get(role, MAX_LABEL_WORDS)
    seals = len(words) > 1 and words[0] in WORDS["sealing"]
    costs = _SUM.search(_fold(text)) is not None
    if len(words) <= max_words and (_is_final(words) or (role == "button" and (seals or costs))):
        return True
    has_sign = len(joined) <= max_words * CHARACTERS_PER_WORD and any(sign in joined for sign in SIGNS)
    if has_sign or joined.startswith(SIGNS):
        return True
    is_brief = len(words) <= MAX_BUTTON_WORDS or words[0] in WORDS["affirming"]
    acts = role in ("button", "drop", "search") or (role == "control" and is_brief)
    blocks = [*map("".join, pairwise(words) if len(words) <= MAX_LABEL_WORDS else ()), "".join(words)]
    if acts and _is_final([word for word in [*words, *blocks] if word not in NOUNS]):  # a word may be set in blocks
        return True
    is_label = role in ("control", "row") or (role != "a" and len(words) <= MAX_BUTTON_WORDS)
    return (is_label and _begins_final(words, but=NOUNS)) or (role in ("a", *PRESSED) and _tells_final(text, role))


def _is_final_name(words: Sequence[str]) -> bool:
    """Whether a command's name has a final verb in any of its words: one question too many costs little there."""
    return not WORDS["commands"].isdisjoint(words) or any(
        verb in word for verb in FINAL if len(verb) > 3 or verb in WORDS["within"] for word in words
    )


def _tells_final(text: str, role: str) -> bool:
    """Whether a label of any length tells to do something final: by its first word, or by the one after an "and" that
    takes an object, as what is a noun, too, must: "Order this", but not "Order of the Phoenix". A button's needn't."""
    words = words_of(re.sub("[$€£¥₹]", " eur ", text))
    starts = [0, *(n for n, word in enumerate(words, 1) if word in WORDS["joining"])]
    for start in starts:
        told = [*dropwhile((YES | WORDS["leading"]).__contains__, words[start:])]
        if role == "a" and told[1:2] in (["a"], ["an"]):  # a headline: "Delete an account: how it works"
            continue
        takes_object = bool(((WORDS["objects"] | OWNED) - NOUNS) & set(told[1:2]))
        is_verb = (NOUNS | ENDING).isdisjoint(told[:1]) or (role == "button" and told[1:2] != ["of"])
        if _begins_final(told) and (takes_object or (is_verb and not start)):
            return True
    return False


def _begins_final(words: Sequence[str], but: frozenset[str] = frozenset()) -> bool:
    first = next((word for word in words if word not in YES), "")
    return first not in but and (_is_final([first]) or (first in ENDING and bool(OWNED & set(words))))


def _is_final_question(dialog: str) -> bool:
    """Whether a dialog's text begins a line with a final word, or asks about one ("Order 7", not "Order history")."""
    lines = dialog.splitlines()
    for question in filter(_QUESTION_MARK.search, [dialog] if len(dialog) < LONG_DIALOG else lines):
        words = words_of(question)
        has_sign = any(sign in _join_letters(question) for sign in SIGNS)
        if has_sign or _is_final(words) or WORDS["done"] & set(words):
            return True
    return any(
        _begins_final(words_of(line), but=frozenset() if re.search(r"\d", line) else NOUNS)
        or _join_letters(line).startswith(SIGNS)
        for line in lines
    )


def _is_final(words: Sequence[str]) -> bool:
    distinct = set(words)
    said = f" {' '.join(word for word in words if word not in WORDS['between'])} "
    is_listed = FINAL & distinct or (ENDING & distinct and OWNED & distinct) or any(map(said.__contains__, _PHRASES))
    return bool(is_listed) or any(word.startswith(STEMS) for word in words)


def _join_letters(text: str) -> str:
    return "".join(_fold(text).split())


def words_of(text: str) -> list[str]:
    """Its words in small letters, folded; "makePayment" and "DBDelete" are two each."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", _fold(text))
    return re.findall(r"(?:[^\W\d_]|[\u0e31-\u0e4e])+", spaced.lower())


_WARNINGS, _PHRASES = (
    tuple(f" {' '.join(words_of(phrase.replace('_', ' ')))}{end}" for phrase in WORDS[name])
    for name, end in (("warning", ""), ("phrases", " "))
)
"""Phrases that say that there is no way back, and that are final together, as `words_of` gives a text's."""
