"""Skills and libraries refuse what can't be; names are callable; cards stay text; members split by instruction."""

from __future__ import annotations

import keyword
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sdg.skills.library.card import write_card
from sdg.skills.library.library import LearnedSkill, SkillLibrary, is_skill_name, name_skill
from sdg.skills.strict_json import canonical, decode, loads
from sdg.skills.subgoal import CheckFunction, Experience, Subgoal
from tests.shared.library_samples import a_library, a_skill

any_text = st.text(max_size=30)
experiences = st.builds(
    Experience,
    instruction=any_text,
    level=any_text,
    seed=st.integers(0, 2**40),
    index=st.integers(0, 50),
    subgoal=st.builds(Subgoal, any_text, st.builds(CheckFunction, any_text, any_text)),
    restore_actions=st.lists(st.integers(0, 6), max_size=8).map(tuple),
    actions=st.lists(st.integers(0, 6), max_size=8).map(tuple),
    confirmed=st.booleans(),
)


@settings(deadline=None)
@given(st.lists(st.text(max_size=60), max_size=6))
def test_every_name_is_callable_and_unused(api_names: list[str]) -> None:
    first = name_skill(api_names)
    second = name_skill(api_names, taken={first})
    assert is_skill_name(first)
    assert is_skill_name(second)
    assert not keyword.iskeyword(first)
    assert first != second


@pytest.mark.parametrize(
    ("api_names", "name"),
    [
        (["find", "discover", "discover"], "discover"),
        (["go_to", "approach", "go_next_to", "go_next_to"], "go_next_to"),
        (["Pick Up!", "Pick Up!", "grab"], "pick_up"),
        (["reach_door", "go_to_door", "go_to_box"], "go_to_door"),
        (["import"], "import_2"),
        (["__class__"], "class_2"),
        (["1st"], "st"),
        ([], "skill"),
    ],
)
def test_the_most_common_name_wins(api_names: list[str], name: str) -> None:
    assert name_skill(api_names) == name


@pytest.mark.parametrize(
    ("skills", "weights", "message"),
    [
        ((a_skill(), a_skill()), {"discover": {}}, "share the names"),
        ((a_skill(),), {}, "weights are for"),
        ((a_skill(),), {"discover": {"w": np.zeros(2)}}, "float64"),
        ((a_skill(),), {"discover": {"w": np.array([np.inf], np.float32)}}, "finite"),
        ((a_skill(),), {"discover": {"../w": np.zeros(1, np.float32)}}, "array name"),
    ],
)
def test_a_library_whose_parts_do_not_fit_is_refused(skills: tuple, weights: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SkillLibrary(skills, weights)


def test_asking_for_an_unknown_skill_names_the_known() -> None:
    with pytest.raises(KeyError, match="discover, pick_up"):
        a_library()["fly"]
    assert a_library()["pick_up"].name == "pick_up"


def test_the_card_says_the_figures_and_nothing_runs_in_it() -> None:
    hostile = "<script>alert(1)</script> | [click](http://x) \n# heading `code`"
    skill = a_skill(description=hostile, members=(hostile,), argument_examples=(hostile,))
    card = write_card(SkillLibrary((skill,), {"discover": {}}, provenance={hostile: hostile}))
    assert "99.1" in card
    assert "98.3 to 99.5" in card
    assert "80,000" in card
    assert "<script>" not in card.replace("\\<", "")
    assert "\n# heading" not in card
    assert "[click](" not in card
    assert all(line.count(" | ") == 9 for line in card.splitlines() if line.startswith("| `discover`"))


@settings(deadline=None)
@given(experiences)
def test_experience_comes_back_through_json(experience: Experience) -> None:
    assert decode(Experience, loads(canonical(asdict(experience)))) == experience


@pytest.mark.parametrize(
    "change",
    [
        {"seed": "7"},
        {"seed": True},
        {"actions": [1, 2.0]},
        {"subgoal": {"description": "x"}},
        {"confirmed": 1},
        {"extra": 0},
    ],
)
def test_damaged_experience_is_refused(change: dict[str, object]) -> None:
    good = asdict(Experience("go", "GoToLocal", 1, 0, Subgoal("go", CheckFunction("f", "def f(): ...")), (1,), (2,)))
    assert decode(Experience, good)
    with pytest.raises(ValueError, match="value"):
        decode(Experience, {**good, **change})


def test_a_skill_that_replaces_another_inherits_nothing_that_was_known_of_that() -> None:
    known = {
        "levels": ["GoToLocal"],
        "usages": {"discover": {"grasps": True}, "pick_up": {"grasps": True}},
        "conditions": {"discover": {"before": ["something is carried"]}, "pick_up": {"before": []}},
        "follows": {"": {"discover": 2}, "discover": {"pick_up": 3}, "pick_up": {"discover": 1, "pick_up": 4}},
    }
    library = a_library(provenance=known).add(LearnedSkill(a_skill(), {}))
    assert library.provenance == {
        "levels": ["GoToLocal"],
        "usages": {"pick_up": {"grasps": True}},
        "conditions": {"pick_up": {"before": []}},
        "follows": {"": {}, "pick_up": {"pick_up": 4}},
    }


@pytest.mark.parametrize("odd", [None, 7, "discover", ["discover"], {"pick_up": "discover"}])
def test_a_skill_is_added_to_a_library_whose_provenance_is_odd(odd: object) -> None:
    provenance = dict.fromkeys(("usages", "conditions", "follows"), odd)
    assert a_library(provenance=provenance).add(LearnedSkill(a_skill(), {})).provenance == provenance
