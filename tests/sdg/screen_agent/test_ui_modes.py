"""Ways to show a screen: marks and pictures for models that see, a description before the commands."""

from __future__ import annotations

import json

import pytest

from sdg.llm import exchange
from sdg.llm.model import Message, Sampling
from sdg.llm.openai.client import OpenAIModel
from sdg.llm.provider import ModelSettings
from sdg.screen_agent.agent import Work
from sdg.screen_agent.modes import MODES, TEXT
from tests.sdg.screen_agent.test_ui_agent import Pad, Passing, Says, press
from tests.sdg.screen_agent.ui_agent import UIAgent


def test_text_alone_sends_no_picture() -> None:
    question = Work(Pad(), Passing(), mode=TEXT).question()
    assert question
    assert all(not message.images for message in question)


@pytest.mark.parametrize(
    ("mode", "image"), [("picture", b"plain"), ("som-react", b"marks"), ("seeact", b"plain"), ("som-seeact", b"marks")]
)
def test_models_that_see_get_the_picture(mode: str, image: bytes) -> None:
    *_, last = Work(Pad(), Passing(), mode=MODES[mode]).question() or ()
    assert last.images == (image,)
    assert ("[1] 'A'" in last.content) == MODES[mode].marks


def test_a_description_comes_first_and_is_grounded() -> None:
    model = Says("Press the key A.", press("A"))
    episode = UIAgent(model, Passing(), mode=MODES["seeact"]).play(Pad())
    assert (episode.end, episode.completions) == ("solved", 1)
    assert "Press the key A." in model.asked[1]


def test_images_are_parts_of_a_message_and_of_its_key() -> None:
    shown, another = (Message("user", "look", images=(image,)) for image in (b"a", b"b"))
    sent = OpenAIModel(ModelSettings(name="m"))._request([shown], Sampling(), ())
    parts = sent["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url"]
    assert parts[1]["image_url"]["url"].startswith("data:image/png;base64,")
    assert json.dumps(exchange.plain_messages([shown])) != json.dumps(exchange.plain_messages([another]))
