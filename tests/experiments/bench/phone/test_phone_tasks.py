"""Every task of the embedded phone is solved by the expert, and its length is what a search finds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sdg.envs.phone.actions import carry_out
from sdg.envs.phone.embedded.phone import EmbeddedPhone, phone_browser
from sdg.envs.phone.tasks import PhoneTask, TaskProgress, embedded_tasks, held_out, is_right, side_effects
from sdg.envs.phone.tree import UiTree, read_dump
from sdg.envs.ui.browser import what_is_missing
from training.phone_expert.scripts import SCRIPTS, actions_for, steps_of
from training.phone_expert.search import shortest_path

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(bool(what_is_missing("playwright")), reason=f"no browser: {what_is_missing('playwright')}"),
]
SEARCHED = ("clock_5", "files_2", "contacts_3", "files_3", "music_4", "notes_5", "settings_8")
"""Searched again in each test run; the others' searches take minutes (`python -m training.phone_expert.search`)."""


@pytest.fixture(scope="module")
def phone() -> Iterator[EmbeddedPhone]:
    with phone_browser() as browser:
        yield EmbeddedPhone(browser)


def play_expert(phone: EmbeddedPhone, task: PhoneTask) -> tuple[TaskProgress, int, UiTree]:
    """The expert's episode: its judge, actions with finish, and the last screen."""
    phone.reset(task.seed)
    judge, count = TaskProgress(task), 1

    def trees() -> Iterator[UiTree]:
        while True:
            yield read_dump(phone.dump())

    for action in actions_for(steps_of(SCRIPTS[task.id]), trees()):
        carry_out(phone, action, read_dump(phone.dump()))
        count += 1
        judge.look(phone.state(), read_dump(phone.dump()))
    return judge, count, read_dump(phone.dump())


@pytest.mark.parametrize("task", embedded_tasks(), ids=lambda task: task.id)
def test_the_expert_solves_it(phone: EmbeddedPhone, task: PhoneTask) -> None:
    judge, count, last = play_expert(phone, task)
    if task.is_question:
        judge.answer(is_right(task.answers[0], task.answers))
        texts = [" ".join(element.text.split(" | ")) for element in last.elements]
        counted = task.id == "clock_9"  # the answer is a number of switches
        assert counted or any(is_right(text, task.answers) for text in texts), f"no answer on\n{last}"
    assert judge.flags == dict.fromkeys(judge.flags, True), (judge.flags, str(last))
    from sdg.envs.phone.embedded.phone import initial_state

    assert side_effects(task, initial_state(task.seed), phone.state()) == ()
    assert 0 < task.shortest <= count


def test_there_are_enough_tasks_and_the_held_out_ones_are_fixed() -> None:
    tasks = embedded_tasks()
    questions = [task for task in tasks if task.is_question]
    assert len(tasks) == 99
    assert len(questions) == 34
    assert all(task.goals or task.answers for task in tasks)
    assert len({task.app for task in tasks}) == 9
    assert len(held_out()) == 15
    assert SCRIPTS.keys() == {task.id for task in tasks}


@pytest.mark.parametrize("name", SEARCHED)
def test_lengths_are_what_a_search_finds(phone: EmbeddedPhone, name: str) -> None:
    (task,) = (candidate for candidate in embedded_tasks() if candidate.id == name)
    assert shortest_path(phone, task) == task.shortest


@pytest.mark.parametrize("seed", [0, 3])
def test_equal_seeds_give_equal_screens(phone: EmbeddedPhone, seed: int) -> None:
    pictures = []
    for _ in range(2):
        phone.reset(seed)
        screens = [phone.screenshot()]
        for action in actions_for(steps_of("Contacts > New contact > Name=Zoë > < > <"), trees_of(phone)):
            carry_out(phone, action, read_dump(phone.dump()))
            screens += [phone.screenshot(), phone.dump().encode()]
        pictures.append(screens)
    assert pictures[0] == pictures[1]
    with phone_browser() as browser:
        fresh = EmbeddedPhone(browser)
        fresh.reset(seed)
        assert fresh.screenshot() == pictures[0][0]


def trees_of(phone: EmbeddedPhone) -> Iterator[UiTree]:
    while True:
        yield read_dump(phone.dump())


def test_other_seeds_have_other_contents() -> None:
    from sdg.envs.phone.embedded.phone import initial_state

    assert initial_state(1) == initial_state(1)
    assert json.dumps(initial_state(1)) != json.dumps(initial_state(2))
    with pytest.raises(ValueError, match="0 or more"):
        initial_state(-1)


def test_the_kit_is_the_published_one() -> None:
    folder = Path(phone_browser.__code__.co_filename).parent
    assert "Framework7 9.2.0" in (folder / "framework7.css").read_text()[:200]
    assert "MIT" in (folder / "framework7-LICENSE").read_text()[:40]
