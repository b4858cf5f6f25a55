"""Words: lists of them, how common they are, names that a census has, rows of words that belong together."""

from __future__ import annotations

import importlib
import pkgutil
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
_SPLIT = re.compile(r"[-'’]")
_PLACES = frozenset({"cities", "city_names", "countries", "states", "provinces", "towns", "regions"})
"""What providers of the package `faker` call their lists of places."""
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
    return plain(text[word[0] : word[1]]).removesuffix("'s").removesuffix("’s").strip(".")


def plain(word: str) -> str:
    """Without case and accents."""
    said = unicodedata.normalize("NFKD", word.lower())
    return "".join(letter for letter in said if not unicodedata.combining(letter))


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


@lru_cache(maxsize=10_000)
def commonness(word: str) -> float:
    """How common a word of English is, in halves on the scale of `wordfreq` (the 0 to 8); -1 for what is no word."""
    from wordfreq import zipf_frequency

    return int(2 * zipf_frequency(word, "en", wordlist="small")) / 2 if word.isalpha() else -1.0


@lru_cache(maxsize=1)
def _worldwide() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """First names, surnames and words of places in all languages of the package `faker` (MIT), lower case."""
    from faker.providers import address, person

    first, last, places = set[str](), set[str](), set[str]()
    for module in pkgutil.iter_modules(person.__path__):
        for name, said in _lists_of(f"{person.__name__}.{module.name}"):
            if "first_name" in name:
                first |= said
            elif "last_name" in name or "surname" in name:
                last |= said
    for module in pkgutil.iter_modules(address.__path__):
        for name, said in _lists_of(f"{address.__name__}.{module.name}"):
            if name in _PLACES or "countr" in name:
                places |= said
    return frozenset(first), frozenset(last), frozenset(places)


def _lists_of(module: str) -> Iterator[tuple[str, set[str]]]:
    provider = importlib.import_module(module).Provider
    for name in dir(provider):
        items = getattr(provider, name)
        if isinstance(items, list | tuple | dict) and "format" not in name:
            words = {part for item in items if isinstance(item, str) for part in plain(item).replace("-", " ").split()}
            yield name, {each for each in words if len(each) > 2}


@lru_cache(maxsize=10_000)
def lists_of(word: str) -> str:
    """What lists have a word, or a part of it: "F" for first names, "L" for surnames, "P" for places."""
    parts, (first, last), world = {word, *_SPLIT.split(word)}, census(), _worldwide()
    listed = {"F": (first, world[0]), "L": (last, world[1]), "P": (world[2],)}
    return "".join(sign for sign, lists in listed.items() if any(not each.isdisjoint(parts) for each in lists))
