"""Texts made of values: f-strings, `text.format(...)` and `text % values`, with bounded widths."""

from __future__ import annotations

from typing import Any

from sdg.skills.sandbox.guard.meter import MAX_BITS, NUMBERS, Meter, fit

LONG_FORMAT = "only short number formats such as {x:.2f} are allowed in f-strings"
_SPEC_CHARACTERS = frozenset("<>^=+- #,_.0123456789bdeEfFgGosxX%")


class Formats:
    """Formatting for one piece of generated code."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def joined(self, *parts: str) -> str:
        """The pieces of an f-string as one text."""
        size = sum(map(len, parts))
        fit(size, "characters")
        self._meter.tick(2 + (size >> 4))
        return "".join(parts)

    def shown(self, value: Any, conversion: int = -1, spec: str = "") -> str:
        """One value of an f-string; `conversion` is the character after `!`, -1 for none."""
        if conversion in (ord("r"), ord("a")):
            value = self._meter.repr(value)
            value = ascii(value)[1:-1] if conversion == ord("a") and not value.isascii() else value
        elif not spec or conversion != -1 or type(value) is str:
            value = self._meter.text(value)
        if not spec:
            return str(value)
        if type(value) is not str and type(value) not in NUMBERS:
            raise TypeError(f"a {type(value).__name__} takes no width or format: write str(value) first")
        if not is_short_format(spec):
            raise ValueError(LONG_FORMAT)
        if type(value) is int and value.bit_length() > MAX_BITS:
            raise ValueError("the number is too large to be written")
        self._meter.tick(96 if type(value) is float else 8 + (value.bit_length() >> 2) if type(value) is int else 8)
        return format(value, spec)

    def format(self, template: str, *values: Any, **named: Any) -> str:
        """`template.format(...)` with `{}`, `{0}`, `{name}` and a short format after a colon."""
        pieces, numbers, rest = [], iter(range(len(values))), template.replace("{{", "\0").replace("}}", "\1")
        self._meter.tick(len(template) >> 2)
        while "{" in rest:
            before, _, rest = rest.partition("{")
            field, closed, rest = rest.partition("}")
            name, _, spec = field.partition(":")
            if not closed or not (name == "" or name.isdecimal() or name in named) or len(name) > 40:
                raise ValueError("format takes {}, {0} or {name} only: use an f-string, such as f'{name} {number}'")
            value = named[name] if name in named else values[int(name) if name else next(numbers, len(values))]
            pieces += [before, self.shown(value, spec=spec)]
        return self.joined(*pieces, rest).replace("\0", "{").replace("\1", "}")

    def percent(self, template: str, values: Any) -> str:
        """`template % values` with %s, %r, %d and %.2f."""
        given = list(values) if type(values) is tuple else [values]
        pieces, rest = [], template.replace("%%", "\0")
        self._meter.tick(len(template) >> 2)
        while "%" in rest:
            before, _, rest = rest.partition("%")
            end = next((place for place, sign in enumerate(rest[:8]) if sign.isalpha()), 8)
            spec, kind, rest = rest[:end], rest[end : end + 1], rest[end + 1 :]
            if not given or kind not in tuple("srdifgex"):
                raise TypeError("% in a text takes as many %s, %d or %.2f as values: use an f-string")
            value = given.pop(0)
            if kind in "di" and type(value) in NUMBERS:
                value, kind = int(value), "d"
            elif kind in "sr":
                value, spec, kind = self.shown(value, ord(kind)), spec and f">{spec}".replace(">-", "<"), ""
            pieces += [before, self.shown(value, spec=spec + kind)]
        if given:
            raise TypeError("not all values were converted: give one for each %s")
        return self.joined(*pieces, rest).replace("\0", "%")


def is_short_format(spec: str) -> bool:
    """A width and a precision of two digits at most; a character to fill with may stand first."""
    body = spec[1:] if spec[1:2] in tuple("<>^=") else spec
    digits = "".join(sign if sign.isdecimal() else " " for sign in body).split()
    return _SPEC_CHARACTERS.issuperset(body) and all(len(run) <= 2 for run in digits)
