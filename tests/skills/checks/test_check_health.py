"""Checks are asked about snapshots and examined: what raises, wavers or is always true is found out."""

from __future__ import annotations

import itertools
import threading

import pytest

from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.perception.snapshot import BabyAIPerception
from sdg.envs.domain import Perceivable
from sdg.sandbox.guard import GeneratedError, Guard, Refused, Signature
from sdg.skills.checks.check import GuardedCheck, about_one_thing, compile_check, fault_of, with_argument
from sdg.skills.checks.template import Unfit, string_constants
from sdg.skills.subgoal import CheckFunction
from tests.shared.walks import walk


def check_of(*body: str, name: str = "check_1") -> CheckFunction:
    return CheckFunction(name, f"def {name}():\n" + "".join(f"    {line}\n" for line in body))


@pytest.fixture(scope="module")
def snapshots() -> list[BabyAIPerception]:
    return [world.perception() for world, _ in itertools.islice(walk("GoToLocal", seed=4), 40)]


def test_it_answers_about_a_snapshot(snapshots: list[BabyAIPerception]) -> None:
    check = compile_check(check_of("return len(get_observed_objects()) > 0 and get_steps() < 5"), BABYAI)
    assert [check(snapshot) for snapshot in snapshots[:8]].count(True) == 5


@pytest.mark.parametrize("question", ["get_steps() > 10", "get_steps() == 0", "get_steps() >= 0"])
def test_nothing_speaks_against_a_check_that_answers(question: str, snapshots: list[BabyAIPerception]) -> None:
    assert fault_of(compile_check(check_of(f"return {question}"), BABYAI), snapshots) == ""


def test_a_check_that_raises_somewhere(snapshots: list[BabyAIPerception]) -> None:
    check = compile_check(check_of("return 10 // (get_steps() - 3) > 100"), BABYAI)
    assert "line 2: ZeroDivisionError" in fault_of(check, snapshots)
    assert fault_of(check, snapshots[:3]) == ""


def test_a_check_that_is_too_long_about_other_things_is_refused() -> None:
    deep = "".join(" " * n + "if get_steps() < 0:\n" for n in range(1, 41))
    source = "def check_1():\n" + deep + (" " * 41 + "get_steps()\n") * 90 + " return True\n"
    with pytest.raises(Refused, match="at most 8192"):
        compile_check(CheckFunction("check_1", source), BABYAI)


def test_a_check_does_not_grow_beyond_what_a_guard_reads() -> None:
    check = check_of(*["find_objects('x')"] * 300, "return True")
    with pytest.raises(Unfit, match="at most 8192"):
        with_argument(check, "x", "x" * 40, language=BABYAI.language)


def test_a_check_that_wavers() -> None:
    class Wavering:
        def __init__(self) -> None:
            self.asked = 0

        def flip(self) -> bool:
            self.asked += 1
            return self.asked % 2 == 0

        def functions(self) -> dict[str, object]:
            return {"flip": self.flip}

        def describe(self) -> str:
            return ""

    question = check_of("return flip()")
    guarded = Guard({"flip": Signature("flip")}, returns=bool).load(question.source, entry=question.name)
    check = GuardedCheck(question, guarded, Perceivable({"flip": Wavering.flip}, (), ""))
    assert "changed its answer about 1 of 1" in fault_of(check, [Wavering()])  # type: ignore[list-item]


def test_two_threads_that_ask_one_check_get_answers_about_their_own_snapshots() -> None:
    class Other:
        def functions(self) -> dict[str, object]:
            return {"wait": lambda: None, "value": lambda: 2}

    class Own:
        def functions(self) -> dict[str, object]:
            return {"wait": self.wait, "value": lambda: 1}

        def wait(self) -> None:
            thread.start()
            thread.join(0.2)

    question = check_of("wait()", "return value() == 1")
    guarded = Guard({"wait": Signature("wait"), "value": Signature("value")}, returns=bool).load(
        question.source, entry=question.name
    )
    check = GuardedCheck(question, guarded, Perceivable({}, (), ""))
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(check(Other())))  # type: ignore[arg-type]
    assert check(Own())  # type: ignore[arg-type]
    thread.join()
    assert answers == [False]


def test_wrong_descriptions_come_back_with_the_grammar(snapshots: list[BabyAIPerception]) -> None:
    check = compile_check(check_of("return len(find_objects('the moon')) > 0"), BABYAI)
    with pytest.raises(GeneratedError, match="line 2: ValueError: 'the moon' describes nothing"):
        check(snapshots[0])


def test_the_entry_is_the_checks_name() -> None:
    with pytest.raises(Refused, match="define a function named check_2"):
        compile_check(CheckFunction("check_2", "def check_1():\n    return True\n"), BABYAI)


def test_constants_in_order() -> None:
    check = check_of("a = find_objects('red ball')", "return a[0].type == 'ball' or a[0].name == 'red ball'")
    assert string_constants(check.source) == ("red ball", "ball", "red ball")
    assert string_constants("def (") == ()


def test_a_new_argument() -> None:
    check = check_of("return any(o.color == 'red' and o.type == 'ball' for o in find_objects('the red ball'))")
    moved = with_argument(check, "a red ball", "blue key", language=BABYAI.language)
    assert string_constants(moved.source) == ("blue", "key", "blue key")
    with pytest.raises(Unfit):
        with_argument(check, "red ball", "a ball", language=BABYAI.language)


def test_a_new_text_that_is_no_description() -> None:
    check = check_of("return get_steps() > len('tag one')")
    assert string_constants(with_argument(check, "tag one", "tag two", language=BABYAI.language).source) == ("tag two",)
    with pytest.raises(Unfit, match="parse"):
        with_argument(CheckFunction("check", "def ("), "tag one", "tag two", language=BABYAI.language)


def test_what_else_a_check_names_may_be_anything() -> None:
    """A skill takes one thing: "beside the grey key while carrying the red ball" is asked with a blue box, too."""
    source = (
        "def check():\n    held = any(each.held for each in find_objects('red ball'))\n"
        "    return held and any(each.distance == 2 for each in find_objects('grey key'))\n"
    )
    language = BABYAI.language
    asked = about_one_thing(CheckFunction("check", source), "the grey key", language).source
    assert "find_objects('object')" in asked
    assert "find_objects('grey key')" in asked
    alone = CheckFunction("check", "def check():\n    return bool(find_objects('door'))\n")
    assert about_one_thing(alone, "grey key", language) == alone, "a kind alone may be what it is about"
    compared = CheckFunction("check", source.replace("each.held", "each.color == 'red' and each.held"))
    assert about_one_thing(compared, "grey key", language) == compared, "where a colour is compared it stays"
