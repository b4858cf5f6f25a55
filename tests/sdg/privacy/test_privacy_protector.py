"""What is sensitive leaves as a placeholder, comes back in the body alone, and everything else stays as it was."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from sdg.envs.ui.presses import Press
from sdg.envs.world import Observation, PlainObservation
from sdg.gate.confirm import ConfirmGuard
from sdg.gate.executor import Command, GatedExecutor, GuardChain, IllegalCommand, OpenGate, SkillResult, Verdict
from sdg.llm.model import Message, ModelError
from sdg.llm.provider import ModelSettings
from sdg.llm.registry import ModelAdapter
from sdg.privacy.memory import Placeholders
from sdg.privacy.protector import ProtectedBody, ProtectedModel, Protector, build_model, protector_of
from sdg.privacy.recognisers import MAX_CHARS, PrivacyError, Span, find, recognisers_of


def codes(text: str) -> Iterable[Span]:
    """Finds codes such as X-123."""
    return [Span(*match.span(), "code") for match in re.finditer(r"X-\d+", text)]


def protector(**values: str) -> Protector:
    return Protector([codes], Placeholders(values))


def test_an_instruction_gets_placeholders_and_a_command_its_values_back() -> None:
    ours = protector()
    masked = ours.admit("type X-12 and X-7, then X-12 again")
    assert masked == "type {code} and {code_2}, then {code} again"
    assert ours.fill("X {code}") == "X X-12"


def test_values_that_their_user_names() -> None:
    ours = protector()
    assert ours.admit("connect with {wifi=blue sky 9} now") == "connect with {wifi} now"
    assert ours.fill("{wifi}") == "blue sky 9"
    assert ours.admit("and again: {wifi}, BLUE SKY 9") == "and again: {wifi}, {wifi}"


def test_a_name_that_stands_for_a_value_in_one_text_stands_for_no_other_in_the_next() -> None:
    ours = protector(pin="4711 or so")
    texts = [
        ("send {code=walrus}, {code}", "send {code}, {code}", "send walrus, walrus"),
        ("send {code=orchid}, {code}", "send {code_2}, {code_2}", "send orchid, orchid"),
        ("send {code=walrus} to X-77", "send {code} to {code_3}", "send walrus to X-77"),
        ("send {code_3=zebra}", "send {code_3_2}", "send zebra"),
        ("send {code=tulips} and {code_4=badger}", "send {code_5} and {code_4}", "send tulips and badger"),
        ("send {pin=4712 or so}", "send {pin}", "send 4712 or so"),
        ("send {pin=4713 or so}", "send {pin_3}", "send 4713 or so"),
    ]
    assert [ours.admit(said) for said, _, _ in texts] == [admitted for _, admitted, _ in texts]
    assert [ours.fill(admitted) for _, admitted, _ in texts] == [meant for _, _, meant in texts]
    with pytest.raises(PrivacyError, match=r"no value is kept for the placeholder \{code_6\}"):
        ours.admit("send {code=one more} and {code_6}")


def test_a_value_that_was_read_is_kept_by_a_text_that_has_its_name() -> None:
    ours = protector(pin="4711 or so")
    assert ours.admit("type {pin}") == "type {pin}"
    assert ours.admit("type {pin=4712 or so}") == "type {pin_2}"
    assert ours.fill("{pin}") == "4711 or so"


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ("0171 2345678", "call 0171 2345679 today"),
        ("hunter-21", "type hunter-22 today"),
        ("hunter-21x", "type hunter-21 today"),
        ("DE89370400440532013000", "pay to DE89 3704 0044 0532 0130 00 today"),
        ("walrus-orchid", "read it backwards: dihcro-surlaw"),
        ("wifi", "the wifi is {wifi=walrus}"),
        ("value", "type {value}"),
    ],
)
@pytest.mark.parametrize("recognised", [True, False])
def test_another_value_than_the_one_that_it_resembles_is_filled_in(kept: str, said: str, recognised: bool) -> None:
    def codes(text: str) -> Iterable[Span]:
        return [Span(*match.span(1), "code") for match in re.finditer(r"(?:call|type|to) ([\w -]+) today", text)]

    ours = Protector([codes] if recognised else [], Placeholders({"value": kept}))
    meant = re.sub(r"\{wifi=(\w+)\}", r"\1", said).replace("{value}", kept)
    admitted = ours.admit(said)
    assert ours.fill(admitted) == ours.fill(ours.mask(admitted)) == meant


@pytest.mark.parametrize(
    ("said", "name", "value"),
    [
        ("{Password=x y}", "password", "x y"),
        ("{wifi-code=walrus orchid}", "wifi_code", "walrus orchid"),
        ("{ Wi-Fi  code = x y }", "wi_fi_code", "x y"),
        ("{PIN=4711}", "pin", "4711"),
        ("{2nd_pin=4711}", "nd_pin", "4711"),
        ("{mot-de-passe préféré=été}", "mot_de_passe_prefere", "été"),
        ("{a." + 60 * "b" + "=x y}", "a_" + 39 * "b", "x y"),
        ("{token=" + 90 * "walrus " + "}", "token", 90 * "walrus " + "."),
    ],
)
def test_names_of_values_are_read_as_people_write_them(said: str, name: str, value: str) -> None:
    ours, again = protector(), said.partition("=")[0] + "}"
    assert ours.admit(f"type {said}, then {again} again") == f"type {{{name}}}, then {{{name}}} again"
    assert ours.fill(f"{{{name}}}") == value.removesuffix(".").strip()


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("{=x y}", "is no name of a value: write letters"),
        ("{密码=x y}", "is no name of a value: write letters"),
        ("{12=x y}", "is no name of a value: write letters"),
        ("{pin=4711} {PIN=4712}", "two values are named {pin}"),
        ("{password=wal{rus}or}chid}", "is one line without braces"),
        ("{password=wal}rus}", "is one line without braces"),
        ("{note=walrus\norchid}", "is one line without braces"),
        ("{note= }", "is empty"),
    ],
)
def test_a_named_value_that_cannot_be_read_is_refused(said: str, advice: str) -> None:
    with pytest.raises(PrivacyError, match=re.escape(advice)) as caught:
        protector().admit(f"type {said} there")
    assert not re.search("walrus|x y|471", str(caught.value))


@pytest.mark.parametrize("text", ['{"a": "b=c"}', "body {color: red}", "{} and {x}y", "if (a == b) {c}", "a={b, c=d}"])
def test_other_braces_stay_as_they_are(text: str) -> None:
    assert protector(x="walrus", c="orchid").admit(text) == text


def test_one_letter_is_not_hidden_from_whoever_must_choose_it() -> None:
    def zones(text: str) -> Iterable[Span]:
        return [Span(*match.span(), "zone") for match in re.finditer(r"(?<=zone )\w+", text)]

    assert (
        Protector([zones], Placeholders()).admit("a permit for zone C, not zone North")
        == "a permit for zone C, not zone {zone}"
    )


def test_a_placeholder_that_stands_for_nothing_is_refused_at_the_entry() -> None:
    with pytest.raises(PrivacyError, match=r"no value is kept for the placeholder \{pin\}; there are: \{wifi\}"):
        protector(wifi="blue").admit("type {pin}")
    assert protector(code="abc").admit("{code} is not X-1") == "{code} is not {code_2}"


def test_a_recogniser_that_fails_lets_nothing_through() -> None:
    def broken(text: str) -> Sequence[Span]:
        raise RuntimeError(f"can't read {text}")

    for own in (broken, lambda text: [(0, 3)], lambda text: [Span(0, 99, "x")]):
        with pytest.raises(PrivacyError, match="nothing was sent") as caught:
            Protector([own], Placeholders()).admit("a secret")  # type: ignore[list-item]
        assert "secret" not in str(caught.value)
    with pytest.raises(PrivacyError, match="shorten it"):
        protector().admit("x" * (MAX_CHARS + 1))


def test_where_spans_overlap_the_surer_one_stays_whole_and_nothing_shows() -> None:
    weak, strong = Span(0, 6, "weak", 0.1), Span(4, 8, "strong", 0.9)
    assert find("abcdefghij", [lambda text: [weak, strong]]) == [Span(0, 4, "weak", 0.1), strong]


@dataclass(frozen=True)
class Thing:
    """A record of an element."""

    id: int
    name: str
    held: bool = False


class Screen:
    """A body that shows what was written; some words make it fail in all the ways there are."""

    def __init__(self) -> None:
        self.written = ""

    def observe(self) -> Observation:
        """The text as it stands."""
        return PlainObservation(f"shown: {self.written}", image=b"pixels", elements=(Thing(0, self.written),))

    def perform(self, command: Command) -> SkillResult:
        """Writes."""
        self.written = command.argument
        if command.name == "refuse":
            raise IllegalCommand(f"can't take {command.argument}")
        if command.name == "die":
            raise ValueError(f"died of {command.argument}")
        return SkillResult(command.name == "write", 1, 1, f"wrote {command.argument}")


def test_the_body_gets_the_value_and_nobody_sees_it_again() -> None:
    screen = Screen()
    executor = GatedExecutor(ProtectedBody(screen, protector(pin="4711 or so")), OpenGate())
    outcome = executor.execute(Command("write", "{pin}"))
    assert screen.written == "4711 or so"
    assert outcome.success
    assert outcome.command == Command("write", "{pin}")
    observation = ProtectedBody(screen, protector(pin="4711 or so")).observe()
    assert observation == PlainObservation("shown: {pin}", elements=(Thing(0, "{pin}"),))
    assert "4711" not in str(
        [outcome, executor.execute(Command("refuse", "{pin}")), executor.execute(Command("x", "{pin}"))]
    )


class Row(NamedTuple):
    """An element that is no dataclass."""

    id: int
    name: str
    held: bool = False


class Deep:
    """Another, which knows the screen that it is on."""

    id, held = 0, False

    def __init__(self, name: str) -> None:
        self._names, self.screen, self.where = [name], Row(1, name), np.zeros(2)

    @property
    def name(self) -> str:
        """What is written on it."""
        return self._names[0]


@pytest.mark.parametrize(
    "make", [Deep, lambda name: Row(1, name), lambda name: SimpleNamespace(name=name, on=Deep(name))]
)
def test_elements_of_any_class_are_masked(make: Callable[[str], Any]) -> None:
    screen, element = Screen(), make("shown: 4711 or so")
    screen.observe = lambda: PlainObservation("", elements=(element,))  # type: ignore[method-assign]
    (masked,) = ProtectedBody(screen, protector(pin="4711 or so")).observe().elements
    assert (type(masked), masked.name, element.name) == (type(element), "shown: {pin}", "shown: 4711 or so")
    assert "4711" not in repr(getattr(masked, "__dict__", masked))
    assert not isinstance(masked, Deep) or list(masked.where) == [0, 0]


class Judges:
    """A guard that keeps what it judged, and says it."""

    def __init__(self, kind: str = "rules") -> None:
        self.kind, self.judged = kind, list[Any]()

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """Passes."""
        self.judged.append((command.argument, observation))
        return Verdict(True, f"{command.argument}, {observation.text}")

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """Passes."""
        self.judged.append((command.argument, after))
        return Verdict(True, f"{command.argument}, {after.text[:14]}")


def test_guards_judge_what_is_really_there_but_those_that_ask_a_model() -> None:
    screen, judges, asks = Screen(), Judges(), Judges("llm")
    gate = GuardChain(rules=[judges], llm=[GuardChain(llm=[asks])])
    outcome = GatedExecutor(ProtectedBody(screen, protector(pin="4711 or so")), gate).execute(Command("write", "{pin}"))
    (filled, _), (_, real) = judges.judged
    assert (filled, real.text, real.image) == ("4711 or so", "shown: 4711 or so", b"pixels")
    assert [argument for argument, _ in asks.judged] == ["{pin}", "{pin}"]
    assert not any(part in f"{outcome}{asks.judged}" for part in ("4711", "or so"))
    assert outcome.success


def test_a_body_that_says_what_is_pressed_is_asked_about_it_whatever_is_kept() -> None:
    class Pressed(Screen):
        def observe(self) -> Any:
            return SimpleNamespace(
                text="", image=None, elements=(), perception=None, press_of=lambda command: Press("button", "Delete")
            )

    for ours in (protector(), protector(pin="4711")):
        screen = Pressed()
        outcome = GatedExecutor(ProtectedBody(screen, ours), ConfirmGuard()).execute(Command("write", "x"))
        assert (screen.written, "can't be undone" in outcome.error) == ("", True)


def test_a_body_s_errors_are_masked_and_have_no_cause() -> None:
    body = ProtectedBody(Screen(), protector(pin="4711 or so"))
    with pytest.raises(RuntimeError, match=r"the body failed: ValueError: died of \{pin\}") as caught:
        body.perform(Command("die", "{pin}"))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize("argument", ["{password}", "{pin} {pin_2}", "{pin}{x}"])
def test_a_model_s_own_placeholders_are_refused(argument: str) -> None:
    screen = Screen()
    outcome = GatedExecutor(ProtectedBody(screen, protector(pin="4711")), OpenGate()).execute(
        Command("write", argument)
    )
    assert screen.written == ""
    assert "no value is kept for the placeholder" in outcome.error
    assert outcome.error.endswith("{pin}")


def test_braces_are_only_braces_where_no_value_is_kept() -> None:
    for argument in ("print(f'{x}')", r"\frac{a}{b}", "Hello {name},", '{"text": "{x}"}'):
        screen = Screen()
        body = ProtectedBody(screen, Protector((), Placeholders()))
        assert GatedExecutor(body, OpenGate()).execute(Command("write", argument)).success
        assert screen.written == argument
    with pytest.raises(PrivacyError, match="no value is kept"):
        Protector((), Placeholders()).admit("write {name}")


@pytest.mark.parametrize("value", [r"ab\tcd!9x", r"C:\new\users", r"pass\u0041word", r"a\qb-longer", 'quo"te-longer'])
def test_json_says_the_values_that_are_filled_in(value: str) -> None:
    ours = protector(pw=value)
    for arguments in ({"text": "{pw}", "to": "say {pw}!"}, ["{pw}", {"a": ["{pw} {pw}"]}]):
        filled = ours.fill(json.dumps(arguments))
        assert json.loads(filled) == json.loads(json.dumps(arguments).replace("{pw}", json.dumps(value)[1:-1]))
        assert ours.mask(filled) == json.dumps(arguments)
    assert ours.fill('"{pw}" {pw}') == f'"{value}" {value}', "text is no JSON"


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
def test_an_exit_goes_on_without_a_value(kind: type[BaseException]) -> None:
    class Exits(Screen):
        def perform(self, command: Command) -> SkillResult:
            raise kind(f"login failed for {command.argument}")

        def observe(self) -> Observation:
            raise kind(3)

    body = ProtectedBody(Exits(), protector(pin="hunter2-hunter2"))
    with pytest.raises(kind) as caught:
        body.perform(Command("log_in", "{pin}"))
    assert (caught.value.args, getattr(caught.value, "code", "")) == (
        ("login failed for {pin}",),
        "login failed for {pin}" if kind is SystemExit else "",
    )
    assert caught.value.__context__ is None
    with pytest.raises(kind) as caught:
        body.observe()
    assert caught.value.args == (3,)


def test_a_model_sees_placeholders_and_its_words_are_masked() -> None:
    questions: list[str] = []

    def complete(messages: Sequence[Message]) -> str:
        questions.extend(message.content for message in messages)
        if "fail" in questions[-1]:
            raise ModelError(f"HTTP 400: {questions[-1]}, blue sky")
        return "is it Blue Sky?"

    model = ProtectedModel(
        ModelAdapter(type("Mine", (), {"complete": staticmethod(complete)})()), protector(wifi="blue sky").mask
    )
    assert model.complete([Message("user", "blue sky or YKS EULB")]).text == "is it {wifi}?"
    assert questions == ["{wifi} or {wifi}"]
    with pytest.raises(ModelError, match=r"HTTP 400: fail, \{wifi\}"):
        model.complete([Message("user", "fail")])


@pytest.fixture(scope="module")
def shipped() -> Sequence[object]:
    return recognisers_of()


@pytest.mark.parametrize(
    ("instruction", "masked"),
    [
        ('Log in as "jdoe77" with the password "hunter2!x"', 'Log in as "{user_name}" with the password "{password}"'),
        ("Mail jane.smith@corp.example about lunch on Monday", "Mail {email_address} about lunch on Monday"),
        ("Pay with card 4111 1111 1111 1111 now", "Pay with card {card_number} now"),
        ("Ship it to 12 Baker Street, London NW1 6XE and wait", "Ship it to {address} and wait"),
        ("Set my date of birth to 4 May 1990 and save", "Set my date of birth to {date_of_birth} and save"),
        ("Block the device 00:1B:44:11:3A:B7 on the router", "Block the device {mac_address} on the router"),
        ("Open Google Maps and search for the nearest cafe", "Open Google Maps and search for the nearest cafe"),
        ("put the red ball next to the green box", "put the red ball next to the green box"),
    ],
)
def test_what_is_shipped_recognises(shipped: Sequence[object], instruction: str, masked: str) -> None:
    ours = Protector(shipped, Placeholders())  # type: ignore[arg-type]
    assert ours.admit(instruction) == masked
    assert ours.fill(masked) == instruction


def test_a_recogniser_of_one_s_own_joins_them() -> None:
    own = recognisers_of(f"{__name__}:codes") if "." not in __name__ else ()
    assert not own or find("take X-99", own) == [Span(5, 9, "code")]
    with pytest.raises(PrivacyError, match="no_such_module"):
        recognisers_of("no_such_module:MODEL")
    assert protector_of("off") is None


def test_a_model_is_not_made_without_the_protector_that_its_settings_name() -> None:
    with pytest.raises(ModelError, match=r"isn't asked: .*no_such_module"):
        build_model(ModelSettings(privacy="no_such_module:MODEL"))
    assert not isinstance(build_model(ModelSettings()), ProtectedModel)
