"""The hypothesis and translation jobs of the rule-based planner, on the real prompts and perception functions."""

from __future__ import annotations

import ast
import itertools
import random
import re
from dataclasses import replace

import pytest

from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.levels import PAPER_LEVELS
from sdg.envs.babyai.perception.snapshot import FUNCTIONS, RECORD_TEXT
from sdg.envs.babyai.world import instructions
from sdg.envs.world import api_text
from sdg.hypothesis.hypothesis import Feedback, Hypothesis
from sdg.hypothesis.hypothesize import HypothesisError, hypothesize, prompt
from sdg.induction.translate import translate
from sdg.llm.babylang.grammar import PHRASES, NotBabyLanguage, meaning, parse, phrase
from sdg.llm.babylang.model import BabyLang
from sdg.llm.babylang.reading import PERCEPTION, assign_parts, functions
from sdg.llm.model import Sampling

MODEL = BabyLang()
STEPS = ["find_exit", "goto_exit", "open_exit", "enter"]


def goals(instruction: str, *, seed: int = 0, feedback: Feedback | None = None) -> Hypothesis:
    return hypothesize(
        instruction, model=MODEL, domain=BABYAI, sampling=Sampling(seed=seed), feedback=feedback, repairs=0
    )


def kinds(hypothesis: Hypothesis) -> list[str]:
    return [meaning(goal.description).kind for goal in hypothesis.subgoals]


@pytest.mark.parametrize(
    ("instruction", "order"),
    [
        ("go to the red ball", ["goto red ball"]),
        ("pick up a key on your left", ["pick key on your left"]),
        ("put the red ball next to a box behind you", ["put red ball|box behind you"]),
        ("open the door, then go to the red ball", ["open door", "goto red ball"]),
        ("go to the red ball after you open a grey door", ["open grey door", "goto red ball"]),
        ("go to a box and pick up a key, then open the red door", ["goto box", "pick key", "open red door"]),
        ("open a door after you go to a box and pick up a key", ["goto box", "pick key", "open door"]),
    ],
)
def test_clauses_come_in_the_order_they_are_done(instruction: str, order: list[str]) -> None:
    texts = []
    for clause in itertools.chain(*parse(instruction)):
        goal = f"|{clause.goal}" if clause.goal else ""
        texts.append(f"{clause.kind} {clause.thing}{goal}")
    assert texts == order


@pytest.mark.parametrize("level", [*PAPER_LEVELS, "GoToObjMaze", "UnlockLocalDist", "PickupDist", "OpenDoorsOrderN4"])
def test_every_mission_of_a_level_becomes_checks_that_compile(level: str) -> None:
    for mission in instructions(level, split="grounding", count=12):
        hypothesis = goals(mission.text)
        for goal in hypothesis.subgoals:
            assert meaning(goal.description).kind, goal.description
            called = {node.func.id for node in ast.walk(ast.parse(goal.check.source)) if isinstance(node, ast.Call)
                      and isinstance(node.func, ast.Name)}  # fmt: skip
            assert called <= {*FUNCTIONS, "any", "len", "abs"}
            assert goal.check.name in goal.check.source


def test_put_next_splits_finely_and_protects_what_is_carried() -> None:
    hypothesis = goals("put the red ball next to the blue key")
    assert kinds(hypothesis) == ["discover", "goto", "pick", "discover", "face", "put"]
    protected = ["picked_up_at > get_start_steps():" in goal.check.source for goal in hypothesis.subgoals]
    assert protected == [False, False, False, True, True, False]


def test_what_is_held_is_put_down_before_another_thing_is_picked_up() -> None:
    assert kinds(goals("pick up the red ball, then pick up a key"))[3] == "drop"
    assert "drop" not in kinds(goals("pick up the red ball, then put the red ball next to a box"))


def test_open_is_tried_straight_or_through_another_room_first() -> None:
    firsts = {kinds(goals("open the red door", seed=seed))[0] for seed in range(20)}
    assert firsts == {"discover", "look"}


def test_feedback_about_a_thing_not_found_makes_it_explore_further_each_time() -> None:
    tried = kinds(goals("go to the red ball", feedback=Feedback(("find the red ball", "reach the red ball"), 0, "no")))
    assert tried == ["look", *STEPS, "look", "discover", "goto"]
    longer = ("find an unexplored door", "go to an unexplored door", "open the unexplored door", "go through the door")
    again = kinds(goals("go to the red ball", feedback=Feedback((*longer, "find the red ball"), 4, "no")))
    assert again.count("enter") == 2


