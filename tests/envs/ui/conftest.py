"""An empty page in a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sdg.envs.ui.access import Access
from sdg.experiments.play.pages import open_page


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    with open_page(Access("about:blank")) as page:
        yield page
