"""A learned recogniser: how likely each word of a text is a part of something sensitive.

Rules know forms and miss what the next author writes. Here their findings are only one kind of fact about a word;
others are its neighbours, its shape, how common it is and whether it is a known name. A logistic regression weighs all
of them together (`python -m training.text`). A fact is hashed to a weight, so that no word of the training sets
is kept.

    "Tell Bo I'm late"  ->  words (0, 4) (5, 7) (8, 11) (12, 16)
                        ->  facts of "Bo": {"word ?N Xx", "before tell", "rule person_name", ...}
                        ->  sum of weights -> chance .97 -> Span(5, 7, "person_name", 0.97)
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import numpy as np

from sdg.privacy.recognisers import Recogniser, Span, presidio
from sdg.privacy.rules import context
from sdg.privacy.words import commonness, lists_of, names, normalise_word

SHIPPED = Path(__file__).parent / "shipped" / "privacy.npz"
"""The weights that come with the package; `python -m training.text` makes them again."""
SIZE = 2**17
"""How many weights: one for each hash of a fact."""
MIN_CHANCE = 0.3
"""Chance from which a word is hidden: low, because hiding too much costs a placeholder, too little a secret."""
MIN_CHANCE_EVERYWHERE = 0.7
"""Chance from which a word is hidden everywhere in the text."""
MIN_SURE_SCORE = 0.75
"""Score from which a rule's span is hidden without regard to the weights; names never reach it."""
EVIDENCE: tuple[Recogniser, ...] = (presidio, context, names)

_TOKEN = re.compile(r"[\"“”‘()<>\[\],;:]|[^\s\"“”‘()<>\[\],;:]+")
_SORTS = ((str.isupper, "X"), (str.isalpha, "x"), (str.isdigit, "d"))
_TAIL = re.compile(r"(?:['’]s)?[.!?'’]*$")
ANY = "word"
"""A fact of every word."""


def tokens(text: str) -> list[tuple[int, int]]:
    """Words and marks of a text as (start, end); sentence endings and genitive endings are separate."""
    spans: list[tuple[int, int]] = []
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        cut = start + _TAIL.search(match[0]).start()  # type: ignore[union-attr]
        spans.extend([(start, cut), (cut, end)] if start < cut < end else [(start, end)])
    return spans


def facts(text: str, words: Sequence[tuple[int, int]], rule_spans: Sequence[Span]) -> list[list[str]]:
    """The facts of each word; `rule_spans` are the spans that rules found."""
    owner = ["-"] * len(text)
    for span in rule_spans:
        owner[span.start : span.end] = [span.kind] * (span.end - span.start)
    rules = _Row([owner[a] if owner[a] != "-" else owner[b - 1] for a, b in words])
    written = [text[a:b] for a, b in words]
    lower = [normalise_word(text, word) for word in words]
    pairs = list(zip(written, lower, strict=True))
    shape = _Row([_shape(token) for token in written])
    # A rare word is known by its shape alone, because only its place can be learned, not the word.
    is_rare = [token[0].isalnum() and commonness(low) <= 3 for token, low in pairs]
    word = _Row([f"#{shape[n]}" if rare else lower[n] for n, rare in enumerate(is_rare)])
    kind = _Row([lists_of(low) + _commonness(low) + _shape(token) for token, low in pairs])
    gaps = ["\n", *(text[a[1] : b[0]] for a, b in pairwise(words))]
    begins = ["\n" in gap or written[n - 1][-1] in ".!?" for n, gap in enumerate(gaps)]
    return [
        [
            *(ANY, f"length {min(len(token), 12)}", f"digits {min(sum(map(str.isdigit, token)), 9)}"),
            *(f"word {word[n]}", f"shape {shape[n]}", f"kind {kind[n]}", f"rule {rules[n]} {kind[n]}"),
            *(f"common {commonness(low)}", *(f"list {sign}" for sign in lists_of(low))),
            *(f"rule{k} {rules.at(n + k)}" for k in (-1, 0, 1)),
            *(f"word{k} {word.at(n + k)}" for k in (-3, -2, -1, 1, 2)),
            *(f"shape{k} {shape.at(n + k)}" for k in (-2, -1, 1, 2)),
            *(f"kind{k} {kind[n]} {kind.at(n + k)}" for k in (-1, 1)),
            *(f"beside{k} {kind[n]} {word.at(n + k)}" for k in (-1, 1)),
            *(f"two before {word.at(n - 1)} {word.at(n - 2)}", f"between {word.at(n - 1)} {word.at(n + 1)}"),
            *((f"first {low[:3]}", f"last {low[-3:]}", f"end {low[-2:]}") if token[0].isalpha() else ()),
            *(f"before {neighbour}" for neighbour in word[max(0, n - 7) : n]),
            *(f"after {neighbour}" for neighbour in word[n + 1 : n + 4]),
            *((f"begins {kind[n]}", "begins") if begins[n] else ()),
            *(() if gaps[n] else ("joined",)),
        ]
        for n, (token, low) in enumerate(pairs)
    ]


