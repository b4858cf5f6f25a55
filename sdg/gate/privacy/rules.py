"""What only its context gives away: secrets after the words that announce them, addresses, dates of birth.

Everything here was made from the development sets of `sdg bench privacy` and from sets that were measured before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from sdg.gate.privacy.recognisers import Span
from sdg.gate.privacy.words import LISTS, STREET_STEMS, before_word, runs_of

_STREET = LISTS["street_last"]
_STREET_FIRST = LISTS["street_first"]
_UNIT = LISTS["unit"]
_PARTICLES = LISTS["particles"]
_NAME_CUES = LISTS["name_cues"]
_NO_NAMES = LISTS["no_names"]
_NO_SECRETS = LISTS["no_secrets"]
_VERBS = LISTS["verbs"]

_QUOTED = r"\"[^\"\n]{1,80}\"|'[^'\n]{1,80}'|“[^”\n]{1,80}”|‘[^’\n]{1,80}’|`[^`\n]{1,80}`"
_VALUE = rf"(?P<value>{_QUOTED}|[^\s\"“”,;:]\S{{0,80}})"
_MARK = (
    r"(?:\.?\s*[:=#]|,?\s+it['’]?s\b|\s*->|['’]s\b(?=\s+\S*\d)|\s+[-–]\s|\s+(?:is|as|to|with|be|are|was|will\s+be|should\s+be"
    r"|must\s+be|reads|says)\b)"
    r"\s*(?:(?:now|set\s+to|this|following)\b\s*)?:?\s*"
)
_BETWEEN = r"(?:\s+(?!is\b|as\b|to\b|with\b|be\b|and\b|or\b|then\b|in\b|into\b)[\w'-]{1,20}){0,5}?"
"""Words between the announcing word and its mark: "the password *for my mail account* is ..."."""

SECRETS = {
    "password": r"pass?(?:wor?d|wd|phrase|code)|pwd|pw|pin(?:\s+code)?|security\s+(?:code|answer)|secret(?:\s+word)?"
    r"|(?:access|verification|one-time|entry|login|unlock|2fa|otp|gate|alarm|wi-?fi)\s+code|cvv2?|cvc|otp",
    "user_name": r"user\s?-?(?:name|id)|log-?in(?:\s+name)?|(?:screen|account|profile)\s+name|handle|nick(?:name)?|user"
    r"|alias",
    "api_key": r"(?:api|access|secret|private|licen[cs]e|activation|product|recovery|encryption|ssh|auth\w*)\s+"
    r"(?:key|token)|token|(?:recovery|seed)\s+phrase",
    "id_number": r"(?:passport|(?:driver'?s?|driving)\s+licen[cs]e|social\s+security|national\s+(?:id|insurance)|vin"
    r"|tax(?:payer)?|ssn|tin|nhs|insurance|policy|patient|medical\s+record|mrn|student|employee|staff|member(?:ship)?"
    r"|(?:last|first)\s+\w+\s+(?:digits|numbers|letters|characters)|loyalty|frequent\s+flyer|customer|client|identity"
    r"|(?:licen[cs]e|number)\s+plate|registration|id\s+card|id)(?:\s+(?:card|number|no\.?|id|code|#))*",
    "account_number": r"(?:(?:bank|savings|checking|current|my)\s+)?(?:account|acct|routing|sort|iban|card"
    r"|credit\s+card|debit\s+card|swift|bic)(?:\s+(?:number|no\.?|code|#))*",
}
"""What announces a secret, for each kind."""

_NEEDS_DIGIT = {"id_number", "account_number"}
_PUT = (
    r"\b(?:type|enter|put|input|fill(?:\s+in)?|use|set|paste|write|give|insert|provide|submit"
    r"|with|key\s+in|choose|add|and|then|using)\s+"
)
_INTO = r"\s+(?:in|into|as|for|to|at|on|inside)\s+(?:(?!and\b|then\b)[\w'-]{1,20}\s+){0,4}?"


def _patterns(words: str) -> tuple[re.Pattern[str], ...]:
    """The value right behind the announcing word; behind a mark; or before it: "type ... into the password field"."""
    forms = (
        rf"\b(?:{words})\b,?\s+(?:field\s+|area\s+)?{_VALUE}",
        rf"\b(?:{words})\b{_BETWEEN}{_MARK}{_VALUE}",
        rf"{_PUT}{_VALUE}{_INTO}(?:{words})\b",
    )
    return tuple(re.compile(form, re.IGNORECASE) for form in forms)


_PATTERNS = {kind: _patterns(words) for kind, words in SECRETS.items()}
_CREDENTIALS = re.compile(
    r"\b(?:pass(?:word|wd|phrase|code)s?|pwd|log(?:ged)?[ -]?(?:in|on)|sign(?:ed)?(?:\s+\w+)?[ -]?(?:in|on)"
    r"|credentials?|ssh|pw|wi-?fi|user\s?-?names?"
    r"|token|account|admin|portal|api)\b",
    re.I,
)
"""Where a text speaks of signing in, a word of letters and digits is likely to be a part of it."""
_MIXED = re.compile(
    r"(?<![\w@./:#-])(?![\d.,:]+(?:am|pm|st|nd|rd|th|mb|gb|kg|km|px|min|h)?\b)(?=[\w.!$%^&*+-]{0,40}?[A-Za-z])"
    r"(?=[\w.!$%^&*+-]{0,40}?(?:\d|[a-z][._][a-z]))[\w.!$%^&*+-]{6,60}(?<![.,])",
)
_FILE = re.compile(
    r"\.[a-z]{1,5}\d?$|^v?\d+(?:\.\d+)+$|^www\.|\.(?:com|org|net|io|de|uk|fr)\b|^\w+-\d+(?:\.\d+)+$", re.I
)
_ACCOUNT_OF = re.compile(
    r"\b(?:block|unblock|follow|unfollow|dm|message|mute|report|add|invite|user)\s+(?P<value>[a-z]\w*[._]\w+|[a-z]+\d\w*)(?![\w@/])",
    re.I,
)
_PASSPORT = re.compile(r"\b(?i:passport)(?i:\s+(?:number|no\.?))?:?\s+(?P<value>[A-Z]{1,3} ?\d{5,9})\b")
_PAIRED = re.compile(r"(?P<user>[^\s\"']{4,40})\s/\s(?P<value>[^\s,;]{5,40}[^\s,;.])")
_CALLED = re.compile(
    r"\baccount\s+(?:called|named)\s+(?P<value>[a-z][\w.]{2,30}\w)"
    r"|\badd\s+(?P<other>[a-z][\w.]{2,30}\w)\s+as\s+an?\s+\w",
    re.I,
)
_SMALL_STREET = re.compile(
    r"\b\d{1,5} (?:[a-z]{3,15} ){1,2}(?:st|street|ave|avenue|rd|road|blvd|dr|drive|ln|lane"
    r"|ct|court|way|pl|place|close)\b"
    r"(?:,? (?:apt|unit|flat|#) ?\w{1,4})?(?:, [a-z]{3,15}(?: [a-z]{4,12})?(?=[,.]| and\b|$))?"
)
_PASSPHRASE = re.compile(
    r"\b(?:pass(?:word|phrase|code)|pwd?)\s+(?P<value>[a-z]{3,}(?: [a-z]{3,}){1,4})(?=[.,;]|$)", re.I
)
_QUOTED_KEY = re.compile(rf"\bkey\s+(?:is|was|to|=|:)\s*(?P<value>{_QUOTED})", re.I)
_NUMBERED = re.compile(
    r"\b(?i:record|passport|patient|policy|member|claim|reference|licen[cs]e|employee|student|insurance)\s+(?i:number|no\.?|id|#)"
    r"\s*(?i:is|put|enter|as|=|:)?\s+(?P<value>(?=\S*\d)[A-Z0-9][\w/-]{4,30})"
)
_CHOSEN = re.compile(
    r"(?<![\w@./:=-])(?:[a-z]{2,20}(?:_[a-z0-9]{2,20}){1,3}|[a-z]{3,20}_?\d{2,4}|x[a-z]{3,15}x\d*)(?![\w@./:=-])"
)
"""What looks like a name that somebody chose: the_blue_fox, anna92."""
_HANDLE = re.compile(r"(?<![\w.@])@(?P<value>[A-Za-z]\w{2,30}(?:\.\w{1,20})?)")
_FROM_TO = re.compile(
    r"\b(?:pass(?:word|phrase|code)|pwd|pin|code)\b[^.\n]{0,30}?\bfrom\s+(?P<old>\S{3,40}(?:\s(?!to\b)\S{2,20}){0,4}?)\s+to\s+(?P<new>\S{3,60}?)(?=[.,;]?(?:\s|$))",
    re.I,
)
_QUOTED_FOR = re.compile(
    rf"(?P<value>{_QUOTED})\s+(?:for|as|on)\s+(?:the\s+|my\s+|our\s+)?(?:wi-?fi|network|router|password)\b", re.I
)
_AFTER_EMAIL = re.compile(r"@[\w.-]+\.[a-z]{2,8}\s*(?:/|,|and|with|:)\s+(?P<value>[^\s,;]*\d[^\s,;]*[^\s,;.])", re.I)
_PLATE = re.compile(
    r"\b(?i:plate|licen[cs]e|registration|reg|permit|parking|car|vehicle|van)\b[^.;\n]{0,40}?(?<![\w-])"
    r"(?P<value>(?=[A-Z0-9 -]*\d)(?=[A-Z0-9 -]*[A-Z])[A-Z0-9]{1,5}(?:[ -][A-Z0-9]{1,5}){0,3}|"
    r"(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{5,8})(?![\w-])"
)
_MORE_PINS = re.compile(r"\b(?:or|and|work|works|then|else|try|not)\s+(?P<value>\d{4,6})(?![\w/-])", re.I)
_GROUPS = re.compile(
    r"\b(?i:social\s+security|national\s+(?:id|insurance)|ssn|nino?|tax|nhs|passport|insurance|member|patient"
    r"|medical|policy|id)\b"
    r"(?i:\s*no\.)?[^\d.;\n]{0,30}?(?<!\w)"
    r"(?P<value>(?=[A-Z0-9 -]{0,12}\d)[A-Z0-9]{1,4}(?:[ -][A-Z0-9]{1,4}){2,6})(?!\w)"
)
_KEYLIKE = re.compile(
    r"\b\d{8,10}:[\w-]{30,}|\b(?:sk|pk|rk|SG|npm|github_pat|hf|ya29|ghp|gho|ghs|glpat|xox[abps]|AKIA|AIza|eyJ)[-_A-Za-z0-9.]{10,}"
    r"|\b(?=[A-Za-z0-9_-]{0,60}\d)(?=[A-Za-z0-9_-]{0,60}[A-Za-z])[A-Za-z0-9_-]{20,}"
)
_NUMBER = re.compile(r"(?<![\w.])(?:\d[ -]?){6,18}\d(?!\w)|\b\d{3}-\d{2}-\d{4}\b|\b[A-Z]{1,5}-?\d{5,12}[A-Z]?\b")
"""Long numbers and those of passports: nobody's shopping list has them."""

