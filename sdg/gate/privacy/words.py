"""Words: lists of them, how common they are, names that a census has, rows of words that belong together."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib import resources


def _words() -> Mapping[str, frozenset[str]]:
    """The lists of words.txt by name."""
    text = (resources.files(__package__) / "words.txt").read_text("utf-8")
    sections = re.split(r"(?m)^\[(\w+)\].*$", text)[1:]
    return {name: frozenset(words.split()) for name, words in zip(sections[::2], sections[1::2], strict=True)}


LISTS = _words()
_WORD = re.compile(r"#?[^\W_]+(?:['’./-][^\W_]+)*\.?|,", re.UNICODE)
STREET_STEMS = re.compile(
    r"(?:stra(?:ß|ss)e|str|weg|gasse|platz|allee|damm|ring|ufer|chaussee|gatan|gata|vägen|väg|gränd|stigen|torget|straat|laan"
    r"|plein|kade|gracht|singel|steeg|dreef|gade|vej|allé|plads|stræde|katu|tie|kuja|polku|ulica)$"
)


def runs_of(text: str, belongs: Callable[[str], bool], between: str = " ()") -> Iterator[list[tuple[int, int]]]:
    """Longest rows of words that belong together, with nothing but blanks between them; each as (start, end) pairs."""
    run: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        gap = text[run[-1][1] : match.start()] if run else ""
        near = not gap.strip(between) and "\n" not in gap
        last = text[slice(*run[-1])] if run else ""
        ended = last.endswith(".") and len(last) > 5 and not STREET_STEMS.search(last.lower().strip("."))
        if run and (not belongs(match[0]) or not near or ended):
            yield run
            run = []
        if belongs(match[0]) and (run or match[0] != ","):
            run.append(match.span())
    if run:
        yield run


def before_word(text: str, start: int) -> str:
    """The word before, "," for a comma, "" at the beginning of a sentence."""
    said = text[max(0, start - 30) : start].rstrip(" \"'“‘:(")
    words = said.lower().replace("check in", "check").split()
    word = words[-1].lower() if words else ""
    return "," if word.endswith(",") else word.strip(".\"'“”:()")


def lowered(text: str, word: tuple[int, int]) -> str:
    """Without case, accents and a genitive's end."""
    said = unicodedata.normalize("NFKD", text[word[0] : word[1]].lower())
    plain = "".join(letter for letter in said if not unicodedata.combining(letter))
    return plain.removesuffix("'s").removesuffix("’s").strip(".")


@lru_cache(maxsize=10_000)
def is_unheard_of(word: str) -> bool:
    """Whether a word, in lower case, is none of the 30,000 commonest of English (package `wordfreq`, Apache-2.0)."""
    from wordfreq import zipf_frequency

    return len(word) > 2 and word not in LISTS["no_names"] and not zipf_frequency(word, "en", wordlist="small")


def is_rare(word: str) -> bool:
    """Whether English has the word less often than once in 100,000."""
    from wordfreq import zipf_frequency

    return zipf_frequency(word, "en", wordlist="small") < 4.0


def is_word(word: str) -> bool:
    """Whether English has the word more often than most names: once in 20,000."""
    from wordfreq import zipf_frequency

    return zipf_frequency(word, "en", wordlist="small") > 4.7


@lru_cache(maxsize=1)
def popular() -> frozenset[str]:
    """The 800 commonest first names of women and of men in that census."""
    folder = resources.files("names")
    lists = ((folder / f"dist.{who}.first").read_text("ascii").splitlines() for who in ("female", "male"))
    return frozenset(line.split()[0].lower() for lines in lists for line in lines[:800])


@lru_cache(maxsize=1)
def census() -> tuple[frozenset[str], frozenset[str]]:
    """First names and surnames of the census of the United States in 1990, lower case (package `names`, MIT)."""
    folder = resources.files("names")

    def read(name: str) -> frozenset[str]:
        return frozenset(line.split()[0].lower() for line in (folder / name).read_text("ascii").splitlines())

    return read("dist.female.first") | read("dist.male.first"), read("dist.all.last")
