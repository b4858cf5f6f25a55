"""The benchmark of phone tasks: rows, folders of AndroidLab's form, resuming, answers, lost phones, what is refused."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sdg.envs.phone.actions import DeviceLost, PhoneAction
from sdg.envs.phone.embedded.phone import EmbeddedPhone, initial_state, phone_browser
from sdg.envs.phone.tasks import (
    PhoneTask,
    TaskProgress,
    embedded_tasks,
    held_out,
    holds,
    is_right,
    measured_tasks,
    side_effects,
)
from sdg.envs.phone.tree import read_dump
from sdg.envs.ui.browser import what_is_missing
from sdg.envs.ui.parser.screen import picture_of
from sdg.errors import UserError
from sdg.experiments.bench.gate import phones
from sdg.experiments.bench.phone import episodes
from sdg.experiments.bench.phone.androidlab import read_tasks, write_episode
from sdg.experiments.bench.phone.command import chosen_tasks, mode_row, rows
from sdg.experiments.bench.phone.data import PhoneTransition, derive_tasks, explore, write_lines, write_minari
from sdg.experiments.bench.phone.episodes import PhoneEpisode, PhoneJob, PhonePlayed, PhoneSetting, judge_answer
from sdg.experiments.play.together import play_together
from sdg.gate.phones import LearnedPhoneGuard
from sdg.llm.fakes import FakeModel
from sdg.llm.model import Completion, Message, ModelError
from sdg.llm.provider import ModelSettings
from sdg.llm.webrules.phones import ClumsyPresses, PhoneRules, RandomPresses, read_moment, value_for
from sdg.phone_agent.desktop import PhoneObservation, PhoneStep
from tests.shared.screens.phone_dumps import ROW, dump
from training.phones import rows_of

in_browser = pytest.mark.skipif(bool(what_is_missing("playwright")), reason=what_is_missing("playwright"))
SETTING = PhoneSetting(ModelSettings("phonerules"))
TASKS = {task.id: task for task in embedded_tasks()}


def phone_row(task: str, *, complete: bool = True, **more: Any) -> PhonePlayed:
    flags = {"1": complete, "complete": complete}
    return PhonePlayed(
        unit=f"xml-react/{task}",
        task=task,
        mode="xml-react",
        flags=flags,
        steps=4,
        unchanged=1,
        shortest=2,
        end="solved" if complete else "failed",
        **more,
    )


def test_rows_have_the_four_metrics_and_what_stands_beside() -> None:
    episodes = [phone_row("clock_8"), phone_row("clock_9", complete=False, false_complete=True)]
    row = mode_row("xml-react", episodes, SETTING)
    assert row["mode"] == "xml-react"
    assert (row["success_rate"], row["sub_goal_success_rate"], row["tasks"]) == (0.5, 0.5, 2)
    assert (row["reversed_redundancy_ratio"], row["reasonable_operation_ratio"]) == (0.5, round(2 / 3, 4))
    assert (row["false_completes"], row["rule_based"], row["device"]) == (1, True, "embedded")
    real = mode_row("xml-react", [phone_row("clock_8")], PhoneSetting(ModelSettings("phonerules"), device="adb"))
    assert real["success_rate"] is None


@pytest.mark.parametrize(
    "asked",
    [
        {"modes": ["xml"]},
        {"tasks": ["clock_99"]},
        {"tasks": []},
        {"device": "ios"},
        {"guards": ["nobody"]},
        {"device": "adb", "tasks": ["nowhere.yaml"]},
    ],
)
def test_what_there_is_not_is_refused(asked: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UserError):
        rows(**{"tasks": ["clock_8"], "out": tmp_path / "run"} | asked)


@in_browser
def test_episodes_are_played_once_and_kept_in_androidlabs_form(tmp_path: Path) -> None:
    options = {
        "modes": ["xml-react", "som-seeact"],
        "tasks": ["contacts_3", "settings_10"],
        "traces": True,
        "processes": 1,
        "out": tmp_path / "run",
    }
    rows_measured = rows(**options)
    assert [row["mode"] for row in rows_measured] == ["xml-react", "som-seeact"]
    assert rows_measured[0]["tasks"] == 2
    assert rows_measured[0]["success_rate"] >= 0.5
    before = (tmp_path / "run/episodes.jsonl").read_bytes()
    assert rows(**options) == rows_measured
    assert (tmp_path / "run/episodes.jsonl").read_bytes() == before
    folder = tmp_path / "run/traces/xml-react/contacts_3"
    lines = [json.loads(line) for line in (folder / "traces/trace.jsonl").read_text().splitlines()]
    assert [line["index"] for line in lines] == list(range(len(lines)))
    assert lines[0]["parsed_action"] == {"operation": "do", "action": "Tap", "kwargs": {"element": [24, 352, 248, 576]}}
    assert '"name": "Tap"' in lines[0]["current_response"]
    assert lines[-1]["parsed_action"]["operation"] == lines[-1]["parsed_action"]["action"] == "finish"
    assert lines[1]["current_activity"] == "sdg.phone.contacts/.main"
    for line in lines:
        assert line.keys() >= {"trace_id", "prompt", "ac_xml", "window", "target", "current_response"}
        assert (folder / "xml" / Path(line["xml"]).name).read_text().startswith("<?xml")
        assert (folder / "Screen" / Path(line["image"]).name).read_bytes().startswith(b"\x89PNG")


@in_browser
def test_traces_of_masked_episodes_hold_no_value_of_the_task(tmp_path: Path) -> None:
    rows_measured = rows(modes=["xml-react"], tasks=["contacts_1", "settings_7"], masked=True, traces=True, processes=1,
                 out=tmp_path / "run")  # fmt: skip
    files = [path.read_text("utf-8") for path in (tmp_path / "run").rglob("*") if path.suffix in (".jsonl", ".xml")]
    assert rows_measured[0]["tasks"] == 2
    assert "{phone_number}" in "".join(files)
    for value in ("555 0420", "5550420", "4821"):
        assert not any(value in text for text in files), value


def test_each_text_of_an_episode_goes_through_one_door(tmp_path: Path) -> None:
    tree = read_dump(dump(ROW))
    step = PhoneStep(
        PhoneAction("finish", text="Secret"), PhoneObservation(tree, b"", activity="Secret"), said="Secret"
    )
    write_episode(
        tmp_path, PhoneTask("a_1", "say Secret"), [step], (1, 1), mask=lambda text: text.replace("Secret", "x")
    )
    written = (tmp_path / "traces/trace.jsonl").read_text()
    assert "Secret" not in written
    assert json.loads(written)["parsed_action"]["kwargs"] == {"message": "x"}


@in_browser
def test_the_picture_of_the_embedded_phone_has_its_size() -> None:
    with phone_browser() as browser:
        phone = EmbeddedPhone(browser)
        phone.reset(1)
        assert picture_of(phone.screenshot()).shape[1::-1] == phone.size


class LostPhone:
    """A phone that is gone when it is looked at."""

    size = (10, 10)

    def press(self, key: str) -> None:
        """Home is still reached."""

    def dump(self) -> str:
        raise DeviceLost("unplugged")


def test_a_lost_phone_is_a_failure_with_its_cause() -> None:
    model, lost = PhoneRules(), LostPhone()
    begin = lambda job, phone: PhoneEpisode(job, SETTING, phone, model)  # noqa: E731
    row = next(play_together([PhoneJob(TASKS["clock_8"], "xml-react")], [lost], begin, model))
    assert (row.end, row.detail, row.complete) == ("page", "unplugged", False)


def test_answers_are_right_in_other_words_and_numbers_are_whole() -> None:
    assert is_right("The alarm's label is “Pick up kids”.", ["Pick up kids"])
    assert is_right("90.50", ["90.50"])
    assert is_right("It is 90,50 in all", ["90.50"])
    assert not is_right("15", ["5"])
    assert not is_right("190.50", ["90.50"])
    assert not is_right(" ".join(["5"] * 70), ["5"])
    assert not is_right("", ["5"])


def test_a_model_judges_answers_up_to_six_times() -> None:
    task = TASKS["clock_9"]
    assert judge_answer(FakeModel(["Hm.", "True"]), task, "three of them")
    assert not judge_answer(FakeModel(["True or False"]), task, "x")
    silent = FakeModel(["?"])
    assert not judge_answer(silent, task, "x")
    assert len(silent.asked) == 6

    class Broken:
        name = "broken"

        def complete(self, messages: object, **_: object) -> Any:
            raise ModelError("no")

    assert not judge_answer(Broken(), task, "x")


def test_sub_goals_count_in_order_and_must_last() -> None:
    goals = ({"at": "os.front", "is": "a"}, {"at": "a.on", "is": True})
    judge = TaskProgress(PhoneTask("a_1", "x", goals))
    judge.look({"os": {"front": ""}, "a": {"on": True}})
    assert judge.flags == {"1": False, "2": False, "complete": False}
    judge.look({"os": {"front": "a"}, "a": {"on": True}})
    assert judge.flags == {"1": True, "2": True, "complete": True}
    judge.look({"os": {"front": ""}, "a": {"on": True}})
    assert judge.flags["complete"]
    judge.look({"os": {"front": "a"}, "a": {"on": False}})
    assert judge.flags == {"1": True, "2": True, "complete": False}


def test_conditions_look_at_state_and_tree() -> None:
    state = {"a": {"list": [{"name": "Ann", "n": 1}, {"name": "Bo"}]}}
    assert holds({"at": "a.list", "has": {"name": "ann", "n": 1}}, state)
    assert not holds({"at": "a.list", "has": {"n": True}}, state)
    assert holds({"at": "a.list", "lacks": {"name": "Cy"}}, state)
    assert not holds({"at": "a.none", "all": {}}, state)
    assert holds({"shows": "gym"}, state, read_dump(dump(ROW)))
    assert not holds({"shows": "gym"}, state)
    with pytest.raises(ValueError, match="needs shows"):
        holds({"at": "a"}, state)


def test_side_effects_are_what_nobody_asked_for() -> None:
    task, before = TASKS["clock_5"], initial_state(1)
    after = initial_state(1)
    after["clock"]["alarms"] = [alarm for alarm in after["clock"]["alarms"] if alarm["time"] != "22:30"]
    assert side_effects(task, before, after) == ()
    after["clock"]["alarms"][0]["on"] = False
    after["settings"]["wifi"] = False
    assert side_effects(task, before, after) == ("clock.alarms: 06:30", "settings.wifi")


def test_androidlabs_task_files_are_read(tmp_path: Path) -> None:
    place = tmp_path / "clock.yaml"
    place.write_text("APP: clock\ntasks:\n  - task_id: clock_1\n    task: Set an alarm.\n    metric_type: operation\n")
    assert read_tasks(place) == (PhoneTask("clock_1", "Set an alarm."),)
    assert chosen_tasks([str(place)], embedded=False)[0].app == "clock"
    assert chosen_tasks([str(place)] * 2, embedded=False) == [PhoneTask("clock_1", "Set an alarm.")]
    place.write_text("tasks:\n  - {task_id: a, task: x}\n  - {task_id: a, task: y}\n")
    with pytest.raises(UserError, match="two tasks are called 'a'"):
        chosen_tasks([str(place)], embedded=False)
    named = [
        f"tasks:\n  - {{task_id: {name!r}, task: x}}\n" for name in ("/a", "../a", "..", ".", "a/b", "", "x" * 300)
    ]
    for text in (*named, "- 1\n", "tasks: 3\n", "tasks:\n  - name: x\n", "a: [\n"):
        place.write_text(text)
        with pytest.raises(UserError, match=r"clock\.yaml"):
            read_tasks(place)


def test_new_tasks_are_derived_and_old_ones_left_out() -> None:
    examples = [TASKS["clock_5"], TASKS["clock_6"]]
    reply = (
        "1. Delete the alarm at 06:30.\n- Delete the alarm at 22:30.\n\nYes\n* Add Tokyo and Hanoi to the world clock."
    )
    tasks_derived = derive_tasks(FakeModel([reply]), examples, read_dump(dump(ROW)), count=5)
    assert [task.instruction for task in tasks_derived] == [
        "Delete the alarm at 06:30.",
        "Add Tokyo and Hanoi to the world clock.",
    ]
    assert tasks_derived[0].id == "clock_derived_1"
    with pytest.raises(ValueError, match="at least one"):
        derive_tasks(FakeModel([reply]), [], read_dump(dump(ROW)))


@in_browser
def test_walks_are_equal_for_equal_seeds_and_teach_the_guards(tmp_path: Path) -> None:
    with phone_browser() as browser:
        walks = [explore(EmbeddedPhone(browser), seed, steps=8) for seed in (5, 5, 6)]
    assert walks[0] == walks[1] != walks[2]
    write_lines(tmp_path / "walks.jsonl", walks)
    assert len((tmp_path / "walks.jsonl").read_text().splitlines()) == 24
    learned = list(rows_of(walks[0], random.Random(0)))
    assert {row["verb"] for row in learned} == {"feasibility", "completeness"}
    guard = LearnedPhoneGuard()
    assert guard.networks["completeness"].mean.shape == learned[1]["features"].shape


@in_browser
def test_data_are_walks_and_derived_tasks_by_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = "class Says:\n    def complete(self, messages):\n        return 'Turn off something else now.'\n"
    (tmp_path / "own_models.py").write_text(own)
    monkeypatch.syspath_prepend(str(tmp_path))
    rows_measured = rows(walks=1, llm="own_models:Says", out=tmp_path / "run")
    assert sum(row["actions"] for row in rows_measured) > 10
    assert all(row["accepted"] <= row["actions"] for row in rows_measured)
    assert sum(row["tasks"] for row in rows_measured) == 9
    assert len(json.loads((tmp_path / "run/tasks.json").read_text())) == 9
    assert (tmp_path / "run/walks.jsonl").read_text().count("\n") == sum(row["actions"] for row in rows_measured)


def test_walks_are_kept_as_minari(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    walk = [PhoneTransition(3, "Tap", f"element {n}", dump(ROW), dump(), True) for n in range(4)]
    write_minari("phone/walks-v0", [walk, walk], max_bytes=4000)
    (first, _) = minari.load_dataset("phone/walks-v0").iterate_episodes()
    assert bytes(np.trim_zeros(first.observations[0])).decode() == dump(ROW)
    assert bytes(np.trim_zeros(first.actions[2])).decode() == "Tap element 2"


def test_the_planners_read_the_prompt_and_know_no_task() -> None:
    task = "Task:\n```text\nSet an alarm for 07:30.\n```"
    past = "Past commands:\n1. Tap('element 7 x'): done"
    screen = "[7] 'Clock' button: [1, 2, 3, 4]\n  [9] empty Time (HH:MM) textbox: [1, 2, 3, 4]"
    prompt = f"{task}\n\n{past}\n\nObservation 2:\n```text\n{screen}\n```"
    now = read_moment(prompt)
    assert [(element.number, element.kind, element.label) for element in now.elements] == [
        (7, "button", "Clock"),
        (9, "textbox", "Time (HH:MM)"),
    ]
    assert value_for("Time (HH:MM)", now.task) == "07:30"
    assert now.was_pressed(now.elements[0])
    source = Path(PhoneRules.complete.__code__.co_filename).read_text()
    assert not [task for task in TASKS.values() if task.id in source or task.instruction in source]
    replies = [RandomPresses().complete([Message("user", prompt)]).text for _ in range(2)]
    assert replies[0] == replies[1]


def test_a_clumsy_planner_errs_equally_and_believes_what_it_is_told() -> None:
    task = "Task:\n```text\nOpen Clock.\n```"
    screen = "[7] 'Clock' button: [1, 2, 3, 4]\n[8] 'Notes' button: [5, 2, 9, 4]\n[9] 'Monday': [5, 5, 9, 9]"

    def ask(past: str, rate: float = 0.0, seed: int = 0) -> dict[str, Any]:
        prompt = f"{task}\n\nPast commands:\n{past}\n\nObservation 2:\n```text\n{screen}\n```"
        return dict(json.loads(ClumsyPresses(rate, str(seed)).complete([Message("user", prompt)]).text))

    meant = ask("(none)")
    assert meant["commands"] == [{"name": "Tap", "args": {"element": 7}}]
    spoilt = [ask("(none)", 1.0, seed)["commands"][0]["args"] for seed in range(30)]
    assert spoilt == [ask("(none)", 1.0, seed)["commands"][0]["args"] for seed in range(30)]
    assert {str(arguments) for arguments in spoilt} == {"{'element': 8}", "{'element': 9}", "{'coords': [12, 12]}"}
    reminded = f"Thought 1: {meant['thoughts']['plan']}\n1. Tap('12,12'): "
    assert ask(reminded + "done")["commands"][0]["name"] == "finish"
    assert ask(reminded + "no: nothing on the screen changed")["commands"] == meant["commands"]


def test_the_gates_worth_is_a_difference_of_equal_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    def play(jobs: Sequence[PhoneJob], setting: PhoneSetting, *, processes: int) -> Iterator[PhonePlayed]:
        solved = "phone" in setting.guards
        return (phone_row(job.task.id, complete=solved or number == 0) for number, job in enumerate(jobs))

    monkeypatch.setattr(phones, "play_all", play)
    rows = {row["arm"]: row for row in phones.rows(draws=170, seed=0)}
    count = len(TASKS) - len(held_out())
    assert rows["no gate"]["n"] == 2 * count
    assert rows["gate"]["success"] == 1.0
    assert rows["gate - no gate"]["success"] == round(1 - 1 / count, 4)
    assert rows["gate - no gate"]["success_low"] > 0.9
    assert rows["learned - no gate"]["reasonable_operations"] == 0.0


def test_a_fresh_sample_is_held_out_and_in_what_is_measured() -> None:
    assert len(held_out()) == 15
    assert all(TASKS[name].fresh for name in held_out())
    assert len(measured_tasks()) == 60
    assert held_out() < measured_tasks()
    assert {task.id for task in chosen_tasks(["measured"], embedded=True)} == measured_tasks()


@in_browser
def test_a_served_model_is_asked_about_many_episodes_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meet = threading.Barrier(3, timeout=60)

    class Served:
        name = "served"

        def complete(self, messages: Sequence[Message], **_: Any) -> Completion:
            meet.wait()  # breaks unless three episodes are asked about at once
            return Completion('{"commands": [{"name": "finish", "args": {"message": "3"}}]}', "served")

    monkeypatch.setattr(episodes, "build_model", lambda settings: Served())
    monkeypatch.setattr(episodes, "concurrency_of", lambda settings: 16)
    jobs = [PhoneJob(TASKS[name], "xml-react") for name in ("clock_8", "clock_9", "clock_10")]
    completed = {episode.task: episode.complete for episode in episodes.play(jobs, SETTING)}
    assert completed == {"clock_8": False, "clock_9": True, "clock_10": False}
