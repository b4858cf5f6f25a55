"""What looks like a kept value without being equal to it: a part of one, or one that was misread in a letter or two.

A narrow field shows the end of a value, a page wraps it over two lines, and who reads a picture takes I for l. So texts
are compared by runs of letters and by edits, with case, accents, blanks, signs and look-alikes folded.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

SHORT = 6
"""Fewest letters of a value whose parts are looked for. Shorter values are found only as whole words, so "Ann" isn't
found in "announce"."""
RUN, APART_RUN, TYPED_RUN = 5, 8, 3
"""Letters of a value that give it away: in a text, in texts that stand beside one another, in a field that it was
typed into."""
PIECE = 3
"""Fewest letters of a piece of a value that is cut up and shown among other words."""
MISREAD = 5
"""At most one of so many letters is misread."""
OUTSIDE = "\0"
"""Stands in a text for what can't be a part of a value."""
_LETTER = re.compile(rf"rn|vv|cl|[^\W_]|[|!()\[\]{{}}{OUTSIDE}]", re.IGNORECASE)
_WORDS, _NUMBER = re.compile(r"\w+(?:\s+\w+)*"), re.compile(r"\d+")
_ALIKE: Mapping[str, str] = {"rn": "m", "vv": "w", "cl": "d"} | {
    letter: said
    for said, letters in {"1": "iljı|!()[]{}", "0": "oq", "5": "s$", "2": "z", "8": "b", "9": "g", "v": "u"}.items()
    for letter in letters
}
"""Letters that are taken for one another, by what stands for them."""
_LOOKS = str.maketrans(
    "аеорсухіјѕһԁԛԝӏкмтвнгпьАЕОРСУХІЈЅҺԀԚԜӀКМТВНαοεινκρτυχωβηΑΒΕΖΗΙΚΜΝΟΡΤΥΧɑɡɩօոսհ",
    "aeopcyxijshdqwlkmtbhrnbAEOPCYXIJSHDQWLKMTBHaoeivkptuxwbnABEZHIKMNOPTYXagionuh",
)
"""Letters of other alphabets that look like Latin ones."""


def fold(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The letters and digits of a text with look-alikes folded, and where each stands: from, to."""
    found = [(_folded(each[0]), each.span()) for each in _LETTER.finditer(text.translate(_LOOKS))]
    return "".join(letter for letter, _ in found), [place for _, place in found]


def _folded(letter: str) -> str:
    plain = letter.lower() if len(letter) > 1 else unicodedata.normalize("NFKD", letter)[0].lower()[0]
    return _ALIKE.get(plain, str(unicodedata.digit(plain, plain)) if len(plain) == 1 else plain)


class Likeness:
    """Finds what looks like one of these values: runs of `run` letters of theirs, or all of a shorter one. Values of
    fewer letters than `shortest` aren't looked for."""

    def __init__(self, values: Mapping[str, str], run: int, *, shortest: int = SHORT) -> None:
        folded = {name: fold(value)[0] for name, value in values.items()}
        self._values = {name: letters for name, letters in folded.items() if len(letters) >= shortest}
        self._run, self._runs = run, dict[str, str]()
        for name, letters in self._values.items():
            for start in range(max(len(letters) - run, 0) + 1):
                self._runs.setdefault(letters[start : start + run], name)

    def owners(self, text: str, *, misread: bool = False) -> list[str]:
        """For each character of the text the name of the value that it seems to be of, "" for none.

        With `misread` also whole values with a few wrong letters, whose beginning is only guessed.
        """
        owners = [""] * len(text)
        letters, places = fold(text) if self._values else ("", [])
        for first, last, name in self._found(letters, misread):
            start, end = places[first][0], places[last][1]
            owners[start:end] = [name] * (end - start)
        return owners

    def owners_of_all(self, texts: Sequence[str]) -> list[list[str]]:
        """As `owners`, of texts that stand beside one another: a value may go on from one text to the next, or stand in
        pieces in order, whatever stands between them."""
        every, found = iter(self.owners(" ".join(texts))), []
        for text in texts:
            found.append(list(islice(every, len(text))))
            next(every, "")
        for n, (start, end), name in self._spread(texts):
            found[n][start:end] = [name] * (end - start)
        return found

    def _spread(self, texts: Sequence[str]) -> Iterator[tuple[int, tuple[int, int], str]]:
        """Pieces of a value that make up a run together: the text's place, the piece's place in it, and the name."""
        pieces = [(n, *each) for n, text in enumerate(texts) for each in _pieces(text)] if self._values else []
        for name, value in self._values.items():
            chains: dict[int, tuple[int, tuple[tuple[int, tuple[int, int]], ...]]] = {}  # by their end: begin, pieces
            for n, place, piece in pieces:
                starts = [at for at in range(len(value)) if value.startswith(piece, at)] if piece in value else []
                for at, (begin, before) in [(at, chains.get(at, (at, ()))) for at in reversed(starts)]:
                    chain = (*before, (n, place))
                    if begin <= chains.get(at + len(piece), (begin, ()))[0]:
                        chains[at + len(piece)] = begin, chain
                    if at + len(piece) - begin >= min(self._run, len(value)):
                        yield from ((*each, name) for each in chain)

    def _found(self, letters: str, misread: bool) -> Iterator[tuple[int, int, str]]:
        for size in {len(each) for each in self._runs}:
            for start in range(len(letters) - size + 1):
                if name := self._runs.get(letters[start : start + size]):
                    yield start, start + size - 1, name
        for name, value in self._values.items() if misread else ():
            for last in _ends(value, letters, len(value) // MISREAD):
                yield max(last - len(value), letters.rfind(OUTSIDE, 0, last)) + 1, last, name


def _pieces(text: str) -> Iterable[tuple[tuple[int, int], str]]:
    """A text's numbers, and its words between signs: where they stand, and folded; short ones are left out."""
    found = {(each.span(), fold(each[0])[0]) for what in (_WORDS, _NUMBER) for each in what.finditer(text)}
    return sorted(each for each in found if len(each[1]) >= PIECE)


def _ends(value: str, text: str, most: int) -> Iterator[int]:
    """Where texts end that differ from the value in at most `most` letters, added and left out ones too.

    By Myers' bit vectors (1999), a bit for each letter of the value, so that the time is linear in the text.
    """
    every, last = (1 << len(value)) - 1, 1 << (len(value) - 1)
    places: dict[str, int] = {}
    for n, letter in enumerate(value):
        places[letter] = places.get(letter, 0) | 1 << n
    more, fewer, edits = every, 0, len(value)
    for place, letter in enumerate(text):
        same = places.get(letter, 0)
        across = (((same & more) + more) ^ more) | same
        added, dropped = fewer | (~(across | more) & every), more & across
        edits += bool(added & last) - bool(dropped & last)
        added, dropped = added << 1 & every, dropped << 1 & every
        more, fewer = dropped | (~(same | fewer | added) & every), added & (same | fewer)
        if edits <= most:
            yield place