_PHONE = re.compile(r"(?<![\w.])(?:\+|00)\d[\d ().-]{6,18}\d(?!\w)|\(\d{2,5}\) ?\d{2,4}[ -]?\d{3,5}(?!\w)")
_PHONE_CUE = re.compile(
    r"\b(?:call|dial|text|sms|phone|mobile|cell|tel|telephone|number|fax|whatsapp)\b[^\d\n.;]{0,30}"
    r"(?P<value>\+?\(?\d[\d ().-]{4,18}\d)(?!\w)",
    re.IGNORECASE,
)
_SIGN_IN = re.compile(
    rf"\b(?:log|sign)(?:ged|ed)?[ -]?(?:in|on)(?:\s+\w+){{0,4}}?\s+(?:as|with|user)\s+(?:user\s+)?{_VALUE}", re.I
)

_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}\.?"
_DATE = re.compile(
    rf"\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{2,4}}|{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}}"
    rf"|\d{{1,2}}(?:\.|st|nd|rd|th)?(?:\s+of)?[\s-]+{_MONTH},?[\s-]+\d{{4}}",
    re.IGNORECASE,
)
_BIRTH = re.compile(
    r"\b(?:born|birth\s?da(?:y|te)|date of birth|d\.?o\.?b\.?|b-?day)\b(?:[.?] it'?s)?[^.;\n]{0,40}?"
    r"(?=\d|[A-Z][a-z]{2})",
    re.I,
)