class _Row(list[str]):
    """A row that has an edge on both sides."""

    def at(self, n: int) -> str:
        """The item at n, the edge beyond the ends."""
        return self[n] if 0 <= n < len(self) else "^"


def _shape(word: str) -> str:
    """ "O'Neill-92" is "X'Xx-d": letters and digits by their sort, rows of one sort cut to one sign."""
    return re.sub(r"(.)\1+", r"\1+", "".join(map(_letter_sort, word)))[:12]


def _letter_sort(letter: str) -> str:
    return next((sign for test, sign in _SORTS if test(letter)), letter)


def _commonness(word: str) -> str:
    """How common a word is, as a sign: unknown, rare, common, very common."""
    return "?rcv"[sum(commonness(word) >= step for step in (0.5, 3, 5))]


def hash_facts(word_facts: Iterable[str]) -> list[int]:
    """The facts' places among the weights."""
    return [crc32(fact.encode("utf-8", "surrogatepass")) % SIZE for fact in word_facts]


def evidence(text: str) -> list[Span]:
    """The spans that the rules find in a text."""
    return [span for rule in EVIDENCE for span in rule(text)]


@lru_cache(maxsize=1)
def weights() -> np.ndarray:
    """The shipped weights f32 (SIZE,). Raises OSError or ValueError where they can't be read."""
    with np.load(SHIPPED, allow_pickle=False) as stored:
        learned = stored["weights"].astype(np.float32)
    if learned.shape != (SIZE,) or not np.isfinite(learned).all():
        raise ValueError(f"{SHIPPED.name} holds no weights: install sdg again")
    return learned


def tag(text: str) -> Iterator[Span]:
    """The spans that are likely to be sensitive, and those that rules are sure of."""
    words = tokens(text)
    rule_spans = evidence(text)
    yield from spans_of(text, words, rule_spans, chances_of(text, words, rule_spans, weights()))
    yield from (span for span in rule_spans if span.score >= MIN_SURE_SCORE)


def chances_of(
    text: str, words: Sequence[tuple[int, int]], rule_spans: Sequence[Span], learned: np.ndarray
) -> list[float]:
    """The chance of each word, in [0, 1]; a word that is likely in one place is so everywhere."""
    sums = np.array([float(learned[hash_facts(word_facts)].sum()) for word_facts in facts(text, words, rule_spans)])
    own_chances = (1 / (1 + np.exp(-np.clip(sums, -30, 30)))).tolist()
    pairs = list(zip((text[a:b].lower() for a, b in words), own_chances, strict=True))
    likely = {word: chance for word, chance in sorted(pairs) if chance > MIN_CHANCE_EVERYWHERE and len(word) > 2}
    return [max(chance, likely.get(word, 0.0)) for word, chance in pairs]


def spans_of(
    text: str, words: Sequence[tuple[int, int]], rule_spans: Sequence[Span], chances: Sequence[float]
) -> Iterator[Span]:
    """Words of at least MIN_CHANCE, adjacent ones as one span; its kind is that of the rules' span it overlaps."""
    start = end = 0
    score = 0.0
    for (a, b), chance in [*zip(words, chances, strict=True), ((len(text), len(text)), 0.0)]:
        is_likely = chance >= MIN_CHANCE
        if end and (not is_likely or text[end:a].strip(" ")):
            yield Span(start, end, _kind(text, start, end, rule_spans), score)
            end = 0
        if is_likely:
            start, end, score = (start, b, max(chance, score)) if end else (a, b, chance)


def _kind(text: str, start: int, end: int, rule_spans: Sequence[Span]) -> str:
    overlaps = {span: min(end, span.end) - max(start, span.start) for span in rule_spans}
    if max(overlaps.values(), default=0) > 0:
        return max(overlaps, key=overlaps.__getitem__).kind
    return "person_name" if not any(map(str.isdigit, text[start:end])) else "id_number"
