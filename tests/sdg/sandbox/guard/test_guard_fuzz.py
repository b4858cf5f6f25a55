"""Short forms of the fuzz commands: mutants of the corpus find no way past the guard."""

from __future__ import annotations

import json
import random
from pathlib import Path

from tests.adversarial.mutants import fuzz_mutants, mutant, splice

DATA = Path(__file__).parents[3] / "data"
SNIPPETS = json.loads((DATA / "hostile-own.json").read_text(encoding="utf-8"))
WORLD = json.loads((DATA / "hostile-world.json").read_text(encoding="utf-8"))


def test_mutants_violate_nothing() -> None:
    outcomes, violations = fuzz_mutants(SNIPPETS, WORLD, count=1000, seed=7)
    assert violations == []
    assert sum(outcomes.values()) == 1000
    assert min(outcomes["ok"], outcomes["error"], outcomes["timeout"]) > 10, "mutants must get past the syntax"


def test_mutants_are_the_same_for_a_seed() -> None:
    assert mutant(SNIPPETS, 5, seed=1) == mutant(SNIPPETS, 5, seed=1) != mutant(SNIPPETS, 6, seed=1)


def test_splicing_leaves_what_does_not_parse() -> None:
    assert splice("def check(:", "x = 1", random.Random(0)) == "def check(:"
