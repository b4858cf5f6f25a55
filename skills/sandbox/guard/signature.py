"""What the guard must know of the functions and records that generated code may use."""

from __future__ import annotations

import dataclasses
import inspect
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from types import BuiltinFunctionType, FunctionType, GeneratorType, MethodType
from typing import Any

from sdg.skills.sandbox.guard.helpers import METHODS

ANY, FLAT, NUMBER = 0, 1, 2
"""What a host function promises to return, and a record's field to hold: anything; a text, number, bool, None or short
tuple of these; a number or bool."""

_NUMBERS = frozenset({"int", "float", "bool"})
_FLAT = frozenset({"int", "float", "bool", "str", "None", "tuple", "..."})
_TAKEN = frozenset(
    name
    for kind in (str, int, float, list, dict, set, tuple, range, type, Exception, AttributeError, UnicodeDecodeError,
                 FunctionType, BuiltinFunctionType, GeneratorType, MethodType, Counter, defaultdict, deque)
    for name in dir(kind)
) - {"name"}  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Signature:
    """A function that generated code may call: how many arguments it takes, under which names, and what it returns."""

    name: str
    least: int = 0
    most: int = 0
    returns: int = ANY
    keywords: frozenset[str] = frozenset()
    weak: bool = False
    """Whether a definition of the source's own under this name wins; other names cannot be bound."""

    @classmethod
    def of(cls, name: str, function: Callable[..., object]) -> Signature:
        """The signature of a Python function, from its parameters and its return annotation."""
        parameters = list(inspect.signature(function).parameters.values())
        several = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        plain = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        least = sum(p.default is p.empty for p in plain)
        words = frozenset(p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))
        annotation = annotation_text(inspect.signature(function).return_annotation)
        return cls(
            name=name,
            least=least,
            most=1000 if several else len(plain),
            returns=kind_of(annotation),
            keywords=words,
        )


def signatures_of(functions: Mapping[str, Callable[..., object] | Signature]) -> dict[str, Signature]:
    """Signatures by name; functions are inspected, signatures taken as they are."""
    return {
        name: function if isinstance(function, Signature) else Signature.of(name, function)
        for name, function in functions.items()
    }


def annotation_text(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    if isinstance(annotation, str):
        return annotation.strip("'\"")
    return annotation.__name__ if isinstance(annotation, type) and "[" not in str(annotation) else str(annotation)


def kind_of(annotation: str) -> int:
    """The kind that an annotation promises."""
    if annotation in _NUMBERS:
        return NUMBER
    words = annotation.translate(str.maketrans("[],|", "    ")).split()
    flat = bool(words) and _FLAT.issuperset(words) and "[tuple" not in annotation.replace(" ", "")
    return FLAT if flat and annotation.count("[") == annotation.count("tuple[") else ANY


def fields_of(records: Iterable[type]) -> dict[str, int]:
    """Field name -> kind over all record types.

    Raises `ValueError` for a record that is not a frozen dataclass, and for a field that generated code could misuse:
    one that is not flat, or whose name is an attribute of a plain value (`format`, `gi_frame`, `mro`, ...).
    """
    kinds: dict[str, int] = {}
    for record in records:
        parameters = getattr(record, "__dataclass_params__", None)
        if parameters is None or not parameters.frozen:
            raise ValueError(f"{record.__name__} must be a frozen dataclass")
        if METHODS.intersection(dir(record)):
            raise ValueError(f"{record.__name__} has attributes named like methods of plain values")
        for field in dataclasses.fields(record):
            kind = kind_of(annotation_text(field.type))
            if field.name.startswith("_") or field.name in _TAKEN or not field.name.isascii():
                raise ValueError(f"field {record.__name__}.{field.name}: the name is not safe as an allowed attribute")
            if kind == ANY:
                raise ValueError(f"field {record.__name__}.{field.name}: {field.type} is not a flat, immutable type")
            kinds[field.name] = min(kind, kinds.get(field.name, kind))
    return kinds
