"""Values that only their context reveals: secrets after the words that announce them, addresses, dates of birth.

Everything here was made from the development set of `sdg bench gate --world text` and from sets measured earlier.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from sdg.privacy.addresses import addresses
from sdg.privacy.recognisers import Span
from sdg.privacy.words import LISTS

_PARTICLES, _NAME_CUES, _NO_NAMES, _NO_SECRETS, _VERBS = (
    LISTS[name] for name in ("particles", "name_cues", "no_names", "no_secrets", "verbs")
)
_NO_PASSPHRASE = _NO_SECRETS | _NO_NAMES | _PARTICLES | _VERBS

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
"""The words that announce a secret, by its kind."""

_NEEDS_DIGIT = {"id_number", "account_number"}
_PUT = (
    r"\b(?:type|enter|put|input|fill(?:\s+in)?|use|set|paste|write|give|insert|provide|submit"
    r"|with|key\s+in|choose|add|and|then|using)\s+"
)
_INTO = r"\s+(?:in|into|as|for|to|at|on|inside)\s+(?:(?!and\b|then\b)[\w'-]{1,20}\s+){0,4}?"


_PATTERNS = {
    kind: tuple(
        re.compile(form, re.IGNORECASE)
        for form in (
            rf"\b(?:{words})\b,?\s+(?:field\s+|area\s+)?{_VALUE}",
            rf"\b(?:{words})\b{_BETWEEN}{_MARK}{_VALUE}",
            rf"{_PUT}{_VALUE}{_INTO}(?:{words})\b",
        )
    )
    for kind, words in SECRETS.items()
}
"""The value right after the announcing word; after a mark; or before the word: "type ... into the password field"."""
_CREDENTIALS = re.compile(
    r"\b(?:pass(?:word|wd|phrase|code)s?|pwd|log(?:ged)?[ -]?(?:in|on)|sign(?:ed)?(?:\s+\w+)?[ -]?(?:in|on)"
    r"|credentials?|ssh|pw|wi-?fi|user\s?-?names?"
    r"|token|account|admin|portal|api)\b",
    re.I,
)
"""If a text mentions signing in, a word of letters and digits is likely to be part of that."""
_FILE = re.compile(
    r"\.[a-z]{1,5}\d?$|^v?\d+(?:\.\d+)+$|^www\.|\.(?:com|org|net|io|de|uk|fr)\b|^\w+-\d+(?:\.\d+)+$", re.I
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


class Rule(NamedTuple):
    """A pattern and the kind of value in each of its groups ("" for the whole match), with the score of its finds.

    With a score of None the value must look like an announced secret. Matches that fail `test` are dropped, without a
    match of `given` the text isn't searched, `quoted` values may be in quotation marks.
    """

    pattern: re.Pattern[str]
    kinds: Mapping[str, str]
    score: float | None
    test: Callable[[re.Match[str]], bool] = bool
    given: re.Pattern[str] = re.compile("")
    quoted: bool = False

    def spans(self, text: str) -> Iterator[Span | None]:
        """The values that it finds in a text; None for one that doesn't look like a secret."""
        for match in filter(self.test, self.pattern.finditer(text) if self.given.search(text) else ()):
            for group, kind in self.kinds.items():
                start, end = match.span(group or 0)
                quoted = self.quoted and text[start] in "\"'“‘`"
                if start >= 0 and self.score is not None:
                    yield Span(start + quoted, end - quoted, kind, self.score)
                elif start >= 0:
                    yield _secret(match, kind, sure=True)


