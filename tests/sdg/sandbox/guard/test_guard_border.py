"""Between generated code and the host: exact types in, fresh data out, exceptions by whose fault they are."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from sdg.sandbox.guard import BudgetSpent, GeneratedError, Guard, HostFault, Refused, Signature


@dataclasses.dataclass(frozen=True, slots=True)
class Thing:
    name: str
    at: tuple[int, int]


class CommandError(Exception):
    pass


class EpisodeOver(BaseException):
    pass


class Host:
    """Functions that note how they are called and do what a test sets."""

    def __init__(self) -> None:
        self.given: list[Any] = []
        self.raises: BaseException | None = None
        self.things = [Thing("red ball", (1, 2))]

    def look(self) -> list[Thing]:
        return self.things

    def act(self, thing: Any, times: int = 1) -> bool:
        self.given.append(thing)
        if self.raises is not None:
            raise self.raises
        return True

    def functions(self) -> dict[str, Any]:
        return {"look": self.look, "act": self.act}


@pytest.fixture
def host() -> Host:
    return Host()


def run_on_host(host: Host, body: str, **options: Any) -> Any:
    source = "def program():\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    guard = Guard(host.functions(), records=(Thing,), errors=(CommandError,), **options)
    return guard.load(source, entry="program")(host.functions())


def test_arguments_arrive_as_they_are(host: Host) -> None:
    run_on_host(host, "act('x')\nact(look()[0])\nact([1, (2, 'a')], times=2)\nact(None)")
    assert host.given == ["x", host.things[0], [1, (2, "a")], None]


@pytest.mark.parametrize(
    "argument", ["act", "lambda: 1", "(x for x in [1])", "{1, 2}", "range(3)", "[act]", "'x' * 3000"]
)
def test_other_arguments_are_refused(host: Host, argument: str) -> None:
    with pytest.raises(GeneratedError, match="line 2"):
        run_on_host(host, f"act({argument})")
    assert host.given == []


def test_lists_given_to_the_host_are_copies(host: Host) -> None:
    run_on_host(host, "x = [1]\nact(x)\nx.append(2)")
    assert host.given == [[1]]


def test_lists_from_the_host_are_copies(host: Host) -> None:
    run_on_host(host, "things = look()\nthings.clear()\nthings.append(1)")
    assert host.things == [Thing("red ball", (1, 2))]


def test_a_command_error_passes_unchanged_with_its_line(host: Host) -> None:
    host.raises = CommandError("the door is locked")
    guard = Guard(host.functions(), records=(Thing,), errors=(CommandError,))
    guarded = guard.load("def program():\n    x = 1\n    act('door')\n", entry="program")
    with pytest.raises(CommandError) as caught:
        guarded(host.functions())
    assert caught.value is host.raises
    assert guarded.line_of(caught.value) == 3


@pytest.mark.parametrize("handler", ["except Exception:", "except CommandError as error:", "except:"])
def test_a_command_error_can_be_caught(host: Host, handler: str) -> None:
    host.raises = CommandError("no")
    assert run_on_host(host, f"try:\n    act(1)\n{handler}\n    return 'caught'") == "caught"


def test_its_own_command_error_becomes_a_generated_error(host: Host) -> None:
    with pytest.raises(GeneratedError, match="line 2: CommandError: mine"):
        run_on_host(host, "raise CommandError('mine')")


@pytest.mark.parametrize(
    "body",
    [
        "try:\n    act(1)\nexcept:\n    pass\nreturn 1",
        "try:\n    act(1)\nexcept Exception:\n    act(2)\nreturn 1",
        "try:\n    act(1)\nfinally:\n    act(2)",
        "try:\n    try:\n        act(1)\n    finally:\n        1 / 0\nexcept Exception:\n    return 5",
        "try:\n    try:\n        act(1)\n    finally:\n        raise ValueError('x')\nexcept ValueError:\n    act(3)",
    ],
)
def test_a_control_exception_cannot_be_swallowed(host: Host, body: str) -> None:
    host.raises = EpisodeOver()
    with pytest.raises(EpisodeOver) as caught:
        run_on_host(host, body)
    assert caught.value is host.raises
    assert host.given == [1], "nothing reaches the host after the end"


def test_a_value_error_of_the_host_is_the_codes_fault(host: Host) -> None:
    host.raises = ValueError("say [a|the] color type")
    with pytest.raises(GeneratedError, match=r"line 3: ValueError: say \[a\|the\] color type"):
        run_on_host(host, "x = 1\nact('nonsense')")


@pytest.mark.parametrize("error", [OverflowError("too large"), ZeroDivisionError("by zero")])
def test_numbers_that_a_host_cannot_reckon_with_are_the_codes_fault(host: Host, error: Exception) -> None:
    host.raises = error
    with pytest.raises(GeneratedError, match=type(error).__name__):
        run_on_host(host, "act(10 ** 1000)")


def test_no_half_of_a_character_is_made(host: Host) -> None:
    with pytest.raises(GeneratedError, match="surrogates not allowed"):
        run_on_host(host, "act(chr(0xd800))")


def test_a_bug_of_the_host_is_not(host: Host) -> None:
    host.raises = KeyError("ours")
    with pytest.raises(KeyError):
        run_on_host(host, "act(1)")


def test_its_own_message_comes_back(host: Host) -> None:
    with pytest.raises(GeneratedError) as caught:
        run_on_host(host, "x = 0\nraise ValueError('the ball is not here')")
    assert (caught.value.line, caught.value.kind, str(caught.value)) == (
        3,
        "ValueError",
        "line 3: ValueError: the ball is not here",
    )


def test_control_characters_in_messages_are_dropped(host: Host) -> None:
    with pytest.raises(GeneratedError) as caught:
        run_on_host(host, r"raise ValueError('\x1b[31mred')")
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("call", ["act()", "act(1, 2, 3)", "act(1, wrong=2)", "look(1)"])
def test_wrong_calls_name_the_function(host: Host, call: str) -> None:
    with pytest.raises(GeneratedError, match="takes"):
        run_on_host(host, call)


def test_a_host_that_breaks_its_promise_is_stopped(host: Host) -> None:
    guard = Guard({"steps": Signature("steps")}, records=(Thing,))
    guarded = guard.load("def program():\n    try:\n        return steps()\n    except Exception:\n        return 0\n")
    with pytest.raises(HostFault, match="steps"):
        guarded({"steps": object})


@pytest.mark.parametrize(
    ("number", "plain"),
    [
        (np.int64(3), 3), (np.uint8(3), 3), (np.float32(0.5), 0.5), (np.float64(0.5), 0.5), (np.bool_(True), True),
        (np.str_("red"), "red"), ([np.int64(1), {"at": (np.int32(2), 3)}], [1, {"at": (2, 3)}]),
    ],
)  # fmt: skip
def test_numbers_of_numpy_become_plain_ones(number: Any, plain: Any) -> None:
    guard = Guard({"steps": Signature("steps")})
    value = guard.load("def program():\n    return steps()\n")({"steps": lambda: number})
    assert repr(value) == repr(plain)


@pytest.mark.parametrize("value", [np.zeros(3), np.complex64(1j), np.longdouble(1), np.datetime64("2026-01-01")])
def test_no_other_value_of_numpy_comes_in(value: Any) -> None:
    with pytest.raises(HostFault, match="steps"):
        Guard({"steps": Signature("steps")}).load("def program():\n    return steps()\n")({"steps": lambda: value})


@pytest.mark.parametrize(
    ("value", "message"), [("None", "None"), ("1", "int"), ("[True]", "list"), ("look()[0]", "Thing")]
)
def test_checks_return_exactly_a_bool(host: Host, value: str, message: str) -> None:
    with pytest.raises(GeneratedError, match=message):
        run_on_host(host, f"return {value}", returns=bool)
    assert run_on_host(host, f"return {value} is None and False", returns=bool) is False


def test_and_or_in_a_return_is_its_truth(host: Host) -> None:
    assert run_on_host(host, "return look() and look()[0]", returns=bool) is True


def test_the_budget_is_the_same_each_run_and_known(host: Host) -> None:
    guard = Guard(host.functions(), records=(Thing,), budget_steps=500)
    guarded = guard.load("def program():\n    n = 0\n    for i in range(100):\n        n += i\n    return n\n")
    assert guarded({}) == guarded({}) == 4950
    spent = guarded.steps
    assert guarded({}) == 4950
    assert guarded.steps == spent
    assert 100 <= spent < 200
    endless = guard.load("def program():\n    while True:\n        pass\n")
    for _ in range(2):
        with pytest.raises(BudgetSpent, match="500 steps"):
            endless({})


def test_nothing_is_left_over_from_the_last_run(host: Host) -> None:
    host.raises = EpisodeOver()
    guard = Guard(host.functions(), records=(Thing,))
    guarded = guard.load("def program():\n    act(1)\n    return len(look())\n")
    with pytest.raises(EpisodeOver):
        guarded(host.functions())
    host.raises = None
    assert guarded(host.functions()) == 1


@pytest.mark.parametrize("field", ["format", "obj", "mro", "gi_frame", "_hidden", "append", "real", "args"])
def test_fields_that_could_be_misused_are_refused(field: str) -> None:
    record = dataclasses.make_dataclass("Record", [(field, int)], frozen=True)
    with pytest.raises(ValueError, match="safe"):
        Guard({}, records=(record,))


def test_records_must_be_frozen_and_flat() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Guard({}, records=(dataclasses.make_dataclass("Loose", [("name", str)]),))
    with pytest.raises(ValueError, match="flat"):
        Guard({}, records=(dataclasses.make_dataclass("Deep", [("names", "list[str]")], frozen=True),))


def test_function_names_must_be_safe() -> None:
    for name in ("__import__", "len", "a b", "_x"):
        with pytest.raises(ValueError, match="safe"):
            Guard({name: Signature(name)})


def test_unknown_names_are_told_what_there_is(host: Host) -> None:
    with pytest.raises(Refused, match=r"line 2: the name 'look_at' is not known; the functions are: look, act"):
        run_on_host(host, "look_at()")


@pytest.mark.parametrize("error", [RecursionError("too deep"), MemoryError()])
def test_stack_and_memory_that_run_out_in_the_host_are_the_codes_fault(host: Host, error: Exception) -> None:
    host.raises = error
    with pytest.raises(GeneratedError) as caught:
        run_on_host(host, "act('x')")
    assert caught.value.kind == type(error).__name__


@pytest.mark.parametrize("lookup", ["{}[look]", "[1].index(look)", "{1}.remove(look)"])
def test_errors_tell_no_addresses(host: Host, lookup: str) -> None:
    with pytest.raises(GeneratedError) as caught:
        run_on_host(host, lookup)
    assert "0x" not in str(caught.value)
    handled = "except ValueError as e:\n    return str(e)\nexcept KeyError:\n    return ''"
    assert run_on_host(host, f"try:\n    {lookup}\n{handled}") in ("", "sequence.index(x): x not in sequence")


@pytest.mark.parametrize(("call", "name"), [("len()", "len"), ("'a'.split(1, 2, 3)", "split"), ("round()", "round")])
def test_wrong_calls_of_builtins_tell_the_name_that_was_written(host: Host, call: str, name: str) -> None:
    with pytest.raises(GeneratedError, match=rf"TypeError: {name}\(\) "):
        run_on_host(host, call)
