"""Texts made of values: f-strings, `text.format(...)` and `text % values`, with bounded widths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sdg.skills.sandbox.guard.meter import NUMBERS, SCALARS, Meter, fit

LONG_FORMAT = "only short number formats such as {x:.2f} are allowed in f-strings"
_SPEC_CHARACTERS = frozenset("<>^=+- #,_.0123456789bdeEfFgGosxX%")
_CONVERSIONS: dict[int, Callable[[Any], str]] = {-1: str, ord("s"): str, ord("r"): repr, ord("a"): ascii}


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
        if not spec or conversion != -1 or type(value) not in NUMBERS:
            if spec and conversion == -1 and type(value) is not str:
                raise TypeError(f"a {type(value).__name__} takes no width or format: write str(value) first")
            value = self._meter.text(value, _CONVERSIONS[conversion])
        if not is_short_format(spec):
            raise ValueError(LONG_FORMAT)
        self._meter.tick(96 if type(value) is float else 8 + self._meter.weigh(value, shown=True) if spec else 0)
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
        """`template % values` with short formats, each for one value."""
        for place in template.replace("%%", "").split("%")[1:]:
            spec = place[: next((end for end, sign in enumerate(place[:8]) if sign.isalpha()), 8)]
            if not is_short_format(spec):
                raise ValueError(LONG_FORMAT)
        given = values if type(values) is tuple else (values,)
        self._meter.weigh(given, shown=True)
        self._meter.tick((len(template) >> 2) + 96 * len(given))
        out = template % tuple(each if type(each) in SCALARS else _Shown(self._meter.text(each)) for each in given)
        fit(len(out), "characters")
        return out


class _Shown(str):
    """A text that is its own repr, for `%r`."""

    __slots__ = ()
    __repr__ = str.__str__


def is_short_format(spec: str) -> bool:
    """A width and a precision of two digits at most; a character to fill with may stand first."""
    body = spec[1:] if spec[1:2] in tuple("<>^=") else spec
    digits = "".join(sign if sign.isdecimal() else " " for sign in body).split()
    return _SPEC_CHARACTERS.issuperset(body) and all(len(run) <= 2 for run in digits)
