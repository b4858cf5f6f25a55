"""Addresses in a text: runs of capitalised words and numbers in which a street stands."""

import re
from collections.abc import Iterator, Sequence

from sdg.privacy.recognisers import Span
from sdg.privacy.words import LISTS, STREET_STEMS, before_word, runs_of

_STREET, _STREET_FIRST, _UNIT, _PARTICLES, _NO_NAMES = (
    LISTS[name] for name in ("street_last", "street_first", "unit", "particles", "no_names")
)
_ADDRESS_WORDS = _PARTICLES | _UNIT | _STREET_FIRST
_NO_ENDS = _PARTICLES | {",", "no"}
_REGION = re.compile(
    r"(?: / [A-Z]{2}\b| ?\([A-Z]{2,3}\)"
    r"|(?: (?:a[mn](?: der)?|im|in der|bei|sur|sous|en|nad|upon|on|le|la|les|de) [A-Z][\w-]+)+)?"
)
"""The end that some addresses have: a state, a province, a river."""
_ADDRESS_CUES = re.compile(
    r"\b(?:address(?:es)?|lives?|living|resid\w+|home|ship\w*|deliver\w*|located|moved?|meet\w*|drive|pick\w*)\b", re.I
)


def addresses(text: str) -> Iterator[Span]:
    """Runs of capitalised words and numbers in which a street stands, or a number after a word such as "address"."""
    for run in runs_of(text, _is_address_word, between=" ()-&/"):
        while run and _word_at(text, run[-1]) in _NO_ENDS:
            run.pop()
        while run and _is_no_beginning(text, run[0]):
            run.pop(0)
        words = [_word_at(text, place) for place in run]
        if len(run) > 2 and not (before_word(text, run[0][0]) or words[0][0].isdigit() or _is_street(words[:2])):
            del run[0], words[0]
        if not any(word[0].isdigit() for word in words):
            continue
        street = _is_street(words)
        cue = _ADDRESS_CUES.search(text, max(0, run[0][0] - 25), run[0][0])
        numbers = [word for word in words if any(map(str.isdigit, word))]
        is_list = len(numbers) > 1 and "," in words and not any(len(n) > 6 and n.isdigit() for n in numbers)
        if (street and len(words) > 1) or (cue and len(words) > 2) or (is_list and len(words) > 4):
            end = run[-1][1]
            if text[end - 1] == ".":
                end -= 1
            yield Span(run[0][0], end + len(_REGION.match(text, end)[0]), "address", 0.85)  # type: ignore[index]


def _word_at(text: str, place: tuple[int, int]) -> str:
    return text[slice(*place)].lower().strip(".")


def _is_no_beginning(text: str, place: tuple[int, int]) -> bool:
    """Whether a run can't begin with the word at a place: a comma, a common word, a small particle."""
    word = _word_at(text, place)
    is_particle = word in _PARTICLES - _STREET_FIRST and text[place[0]].islower()
    return is_particle or word == "," or word in _NO_NAMES


def _is_street(words: Sequence[str]) -> bool:
    return any(
        word in (_STREET if n else ()) or (word in _STREET_FIRST and n < len(words) - 1) or STREET_STEMS.search(word)
        for n, word in enumerate(words)
    )


def _is_address_word(word: str) -> bool:
    return word[0] in ",#" or word[0].isdigit() or word[0].isupper() or word.lower().strip(".") in _ADDRESS_WORDS
