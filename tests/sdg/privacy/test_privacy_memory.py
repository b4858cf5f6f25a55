"""The memory keeps values to itself, and a file that isn't the user's alone is refused with a reason."""

from __future__ import annotations

import json
import os
import pickle
import stat
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sdg.privacy.memory import Placeholders
from sdg.privacy.protector import Protector
from sdg.privacy.recognisers import PrivacyError

VALUE = "hunter2-Canary"


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    memory = Placeholders({"password": VALUE})
    memory.save(tmp_path / "own" / "memory")
    return tmp_path / "own" / "memory"


def test_what_is_saved_is_encrypted_private_and_loaded_again(path: Path) -> None:
    key = path.with_name("memory.key")
    assert [stat.S_IMODE(file.stat().st_mode) for file in (path, key)] == [0o600, 0o600]
    assert VALUE.encode() not in path.read_bytes()
    assert Placeholders.load(path).fill("{password}") == VALUE
    assert list(Placeholders.load(path.with_name("none"))) == []


def test_the_key_lies_in_the_keyring_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring

    passwords: dict[tuple[str, str], str] = {}
    monkeypatch.setattr(keyring, "get_keyring", lambda: type("Ring", (), {"priority": 5})())
    monkeypatch.setattr(keyring, "set_password", lambda *place: passwords.update({place[:2]: place[2]}))
    monkeypatch.setattr(keyring, "get_password", lambda *place: passwords.get(place))
    Placeholders({"pin": "4711"}).save(tmp_path / "memory")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["memory", "memory.lock"], "no file with the key"
    assert Placeholders.load(tmp_path / "memory").fill("{pin}") == "4711"
    passwords.clear()
    with pytest.raises(PrivacyError, match=r"key of the memory .* is gone"):
        Placeholders.load(tmp_path / "memory")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o622])
@pytest.mark.parametrize("name", ["memory", "memory.key"])
def test_what_others_may_read_is_refused(path: Path, name: str, mode: int) -> None:
    path.with_name(name).chmod(mode)
    with pytest.raises(PrivacyError, match=f"{name} can be read by others: chmod 600"):
        Placeholders.load(path)


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"\xff\x00", None])
def test_a_damaged_memory_is_refused_and_left_alone(path: Path, damage: bytes | None) -> None:
    data = path.read_bytes()
    data = data[:-9] + b"AAAA" + data[-5:] if damage is None else damage
    path.write_bytes(data)
    with pytest.raises(PrivacyError, match=r"is damaged or was written under another key: move .* aside"):
        Placeholders.load(path)
    assert path.read_bytes() == data


def test_another_schema_a_link_and_a_folder_are_refused(path: Path) -> None:
    from cryptography.fernet import Fernet

    cipher = Fernet(path.with_name("memory.key").read_bytes())
    path.write_bytes(cipher.encrypt(json.dumps({"schema": 9, "values": {}}).encode()))
    with pytest.raises(PrivacyError, match="has schema 9, not 1"):
        Placeholders.load(path)
    (path.parent / "link").symlink_to(path)
    (path.parent / "folder").mkdir()
    for name in ("link", "folder"):
        with pytest.raises(PrivacyError, match="can't be read"):
            Placeholders.load(path.parent / name)


def test_a_memory_that_can_t_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PrivacyError, match="can't be written"):
        Placeholders({"pin": "4711"}).save(tmp_path / "file" / "memory")


def test_values_don_t_travel() -> None:
    memory = Placeholders({"password": VALUE})
    assert repr(memory) == "Placeholders(password)"
    with pytest.raises(TypeError):
        pickle.dumps(memory)
    with pytest.raises(PrivacyError) as caught:
        memory.fill("{password} {other}")
    assert VALUE not in "".join(traceback.format_exception(caught.value))
    assert "{other}; there are: {password}" in str(caught.value)


