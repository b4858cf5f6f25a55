"""Values to JSON and back without believing anything: frozen dataclasses by their annotations, nothing guessed."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


def canonical(value: Mapping[str, Any]) -> bytes:
    """JSON in its one form: sorted keys, two spaces, a final newline. Raises ValueError for what JSON can't say."""
    try:
        return (json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n").encode()
    except (TypeError, RecursionError) as error:
        raise ValueError(f"not plain JSON: {error}") from error


def loads(data: bytes | str) -> Any:
    """What the JSON says. Raises ValueError for anything else, however it is nested; NaN and Infinity aren't JSON."""
    try:
        return json.loads(data, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def decode(kind: type[T], value: object, *, place: str = "value") -> T:
    """`value` (from `loads`) as an instance of the dataclass `kind`, its fields as annotated.

    Knows str, int, float, bool, X | None, tuples, dict[str, ...], dataclasses and Any. Raises ValueError that names the
    place for missing, unknown or wrong fields, and for what the dataclass itself refuses.
    """
    decoded: T = _decode(kind, value, place)
    return decoded


def _decode(kind: Any, value: object, place: str) -> Any:
    if kind is Any:
        return value
    if dataclasses.is_dataclass(kind):
        return _decode_fields(kind, value, place)
    if isinstance(kind, UnionType):
        return None if value is None else _decode(next(k for k in get_args(kind) if k is not type(None)), value, place)
    if get_origin(kind) is tuple:
        return _decode_tuple(get_args(kind), value, place)
    if get_origin(kind) is dict:
        inner = get_args(kind)[1]
        return {key: _decode(inner, v, f"{place}.{key[:80]}") for key, v in _instance(dict, value, place).items()}
    if kind is float:
        return _finite(value, place)
    return _instance(kind, value, place)


def _decode_fields(kind: Any, value: object, place: str) -> Any:
    given, hints = _instance(dict, value, place), _hints(kind)
    wanted = {field.name for field in dataclasses.fields(kind)}
    needed = {f.name for f in dataclasses.fields(kind) if f.default is f.default_factory is dataclasses.MISSING}
    if not needed <= set(given) <= wanted:
        missing, unknown = sorted(needed - set(given)), sorted(set(given) - wanted)
        raise ValueError(f"{place} lacks {missing} and has unknown {str(unknown)[:200]}")
    try:
        return kind(**{name: _decode(hints[name], v, f"{place}.{name}") for name, v in given.items()})
    except TypeError as error:
        raise ValueError(f"{place}: {error}") from error


def _decode_tuple(kinds: tuple[Any, ...], value: object, place: str) -> tuple[Any, ...]:
    items = _instance(list, value, place)
    if kinds[-1] is Ellipsis:
        kinds = (kinds[0],) * len(items)
    if len(items) != len(kinds):
        raise ValueError(f"{place} has {len(items)} values, not {len(kinds)}")
    return tuple(_decode(kind, v, f"{place}[{n}]") for n, (kind, v) in enumerate(zip(kinds, items, strict=True)))


def _instance(kind: type[T], value: object, place: str) -> T:
    if type(value) is not kind:  # not isinstance: True is no number here
        raise ValueError(f"{place} is {type(value).__name__}, not {kind.__name__}")
    return value


def _finite(value: object, place: str) -> float:
    try:
        if type(value) in (int, float) and math.isfinite(value):  # type: ignore[arg-type]
            return float(value)  # type: ignore[arg-type]
    except OverflowError:  # an integer of hundreds of digits
        pass
    raise ValueError(f"{place} is no finite number")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} isn't JSON")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
