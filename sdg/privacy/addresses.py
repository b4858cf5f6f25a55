"""Addresses in a text: runs of capitalised words and numbers in which a street stands."""

import re
from collections.abc import Iterator, Sequence

from sdg.privacy.recognisers import Span
from sdg.privacy.words import LISTS, STREET_STEMS, before_word, runs_of

_STREET, _STREET_FIRST, _UNIT, _PARTICLES, _NO_NAMES = (
    LISTS[name] for name in ("street_last", "street_first", "unit", "particles", "no_names")
)
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
        words = [text[a:b].lower().strip(".") for a, b in run]
        while run and (words[-1] in _PARTICLES or words[-1] in (",", "no")):
            run.pop(), words.pop()
        while run and _is_no_beginning(words[0], is_lower=text[run[0][0]].islower()):
            run.pop(0), words.pop(0)
        begins_sentence = len(run) > 2 and not before_word(text, run[0][0])
        if begins_sentence and not words[0][0].isdigit() and not _is_street(words[:2]):
            run.pop(0), words.pop(0)
        if not run or not any(word[0].isdigit() for word in words):
            continue
        street = _is_street(words)
        cue = _ADDRESS_CUES.search(text, max(0, run[0][0] - 25), run[0][0])
        if (street and len(words) > 1) or (cue and len(words) > 2) or _is_list_of_parts(words):
            end = run[-1][1]
            if text[end - 1] == ".":
                end -= 1
            yield Span(run[0][0], end + len(_REGION.match(text, end)[0]), "address", 0.85)  # type: ignore[index]


def _is_no_beginning(word: str, *, is_lower: bool) -> bool:
    """Whether no address begins with this word."""
    return word in _NO_NAMES | {","} or (is_lower and word in _PARTICLES - _STREET_FIRST)


def _is_list_of_parts(words: Sequence[str]) -> bool:
    """Whether words are the parts of an address without a street's name: commas, and several numbers, none long."""
    number_count = sum(any(map(str.isdigit, word)) for word in words)
    has_long_number = any(word.isdigit() and len(word) > 6 for word in words)
    return number_count > 1 and "," in words and len(words) > 4 and not has_long_number


def _is_street(words: Sequence[str]) -> bool:
    return any(
        word in (_STREET if n else ()) or (word in _STREET_FIRST and n < len(words) - 1) or STREET_STEMS.search(word)
        for n, word in enumerate(words)
    )


def _is_address_word(word: str) -> bool:
    if word[0] in ",#" or word[0].isdigit() or word[0].isupper():
        return True
    return word.lower().strip(".") in _PARTICLES | _UNIT | _STREET_FIRST