@pytest.mark.parametrize(
    ("value", "text", "masked"),
    [
        (VALUE, f"say {VALUE}!", "say {x}!"),
        (VALUE, "HUNTER2-CANARY", "{x}"),
        (VALUE, "yranaC-2retnuh", "{x}"),
        (VALUE, "h u n t e r 2 - C a n a r y", "{x}"),
        (VALUE, "aHVudGVyMi1DYW5hcnk=", "{x}k="),
        ("walrus & orchid", "?q=walrus+%26+orchid&r=walrus%20%26%20orchid#walrus%20&%20orchid", "?q={x}&r={x}#{x}"),
        ("it's (walrus)!", "?q=it's+(walrus)!&r=it%27s+%28walrus%29%21", "?q={x}&r={x}"),
        ("+49 1512 7654321", "call 49-1512-765-4321 or 4915127654321", "call {x} or {x}"),
        ("4012 8888 8888 1881", "4012888888881881", "{x}"),
        ("Ann", "Ann announces ANN's annual anniversary", "{x} announces {x}'s annual anniversary"),
        ("4711", "4711 47110 14711", "{x} 47110 14711"),
        ("7", "7 of 77", "7 of 77"),
        ("4711", "4711EUR, No4711, a_4711_b, 4 7 1 1 or 47\u00a011", "{x}EUR, No{x}, a_{x}_b, {x} or {x}"),
        ("4711", "４７１１, ٤٧١١ and ４７１１０, ٨", "{x}, {x} and ４７１１０, ٨"),
        ("４７１１", "4711", "{x}"),
        ("911", "911a 9 1 1", "{x}a 9 1 1"),
        ("Ann", "Ａｎｎ’s", "{x}’s"),
        ("a4711", "a 4 7 1 1, 4711", "{x}, 4711"),
        ("Jörg", r'{"a": "J\u00f6rg"} J\xf6rg J\u00f6rgen', r'{"a": "{x}"} {x} J\u00f6rgen'),
        ("Jörg", "?q=J%C3%B6rg Jo\u0308rg", "?q={x} {x}"),
        ("Jo\u0308rg", "Jörg", "{x}"),
        ("Weiß", "Herr WEISS", "Herr {x}"),
        ("A & <B>", "A &amp; &lt;B&gt;", "{x}"),
        ("p'a\"s\\5", r"""'p\'a"s\\5' and "p'a\"s\\5" """, """'{x}' and "{x}" """),
        (
            "s3cret!",
            "!terc3s czNjcmV0IQ== 7333637265 733363726574 s 3 c r e t ! s3cret",
            "{x} {x}== 7333637265 733363726574 {x} s3cret",
        ),
        ("s3cret!", "pass:73336372657421 cGFzczpzM2NyZXQh", "pass:{x} cGFzczp{x}"),
        ("4711", "1174 NDcxMQ== 34373131, 11740 and NDcxMQA", "{x} {x}== {x}, 11740 and NDcxMQA"),
        ("Bob", "boB Qm9i bob 426f62 B o b", "{x} Qm9i {x} 426f62 B o b"),
    ],
)
def test_a_value_is_found_in_other_forms(value: str, text: str, masked: str) -> None:
    assert Placeholders({"x": value}).mask(text) == masked


def test_one_value_one_placeholder_two_forms_two() -> None:
    memory = Placeholders()
    names = [memory.remember(value, "phone_number") for value in ("0171 2345678", "01712345678", "0171 2345678")]
    assert names == ["phone_number", "phone_number_2", "phone_number"]
    assert memory.fill("{phone_number}, {phone_number_2}") == "0171 2345678, 01712345678"


@pytest.mark.parametrize("name", ["", "A", "1x", "a b", "x" * 50, "é"])
def test_a_name_that_can_t_be_a_placeholder_is_refused(name: str) -> None:
    with pytest.raises(PrivacyError, match="is no name of a placeholder"):
        Placeholders().name(name, "value")
    for value in ("", " ", "{a}"):
        with pytest.raises(PrivacyError, match="is empty or holds a placeholder"):
            Placeholders().name("a", value)


def test_a_value_that_another_took_the_name_of_stays_hidden() -> None:
    memory = Placeholders({"pin": VALUE})
    for value in ("zebra-42", "zebra-42", VALUE):
        memory.name("pin", value)
        assert memory.fill("{pin}") == value
    masked = memory.mask(f"{VALUE}, zebra-42")
    assert not {VALUE, "zebra-42"} & {*masked.split(", ")}
    assert memory.fill(masked) == f"{VALUE}, zebra-42"


def test_values_that_come_at_once_keep_their_own_names() -> None:
    class Slow(Placeholders):
        def name(self, name: str, value: str) -> None:
            time.sleep(0.01)
            super().name(name, value)

    memory = Slow()
    values = [f"DE{number:020d}" for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        names = list(pool.map(lambda value: memory.remember(value, "iban"), values))
    assert [memory.fill(f"{{{name}}}") for name in names] == values


def test_the_umask_is_the_user_s_again(path: Path) -> None:
    before = os.umask(0o022)
    os.umask(before)
    Placeholders({"a": "bcd"}).save(path)
    after = os.umask(before)
    assert after == before


def test_a_value_that_takes_the_place_of_another_is_kept(path: Path) -> None:
    Placeholders({"code": "zebra-42", "pin": "zebra-42"}).save(path)
    memory = Placeholders.load(path)
    assert Protector((), memory, path=path).admit("type {code=walrus-7}") == "type {code}"
    assert Placeholders.load(path).fill("{code} {pin}") == "walrus-7 zebra-42"


def test_two_who_keep_values_in_one_file_lose_none(path: Path) -> None:
    Placeholders({"pin": "4711"}).save(path)
    first, second = Placeholders.load(path), Placeholders.load(path)
    first.name("password", VALUE)
    first.save(path)
    second.name("code", "zebra-42")
    second.save(path)
    assert sorted(Placeholders.load(path)) == ["code", "password", "pin"]
    assert second.mask(f"it is {VALUE}") == "it is {password}"
    first.name("pin", "1234")
    first.save(path)
    assert Placeholders.load(path).fill("{pin}") == "1234", "a value that was read may be changed"
    second.name("password", "another value")
    second.name("pin", "9999")
    with pytest.raises(PrivacyError, match=r"another process keeps another value for \{pin\}"):
        second.save(path)