RULES = (
    Rule(
        re.compile(
            r"\b(?:(?:un)?lock|pin|code|keypad|garage|gate|safe|lockbox|locker|alarm|passcode|cvv|cvc|otp|digits)\b[^\d\n.;]{0,30}(?P<value>\d{3,8})(?![\w/-])",
            re.IGNORECASE,
        ),
        {"value": "password"},
        0.55,
    ),
    Rule(
        re.compile(
            rf"(?P<value>{_DATE.pattern})\s+(?:as|for|in|into|is)\s+(?:\w+\s+){{0,2}}?(?:birth|date\s+of\s+birth|dob|born)",
            re.I,
        ),
        {"value": "date_of_birth"},
        0.8,
    ),
    Rule(
        re.compile(
            r"\b(?:cred(?:ential)?s?|log-?ins?|accounts?|user)\b[^.\n]{0,40}?(?P<user>\S+)\s/\s(?P<value>[^\s,;]*[^\s,;.])",
            re.IGNORECASE,
        ),
        {"user": "user_name", "value": "password"},
        0.7,
    ),
    Rule(
        re.compile(
            rf"\b(?:log|sign)\S*\s+(?:\w+\s+)?(?:in|on)\b[^.\n]{{0,60}}?\b(?:as|user)\s+\S+\s+(?:with|and|using)\s+{_VALUE}",
            re.IGNORECASE,
        ),
        {"value": "password"},
        None,
    ),
    Rule(
        re.compile(r"(?<!\S)[^\s\"'()]{6,60}?(?=[.,;:)\"']*(?:\s|$))"),
        {"": "password"},
        0.35,
        test=lambda match: _is_random(match[0]),
    ),
    Rule(
        re.compile(
            rf"\b(?:log|sign)(?:ged|ed)?[ -]?(?:in|on)(?:\s+\w+){{0,4}}?\s+(?:as|with|user)\s+(?:user\s+)?{_VALUE}",
            re.I,
        ),
        {"value": "user_name"},
        None,
    ),
    Rule(
        re.compile(r"(?<![\w.@])@(?P<value>[A-Za-z]\w{2,30}(?:\.\w{1,20})?)"), {"value": "user_name"}, 0.55, quoted=True
    ),
    Rule(
        re.compile(
            r"\b(?:block|unblock|follow|unfollow|dm|message|mute|report|add|invite|user)\s+(?P<value>[a-z]\w*[._]\w+|[a-z]+\d\w*)(?![\w@/])",
            re.I,
        ),
        {"value": "user_name"},
        0.55,
        quoted=True,
    ),
    Rule(
        re.compile(
            rf"(?P<value>{_QUOTED})\s+(?:for|as|on)\s+(?:the\s+|my\s+|our\s+)?(?:wi-?fi|network|router|password)\b",
            re.I,
        ),
        {"value": "password"},
        0.55,
        quoted=True,
    ),
    Rule(
        re.compile(rf"\bkey\s+(?:is|was|to|=|:)\s*(?P<value>{_QUOTED})", re.I), {"value": "password"}, 0.55, quoted=True
    ),
    Rule(
        re.compile(r"@[\w.-]+\.[a-z]{2,8}\s*(?:/|,|and|with|:)\s+(?P<value>[^\s,;]*\d[^\s,;]*[^\s,;.])", re.I),
        {"value": "password"},
        0.55,
        quoted=True,
    ),
    Rule(
        re.compile(
            r"\b(?i:plate|licen[cs]e|registration|reg|permit|parking|car|vehicle|van)\b[^.;\n]{0,40}?(?<![\w-])"
            r"(?P<value>(?=[A-Z0-9 -]*\d)(?=[A-Z0-9 -]*[A-Z])[A-Z0-9]{1,5}(?:[ -][A-Z0-9]{1,5}){0,3}|"
            r"(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{5,8})(?![\w-])"
        ),
        {"value": "id_number"},
        0.55,
        quoted=True,
    ),
    Rule(
        re.compile(r"\b(?i:passport)(?i:\s+(?:number|no\.?))?:?\s+(?P<value>[A-Z]{1,3} ?\d{5,9})\b"),
        {"value": "id_number"},
        0.55,
        quoted=True,
    ),
    Rule(
        re.compile(
            r"\b(?i:record|passport|patient|policy|member|claim|reference|licen[cs]e|employee|student|insurance)\s+(?i:number|no\.?|id|#)"
            r"\s*(?i:is|put|enter|as|=|:)?\s+(?P<value>(?=\S*\d)[A-Z0-9][\w/-]{4,30})"
        ),
        {"value": "id_number"},
        0.55,
        quoted=True,
    ),
    Rule(
        re.compile(
            r"\b(?i:social\s+security|national\s+(?:id|insurance)|ssn|nino?|tax|nhs|passport|insurance|member|patient"
            r"|medical|policy|id)\b"
            r"(?i:\s*no\.)?[^\d.;\n]{0,30}?(?<!\w)"
            r"(?P<value>(?=[A-Z0-9 -]{0,12}\d)[A-Z0-9]{1,4}(?:[ -][A-Z0-9]{1,4}){2,6})(?!\w)"
        ),
        {"value": "id_number"},
        0.55,
        quoted=True,
    ),
    # What looks like a name that somebody chose: the_blue_fox, anna92.
    Rule(
        re.compile(
            r"(?<![\w@./:=-])(?:[a-z]{2,20}(?:_[a-z0-9]{2,20}){1,3}|[a-z]{3,20}_?\d{2,4}|x[a-z]{3,15}x\d*)(?![\w@./:=-])"
        ),
        {"": "user_name"},
        0.4,
    ),
    Rule(
        re.compile(
            r"\b\d{1,5} (?:[a-z]{3,15} ){1,2}(?:st|street|ave|avenue|rd|road|blvd|dr|drive|ln|lane"
            r"|ct|court|way|pl|place|close)\b"
            r"(?:,? (?:apt|unit|flat|#) ?\w{1,4})?(?:, [a-z]{3,15}(?: [a-z]{4,12})?(?=[,.]| and\b|$))?"
        ),
        {"": "address"},
        0.8,
    ),
    Rule(
        re.compile(
            r"\baccount\s+(?:called|named)\s+(?P<value>[a-z][\w.]{2,30}\w)"
            r"|\badd\s+(?P<other>[a-z][\w.]{2,30}\w)\s+as\s+an?\s+\w",
            re.I,
        ),
        {"value": "user_name", "other": "user_name"},
        0.5,
    ),
    Rule(
        re.compile(r"(?P<user>[^\s\"']{4,40})\s/\s(?P<value>[^\s,;]{5,40}[^\s,;.])"),
        {"user": "password", "value": "password"},
        0.5,
        given=_CREDENTIALS,
        test=lambda match: not match["value"].isalpha(),
    ),
    Rule(
        re.compile(r"\b(?:pass(?:word|phrase|code)|pwd?)\s+(?P<value>[a-z]{3,}(?: [a-z]{3,}){1,4})(?=[.,;]|$)", re.I),
        {"value": "password"},
        0.5,
        test=lambda match: _NO_PASSPHRASE.isdisjoint(match["value"].lower().split()),
    ),
    Rule(
        re.compile(
            r"\b(?:pass(?:word|phrase|code)|pwd|pin|code)\b[^.\n]{0,30}?\bfrom\s+(?P<old>\S{3,40}(?:\s(?!to\b)\S{2,20}){0,4}?)\s+to\s+(?P<new>\S{3,60}?)(?=[.,;]?(?:\s|$))",
            re.I,
        ),
        {"old": "password", "new": "password"},
        0.55,
        test=lambda match: not (match["old"] + match["new"]).isalpha(),
    ),
    Rule(
        re.compile(r"\b(?:or|and|work|works|then|else|try|not)\s+(?P<value>\d{4,6})(?![\w/-])", re.I),
        {"value": "password"},
        0.5,
        given=re.compile(r"\b(?:pin|code|passcode)\b", re.I),
    ),
    Rule(
        re.compile(
            r"(?<![\w@./:#-])(?![\d.,:]+(?:am|pm|st|nd|rd|th|mb|gb|kg|km|px|min|h)?\b)(?=[\w.!$%^&*+-]{0,40}?[A-Za-z])"
            r"(?=[\w.!$%^&*+-]{0,40}?(?:\d|[a-z][._][a-z]))[\w.!$%^&*+-]{6,60}(?<![.,])",
        ),
        {"": "password"},
        0.45,
        given=_CREDENTIALS,
        test=lambda match: not _FILE.search(match[0]),
    ),
    Rule(
        re.compile(
            r"\b\d{8,10}:[\w-]{30,}|\b(?:sk|pk|rk|SG|npm|github_pat|hf|ya29|ghp|gho|ghs|glpat|xox[abps]|AKIA|AIza|eyJ)[-_A-Za-z0-9.]{10,}"
            r"|\b(?=[A-Za-z0-9_-]{0,60}\d)(?=[A-Za-z0-9_-]{0,60}[A-Za-z])[A-Za-z0-9_-]{20,}"
        ),
        {"": "api_key"},
        0.6,
    ),
    Rule(
        re.compile(r"(?<![\w.])(?:\+|00)\d[\d ().-]{6,18}\d(?!\w)|\(\d{2,5}\) ?\d{2,4}[ -]?\d{3,5}(?!\w)"),
        {"": "phone_number"},
        0.6,
    ),
    Rule(
        re.compile(
            r"\b(?:call|dial|text|sms|phone|mobile|cell|tel|telephone|number|fax|whatsapp)\b[^\d\n.;]{0,30}"
            r"(?P<value>\+?\(?\d[\d ().-]{4,18}\d)(?!\w)",
            re.IGNORECASE,
        ),
        {"value": "phone_number"},
        0.5,
    ),
    # Long numbers and passport numbers: no shopping list has them.
    Rule(
        re.compile(r"(?<![\w.])(?:\d[ -]?){6,18}\d(?!\w)|\b\d{3}-\d{2}-\d{4}\b|\b[A-Z]{1,5}-?\d{5,12}[A-Z]?\b"),
        {"": "id_number"},
        0.4,
    ),
)
"""In the order of application: the last rule that finds a word decides its kind."""


