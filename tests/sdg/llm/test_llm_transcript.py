"""Transcripts: what is recorded, hidden and replayed."""

from __future__ import annotations

import json
import multiprocessing
from base64 import b64encode, urlsafe_b64encode
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest

from sdg.envs import files
from sdg.envs.files import compress_lines
from sdg.llm import transcript
from sdg.llm.budget import BudgetedModel, BudgetSettings
from sdg.llm.model import Message, ModelError, Sampling
from sdg.llm.provider import ModelSettings
from sdg.llm.registry import build_unprotected
from sdg.llm.secrets import hider
from sdg.llm.transcript import RecordingModel, ReplayModel, entries
from tests.sdg.llm.faulty import Faulty
from tests.sdg.llm.scripted import Scripted, ask


def test_a_transcript_replays_what_was_said_in_order(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    recorded = RecordingModel(Scripted("one", "two", ModelError("down"), "four"), path)
    assert [ask(recorded), ask(recorded)] == ["one", "two"]
    with pytest.raises(ModelError, match="down"):
        ask(recorded, "other")
    ask(recorded, "hi", seed=5)
    replayed = ReplayModel(path)
    assert replayed.name == "scripted"
    assert [ask(replayed), ask(replayed), ask(replayed)] == ["one", "two", "two"]
    with pytest.raises(ModelError, match="down"):
        ask(replayed, "other")
    assert ask(replayed, "hi", seed=5) == "four"
    with pytest.raises(ModelError, match="has no reply"):
        ask(replayed, "never asked")


def test_replies_can_be_given_in_turn_whatever_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    recorded = RecordingModel(Scripted("one", "two", ModelError("down"), "four"), path)
    for seed in (0, 5, 0, 0):
        with suppress(ModelError):
            ask(recorded, f"hi {seed}", seed=seed)
    in_turn = ReplayModel(path, in_turn=True)
    assert [ask(in_turn, "other words"), ask(in_turn, "more", seed=5)] == ["one", "two"]
    with pytest.raises(ModelError, match="down"):
        ask(in_turn, "other")
    assert ask(in_turn) == "four"
    with pytest.raises(ModelError, match="has 3 replies"):
        ask(in_turn)
    with pytest.raises(ModelError, match="has 0 replies"):
        ask(in_turn, seed=6)


def test_a_torn_last_line_is_passed_over_and_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    ask(RecordingModel(Scripted("one"), path))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    assert len(list(entries(path))) == 1
    ask(RecordingModel(Scripted("two"), path), "again")
    assert [entry["reply"]["text"] for entry in entries(path)] == ["one", "two"]
    assert path.read_bytes().startswith(whole)


def append_many(path: Path, who: int) -> None:
    recorded = RecordingModel(Scripted("reply " * 20_000), path)
    for number in range(20):
        ask(recorded, f"{who}/{number}", seed=who)


def test_processes_that_write_at_once_tear_no_line(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=append_many, args=(path, who)) for who in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    questions = [entry["messages"][0]["content"] for entry in entries(path)]
    assert sorted(questions) == sorted(f"{who}/{number}" for who in range(4) for number in range(20))
    for who in range(4):
        own = [question for question in questions if question.startswith(f"{who}/")]
        assert own == [f"{who}/{number}" for number in range(20)]


def test_who_asked_is_told_and_is_no_part_of_the_question(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    recorded = RecordingModel(Scripted("one", "two"), path, answers=True)
    message = (Message("user", "hi"),)
    for stage in ("hypothesize", "solve"):
        assert recorded.complete(message, sampling=Sampling(stage=stage)).text == "one"
    assert [entry["stage"] for entry in entries(path)] == ["hypothesize", "solve"]
    assert len({entry["key"] for entry in entries(path)}) == 1
    assert ask(ReplayModel(path)) == "one"


def test_names_of_subgoals_are_given_by_subgoal_not_by_number(tmp_path: Path) -> None:
    def question(*subgoals: str) -> str:
        lines = "\n".join(f"{number}. {subgoal}" for number, subgoal in enumerate(subgoals, 1))
        return f"Name them.\n\n## Subgoals to translate\n\n```text\n{lines}\n```"

    path = tmp_path / "transcript.jsonl"
    ask(RecordingModel(Scripted("1. touch | block\n2. push | block to spot"), path), question("Touch it.", "Push it."))
    in_turn = ReplayModel(path, in_turn=True)
    assert ask(in_turn, question("Push it.", "Lift it.", "Touch it.")) == "1. push | block to spot\n3. touch | block"
    assert ask(in_turn, question("Lift it.")) == "", "it wasn't recorded"
    assert ask(in_turn, question("Touch it."), seed=5) == "1. touch | block", "whoever asks"


HOSTILE = "go to the blue \ud800 key\u2028\n"


def test_a_compressed_transcript_is_read_and_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    texts = [f"{HOSTILE}{number}" for number in range(3)]
    ask(RecordingModel(Scripted("one"), path), texts[0])
    path.write_bytes(path.read_bytes() + b'{"schema":3,"torn')
    compress_lines(path)
    assert not path.exists()
    continued = RecordingModel(Scripted("two"), path, answers=True)
    assert ask(continued, texts[1]) == "two"
    assert [entry["messages"][0]["content"] for entry in entries(path)] == texts[:2]
    plain = path.read_bytes()
    compress_lines(path)
    path.write_bytes(plain)  # as a kill leaves it that came before the file was removed
    compress_lines(path)
    assert ask(RecordingModel(Scripted("three"), path, answers=True), texts[2]) == "three"
    for place in (path, path.with_name("transcript.jsonl.xz")):
        replayed = ReplayModel(place)
        assert [ask(replayed, text) for text in texts[:2]] == ["one", "two"]
    assert ask(ReplayModel(path), texts[2]) == "three"


def test_a_damaged_archive_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "transcript.jsonl"
    ask(RecordingModel(Scripted("one"), path))
    compress_lines(path)
    packed = tmp_path / "transcript.jsonl.xz"
    whole = packed.read_bytes()
    for data in (whole[:-9], b"no archive", whole[:40] + b"?" + whole[41:]):
        packed.write_bytes(data)
        with pytest.raises(ModelError, match="can't be read: it is a damaged archive"):
            ReplayModel(path)
    packed.write_bytes(whole + bytes(4) + whole)
    with pytest.raises(ModelError, match="can't be read: something follows the archive"):
        ReplayModel(path)
    packed.write_bytes(whole + bytes(4))  # padding
    assert len(list(entries(path))) == 1
    packed.write_bytes(whole)
    monkeypatch.setattr(files, "MAX_UNPACKED_BYTES", 200)
    with pytest.raises(ModelError, match="can't be read: it unpacks to more"):
        ReplayModel(path)
    path.write_bytes(b"more\n" * 50)
    monkeypatch.setattr(files, "MAX_UNPACKED_BYTES", 1 << 10)
    compress_lines(path.rename(path.with_name("small.jsonl")))
    path.write_bytes(b"more\n" * 500)
    compress_lines(path.rename(path.with_name("large.jsonl")))
    assert path.with_name("small.jsonl.xz").exists()
    assert path.with_name("large.jsonl").exists()


def test_values_are_counted_before_a_line_is_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "transcript.jsonl"
    path.write_bytes(b'{"schema":3,"x":[' + b"[]," * (1 << 20) + b"0]}\n")
    monkeypatch.setattr(transcript, "_parse", lambda line: pytest.fail("it was parsed"))
    with pytest.raises(ModelError, match=r"Line 1 of .* holds too much"):
        ReplayModel(path)


@pytest.mark.parametrize("packed", [True, False])
def test_lines_are_counted_before_they_are_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:
    path = tmp_path / "transcript.jsonl"
    ask(RecordingModel(Scripted("one"), path))
    path.write_bytes(path.read_bytes() + b"\n" * 9)
    if packed:
        compress_lines(path)
    monkeypatch.setattr(files, "MAX_LINES", 10)
    assert len(list(entries(path))) == 1
    monkeypatch.setattr(files, "MAX_LINES", 9)
    with pytest.raises(ModelError, match="can't be read: it has too many lines, at most 9 are read"):
        ReplayModel(path)
    if packed:
        with pytest.raises(OSError, match="too many lines"):
            files.read_lines(path.with_name("transcript.jsonl.xz"))


def test_a_full_transcript_stays_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "transcript.jsonl"
    ask(RecordingModel(Scripted("one"), path))
    monkeypatch.setattr(files, "MAX_LINE_BYTES", 1000)
    monkeypatch.setattr(files, "MAX_FILE_BYTES", path.stat().st_size + 999)
    with pytest.raises(ModelError, match="it is too large to grow: go on in another"):
        ask(RecordingModel(Scripted("two"), path))
    assert len(list(entries(path))) == 1


def test_lines_have_a_maximal_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "transcript.jsonl"
    ask(RecordingModel(Scripted("one" * 500), path))
    monkeypatch.setattr(transcript, "MAX_LINE_BYTES", 1000)
    with pytest.raises(ModelError, match=r"Line 1 of .* at most 1000 are read"):
        ReplayModel(path)
    before = path.read_bytes()
    with pytest.raises(ModelError, match="isn't recorded: at most 1000"):
        ask(RecordingModel(Scripted("two" * 500), path))
    assert path.read_bytes() == before


def test_a_transcript_of_another_schema_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    path.write_text('{"schema": 1, "key": "abc", "messages": [], "reply": {"text": "hi"}}\n')
    before = path.read_bytes()
    for use in (lambda: ReplayModel(path), lambda: ask(RecordingModel(Scripted("one"), path))):
        with pytest.raises(ModelError, match="has schema 1, this version's is 3: replay it with the version"):
            use()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "line",
    [
        '{"schema": 3}',
        '{"schema":3,"key":"k","messages":[{"role":"user","content":["x"]}],"reply":{"text":"x"}}',
        '{"schema":3,"key":"k","messages":[7],"reply":{"text":"x"}}',
        '{"schema":3,"key":"k","messages":[{"role":"user","content":"x"}],"reply":{"text":[7]}}',
        '{"schema":3,"key":"k","stage":"solve","messages":[{"role":"","content":""}],"reply":{"text":"x"}}',
        '{"schema":3,"key":"k","stage":[],"sampling":{"seed":1},"messages":[{"role":"","content":""}],"error":"x"}',
        '{"schema":3,"key":"k","stage":"","sampling":{"seed":[]},"messages":[{"role":"","content":""}],"error":"x"}',
        '{"schema":3,"key":"k","stage":"solve","sampling":{},"messages":[],"reply":{"text":"x"}}',
        "[7]",
        "[" * 50_000,
    ],
)
def test_a_broken_line_in_the_middle_is_an_error(tmp_path: Path, line: str) -> None:
    path = tmp_path / "transcript.jsonl"
    ask(RecordingModel(Scripted("one"), path))
    path.write_bytes(line.encode() + b"\n" + path.read_bytes())
    with pytest.raises(ModelError, match="Line 1"):
        ReplayModel(path)
    with pytest.raises(ModelError, match="Line 1"):
        RecordingModel(Scripted("one"), path, answers=True)
    with pytest.raises(ModelError, match="can't be read"):
        ReplayModel(tmp_path / "missing.jsonl")


def test_files_that_are_links_are_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("my own last line")
    link = tmp_path / "link"
    link.symlink_to(victim)
    with pytest.raises(ModelError, match="it is a link"):
        ask(RecordingModel(Scripted("one"), link))
    with pytest.raises(ModelError, match="it is a link"):
        ask(BudgetedModel(Scripted("one"), BudgetSettings(tokens=9), ledger=link))
    assert victim.read_text() == "my own last line"


def test_keys_never_reach_the_transcript(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    recorded = RecordingModel(Scripted("my-own-key and sk-abcdefghijklmnop1234"), path, secrets=["my-own-key"])
    ask(recorded, "Bearer abcdefgh12345678 is what I send")
    text = path.read_text()
    assert "my-own-key" not in text
    assert "sk-abc" not in text
    assert "abcdefgh12345678" not in text
    assert text.count("[redacted]") == 3


@pytest.mark.parametrize(
    "said",
    ["def program():\n    left = key-steps_at_the_start_2 - token-count_of_things\n", "Bearer certificates", "sk-" * 9],
)
def test_code_and_prose_about_keys_are_recorded_as_they_are(tmp_path: Path, said: str) -> None:
    path = tmp_path / "transcript.jsonl"
    assert ask(RecordingModel(Scripted(said), path), said) == said
    assert ask(ReplayModel(path), said) == said
    assert "[redacted]" not in path.read_text()


@pytest.mark.parametrize("key", ["Bearer abc123xyz", "token-1234-5678-9abc", "sk-QwErTyUiOpAsDf", "key-a1b2c3d4e5f6"])
def test_short_keys_and_keys_of_letters_are_redacted(tmp_path: Path, key: str) -> None:
    assert ask(RecordingModel(Scripted(f"it is {key}"), tmp_path / "transcript.jsonl")) == "it is [redacted]"


def test_a_run_uses_the_reply_that_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    used = ask(RecordingModel(Scripted("it is sk-abcdefghijklmnop1234"), path))
    assert used == ask(ReplayModel(path)) == "it is [redacted]"


@pytest.mark.parametrize("placeholder", ["EMPTY", "none", "ollama"])
def test_what_is_set_where_a_local_server_asks_for_no_key_is_a_word(placeholder: str) -> None:
    assert hider([placeholder], mark="[]")(f"is_{placeholder.lower()}(cell)") == f"is_{placeholder.lower()}(cell)"


KEY = "Canary/4711+not=usual"
DISGUISES = {
    "itself": KEY,
    "upper case": KEY.upper(),
    "cut short": KEY[:-1],
    "backwards": KEY[::-1],
    "spaced": " ".join(KEY),
    "percent": quote(KEY, safe=""),
    "hex": KEY.encode().hex(),
    **{f"base64 after {n}": b64encode(b"x" * n + KEY.encode() + b"y").decode() for n in range(4)},
    "urlsafe base64": urlsafe_b64encode(KEY.encode()).decode(),
}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_key_in_disguise_is_hidden_too(disguise: str) -> None:
    hidden = hider([KEY, ""], mark="[]")(f"before {DISGUISES[disguise]} after")
    assert "[]" in hidden
    assert len(hidden) <= len("before xxxx[]xxxx after")
    assert hider(["abc", ""], mark="[]")("abcdef") == "abcdef"


def test_a_transcript_that_cant_be_written_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="can't be written"):
        ask(RecordingModel(Scripted("one"), tmp_path / "no" / "such" / "folder.jsonl"))


def test_a_recorded_run_is_replayed_word_for_word(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    recorded = RecordingModel(Faulty(build_unprotected(ModelSettings()), rate=0.5), path)
    texts = [ask(recorded, f"## Subgoals to translate\n```\n1. find the red ball number {n}\n```") for n in range(10)]
    replayed = build_unprotected(ModelSettings("replay", transcript=path))
    assert [
        ask(replayed, f"## Subgoals to translate\n```\n1. find the red ball number {n}\n```") for n in range(10)
    ] == texts
    assert json.loads(path.read_text().splitlines()[-1])["model"].startswith("babylang (rule-based")
