"""What of a check held when its subgoal was reached."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings, strategies as st

from sdg.skills.checks.alternatives import reached_by
from sdg.skills.subgoal import CheckFunction


def check(*lines: str) -> CheckFunction:
    return CheckFunction("check", "\n    ".join(["def check():", *lines]))


def truth(asked: CheckFunction, **facts: object) -> bool:
    space = {**facts, "any": any}
    exec(asked.source, space)
    return bool(space["check"]())  # type: ignore[operator]


def cut(asked: CheckFunction, **facts: object) -> str:
    return reached_by(asked, lambda part: truth(part, **facts)).source.partition("\n")[2]


def test_a_way_out_that_did_not_hold_is_left_out() -> None:
    escape = check("if known:", "    return True", "here = room", "return here not in visited")
    remaining = cut(escape, known=[], room=2, visited=(0, 1))
    assert "known" not in remaining
    assert "return here not in visited" in remaining
    assert "return False" in cut(escape, known=["door"], room=1, visited=(0, 1))
    assert reached_by(escape, lambda part: truth(part, known=["door"], room=2, visited=())) is escape, "both held"


@pytest.mark.parametrize(
    ("facts", "remaining"),
    [
        ({"held": False, "near": True, "facing": True}, "return near and facing"),
        ({"held": True, "near": False, "facing": True}, "return held"),
        ({"held": True, "near": True, "facing": True}, "return held or (near and facing)"),
    ],
)
def test_operands_that_did_not_hold_are_left_out(facts: dict[str, bool], remaining: str) -> None:
    assert cut(check("return held or (near and facing)"), **facts).strip() == remaining


def test_an_or_in_any_and_within_another() -> None:
    asked = check("return any((a or (b and (c or d)) for a, b, c, d in rows if a or c))")
    assert cut(asked, rows=[(False, True, True, False)]).strip() == "return any((b and c for a, b, c, d in rows if c))"


def test_ways_in_loops_and_branches() -> None:
    asked = check(
        "for a, b in rows:",
        "    if a > 1:",
        "        return True",
        "    if b:",
        "        if a or b:",
        "            return True",
        "    else:",
        "        return a",
        "return False",
    )
    remaining = cut(asked, rows=[(0, True)])
    assert "a > 1" not in remaining
    assert "if b:\n                return True" in remaining


def test_what_has_one_way_or_does_not_fire_or_parse_stays() -> None:
    single = check("return facing")
    assert reached_by(single, lambda part: pytest.fail("nothing has to be asked")) is single
    either = check("return facing or held")
    assert reached_by(either, lambda part: False) is either
    broken = CheckFunction("check", "def check(:")
    assert reached_by(broken, lambda part: True) is broken
    other = CheckFunction("check", "def other():\n    return a or b")
    assert reached_by(other, lambda part: True) is other
    refusing = check("if not free:", "    return False", "return near")
    assert cut(refusing, free=True, near=True) == refusing.source.partition("\n")[2]


EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "b", "c", "not a", "not (b or c)"]),
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(["or", "and"]), inner),
    max_leaves=6,
)


@settings(deadline=None)
@given(st.lists(EXPRESSIONS, max_size=3), EXPRESSIONS, st.tuples(*[st.booleans()] * 3))
def test_what_is_left_fires_then_and_never_where_the_check_would_not(
    tests: list[str], last: str, moment: tuple[bool, bool, bool]
) -> None:
    lines = [line for test in tests for line in (f"if {test}:", "    return True")]
    asked, then = check(*lines, f"return {last}"), dict(zip("abc", moment, strict=True))
    remaining = reached_by(asked, lambda part: truth(part, **then))
    assert truth(remaining, **then) == truth(asked, **then)
    for values in product((False, True), repeat=3):
        facts = dict(zip("abc", values, strict=True))
        assert not truth(remaining, **facts) or truth(asked, **facts)
