"""Words: lists of them, how common they are, names from a census, runs of words that belong together."""

import importlib
import pkgutil
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import resources
from types import ModuleType

from sdg.privacy.recognisers import Span

LISTS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in re.findall(
        r"(?ms)^\[(\w+)\].*?$(.*?)(?=^\[|\Z)", (resources.files(__package__) / "words.txt").read_text("utf-8")
    )
}
"""The lists of words.txt by name."""
_PLACES = frozenset({"cities", "city_names", "countries", "states", "provinces", "towns", "regions"})
"""Names of the lists of places in providers of the package `faker`."""
_WORD = re.compile(r"#?[^\W_]+(?:['’./-][^\W_]+)*\.?|,", re.UNICODE)
STREET_STEMS = re.compile(
    r"(?:stra(?:ß|ss)e|str|weg|gasse|platz|allee|damm|ring|ufer|chaussee|gatan|gata|vägen|väg|gränd|stigen|torget|straat|laan"
    r"|plein|kade|gracht|singel|steeg|dreef|gade|vej|allé|plads|stræde|katu|tie|kuja|polku|ulica)$"
)


def runs_of(text: str, belongs: Callable[[str], bool], between: str = " ()") -> Iterator[list[tuple[int, int]]]:
    """Longest runs of words that belong together, with nothing but blanks between them; each as (start, end) pairs."""
    run: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        gap = text[run[-1][1] : match.start()] if run else ""
        is_near = not gap.strip(between) and "\n" not in gap
        last = text[slice(*run[-1])] if run else ""
        ended = last.endswith(".") and len(last) > 5 and not STREET_STEMS.search(last.lower().strip("."))
        if run and (not belongs(match[0]) or not is_near or ended):
            yield run
            run = []
        if belongs(match[0]) and (run or match[0] != ","):
            run.append(match.span())
    if run:
        yield run


def before_word(text: str, start: int) -> str:
    """The word before `start`, "," for a comma, "" at the beginning of a sentence."""
    words = text[max(0, start - 30) : start].rstrip(" \"'“‘:(").lower().replace("check in", "check").split()
    word = words[-1].lower() if words else ""
    return "," if word.endswith(",") else word.strip(".\"'“”:()")


def normalise_word(text: str, word: tuple[int, int]) -> str:
    """A word without case, accents and genitive ending."""
    return without_accents(text[word[0] : word[1]]).removesuffix("'s").removesuffix("’s").strip(".")


def without_accents(word: str) -> str:
    """A word without case and accents."""
    letters = unicodedata.normalize("NFKD", word.lower())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


@lru_cache(maxsize=10_000)
def frequency(word: str) -> float:
    """How often English has a word, as the logarithm of its occurrences in a thousand million words; 0 for none (the
    30,000 commonest of the package `wordfreq`, Apache-2.0)."""
    from wordfreq import zipf_frequency

    return zipf_frequency(word, "en", wordlist="small")


def is_unheard_of(word: str) -> bool:
    """Whether a lower-case word isn't among the 30,000 commonest of English."""
    return len(word) > 2 and word not in LISTS["no_names"] and not frequency(word)


def commonness(word: str) -> float:
    """How common a word of English is, in steps of 0.5 on the scale of `frequency` (0 to 8); -1 if it is no word."""
    return int(2 * frequency(word)) / 2 if word.isalpha() else -1.0


@lru_cache(maxsize=8)
def _census(name: str, count: int | None = None) -> frozenset[str]:
    """A list of the census: all names, or the `count` commonest ones."""
    lines = (resources.files("names") / f"dist.{name}").read_text("ascii").splitlines()
    return frozenset(line.split()[0].lower() for line in lines[:count])


@lru_cache(maxsize=1)
def census() -> tuple[frozenset[str], frozenset[str]]:
    """First names and surnames of the census of the United States in 1990, lower case (package `names`, MIT)."""
    return _census("female.first") | _census("male.first"), _census("all.last")


@lru_cache(maxsize=1)
def _worldwide() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """First names, surnames and words of places in all languages of the package `faker` (MIT), lower case."""
    from faker.providers import address, person

    people = list(_words_of(person))
    first = frozenset(word for name, word in people if "first_name" in name)
    others = [(name, word) for name, word in people if "first_name" not in name]
    last = frozenset(word for name, word in others if "last_name" in name or "surname" in name)
    places = frozenset(word for name, word in _words_of(address) if name in _PLACES or "countr" in name)
    return first, last, places


def _words_of(package: ModuleType) -> Iterator[tuple[str, str]]:
    """All words of a package of providers, in all languages, each with the name of its list."""
    for module in pkgutil.iter_modules(package.__path__):
        provider = importlib.import_module(f"{package.__name__}.{module.name}").Provider
        for name in dir(provider):
            items = getattr(provider, name)
            if isinstance(items, list | tuple | dict) and "format" not in name:
                texts = [without_accents(item).replace("-", " ") for item in items if isinstance(item, str)]
                yield from ((name, word) for text in texts for word in text.split() if len(word) > 2)


@lru_cache(maxsize=10_000)
def lists_of(word: str) -> str:
    """Which lists have a word, or a part of it: "F" for first names, "L" for surnames, "P" for places."""
    parts = {word, *re.split(r"[-'’]", word)}
    first, last = census()
    world_first, world_last, places = _worldwide()
    lists = (("F", first), ("F", world_first), ("L", last), ("L", world_last), ("P", places))
    return "".join(dict.fromkeys(sign for sign, listed in lists if not listed.isdisjoint(parts)))


