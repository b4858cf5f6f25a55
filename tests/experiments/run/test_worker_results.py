"""What workers may give back is named by where it is: a class that moves takes its name along."""

from __future__ import annotations

import importlib

import pytest

from sdg.experiments.run.workers import ERRORS, RESULTS


@pytest.mark.parametrize("name", sorted(RESULTS | ERRORS))
def test_every_result_is_where_its_name_says(name: str) -> None:
    module, _, attribute = name.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    assert isinstance(found, type)
    assert f"{found.__module__}:{found.__qualname__}" == name
