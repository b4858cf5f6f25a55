"""What a composed skill may be: read out of a reply, judged by rules and by the guard, linked behind a program."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from sdg.composition.distil import Author, SolvedEpisode, kind_of, pick_varied, recurrences
from sdg.composition.rules import admit
from sdg.deduction.composed import SIGNATURES
from sdg.deduction.program import ENTRY, program_guard
from sdg.envs.domains import domain
from sdg.llm.fakes import FakeModel
from sdg.sandbox.guard import Refused
from sdg.skills.library.composed import BEGIN, REQUIRE, RESULT, linked_source, reached_globals, rename_definition
from tests.shared.scripted_skills import scripted_skills

WORLD = domain()
SCRIPTED = scripted_skills()
GOOD = '''
from collections import deque


def nearest(thing):
    found = deque(find_objects(thing))
    return found.popleft() if found else None


def fetch(thing: thing) -> bool:
    """Brings a thing into the hand. Needs: an empty hand. After: the thing is carried."""
    for turn in range(3):
        if go_next_to(thing) and pick(thing):
            return True
    return False


def check_fetch(thing):
    held = get_carried()
    near = nearest(thing)
    return held is not None and near is not None and near.id == held.id


def bring(thing: thing, place: "thing"):
    """Carries a thing next to a place. Needs: both seen. After: the thing lies beside the place."""
    return fetch(thing) and go_next_to(place)


def check_bring(thing, place):
    return any(each.facing for each in find_objects(place))
'''


def load(source: str) -> object:
    functions = {**WORLD.perceivable.functions, **SIGNATURES}
    guard = program_guard(SCRIPTED, WORLD, functions, budget=1, source_bytes=2**18)
    return guard.load(source, entry=ENTRY)


def admit_source(source: str):  # type: ignore[no-untyped-def]
    return admit(f"```python\n{source}\n```", learned=list(SCRIPTED), domain=WORLD, load=load)


def test_skills_are_read_with_what_they_take_need_and_leave() -> None:
    fetch, bring = admit_source(GOOD).skills
    assert fetch.parameters == ("thing",)
    assert bring.parameters == ("thing", "place: thing")
    assert (fetch.does, fetch.needs, fetch.after) == (
        "Brings a thing into the hand.",
        "an empty hand.",
        "the thing is carried.",
    )
    assert fetch.calls == ("go_next_to", "pick")
    assert bring.uses == ("fetch",)


def test_what_a_program_names_is_linked_behind_it_with_what_that_uses() -> None:
    skills = {skill.name: skill for skill in admit_source(GOOD).skills}
    behind = linked_source("def program():\n    bring('red ball', 'door')\n", skills)
    assert behind.count("def fetch(") == behind.count("def bring(") == 1
    assert linked_source("def program():\n    pass\n", skills) == ""
    own = "def fetch(thing):\n    return True\n\n\ndef program():\n    fetch('red ball')\n"
    assert linked_source(own, skills) == "", "a program's own function is the one that it means"
    mine = "def nearest(x):\n    return x\n\n\ndef program():\n    fetch(nearest('red ball'))\n"
    names = [
        node.name for node in ast.parse(mine + linked_source(mine, skills)).body if isinstance(node, ast.FunctionDef)
    ]
    assert len(names) == len(set(names)), "helpers have names of their own"


@pytest.mark.parametrize(
    ("before", "reached"),
    [
        ("def any(items):\n    return True", {"any"}),
        ("any = 5", {"any"}),
        ("from math import prod as any", {"any"}),
        ("def go_next_to(thing):\n    return True", {"go_next_to"}),
        ("from heapq import heapify as deque", {"deque"}),
        ("def f():\n    import itertools as deque", {"deque"}),
        (f"def f():\n    {RESULT}('bring', True, True)", {RESULT}),
        (f"def f():\n    return {BEGIN}", {BEGIN}),
        (f"f = lambda: {REQUIRE}(1, 2, 3)", {REQUIRE}),
        ("from collections import deque\ndef f(any):\n    place = near = turn = any\n    return place", set()),
        ("def nearest(near):\n    return near\ndef place():\n    pass\nheld = 5", set()),
    ],
)
def test_a_program_cannot_change_what_linked_skills_mean(before: str, reached: set[str]) -> None:
    """Else `def any(items): return True` would have each check of a composed skill say that it held."""
    source = f"{before}\n\n\ndef program():\n    bring('red ball', 'door')\n"
    skills = {skill.name: skill for skill in admit_source(GOOD).skills}
    behind = linked_source(source, skills)
    assert reached_globals(source, behind, skills=skills) == reached


@pytest.mark.parametrize("name", ["program", "own", "go_next_to"])
def test_linked_skills_cannot_change_what_a_program_means(name: str) -> None:
    source = "def own():\n    return go_next_to('door')\n\n\ndef program():\n    bring('red ball', 'door')\n    own()\n"
    skills = {skill.name: skill for skill in admit_source(GOOD).skills}
    behind = linked_source(source, skills)
    assert reached_globals(source, behind, skills=skills) == set()
    assert reached_globals(source, f"{behind}\n\ndef {name}():\n    pass\n", skills=skills) == {name}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("    for turn in range(3):", "    fetch(thing)\n    for turn in range(3):"), "calls itself"),
        (("    for turn in range(3):", "    while True:"), "loop that nothing ends"),
        (("def helper", "def helper"), ""),
        (("def fetch(thing: thing)", "def fetch(thing: str)"), "takes an instruction"),
        (("def fetch(thing: thing)", "def fetch(thing)"), "no type that is known"),
        (("def fetch(thing: thing)", "def fetch(thing: thing = 'door')"), "none with a default"),
        (("Needs: an empty hand. ", ""), "doesn't say"),
        (("an empty hand", "an empty hand " * 30), "more than 270"),
        (("    held = get_carried()", "    pick(thing)\n    held = get_carried()"), "its check calls a skill"),
        (("def check_fetch(thing):", "def check_fetch(other):"), "doesn't take the same"),
        (("held is not None and", "held.__class__ and"), "__class__"),
        (("    return False", f"    return {RESULT}('fetch', True, True)"), "calls are measured"),
        (("    held = get_carried()", f"    begin = {BEGIN}\n    held = get_carried()"), "calls are measured"),
        (("    found = deque", f"    {REQUIRE}(thing, 'x', 'thing')\n    found = deque"), "calls are measured"),
        (
            ("def check_fetch(thing):", f"A = 0\n\ndef check_fetch(thing):\n    [{'A,' * 7300}]"),
            "at most 65536 are kept",
        ),
        (("Brings a thing", "Brings a \\ud800 thing"), "can't be stored"),
    ],
)
def test_what_breaks_a_rule_is_told_and_not_kept(change: tuple[str, str], says: str) -> None:
    admitted = admit_source(GOOD.replace(*change))
    if says:
        name, reason = next(iter(admitted.refusals.items()))
        assert says in reason
        assert name == "fetch"
        assert "bring" not in [skill.name for skill in admitted.skills], "it uses what isn't kept"
    else:
        assert len(admitted.skills) == 2


def test_a_learned_skill_is_not_shadowed() -> None:
    for name in ("discover", "get_facing", "print", "forget_visited_rooms"):
        assert "taken" in admit_source(GOOD.replace("fetch", name)).refusals[name], name


@pytest.mark.parametrize(
    ("skill", "helper", "local"),
    [
        ("go", "next_to", "found"),  # go_next_to is a learned skill
        ("get", "facing", "found"),  # get_facing asks the world
        ("fetch", "nearest", "fetch_nearest"),
    ],
)
def test_a_helper_never_takes_the_name_of_something_else(skill: str, helper: str, local: str) -> None:
    source = GOOD.replace("fetch", skill).replace("nearest", helper).replace("found", local)
    name, reason = next(iter(admit_source(source).refusals.items()))
    assert (name, f"such as {skill}_{helper}, which means" in reason) == (skill, True)


def test_two_skills_never_share_the_name_of_a_helper() -> None:
    more = GOOD.replace("fetch", "fetch_a").replace("nearest", "b").replace("bring", "lay")
    both = GOOD.replace("nearest", "a_b") + more
    assert {"fetch", "fetch_a"} <= admit_source(both).refusals.keys()
    assert len(admit_source(GOOD + more).skills) == 4


def test_renamed_definitions_do_what_they_did() -> None:
    source = """
