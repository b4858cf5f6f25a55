"""The gate in front of anybody's executor: which guards it takes, what it needs, and that a refusal has a reason."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sdg
from sdg.api import gate as module
from sdg.envs.registry import RegistryError
from sdg.envs.world import Observation, PlainObservation
from sdg.gate.executor import MAX_ERROR_CHARS, Command, IllegalCommand, SkillResult, Verdict
from sdg.llm.model import Message
from sdg.phone_agent.desktop import PhoneDesktop
from sdg.privacy.recognisers import PrivacyError
from tests.shared.screens.phone_dumps import dump, node
from tests.shared.screens.scripted_phone import ScriptedPhone, button


class Shop:
    """An executor that counts what it did."""

    done = 0

    def observe(self) -> str:
        return f"{self.done} lamps bought"

    def perform(self, command: Command) -> str:
        self.done += 1
        return "done"


class Refuses:
    """A guard that refuses without a word."""

    kind = "rules"

    def feasible(self, command: Command, observation: object) -> Verdict:
        return Verdict(False, "")

    def complete(self, command: Command, before: object, after: object) -> Verdict:
        return Verdict(True, "")


class Odd(Refuses):
    """A guard whose kind there isn't."""

    kind = "rule"


@pytest.mark.parametrize("guard", [Odd(), object(), "rules", "learned", "nobody"])
def test_what_is_no_guard_here_is_refused(guard: Any) -> None:
    with pytest.raises(RegistryError):
        sdg.Gate(Shop(), guards=(guard,))


@pytest.mark.parametrize("name", ["open", "phone", "confirm"])
def test_guards_are_made_by_name(name: str) -> None:
    assert sdg.Gate(Shop(), guards=(name,)).execute("look", "lamp").success


def test_a_refusal_has_a_reason() -> None:
    shop = Shop()
    outcome = sdg.Gate(shop, guards=(Refuses(),)).execute("look", "lamp")
    assert (outcome.success, shop.done) == (False, 0)
    assert outcome.error


def test_nothing_public_goes_round_the_gate() -> None:
    gate = sdg.Gate(Shop())
    assert {name for name in dir(gate) if not name.startswith("_")} == {"admit", "execute"}


def test_what_the_planner_calls_final_is_asked_about() -> None:
    assert sdg.Gate(Shop()).execute("look", "lamp").success
    assert not sdg.Gate(Shop()).execute("look", "lamp", final=True).success


