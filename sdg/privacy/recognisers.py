"""Finds sensitive spans of a text: recognisers, each of which finds spans, and how overlaps are settled.

Presidio's pattern recognisers know what has a format (cards, IBANs, e-mail, telephones), `sdg.privacy.rules` what only
the context reveals (passwords, user names, addresses), `names` people; `tagger` has learned how to weigh all of these
together. A model for named entities can be added as `module:attribute`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from sdg.envs.registry import Registry, RegistryError
from sdg.errors import SDGError

MAX_CHARS = 4000
"""Longest text that is searched: patterns of libraries backtrack, and instructions are short."""


class PrivacyError(SDGError, ValueError):
    """A value or text can't be protected; the message says why and what to do, but never holds a value."""


@dataclass(frozen=True, slots=True)
class Span:
    """Characters start to end of a text are a `kind` of sensitive value; `score` in [0, 1] says how surely."""

    start: int
    end: int
    kind: str
    score: float = 0.5


Recogniser = Callable[[str], Iterable[Span]]
"""Maps a text to its spans. If it raises anything, the text isn't let through."""

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
"""Presidio's entities in use, and their placeholders' names. URL isn't used, because `notes.app` would be one."""


def find(text: str, recognisers: Sequence[Recogniser]) -> list[Span]:
    """The spans of all recognisers, in order and without overlaps.

    Where two overlap, the surer one stays whole and the rest of the other becomes a span of its own, to hide too much
    rather than too little. Raises PrivacyError for a text that is too long, and for a recogniser that fails, because
    nothing may pass unchecked.
    """
    if len(text) > MAX_CHARS:
        raise PrivacyError(f"a text to protect has at most {MAX_CHARS} characters, not {len(text)}: shorten it")
    spans = [span for recogniser in recognisers for span in _find_spans(recogniser, text)]
    owner: list[Span | None] = [None] * len(text)
    for span in sorted(spans, key=lambda span: (span.score, span.end - span.start)):
        owner[span.start : span.end] = [span] * (span.end - span.start)
    settled: list[Span] = []
    for place, own in enumerate(owner):
        if own is not None and place > 0 and owner[place - 1] is own:
            settled[-1] = replace(settled[-1], end=place + 1)
        elif own is not None:
            settled.append(replace(own, start=place, end=place + 1))
    return [span for span in settled if any(letter.isalnum() for letter in text[span.start : span.end])]


def _find_spans(recogniser: Recogniser, text: str) -> list[Span]:
    try:
        spans = list(recogniser(text))
        if not all(isinstance(span, Span) and 0 <= span.start < span.end <= len(text) for span in spans):
            raise TypeError("it gave something that is no span of the text")
    except Exception as error:  # from None: the text may stand in the error or among its locals
        name = getattr(recogniser, "__name__", type(recogniser).__name__)
        raise PrivacyError(f"the recogniser {name} failed ({type(error).__name__}): nothing was sent") from None
    return spans


def recognisers_of(own: str = "") -> tuple[Recogniser, ...]:
    """All shipped recognisers, and a user's own by `module:attribute`. Raises PrivacyError for an unusable one."""
    try:
        _presidio_recognisers()
        return tuple(RECOGNISERS.get(name, needs=("__call__",)) for name in (*RECOGNISERS, *([own] if own else [])))
    except (ImportError, RegistryError) as error:
        advice = "pip install 'sdg[privacy]', or `privacy: off`" if isinstance(error, ImportError) else str(error)
        raise PrivacyError(f"sensitive values can't be recognised: {advice}") from error


def presidio(text: str) -> Iterable[Span]:
    """The spans that Presidio's pattern recognisers find. 7 s to import, a millisecond a text."""
    for recogniser in _presidio_recognisers():
        for result in recogniser.analyze(text, recogniser.supported_entities, None):
            if result.score >= 0.4:
                yield Span(result.start, result.end, KINDS[result.entity_type], result.score)


@lru_cache(maxsize=1)
def _presidio_recognisers() -> tuple[Any, ...]:
    """Presidio's recognisers without its engine, so that no spaCy pipeline is loaded and nothing is logged."""
    import tldextract
    from presidio_analyzer import predefined_recognizers as shipped

    # tldextract by default fetches the list of top-level domains and writes it below the user's home.
    domains = tldextract.TLDExtract(cache_dir=None, suffix_list_urls=(), fallback_to_snapshot=True)

    class EmailRecognizer(shipped.EmailRecognizer):  # type: ignore[misc]
        def validate_result(self, pattern_text: str) -> bool:
            return bool(domains(pattern_text).fqdn) or None  # type: ignore[return-value]

    names = ("Phone", "CreditCard", "Crypto", "Iban", "Ip", "MacAddress", "UsSsn")
    return (EmailRecognizer(), *(getattr(shipped, f"{name}Recognizer")() for name in names))