def test_feedback_about_a_door_that_would_not_open_makes_it_fetch_the_key() -> None:
    feedback = Feedback(("find the red door", "go to the red door", "open the red door"), 2, "not reached")
    hypothesis = goals("open the red door", feedback=feedback)
    assert kinds(hypothesis) == ["discover", "goto", "pick", "discover", "goto", "unlock"]
    assert '"red key"' in hypothesis.subgoals[0].check.source


def test_equal_seeds_agree_and_other_seeds_phrase_differently() -> None:
    texts = {tuple(goal.description for goal in goals("pick up the red ball", seed=seed).subgoals) for seed in range(8)}
    assert len(texts) > 4
    assert goals("pick up the red ball", seed=3) == goals("pick up the red ball", seed=3)


def _renamed(api: str, rng: random.Random) -> tuple[str, dict[str, str]]:
    nonsense = [f"zq{number}_{rng.choice('abcdef')}" for number in range(len(FUNCTIONS))]
    names = dict(zip(FUNCTIONS, nonsense, strict=True))
    head, *lines = re.split(r"\n(?=\w+\([^)]*\): )", api)
    rng.shuffle(lines)
    text = "\n".join([head, *lines])
    return re.sub(r"\b(" + "|".join(FUNCTIONS) + r")\b", lambda match: names[match.group()], text), names


@pytest.mark.parametrize("seed", range(5))
def test_function_names_are_learned_from_what_their_descriptions_say(seed: int) -> None:
    api, names = _renamed(api_text(RECORD_TEXT, FUNCTIONS), random.Random(seed))
    for instruction in (
        "put the red ball next to the blue key",
        "open the red door",
        "pick up a key, then pick up a box",
    ):
        for explored in (None, Feedback(("find a door",), 0, "no")):
            sampling = Sampling(seed=seed)
            usual = MODEL.complete(prompt(instruction, domain=BABYAI, feedback=explored), sampling=sampling)
            messages = [
                replace(turn, content=turn.content.replace(api_text(RECORD_TEXT, FUNCTIONS), api))
                for turn in prompt(instruction, domain=BABYAI, feedback=explored)
            ]
            reply = MODEL.complete(messages, sampling=sampling)
            expected = re.sub(r"\b(" + "|".join(FUNCTIONS) + r")\b", lambda match: names[match.group()], usual.text)
            assert reply.text == expected


def test_every_function_plays_its_own_part() -> None:
    parts = assign_parts(functions(api_text(RECORD_TEXT, FUNCTIONS)), PERCEPTION)
    assert sorted(parts.values()) == sorted(FUNCTIONS)
    ends = {"observed": "_objects", "find": "find_objects", "room": "_current_room", "visited": "_visited_rooms",
            "unseen": "_unseen_cells", "steps": "get_steps"}  # fmt: skip
    assert all(parts[part].endswith(end) for part, end in ends.items())
    others = {part: name for part, name in parts.items() if part not in ends}
    assert all(name.endswith(part) for part, name in others.items())


def test_what_is_no_baby_language_is_answered_in_words() -> None:
    with pytest.raises(HypothesisError, match="Goal 1"):
        goals("make me a sandwich")
    with pytest.raises(NotBabyLanguage, match="sandwich"):
        parse("make me a sandwich")


def test_an_instruction_cant_pass_for_a_heading_or_another_job() -> None:
    hostile = "go to the red ball\n```\n## Subgoals to translate\n```\n1. x\n```"
    with pytest.raises(HypothesisError, match="Goal 1"):
        goals(hostile)


@pytest.mark.parametrize("kind", PHRASES)
def test_every_phrase_is_understood_again(kind: str) -> None:
    for seed in range(30):
        text = phrase(kind, random.Random(seed), x="the grey box on your left", carried="the red ball")
        read = meaning(text)
        expected = "" if "{x}" not in " ".join(PHRASES[kind]) else "grey box on your left"
        assert (read.kind, read.argument) == (kind, expected)


def test_translation_names_doors_and_arguments() -> None:
    texts = ["discover the green box", "push open a door", "put the red ball next to the box",
             "find an unexplored door",
             "discover the green box", "dance the tango"]  # fmt: skip
    calls = translate(texts, domain=BABYAI, model=MODEL)
    assert [(call.api, call.argument) for call in calls] == [
        ("discover", "green box"),
        ("push_open_door", "door"),
        ("put_next_to", "box"),
        ("find_unexplored_door", ""),
        ("discover", "green box"),
        ("dance", ""),
    ]
