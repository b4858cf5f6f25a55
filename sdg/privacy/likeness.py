"""Finds near copies of kept values: parts of one, or one with a letter or two misread.

A narrow field shows the end of a value, a page wraps it over two lines, and who reads a picture takes I for l. So texts
are compared by runs of letters and by edits, with case, accents, blanks, signs and look-alikes folded.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import islice

SHORT = 6
"""Fewest letters of a value whose parts are looked for. Shorter values are found only as whole words, so "Ann" isn't
found in "announce"."""
RUN = 5
"""Letters of a value that give it away in a text."""
APART_RUN = 8
"""Letters that do in texts beside one another."""
TYPED_RUN = 3
"""Letters that do in the field that it was typed into."""
PIECE = 3
"""Fewest letters of a piece of a value that is cut up and shown among other words."""
MISREAD = 5
"""A likeness may have one wrong letter for every `MISREAD` letters of the value."""
OUTSIDE = "\0"
"""Stands in a text for letters that can't belong to a value."""
_LETTER = re.compile(rf"rn|vv|cl|[^\W_]|[|!()\[\]{{}}{OUTSIDE}]", re.IGNORECASE)
_WORDS = re.compile(r"\w+(?:\s+\w+)*")
_NUMBER = re.compile(r"\d+")
_ALIKE: Mapping[str, str] = {"rn": "m", "vv": "w", "cl": "d"} | {
    letter: stand_in
    for stand_in, letters in {"1": "iljı|!()[]{}", "0": "oq", "5": "s$", "2": "z", "8": "b", "9": "g", "v": "u"}.items()
    for letter in letters
}
"""Letters that are mistaken for one another, each with the letter that stands for all of them."""
_LOOKS = str.maketrans(
    "аеорсухіјѕһԁԛԝӏкмтвнгпьАЕОРСУХІЈЅҺԀԚԜӀКМТВНαοεινκρτυχωβηΑΒΕΖΗΙΚΜΝΟΡΤΥΧɑɡɩօոսհ",
    "aeopcyxijshdqwlkmtbhrnbAEOPCYXIJSHDQWLKMTBHaoeivkptuxwbnABEZHIKMNOPTYXagionuh",
)
"""Letters of other alphabets that look like Latin ones."""
_Located = tuple[int, tuple[int, int]]
"""A piece's text, by its number, and its place in it."""