_DATE_OF_BIRTH = re.compile(
    rf"(?P<value>{_DATE.pattern})\s+(?:as|for|in|into|is)\s+(?:\w+\s+){{0,2}}?(?:birth|date\s+of\s+birth|dob|born)",
    re.I,
)
_CODE = re.compile(
    r"\b(?:(?:un)?lock|pin|code|keypad|garage|gate|safe|lockbox|locker|alarm|passcode|cvv|cvc|otp|digits)\b[^\d\n.;]{0,30}(?P<value>\d{3,8})(?![\w/-])",
    re.IGNORECASE,
)
_PAIR = re.compile(
    r"\b(?:cred(?:ential)?s?|log-?ins?|accounts?|user)\b[^.\n]{0,40}?(?P<user>\S+)\s/\s(?P<value>[^\s,;]*[^\s,;.])",
    re.IGNORECASE,
)
_SIGN_IN_WITH = re.compile(
    rf"\b(?:log|sign)\S*\s+(?:\w+\s+)?(?:in|on)\b[^.\n]{{0,60}}?\b(?:as|user)\s+\S+\s+(?:with|and|using)\s+{_VALUE}",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"(?<!\S)[^\s\"'()]{6,60}?(?=[.,;:)\"']*(?:\s|$))")

_REGION = re.compile(
    r"(?: / [A-Z]{2}\b| ?\([A-Z]{2,3}\)"
    r"|(?: (?:a[mn](?: der)?|im|in der|bei|sur|sous|en|nad|upon|on|le|la|les|de) [A-Z][\w-]+)+)?"
)
"""What ends some addresses: a state, a province, a river."""
_ADDRESS_CUES = re.compile(
    r"\b(?:address(?:es)?|lives?|living|resid\w+|home|ship\w*|deliver\w*|located|moved?|meet\w*|drive|pick\w*)\b", re.I
)


