"""Who agrees to a press that can't be undone: a phone's user, in the terminal; nobody on the embedded one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sdg.envs.phone.adb import AdbPhone
from sdg.envs.phone.embedded.phone import EmbeddedPhone
from sdg.envs.phone.tasks import PhoneTask
from sdg.experiments.bench.phone import episodes
from sdg.experiments.bench.phone.episodes import PhoneEpisode, PhoneJob, PhoneSetting, play_all
from sdg.llm.fakes import FakeModel
from sdg.llm.provider import ModelSettings
from tests.shared.fake_adb import NODE, FakePhone, fake_adb

JOB = PhoneJob(PhoneTask("bank_1", "tidy up"), "xml-react")
PRESSES = """
class Presses:
    def complete(self, messages):
        if "confirmed" in messages[-1].content or "Past commands:\\n1." in messages[-1].content:
            return '{"commands": [{"name": "finish", "args": {"message": "done"}}]}'
        return '{"commands": [{"name": "Tap", "args": {"coords": [50, 25]}}]}'
"""


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakePhone]:
    """A phone whose only button deletes an account, played on with a model that presses it."""
    pytest.importorskip("adbutils")
    button = NODE.format(text="Delete account", kind="Button", bounds="[0,0][100,50]", focused="false")
    monkeypatch.setattr(FakePhone, "dump", lambda self: f'<hierarchy rotation="0">{button}</hierarchy>')
    (tmp_path / "own_presses.py").write_text(PRESSES)
    monkeypatch.syspath_prepend(str(tmp_path))
    with fake_adb() as (phone, port):
        connect = lambda serial: AdbPhone(serial, host="127.0.0.1", port=port, settle_seconds=0.0)  # noqa: E731
        monkeypatch.setattr(episodes, "AdbPhone", connect)
        yield phone


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the library's sockets
@pytest.mark.parametrize(("answer", "pressed"), [("y", True), ("n", False), (None, False)])
def test_a_phone_s_user_is_asked_and_nobody_else_agrees(
    fake: FakePhone, answer: str | None, pressed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    person, terminal = os.openpty()
    questions = []

    class Screen:
        def write(self, text: str) -> None:
            if "[y/N]" in text:
                questions.append(text)
                os.write(person, f"{answer}\n".encode())

        def flush(self) -> None:
            """Nothing is kept back."""

    setting = PhoneSetting(ModelSettings("own_presses:Presses"), device="adb:fake-1")
    with os.fdopen(terminal) as typed, monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", typed if answer else None)
        patch.setattr(sys, "stderr", Screen())
        (row,) = play_all([JOB], setting, processes=1)
    os.close(person)
    assert len(questions) == 1
    assert "Delete account" in questions[0]
    assert (["input", "tap", "50", "25"] in fake.commands, row.confirmed) == (pressed, int(pressed))


def test_the_embedded_phone_is_a_stand_in_that_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episodes, "ask_in_terminal", lambda question: pytest.fail(question))
    phone: Any = EmbeddedPhone.__new__(EmbeddedPhone)
    monkeypatch.setattr(EmbeddedPhone, "reset", lambda self, seed: None)
    episode = PhoneEpisode(JOB, PhoneSetting(ModelSettings("phonerules")), phone, FakeModel(["?"]))
    assert episode._confirm("Delete it: go on?")
    assert episode.confirmed == 1