def fold(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The letters and digits of a text with look-alikes folded, and where each stands: from, to."""
    matches = list(_LETTER.finditer(text.translate(_LOOKS)))
    return "".join(_fold_letter(match[0]) for match in matches), [match.span() for match in matches]


def _fold_letter(letter: str) -> str:
    base = letter.lower() if len(letter) > 1 else unicodedata.normalize("NFKD", letter)[0].lower()[0]
    return _ALIKE.get(base, str(unicodedata.digit(base, base)) if len(base) == 1 else base)


class Likeness:
    """Finds near copies of these values: runs of `run` letters of theirs, or all of a shorter one. Values of
    fewer letters than `shortest` aren't looked for."""

    def __init__(self, values: Mapping[str, str], run: int, *, shortest: int = SHORT) -> None:
        folded = {name: fold(value)[0] for name, value in values.items()}
        self._values = {name: letters for name, letters in folded.items() if len(letters) >= shortest}
        self._parts = {name: _parts(letters) for name, letters in self._values.items()}
        self._run = run
        self._runs: dict[str, str] = {}
        for name, letters in self._values.items():
            for start in range(max(len(letters) - run, 0) + 1):
                self._runs.setdefault(letters[start : start + run], name)

    def owners(self, text: str, *, misread: bool = False) -> list[str]:
        """For each character of the text the name of the value that it seems to be of, "" for none.

        With `misread` also whole values with a few wrong letters, whose beginning is only guessed.
        """
        owners = [""] * len(text)
        letters, places = fold(text) if self._values else ("", [])
        for first, last, name in self._matches(letters, misread):
            start, _ = places[first]
            _, end = places[last]
            owners[start:end] = [name] * (end - start)
        return owners

    def owners_of_all(self, texts: Sequence[str]) -> list[list[str]]:
        """The `owners` of texts that stand beside one another: a value may go on from one text to the next, or stand in
        pieces in order, whatever stands between them."""
        joined_owners = iter(self.owners(" ".join(texts)))
        owners_by_text = []
        for text in texts:
            owners_by_text.append(list(islice(joined_owners, len(text))))
            next(joined_owners, "")
        for n, (start, end), name in self._spread(texts):
            owners_by_text[n][start:end] = [name] * (end - start)
        return owners_by_text

    def _spread(self, texts: Sequence[str]) -> Iterator[tuple[int, tuple[int, int], str]]:
        """Pieces of a value that make up a run together: the text's place, the piece's place in it, and the name."""
        pieces = [(n, *piece) for n, text in enumerate(texts) for piece in _pieces(text)] if self._values else []
        for name, value in self._values.items():
            found = set[_Located]()
            # Chains of pieces by where they end in the value: where they begin, and their pieces not found yet.
            chains: dict[int, tuple[int, tuple[_Located, ...]]] = {}
            starts_of = cache(partial(_starts_in, value))
            for n, place, piece in pieces:
                for at in starts_of(piece):
                    begin, before = chains.get(at, (at, ()))
                    end, chain = at + len(piece), (*before, (n, place))
                    if end - begin >= min(self._run, len(value)):
                        found.update(chain)
                        chain = ()
                    if begin <= chains.get(end, (begin, ()))[0]:
                        chains[end] = begin, chain
            yield from ((*located, name) for located in found)

    def _matches(self, letters: str, misread: bool) -> Iterator[tuple[int, int, str]]:
        """Where folded letters look like a value: the first and the last place, and the value's name."""
        for size in {len(run) for run in self._runs}:
            for start in range(len(letters) - size + 1):
                if name := self._runs.get(letters[start : start + size]):
                    yield start, start + size - 1, name
        for name, value in (self._values if misread else {}).items():
            if not any(part in letters for part in self._parts[name]):
                continue
            for last in _ends(value, letters, len(value) // MISREAD):
                yield max(last - len(value), letters.rfind(OUTSIDE, 0, last)) + 1, last, name


def _starts_in(value: str, piece: str) -> list[int]:
    """Where a piece begins in a value, from its end: what begins later isn't continued by the same piece."""
    starts = []
    at = value.rfind(piece)
    while at >= 0:
        starts.append(at)
        at = value.rfind(piece, 0, at + len(piece) - 1)
    return starts


def _parts(value: str) -> list[str]:
    """A value cut into more parts than it may have wrong letters, so that one at least stands in each likeness."""
    count = len(value) // MISREAD + 1
    size = len(value) // count
    return [value[n * size : (n + 1) * size] for n in range(count)]


def _pieces(text: str) -> Iterable[tuple[tuple[int, int], str]]:
    """A text's numbers, and its words between signs: where they stand, and folded; short ones are left out."""
    pieces = {(match.span(), fold(match[0])[0]) for form in (_WORDS, _NUMBER) for match in form.finditer(text)}
    return sorted((place, letters) for place, letters in pieces if len(letters) >= PIECE)


def _ends(value: str, text: str, max_edits: int) -> Iterator[int]:
    """Where pieces of the text end that are at most `max_edits` edits from the value: letters changed, added, left out.

    By Myers' bit vectors (1999), a bit for each letter of the value, so that the time is linear in the text.
    """
    every = (1 << len(value)) - 1
    last = 1 << (len(value) - 1)
    places: dict[str, int] = {}
    for n, letter in enumerate(value):
        places[letter] = places.get(letter, 0) | 1 << n
    more, fewer, edits = every, 0, len(value)
    for place, letter in enumerate(text):
        same = places.get(letter, 0)
        across = (((same & more) + more) ^ more) | same
        added, dropped = fewer | (~(across | more) & every), more & across
        if added & last:
            edits += 1
        if dropped & last:
            edits -= 1
        added, dropped = added << 1 & every, dropped << 1 & every
        more, fewer = dropped | (~(same | fewer | added) & every), added & (same | fewer)
        if edits <= max_edits:
            yield place
