"""A check asked about something else means the same about something else."""

from __future__ import annotations

import pytest

from sdg.envs.babyai.domain import BABYAI
from sdg.skills.checks.template import Unfit, mentioned_things, rewrite
from sdg.skills.subgoal import CheckFunction

LANGUAGE = BABYAI.language
NEAR = CheckFunction(
    "near", "def near():\n    return find_objects('the red ball')[0].facing and len(find_objects('blue box')) > 0\n"
)
WORDS = CheckFunction(
    "held", 'def held():\n    c = get_carried()\n    return c is not None and c.type == "ball" and c.color == "red"\n'
)


def test_descriptions_are_replaced_by_what_they_mean() -> None:
    source = rewrite(NEAR, {"a red ball": "green key on your left"}, LANGUAGE).source
    assert "'green key on your left'" in source
    assert "'blue box'" in source
    assert "ball" not in source


def test_all_replacements_happen_at_once() -> None:
    source = rewrite(NEAR, {"red ball": "blue box", "blue box": "red ball"}, LANGUAGE).source
    assert source.index("blue box") < source.index("red ball")


def test_lone_words_follow_their_description() -> None:
    source = rewrite(WORDS, {"red ball": "grey key"}, LANGUAGE).source
    assert "'key'" in source
    assert "'grey'" in source


def test_a_word_without_a_counterpart_is_unfit() -> None:
    with pytest.raises(Unfit, match="no one counterpart"):
        rewrite(WORDS, {"red ball": "a key"}, LANGUAGE)


def test_other_texts_and_other_descriptions_stay() -> None:
    check = CheckFunction(
        "c", 'def c():\n    return get_facing().status == "open" or len(find_objects("grey door")) > 3\n'
    )
    assert rewrite(check, {"red ball": "blue key"}, LANGUAGE) == check
    assert mentioned_things(check, LANGUAGE) == mentioned_things(rewrite(check, {}, LANGUAGE), LANGUAGE)


def test_parts_of_a_text_keep_their_blanks_and_what_is_not_replaced_its_letters() -> None:
    check = CheckFunction(
        "c",
        "def c():\n    c, near = 'red', 'In front '\n"
        "    return find_objects(f'{c} ball') or 'red ' + c or c == ' Grey'\n",
    )
    source = rewrite(check, {"red ball": "blue key"}, LANGUAGE).source
    assert "= ('blue', 'In front ')" in source
    assert "find_objects(f'{c} key') or 'blue ' + c or c == ' Grey'" in source


@pytest.mark.parametrize("text", ["f'the red {kind}'", "'the red ' + kind", "f'{c} ball on your left'"])
def test_a_part_of_a_text_with_more_than_the_word_is_unfit(text: str) -> None:
    check = CheckFunction(
        "c", f"def c():\n    c, kind = get_facing().color, get_facing().type\n    return find_objects({text})\n"
    )
    with pytest.raises(Unfit, match="is only a part of a description"):
        rewrite(check, {"red ball": "blue key"}, LANGUAGE)
    assert rewrite(check, {"red ball": "red ball"}, LANGUAGE) == check
    assert rewrite(check, {"grey door": "blue key"}, LANGUAGE) == check


def test_source_that_doesn_t_parse_is_unfit() -> None:
    with pytest.raises(Unfit, match="parse"):
        rewrite(CheckFunction("c", "def c(:\n"), {"red ball": "blue key"}, LANGUAGE)