def context(text: str) -> Iterable[Span]:
    """Secrets, long numbers, dates of birth and addresses."""
    for kind, (direct, marked, before) in _PATTERNS.items():
        by_start = {match.start(): _secret(match, kind, sure=False) for match in direct.finditer(text)}
        for match in marked.finditer(text):
            by_start[match.start()] = by_start.get(match.start()) or _secret(match, kind, sure=True)
        yield from filter(None, [*by_start.values(), *(_secret(m, kind, sure=False) for m in before.finditer(text))])
    yield from filter(None, (span for rule in RULES for span in rule.spans(text)))
    for cue in _BIRTH.finditer(text):
        date = _DATE.match(text, cue.end()) or _DATE.search(text, cue.end(), cue.end() + 40)
        if date:
            yield Span(*date.span(), "date_of_birth", 0.8)
    yield from addresses(text)


def _is_random(word: str) -> bool:
    """Whether a word looks random: capitals, small letters and digits mixed, or signs behind digits."""
    if len(word) < 6 or re.search(r"\.\w{1,5}$|@|://", word):
        return False
    kinds = sum(any(test(letter) for letter in word) for test in (str.isupper, str.islower, str.isdigit))
    switches = sum(a.islower() != b.islower() for a, b in pairwise(filter(str.isalpha, word)))
    signs = any(letter in "!$%^&*#+=?~" for letter in word[:-1].rstrip("?!"))
    return kinds == 3 or switches > 3 or (kinds > 1 and (signs or (word[-1] in "!*$#" and word[-2].isdigit())))


def _secret(match: re.Match[str], kind: str, *, sure: bool) -> Span | None:
    """The value of an announced secret; unless it is `sure`, it must look unlike any ordinary word."""
    start = match.start("value")
    value = match["value"]
    if value[0] in "\"'“‘`" and len(value) > 2 and value[-1] in "\"'”’`":
        if kind in _NEEDS_DIGIT and sum(letter.isdigit() for letter in value) < 4:
            return None
        return Span(start + 1, start + len(value) - 1, kind, 0.9)
    value = value.rstrip(".,;:" if kind == "password" else ".,;:!?)\"'”’")
    if value.lower() in _NO_NAMES | _PARTICLES | _NAME_CUES | _NO_SECRETS or not value or value[0] in "<{":
        return None
    has_digit = any(letter.isdigit() for letter in value)
    has_word_case = value.islower() or value.istitle() or value.isupper()
    is_odd = has_digit or not value.replace("-", "").isalpha() or not has_word_case
    is_secret = has_digit if kind in _NEEDS_DIGIT else sure or is_odd or kind in ("user_name", "password")
    return Span(start, start + len(value), kind, 0.8) if is_secret else None