def test_only_tasks_need_what_recognises_private_values(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks(own: str) -> None:
        raise PrivacyError("it isn't installed")

    monkeypatch.setattr(module, "recognisers_of", lacks)
    gate = sdg.Gate(Shop())
    assert gate.execute("look", "lamp").success
    with pytest.raises(PrivacyError, match="isn't installed"):
        gate.admit("send it to Ann")


IBAN = "DE02120300000000202051"


class Bank:
    """An executor that shows a value in part, and fails to show anything once it acted."""

    def __init__(self, breaks: bool = False) -> None:
        self.said, self._breaks = "", breaks

    def observe(self) -> str:
        if self.said and self._breaks:
            raise ValueError(f"cannot read {self.said}")
        return f"account {self.said[:10]} and {self.said[-8:]}"

    def perform(self, command: Command) -> dict[str, str]:
        self.said = command.argument
        return {"to": command.argument[:20]}


def test_two_tasks_that_name_their_values_alike_get_their_own() -> None:
    bank = Bank()
    gate = sdg.Gate(bank)
    first, second = gate.admit(f"see {{iban={IBAN}}}"), gate.admit("see {iban=DE89370400440532013000}")
    assert (first, second) == ("see {iban}", "see {iban_2}")
    gate.execute(*first.split())
    assert bank.said == IBAN
    gate.execute(*second.split())
    assert bank.said == "DE89370400440532013000"


class Listens(Refuses):
    """A guard that keeps what it was shown: what is really there, unless it asks a model."""

    def __init__(self, kind: str = "rules") -> None:
        self.shown: list[Observation] = []
        self.kind = kind

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        return Verdict(True, "heard")

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        self.shown.append(after)
        return Verdict(True, "heard")


def test_an_act_that_nobody_can_see_is_told_without_its_value() -> None:
    bank = Bank(breaks=True)
    gate = sdg.Gate(bank)
    gate.admit(f"see {{iban={IBAN}}}")
    outcome = gate.execute("see", "{iban}")
    assert bank.said == IBAN
    assert "may have been carried out" in outcome.error
    assert IBAN not in repr(outcome)


def test_neither_models_nor_result_show_parts_of_a_value() -> None:
    listens, sees = Listens("llm"), Listens()
    gate = sdg.Gate(Bank(), guards=[sees, listens])
    gate.admit(f"see {{iban={IBAN}}}")
    outcome = gate.execute("see", "{iban}")
    assert outcome.success
    assert not any(part in f"{listens.shown}{outcome.result}" for part in (IBAN[:10], IBAN[-8:]))
    assert sees.shown[0].text == f"account {IBAN[:10]} and {IBAN[-8:]}"


def test_numbers_of_a_value_reach_no_model() -> None:
    class Form(Bank):
        def observe(self) -> Observation:  # type: ignore[override]
            field = SimpleNamespace(id=1, name="account", held=False, status=4711081512, position=(8351, 2))
            return PlainObservation(f"form {self.said}", None, (field,))

    class Model:
        asked = ""

        def complete(self, messages: Sequence[Message]) -> str:
            self.asked += "".join(message.content for message in messages)
            return '{"Thought": "ok", "%s": "Yes"}' % (
                "Completeness" if "before" in messages[-1].content else "Feasible"
            )

    model = Model()
    gate = sdg.Gate(Form(), model=model)
    gate.admit("type {account=4711081512} and {pin=8351}")
    assert gate.execute("type", "{account}").success
    assert "{account}" in model.asked
    assert not any(value in model.asked for value in ("4711081512", "8351"))


def test_elements_of_any_kind_are_masked() -> None:
    class Shows(Bank):
        def observe(self) -> Observation:  # type: ignore[override]
            return PlainObservation("x", None, (self.said, {"v": [self.said]}))

    listens = Listens("llm")
    gate = sdg.Gate(Shows(), guards=[listens])
    gate.admit(f"see {{iban={IBAN}}}")
    gate.execute("see", "{iban}")
    assert listens.shown[0].elements == ("{iban}", {"v": ["{iban}"]})


def test_a_picture_that_changed_is_a_change_and_guards_see_it() -> None:
    class Painted(Bank):
        def observe(self) -> Observation:  # type: ignore[override]
            return PlainObservation("screen", np.full((4, 4, 3), 9 * bool(self.said), np.uint8))

    for task in ("see it", f"see {{iban={IBAN}}}"):
        listens = Listens()
        gate = sdg.Gate(Painted(), guards=[listens])
        gate.admit(task)
        assert gate.execute("see", "it").success
        assert listens.shown[0].image is not None


def test_a_command_that_took_no_step_is_judged_by_what_its_executor_says() -> None:
    class Door(Bank):
        def perform(self, command: Command) -> SkillResult:  # type: ignore[override]
            return SkillResult(command.name == "open", 0, 1, "it is open")

    door = Door()
    gate = sdg.Gate(door)
    for text in ("", "", "another word"):
        door.said = text
        outcome = gate.execute("open", "door")
        assert (outcome.success, outcome.reason) == (True, "it held already")
        assert not gate.execute("close", "door").success


@pytest.mark.parametrize(
    "result",
    [
        SkillResult(True, -1, 1),
        SkillResult(True, 1, -1),
        SkillResult("yes", 1, 1),  # type: ignore[arg-type]
        SkillResult(True, "many", 1),
        SkillResult(True, 0.5, 1),
    ],
)  # type: ignore[arg-type]
def test_a_result_that_cannot_be_read_is_no_success(result: SkillResult) -> None:
    class Says(Shop):
        def perform(self, command: Command) -> SkillResult:  # type: ignore[override]
            self.done += 1
            return result

    outcome = sdg.Gate(Says()).execute("look")
    assert not outcome.success
    assert "may have been carried out" in outcome.error


@pytest.mark.parametrize("error", [ValueError, IllegalCommand])
def test_what_an_executor_says_of_its_failure_is_cut(error: type[Exception]) -> None:
    class Fails(Shop):
        def perform(self, command: Command) -> str:
            raise error("no " * 10**6)

    outcome = sdg.Gate(Fails()).execute("look")
    assert "no no" in outcome.error
    assert len(outcome.error) <= MAX_ERROR_CHARS


NAMES = "HTTPDelete DBDelete sendmail SENDMAIL deleteaccount make_payment bulkdelete autosend prepay resend del rm"
NAMES += " s_e_n_d confirm_booking email wire_money charge_card drop_table unlink truncate reply_all forward"
NAMES += " tweet cancel_meeting"
NAMES += " transfer_all_of_the_money_to_this_other_bank place_the_order_for_the_user_right_now_ok"


@pytest.mark.parametrize("name", ["list_files", "model", "display", "get_weather", "open", "format_text", "backup"])
def test_nobody_is_asked_about_other_names(name: str) -> None:
    assert sdg.Gate(Shop()).execute(name).success


@pytest.mark.parametrize("name", NAMES.split())
def test_a_name_says_what_it_does_in_any_spelling(name: str) -> None:
    shop = Shop()
    assert not sdg.Gate(shop).execute(name).success
    assert shop.done == 0
    assert sdg.Gate(shop, reads=(name,)).execute(name).success


class Diary:
    """An executor with notes, and a picture in one buffer that it draws into again and again."""

    def __init__(self) -> None:
        self.notes = ["lunch"]
        self.picture = np.zeros((4, 4, 3), np.uint8)

    def observe(self) -> Observation:
        self.picture[:] = len(self.notes)
        return PlainObservation("a diary", self.picture)

    def perform(self, command: Command) -> str:
        return self.notes.pop()


def test_a_lone_name_isn_t_its_letters_and_names_outlast_a_call() -> None:
    diary = Diary()
    assert "wasn't confirmed" in sdg.Gate(diary, reads="list_deleted").execute("delete", "lunch").error
    assert "none of list_deleted" in sdg.Gate(diary, commands="list_deleted").execute("delete", "lunch").error
    assert diary.notes
    gate = sdg.Gate(diary, commands=iter(["pop"]), reads=(name for name in ["look"]))  # type: ignore[arg-type]
    assert not gate.execute("look").success
    assert gate.execute("pop").success


def test_a_picture_in_a_buffer_that_is_used_again_shows_what_changed() -> None:
    assert sdg.Gate(Diary()).execute("pop").reason == "something changed"


def test_what_an_observation_says_of_a_press_is_asked_about() -> None:
    asks = node("TextView", "[0,60][400,90]", text="Delete all photos?")
    phone = ScriptedPhone(dump(button("OK"), asks), dump(button("OK")))
    assert "can't be undone" in sdg.Gate(PhoneDesktop(phone, "tidy up")).execute("Tap", "50,25").error
    assert phone.done == []
    phone.at = 1
    assert sdg.Gate(PhoneDesktop(phone, "tidy up")).execute("Tap", "50,25").verdicts[0].passed


def test_a_press_is_judged_with_its_values_and_told_without() -> None:
    phone, asked = ScriptedPhone(dump(button(f"Pay {IBAN}"), button("Next", 60))), list[str]()
    gate = sdg.Gate(PhoneDesktop(phone, "pay"), confirm=lambda question: len(asked.__iadd__([question])) > 1)
    gate.admit(f"pay {{iban={IBAN}}} {{word=Pay}}")
    outcome = gate.execute("Tap", "50,25")
    assert (phone.done, len(asked)) == ([], 1)
    assert not any(part in repr(outcome) for part in (IBAN[:10], IBAN[-8:]))