def context(text: str) -> Iterable[Span]:
    """Secrets, long numbers, dates of birth and addresses."""
    for kind, (direct, marked, before) in _PATTERNS.items():
        said = {match.start(): _secret(match, kind, sure=False) for match in direct.finditer(text)}
        said |= {
            match.start(): _secret(match, kind, sure=True)
            for match in marked.finditer(text)
            if not said.get(match.start())
        }
        yield from filter(None, said.values())
        yield from filter(None, (_secret(match, kind, sure=False) for match in before.finditer(text)))
    yield from (Span(*match.span("value"), "password", 0.55) for match in _CODE.finditer(text))
    yield from (Span(*match.span("value"), "date_of_birth", 0.8) for match in _DATE_OF_BIRTH.finditer(text))
    for pair in _PAIR.finditer(text):
        yield Span(*pair.span("user"), "user_name", 0.7)
        yield Span(*pair.span("value"), "password", 0.7)
    yield from filter(None, (_secret(match, "password", sure=True) for match in _SIGN_IN_WITH.finditer(text)))
    yield from (Span(*match.span(), "password", 0.35) for match in _TOKEN.finditer(text) if _is_random(match[0]))
    yield from filter(None, (_secret(match, "user_name", sure=True) for match in _SIGN_IN.finditer(text)))
    yield from _credentials(text)
    yield from (Span(*match.span(), "api_key", 0.6) for match in _KEYLIKE.finditer(text))
    yield from (Span(*match.span(), "phone_number", 0.6) for match in _PHONE.finditer(text))
    yield from (Span(*match.span("value"), "phone_number", 0.5) for match in _PHONE_CUE.finditer(text))
    yield from (Span(*match.span(), "id_number", 0.4) for match in _NUMBER.finditer(text))
    for cue in _BIRTH.finditer(text):
        date = _DATE.match(text, cue.end()) or _DATE.search(text, cue.end(), cue.end() + 40)
        if date:
            yield Span(*date.span(), "date_of_birth", 0.8)
    yield from _addresses(text)


def _credentials(text: str) -> Iterator[Span]:
    """Handles, plates, identity numbers in groups, and odd words where a text speaks of signing in."""
    for kind, pattern in (
        ("user_name", _HANDLE),
        ("user_name", _ACCOUNT_OF),
        ("password", _QUOTED_FOR),
        ("password", _QUOTED_KEY),
        ("password", _AFTER_EMAIL),
        ("id_number", _PLATE),
        ("id_number", _PASSPORT),
        ("id_number", _NUMBERED),
        ("id_number", _GROUPS),
    ):
        for match in pattern.finditer(text):
            quoted = match["value"][0] in "\"'“‘`"
            yield Span(match.start("value") + quoted, match.end("value") - quoted, kind, 0.55)
    yield from (Span(*match.span(), "user_name", 0.4) for match in _CHOSEN.finditer(text))
    yield from (Span(*match.span(), "address", 0.8) for match in _SMALL_STREET.finditer(text))
    for match in _CALLED.finditer(text):
        yield Span(*match.span("value" if match["value"] else "other"), "user_name", 0.5)
    if _CREDENTIALS.search(text):
        for match in _PAIRED.finditer(text):
            if not match["value"].isalpha():
                yield from (Span(*match.span(part), "password", 0.5) for part in ("user", "value"))
    for match in _PASSPHRASE.finditer(text):
        if not set(match["value"].lower().split()) & (_NO_SECRETS | _NO_NAMES | _PARTICLES | _VERBS):
            yield Span(*match.span("value"), "password", 0.5)
    for match in _FROM_TO.finditer(text):
        if any(not letter.isalpha() for letter in match["old"] + match["new"]):
            yield from (Span(*match.span(part), "password", 0.55) for part in ("old", "new"))
    if re.search(r"\b(?:pin|code|passcode)\b", text, re.I):
        yield from (Span(*match.span("value"), "password", 0.5) for match in _MORE_PINS.finditer(text))
    if _CREDENTIALS.search(text):
        odd = (match for match in _MIXED.finditer(text) if not _FILE.search(match[0]))
        yield from (Span(*match.span(), "password", 0.45) for match in odd)


