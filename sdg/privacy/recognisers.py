"""Where a text holds something sensitive: recognisers, each of which finds spans, and how their spans are settled.

Presidio's pattern recognisers know what has a format (cards, IBANs, e-mail, telephones), `sdg.privacy.rules` what
only its context gives away (passwords, user names, addresses), `names` people; `tagger` has learned what all of these
are worth together. A model for named entities joins it as `module:attribute`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from sdg.envs.registry import Registry, RegistryError
from sdg.errors import SDGError

MAX_CHARS = 4000
"""Longest text that is searched: patterns of libraries backtrack, and instructions are short."""


class PrivacyError(SDGError, ValueError):
    """What can't be protected, and what to do about it; never a value."""


@dataclass(frozen=True, slots=True)
class Span:
    """Characters start to end of a text are a `kind` of sensitive value; `score` in [0, 1] says how surely."""

    start: int
    end: int
    kind: str
    score: float = 0.5


Recogniser = Callable[[str], Iterable[Span]]
"""A text to the spans in it. Whatever it raises, the text isn't let through."""

RECOGNISERS = Registry[Recogniser](
    "recogniser",
    {"learned": "sdg.privacy.tagger:tag"},
)

KINDS = {
    "CREDIT_CARD": "card_number",
    "CRYPTO": "wallet",
    "EMAIL_ADDRESS": "email_address",
    "IBAN_CODE": "iban",
    "IP_ADDRESS": "ip_address",
    "MAC_ADDRESS": "mac_address",
    "PHONE_NUMBER": "phone_number",
    "US_SSN": "id_number",
}
"""Presidio's entities that are looked for, and what their placeholders are called. To its URL `notes.app` is one."""


def find(text: str, recognisers: Sequence[Recogniser]) -> list[Span]:
    """The spans of all recognisers, in order and apart from one another.

    Where two overlap, the surer one stays whole and what is left of the other beside it is a span of its own: too much
    is hidden rather than too little. Raises PrivacyError for a text that is too long, and for a recogniser that fails:
    nothing passes unseen.
    """
    if len(text) > MAX_CHARS:
        raise PrivacyError(f"a text to protect has at most {MAX_CHARS} characters, not {len(text)}: shorten it")
    found = [span for recogniser in recognisers for span in _find_spans(recogniser, text)]
    owner: list[Span | None] = [None] * len(text)
    for span in sorted(found, key=lambda each: (each.score, each.end - each.start)):
        owner[span.start : span.end] = [span] * (span.end - span.start)
    settled: list[Span] = []
    for place, own in enumerate(owner):
        if own is not None and settled and settled[-1].end == place and owner[place - 1] is own:
            settled[-1] = replace(settled[-1], end=place + 1)
        elif own is not None:
            settled.append(replace(own, start=place, end=place + 1))
    return [span for span in settled if any(letter.isalnum() for letter in text[span.start : span.end])]


def _find_spans(recogniser: Recogniser, text: str) -> list[Span]:
    try:
        spans = list(recogniser(text))
        for span in spans:
            if not (isinstance(span, Span) and 0 <= span.start < span.end <= len(text)):
                raise TypeError("it gave something that is no span of the text")
    except Exception as error:  # from None: the text may stand in the error or among its locals
        name = getattr(recogniser, "__name__", type(recogniser).__name__)
        raise PrivacyError(f"the recogniser {name} failed ({type(error).__name__}): nothing was sent") from None
    return spans


def recognisers_of(own: str = "") -> tuple[Recogniser, ...]:
    """All that are shipped, and a user's own by `module:attribute`. Raises PrivacyError for one that can't be had."""
    try:
        _presidio()
        return tuple(RECOGNISERS.get(name, needs=("__call__",)) for name in (*RECOGNISERS, *([own] if own else [])))
    except (ImportError, RegistryError) as error:
        advice = "pip install 'sdg[privacy]', or `privacy: off`" if isinstance(error, ImportError) else str(error)
        raise PrivacyError(f"sensitive values can't be recognised: {advice}") from error


def presidio(text: str) -> Iterable[Span]:
    """What Presidio's pattern recognisers find. 7 s to import, a millisecond a text."""
    for recogniser in _presidio():
        for result in recogniser.analyze(text, recogniser.supported_entities, None):
            if result.score >= 0.4:
                yield Span(result.start, result.end, KINDS[result.entity_type], result.score)


@lru_cache(maxsize=1)
def _presidio() -> tuple[Any, ...]:
    """The recognisers themselves: without its engine there is no pipeline of spaCy to load, nothing is logged."""
    import tldextract
    from presidio_analyzer import predefined_recognizers as shipped

    # Its default fetches the list of top-level domains from the network and writes it below the user's home.
    domains = tldextract.TLDExtract(cache_dir=None, suffix_list_urls=(), fallback_to_snapshot=True)

    class EmailRecognizer(shipped.EmailRecognizer):  # type: ignore[misc]
        def validate_result(self, pattern_text: str) -> bool:
            return bool(domains(pattern_text).fqdn) or None  # type: ignore[return-value]

    plain = ("CreditCard", "Crypto", "Iban", "Ip", "Mac", "UsSsn")
    made = [getattr(shipped, f"{name}Recognizer")() for name in plain if hasattr(shipped, f"{name}Recognizer")]
    return (EmailRecognizer(), shipped.PhoneRecognizer(), *made)