limit = most = 5
def total(x, limit=3):
    def more():
        nonlocal limit
        limit += 1
    def least(x, limit=1):
        return min(x, limit)
    more()
    try:
        raise ValueError(limit)
    except ValueError as most:
        return x + most.args[0] - least(9, limit=2)
def program():
    return total(1, limit=limit)
"""
    names = {name: f"my_{name}" for name in ("limit", "most", "total", "program")}
    before, after = dict[str, Any](), dict[str, Any]()
    exec(source, before)
    exec("\n".join(ast.unparse(rename_definition(node, names)) for node in ast.parse(source).body), after)
    assert before["program"]() == after["my_program"]() == 5


def test_a_reply_without_skills_is_refused() -> None:
    with pytest.raises(Refused):
        admit("I would rather not.", learned=list(SCRIPTED), domain=WORLD, load=load)


def test_a_model_that_breaks_the_rules_is_told_and_mends_it() -> None:
    bad = GOOD.replace("def fetch(thing: thing)", "def fetch(thing: str)")
    model = FakeModel([f"```python\n{bad}\n```", f"```python\n{GOOD}\n```"])
    programs = [
        SolvedEpisode("pick up the red ball", "PickupLoc", 3, "def program():\n    pass\n", ("a", "b"), "x line 3")
    ]
    composed = Author(model, WORLD, tuple(SCRIPTED.values()), load).distil(programs)
    assert [skill.name for skill in composed.skills] == ["fetch", "bring"]
    assert composed.skills[0].origins == ("x line 3",)
    assert "takes an instruction" in model.asked[1][-1].content


def test_what_recurs_is_counted_once_a_program() -> None:
    programs = [SolvedEpisode("go", "L", n, "", ("a", "a", "b", "c", "a", "b")) for n in range(3)]
    counts = dict(recurrences(programs))
    assert counts["a", "b"] == 3
    assert ("a", "a") not in counts
    assert kind_of("pick up the red ball and open a door, then go to a box") == "pick and open then go"
    kinds = [SolvedEpisode(text, "L", n, "x" * n) for n, text in enumerate(("go to a", "go to b", "open c"))]
    assert [question.instruction for question in pick_varied(kinds, 2)] == ["go to a", "open c"]