def _is_random(word: str) -> bool:
    """Whether a word is one that nobody says: capitals, small letters and digits mixed, or signs behind digits."""
    if len(word) < 6 or re.search(r"\.\w{1,5}$|@|://", word):
        return False
    kinds = sum(any(test(letter) for letter in word) for test in (str.isupper, str.islower, str.isdigit))
    switches = sum(a.islower() != b.islower() for a, b in pairwise(filter(str.isalpha, word)))
    signs = any(letter in "!$%^&*#+=?~" for letter in word[:-1].rstrip("?!"))
    return kinds == 3 or switches > 3 or (kinds > 1 and (signs or (word[-1] in "!*$#" and word[-2].isdigit())))


def _secret(match: re.Match[str], kind: str, *, sure: bool) -> Span | None:
    """The value of an announced secret; unless it is sure to be one it must look odd, as no word of a sentence does."""
    start = match.start("value")
    said = match["value"]
    if said[0] in "\"'“‘`" and len(said) > 2 and said[-1] in "\"'”’`":
        if kind in _NEEDS_DIGIT and sum(letter.isdigit() for letter in said) < 4:
            return None
        return Span(start + 1, start + len(said) - 1, kind, 0.9)
    said = said.rstrip(".,;:" if kind == "password" else ".,;:!?)\"'”’")
    digit = any(letter.isdigit() for letter in said)
    odd = digit or not said.replace("-", "").isalpha() or not (said.islower() or said.istitle() or said.isupper())
    sure = sure or kind in ("user_name", "password")
    if said.lower() in _NO_NAMES | _PARTICLES | _NAME_CUES | _NO_SECRETS or not said or said[0] in "<{":
        return None
    if not digit if kind in _NEEDS_DIGIT else not (sure or odd):
        return None
    return Span(start, start + len(said), kind, 0.8)


def _addresses(text: str) -> Iterator[Span]:
    """Runs of capitalised words and numbers in which a street stands, or a number after a word such as "address"."""
    for run in runs_of(text, _is_address_word, between=" ()-&/"):
        words = [text[a:b].lower().strip(".") for a, b in run]
        while run and (words[-1] in _PARTICLES or words[-1] in (",", "no")):
            run.pop(), words.pop()
        while run and (
            words[0] in _NO_NAMES
            or (words[0] in _PARTICLES and words[0] not in _STREET_FIRST and text[run[0][0]].islower())
            or words[0] == ","
        ):
            run.pop(0), words.pop(0)
        if (
            len(run) > 2
            and not before_word(text, run[0][0])
            and not words[0][0].isdigit()
            and not _is_street(words[:2])
        ):
            run.pop(0), words.pop(0)
        if not run or not any(word[0].isdigit() for word in words):
            continue
        street = _is_street(words)
        cue = _ADDRESS_CUES.search(text, max(0, run[0][0] - 25), run[0][0])
        numbers = sum(any(map(str.isdigit, word)) for word in words)
        listed = numbers > 1 and "," in words and len(words) > 4 and not any(w.isdigit() and len(w) > 6 for w in words)
        if (street and len(words) > 1) or listed or (cue and len(words) > 2):
            end = run[-1][1] - (text[run[-1][1] - 1] == ".")
            yield Span(run[0][0], end + len(_REGION.match(text, end)[0]), "address", 0.85)  # type: ignore[index]


def _is_street(words: Sequence[str]) -> bool:
    return any(
        word in (_STREET if n else ()) or (word in _STREET_FIRST and n < len(words) - 1) or STREET_STEMS.search(word)
        for n, word in enumerate(words)
    )


def _is_address_word(word: str) -> bool:
    plain = word.lower().strip(".")
    return (
        word == ","
        or word[0].isdigit()
        or word[0] == "#"
        or word[0].isupper()
        or plain in _PARTICLES | _UNIT | _STREET_FIRST
    )