_PARTICLES, _TITLES, _NAME_CUES, _STRONG_CUES, _NO_NAME_CUES = (
    LISTS[name] for name in ("particles", "titles", "name_cues", "strong_cues", "no_name_cues")
)
_NO_NAMES, _VERBS, _SMALL_CUES, _SMALL_WORDS, _COMMON_FIRST = (
    LISTS[name] for name in ("no_names", "verbs", "small_cues", "small_words", "common_first")
)
_NO_FIRST_NAMES = _COMMON_FIRST | _NO_NAMES | _SMALL_WORDS
_NO_SURNAMES = _NO_NAMES | _VERBS | _PARTICLES
_GENITIVES = ("'s", "’s")
_SMALL_NAME = re.compile(
    r"\b(?=(?P<cue>[A-Za-z']{2,12})[:)]? (?P<first>[^\W\d_A-Z]{3,15})\b(?: (?P<last>[^\W\d_A-Z]{3,15})\b)?)"
)


def names(text: str) -> Iterable[Span]:
    """Names of people: by title, by a first name that the census knows, or by where they stand in the sentence."""
    yield from _small_names(text)
    for run in runs_of(text, _is_name_word):
        if not before_word(text, run[0][0]) and not _is_subject(text, run):
            run.pop(0)
        for name in _without_common_words(text, run):
            while len(name) > 1 and normalise_word(text, name[0]) in _TITLES | {"i'm", "i’m"}:
                name.pop(0)
            if _is_name([normalise_word(text, word) for word in name], before_word(text, name[0][0])):
                last_start, end = name[-1]
                if text.endswith(_GENITIVES, 0, end):
                    end -= len("’s")
                if text[end - 1] == "." and end - last_start > 2:
                    end -= 1
                yield Span(name[0][0], end, "person_name", 0.6)


def _is_subject(text: str, run: list[tuple[int, int]]) -> bool:
    """Whether a run at the beginning of a sentence is its subject, and not part of an order: "Meet Ann"."""
    first_word = normalise_word(text, run[0])
    end = run[-1][1]
    acts = len(run) > 1 and not _VERBS.isdisjoint(text[end : end + 20].lower().split()[:1])
    is_name = (first_word in census()[0] and first_word not in _COMMON_FIRST) or is_unheard_of(first_word)
    return acts or is_name or text.endswith(_GENITIVES, 0, end)


def _is_name(words: list[str], before: str) -> bool:
    first, last = census()
    if before in _TITLES:
        return True
    if len(words) > 1:
        listed = words[0] in first and words[-1] in last and words[-1] not in _NO_NAMES
        return listed or before not in _NO_NAME_CUES or all(map(is_unheard_of, words))
    if words[0] in _COMMON_FIRST:
        return before in _STRONG_CUES | {"with", "for"}
    is_announced = before in _STRONG_CUES or (words[0] in last and before in _NAME_CUES)
    return words[0] in first or is_announced or (before not in _NO_NAME_CUES and is_unheard_of(words[0]))


def _without_common_words(text: str, run: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    name: list[tuple[int, int]] = []
    for word in [*run, None]:
        if word is not None and (normalise_word(text, word) not in _NO_NAMES or _is_name_here(text, word, name, run)):
            name.append(word)
            continue
        while name and normalise_word(text, name[0]) in _PARTICLES:
            name.pop(0)
        while name and normalise_word(text, name[-1]) in _PARTICLES:
            name.pop()
        if name:
            yield name
        name = []


def _is_name_here(text: str, span: tuple[int, int], name: list[tuple[int, int]], run: list[tuple[int, int]]) -> bool:
    """Whether a common word is a name: "New" right after a first name, "June" after a word that names follow, or before
    the run's last word, if that is a surname and no common word."""
    first, last = census()
    word = normalise_word(text, span)
    last_word = normalise_word(text, run[-1])
    before = normalise_word(text, name[-1]) if name else ""
    if text[span[0]].isupper() and word in last and before in first and before not in _COMMON_FIRST:
        return True
    ends_with_surname = last_word in last and last_word not in _NO_NAMES and frequency(last_word) < 4.0
    return word in first and ((span != run[-1] and ends_with_surname) or before_word(text, span[0]) in _STRONG_CUES)


def _small_names(text: str) -> Iterator[Span]:
    """Names in lower case after words that names follow: "ring pamela may", "tell jojo", "add gerald and"."""
    first, last = census()
    popular = _census("female.first", 800) | _census("male.first", 800)
    for match in _SMALL_NAME.finditer(text):
        cue, first_name, surname = match.group("cue", "first", "last")
        cue = cue.lower()
        if first_name in _VERBS or first_name in _NO_NAME_CUES:
            continue
        is_listed = first_name in first and first_name not in _NO_FIRST_NAMES
        is_strange = is_unheard_of(first_name)
        is_rare = is_listed and frequency(first_name) <= 4.7
        has_surname = bool(surname) and (
            (surname in last and surname not in _NO_SURNAMES) or (is_strange and is_unheard_of(surname))
        )
        if has_surname and (is_listed or is_strange):
            yield Span(match.start("first"), match.end("last"), "person_name", 0.55)
        elif cue in _STRONG_CUES and (is_strange or is_rare):
            yield Span(*match.span("first"), "person_name", 0.5)
        elif cue in _SMALL_CUES and is_rare and first_name in popular:
            yield Span(*match.span("first"), "person_name", 0.45)


def _is_name_word(word: str) -> bool:
    letters = word.replace(".", "").replace("-", "").replace("'", "").replace("’", "")
    # Words in capitals are abbreviations, but for initials.
    has_capital = letters[:1].isupper() or word.partition("-")[2][:1].isupper()
    is_abbreviation = len(letters) > 1 and letters.isupper()
    return (has_capital and letters.isalpha() and not is_abbreviation) or word.lower() in _PARTICLES
