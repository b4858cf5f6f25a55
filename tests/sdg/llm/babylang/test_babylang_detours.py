"""With learned skills in the prompt the rule-based stand-in goes round what stopped it; it knows only the prompt."""

from __future__ import annotations

from random import Random

from sdg.envs.babyai.domain import BABYAI
from sdg.hypothesis.hypothesis import Feedback
from sdg.hypothesis.hypothesize import hypothesize, prompt
from sdg.llm.babylang.detours import KEY, ROOM, read, replan
from sdg.llm.babylang.hypothesis import plan
from sdg.llm.babylang.model import BabyLang
from sdg.llm.babylang.phrases import meaning
from sdg.llm.model import Sampling

SKILLS = "\n".join(
    f'{name}({argument}): Reaches subgoals such as "{text}". Succeeds in 99 % of trials.'
    for name, argument, text in [
        ("a", "thing", "find the red ball"),
        ("b", "thing", "go to the red ball"),
        ("c", "thing", "pick up the red ball"),
        ("d", "", "go to an unexplored door"),
        ("e", "", "open the unexplored door"),
        ("f", "", "go through the door"),
    ]
)
INTO_A_ROOM = ["look", "find_exit", "goto_exit", "open_exit", "enter door", "look"]


def kinds(instruction: str, *tried: str, skills: str = SKILLS, seed: int = 0) -> list[str]:
    """Kinds and arguments of the goals, told that the last of `tried` was not reached."""
    found = hypothesize(
        instruction,
        model=BabyLang(),
        domain=BABYAI,
        sampling=Sampling(seed=seed),
        feedback=Feedback(tried, len(tried) - 1, "not reached"),
        skills=skills,
        repairs=0,
    )
    read = [meaning(goal.description) for goal in found.subgoals]
    return [f"{goal.kind} {goal.argument}".strip() for goal in read]


def test_another_room_comes_before_the_goal_that_failed_and_not_at_the_beginning() -> None:
    tried = ("find the red ball", "go to the red ball", "find the blue box")
    wanted = kinds("go to the red ball, then go to the blue box", *tried)
    assert wanted == ["discover red ball", "goto red ball", *INTO_A_ROOM, "discover blue box", "goto blue box"]


def test_what_is_carried_is_kept_on_the_way_through_a_room() -> None:
    tried = ("find the red ball", "go to the red ball", "pick up the red ball", "find the blue box")
    goals = replan(plan("put the red ball next to the blue box"), tried, skills={"goto_exit", "open_exit", "enter"},
                   rng=Random(0), can_look=False)  # fmt: skip
    assert [goal.carried for goal in goals[3:7]] == ["red ball"] * 4


def test_a_door_that_would_not_open_gets_its_key_and_hands_are_emptied_first() -> None:
    tried = (
        "find the red ball",
        "go to the red ball",
        "pick up the red ball",
        "find the grey door",
        "go to the grey door",
    )
    wanted = kinds("pick up the red ball, then open the grey door", *tried, "open the grey door")
    fetched = ["drop", "discover grey key", "goto grey key", "pick grey key"]
    opened = ["discover grey door", "goto grey door", "unlock grey door"]
    assert wanted == ["discover red ball", "goto red ball", "pick red ball", *fetched, *opened]


def test_a_key_that_was_not_found_is_looked_for_in_another_room() -> None:
    wanted = kinds("open the grey door", "find the grey key")
    assert wanted[:7] == [*INTO_A_ROOM, "discover grey key"]
    assert wanted[-1] == "unlock grey door"


def test_a_way_out_that_could_not_be_taken_is_left_out() -> None:
    straight = plan("open the grey door")
    tried = ("look around", "find an unexplored door", "go to an unexplored door")
    assert read(straight, tried).detours == {0: [ROOM]}
    assert [goal.kind for goal in replan(straight, tried, skills={"goto_exit", "open_exit", "enter"}, rng=Random(0),
                                         can_look=True)] == ["discover", "goto", "open"]  # fmt: skip


def test_its_own_detours_are_understood_again() -> None:
    straight = plan("open the grey door")
    skills = {"discover", "goto", "pick", "goto_exit", "open_exit", "enter"}
    first = replan(straight, ("find the grey key",), skills=skills, rng=Random(0), can_look=True)
    texts = ["look around", "find an unexplored door", "go to an unexplored door", "open the unexplored door",
             "go through the door", "look around", "find the grey key", "go to the grey key", "pick up the grey key",
             "find the grey door"]  # fmt: skip
    assert len(first) == len(texts) + 2
    assert read(straight, texts).detours == {0: [ROOM, KEY]}


def test_without_skills_or_with_others_no_detour_is_proposed() -> None:
    assert "Skills that" not in prompt("open a door", domain=BABYAI)[-1].content
    only_look = 'x(): Reaches subgoals such as "look around". Succeeds in 99 % of trials.'
    assert kinds("go to the red ball", "find the red ball", skills=only_look) == ["discover red ball", "goto red ball"]
