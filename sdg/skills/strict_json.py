"""Values to JSON and back, trusting nothing: frozen dataclasses by their annotations, without guesses."""

import json
import math
from collections.abc import Mapping
from functools import cache
from itertools import chain
from typing import Any, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")
_adapter = cache(TypeAdapter)
MAX_DEPTH = 100
"""Deepest nesting of JSON from files: written with indents, a file of 40 kB could take 400 MB and half a minute."""


def canonical(value: Mapping[str, Any]) -> bytes:
    """JSON in its one form: sorted keys, two spaces, a final newline. Raises ValueError for what JSON can't express."""
    try:
        return (json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n").encode()
    except (TypeError, RecursionError) as error:
        raise ValueError(f"not plain JSON: {error}") from error


def loads(data: bytes | str) -> Any:
    """The value of JSON. Raises ValueError for anything else and for deep nesting; NaN and 1e999 aren't JSON."""
    try:
        return require_shallow(json.loads(data, parse_constant=_finite, parse_float=_finite))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def require_shallow(value: Any) -> Any:
    """The value. Raises ValueError where it is nested deeper than MAX_DEPTH."""
    level = [value]
    for _ in range(MAX_DEPTH):
        parts = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [*chain.from_iterable(parts)]
    if level:
        raise ValueError("nested too deeply")
    return value


def validate(kind: type[T], value: object, *, extra: Literal["forbid", "ignore"] = "forbid") -> T:
    """`value` (plain JSON) as an instance of the dataclass `kind`: no type is converted, no field missing or `extra`.

    Raises pydantic's ValidationError, which lists every fault with its place, and ValueError for what isn't JSON.
    """
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False).encode(errors="replace")
    except (TypeError, RecursionError) as error:
        raise ValueError(f"not plain JSON: {error}") from error
    adapter: TypeAdapter[T] = _adapter(kind)  # type: ignore[arg-type]  # a class is hashable
    return adapter.validate_json(text, strict=True, extra=extra)


def decode(kind: type[T], value: object, *, place: str = "value", extra: Literal["forbid", "ignore"] = "forbid") -> T:
    """`validate`, but it raises ValueError in one line with the place of the first fault."""
    try:
        return validate(kind, value, extra=extra)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join((place, *map(str, first["loc"])))
        raise ValueError(f"{where:.200}: {first['msg'].removeprefix('Value error, ')}") from None


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text:.40} isn't JSON")
    return number
