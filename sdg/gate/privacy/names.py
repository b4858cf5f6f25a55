"""Names of people in a text: by title, by what a census has, by how rare a word is, by where it stands.

Everything here was made from the development sets of `sdg bench privacy` and from sets that were measured before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sdg.gate.privacy.recognisers import Span
from sdg.gate.privacy.words import (
    LISTS,
    before_word,
    census,
    is_rare,
    is_unheard_of,
    is_word,
    lowered,
    popular,
    runs_of,
)

_PARTICLES = LISTS["particles"]
_TITLES = LISTS["titles"]
_NAME_CUES = LISTS["name_cues"]
_STRONG_CUES = LISTS["strong_cues"]
_NO_NAME_CUES = LISTS["no_name_cues"]
_NO_NAMES = LISTS["no_names"]
_VERBS = LISTS["verbs"]
_SMALL_CUES = LISTS["small_cues"]
_SMALL_WORDS = LISTS["small_words"]
_COMMON_FIRST = LISTS["common_first"]
_NO_FIRST = _COMMON_FIRST | _NO_NAMES | _SMALL_WORDS
_NO_LAST = _NO_NAMES | _VERBS | _PARTICLES
_SMALL_NAME = re.compile(
    r"\b(?=(?P<cue>[A-Za-z']{2,12})[:)]? (?P<first>[^\W\d_A-Z]{3,15})\b(?: (?P<last>[^\W\d_A-Z]{3,15})\b)?)"
)


def names(text: str) -> Iterable[Span]:
    """Names of people: by title, by a first name that the census knows, or by where they stand in the sentence."""
    yield from _small_names(text)
    for run in runs_of(text, _is_name_word):
        if not before_word(text, run[0][0]) and not _is_subject(text, run):
            run.pop(0)
        for part in _without_common_words(text, run):
            while len(part) > 1 and lowered(text, part[0]) in _TITLES | {"i'm", "i’m"}:
                part.pop(0)
            before = before_word(text, part[0][0])
            if _is_name([lowered(text, each) for each in part], before):
                end = part[-1][1] - len("’s") * text[: part[-1][1]].endswith(("'s", "’s"))
                end -= text[end - 1] == "." and end - part[-1][0] > 2
                yield Span(part[0][0], end, "person_name", 0.6)


def _is_subject(text: str, run: list[tuple[int, int]]) -> bool:
    """Whether a row at the beginning of a sentence is what the sentence is about, and not an order: "Meet Ann"."""
    first, owns = lowered(text, run[0]), text[run[-1][1] - 2 : run[-1][1]] in ("'s", "’s")
    if owns or (first in census()[0] and first not in _COMMON_FIRST) or is_unheard_of(first):
        return True
    after = text[run[-1][1] : run[-1][1] + 20].split()
    return bool(after) and len(run) > 1 and after[0].lower() in _VERBS


def _is_name(words: list[str], before: str) -> bool:
    first, last = census()
    if before in _TITLES:
        return True
    if len(words) > 1:
        listed = words[0] in first and words[-1] in last and words[-1] not in _NO_NAMES
        return listed or before not in _NO_NAME_CUES or all(map(is_unheard_of, words))
    if words[0] in _COMMON_FIRST:
        return before in _STRONG_CUES | {"with", "for"}
    cued = before in _STRONG_CUES or (words[0] in last and before in _NAME_CUES)
    return words[0] in first or cued or (before not in _NO_NAME_CUES and is_unheard_of(words[0]))


def _without_common_words(text: str, run: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    part: list[tuple[int, int]] = []
    for word in [*run, None]:
        common = word is None or (
            lowered(text, word) in _NO_NAMES
            and not _is_surname(text, word, part)
            and not _has_surname(text, word, run)
            and not (lowered(text, word) in census()[0] and before_word(text, word[0]) in _STRONG_CUES)
        )
        if word is not None and not common:
            part.append(word)
            continue
        while part and lowered(text, part[0]) in _PARTICLES:
            part.pop(0)
        while part and lowered(text, part[-1]) in _PARTICLES:
            part.pop()
        if part:
            yield part
        part = []


def _has_surname(text: str, word: tuple[int, int], run: list[tuple[int, int]]) -> bool:
    """Whether a word such as "June" is a first name and the last word behind it a surname that is no common word."""
    first, last = census()
    end = lowered(text, run[-1])
    surname = end in last and end not in _NO_NAMES and is_rare(end)
    return surname and word != run[-1] and lowered(text, word) in first


def _small_names(text: str) -> Iterator[Span]:
    """Names in small letters behind words that names follow: "ring pamela may", "tell jojo", "add gerald and"."""
    first, last = census()
    for match in _SMALL_NAME.finditer(text):
        cue, one, two = match["cue"].lower(), match["first"], match["last"]
        listed = one in first and one not in _NO_FIRST
        if one in _VERBS | _NO_NAME_CUES:
            continue
        strange = is_unheard_of(one)
        surname = bool(two) and ((two in last and two not in _NO_LAST) or (strange and is_unheard_of(two)))
        if surname and (listed or strange):
            yield Span(match.start("first"), match.end("last"), "person_name", 0.55)
        elif cue in _STRONG_CUES and (strange or (listed and not is_word(one))):
            yield Span(*match.span("first"), "person_name", 0.5)
        elif cue in _SMALL_CUES and listed and one in popular() and not is_word(one):
            yield Span(*match.span("first"), "person_name", 0.45)


def _is_surname(text: str, word: tuple[int, int], part: list[tuple[int, int]]) -> bool:
    """Whether a word such as "New" follows a first name directly."""
    first, last = census()
    said = lowered(text, word)
    before = lowered(text, part[-1]) if part else ""
    return text[word[0]].isupper() and said in last and before in first and before not in _COMMON_FIRST


def _is_name_word(word: str) -> bool:
    letters = word.replace(".", "").replace("-", "").replace("'", "").replace("’", "")
    # Words in capitals are abbreviations, but for initials.
    capital = (
        (letters[:1].isupper() or ("-" in word and word.partition("-")[2][:1].isupper()))
        and letters.isalpha()
        and (len(letters) == 1 or not letters.isupper())
    )
    return capital or word.lower() in _PARTICLES
