"""What workers may give back is named by where it is, and whatever a listed class holds is listed, too."""

from __future__ import annotations

import importlib
import typing
from collections.abc import Iterator
from dataclasses import is_dataclass

import pytest

from sdg.experiments.workers.workers import ERRORS, RESULTS
from sdg.sandbox.process.values import class_name


def class_named(name: str) -> type:
    module, _, attribute = name.partition(":")
    kind = getattr(importlib.import_module(module), attribute)
    assert isinstance(kind, type)
    return kind


def dataclasses_in(hint: object) -> Iterator[type]:
    """The dataclasses that a type hint speaks of."""
    if isinstance(hint, type) and is_dataclass(hint):
        yield hint
    for argument in typing.get_args(hint):
        yield from dataclasses_in(argument)


@pytest.mark.parametrize("name", sorted(RESULTS | ERRORS))
def test_every_result_is_where_its_name_says(name: str) -> None:
    assert class_name(class_named(name)) == name


@pytest.mark.parametrize("name", sorted(name for name in RESULTS if is_dataclass(class_named(name))))
def test_what_a_result_holds_may_travel_as_well(name: str) -> None:
    kind = class_named(name)
    hints = typing.get_type_hints(kind).values()
    inner = {class_name(inner_kind) for hint in hints for inner_kind in dataclasses_in(hint)}
    assert inner <= RESULTS, f"{sorted(inner - RESULTS)} would end each job that gives back a {name}: list it"
