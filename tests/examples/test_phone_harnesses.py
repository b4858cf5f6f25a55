"""The agent in AndroidWorld and BrowserGym: against fakes with their signatures."""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sdg.gate.executor import OpenGate
from sdg.llm.fakes import FakeModel
from sdg.llm.provider import ModelSettings


def answer(name: str, **arguments: Any) -> str:
    import json

    return json.dumps({"commands": [{"name": name, "args": arguments}]})


def install(monkeypatch: pytest.MonkeyPatch, **modules: dict[str, Any]) -> None:
    """Fake packages by dotted name with underscores for dots doubled."""
    for name, values in modules.items():
        dotted = name.replace("__", ".")
        for depth in range(1, len(dotted.split("."))):
            monkeypatch.setitem(sys.modules, ".".join(dotted.split(".")[:depth]), ModuleType("package"))
        module = ModuleType(dotted)
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, dotted, module)


@dataclass
class AgentInteractionResult:
    done: bool
    data: dict[str, Any]


class EnvironmentInteractingAgent:
    def __init__(self, env: Any, name: str = "", transition_pause: float | None = 1.0) -> None:
        self.env, self.name, self._max_steps = env, name, None

    def reset(self, go_home: bool = False) -> None:
        self.env.reset(go_home=go_home)

    def get_post_transition_state(self) -> Any:
        return self.env.get_state(wait_to_stabilize=False)


@dataclass
class JSONAction:
    action_type: str
    x: int | None = None
    y: int | None = None
    text: str | None = None
    direction: str | None = None
    goal_status: str | None = None
    clear_text: bool | None = None


class WorldEnv:
    logical_screen_size = (100, 200)
    foreground_activity_name = "a.b/.Main"

    def __init__(self) -> None:
        self.done: list[JSONAction] = []

    def reset(self, go_home: bool = False) -> None:
        self.done.clear()

    def get_state(self, wait_to_stabilize: bool = False) -> Any:
        stated = ("checkable", "checked", "clickable", "enabled", "focusable", "focused", "scrollable", "selected")
        names = (*stated, "long_clickable", "editable", "visible")
        flags = dict.fromkeys((f"is_{name}" for name in names), False) | {"is_visible": True, "is_enabled": True}
        words = {"text": "Save", "content_description": None, "hint_text": None, "class_name": "android.widget.Button"}
        box = SimpleNamespace(x_min=0, x_max=50, y_min=0, y_max=20)
        button = SimpleNamespace(bbox_pixels=box, **words, **flags | {"is_clickable": True})
        hidden = SimpleNamespace(bbox_pixels=None, **words, **flags)
        return SimpleNamespace(pixels=np.zeros((200, 100, 3), np.uint8), ui_elements=[button, hidden])

    def execute_action(self, action: JSONAction) -> None:
        self.done.append(action)


def test_android_world(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch,
        android_world__agents__base_agent={
            "AgentInteractionResult": AgentInteractionResult,
            "EnvironmentInteractingAgent": EnvironmentInteractingAgent,
        },
        android_world__env__json_action={"JSONAction": JSONAction},
    )
    monkeypatch.delitem(sys.modules, "examples.android_world", raising=False)
    from examples.android_world import ScreenAgent

    replies = [
        answer("Tap", coords=[25, 10]),
        answer("Swipe", direction="up"),
        answer("Type", text="x"),
        answer("Home"),
        answer("finish", message="three"),
    ]
    env, model = WorldEnv(), FakeModel(replies)
    agent = ScreenAgent(env, model, OpenGate())
    agent.reset(go_home=True)
    results = [agent.step("Save it.") for _ in replies]
    assert [result.done for result in results] == [False, False, False, False, True]
    assert results[-1].data == {"message": "three", "steps": 4, "end": "solved"}
    assert env.done == [
        JSONAction("click", x=25, y=10),
        JSONAction("scroll", direction="down"),
        JSONAction("navigate_home"),  # nothing was typed: no field has the focus
        JSONAction("answer", text="three"),
        JSONAction("status", goal_status="complete"),
    ]
    assert "'Save' button: [0, 0, 50, 20]" in model.asked[0][-1].content
    assert "no field has the focus" in model.asked[3][-1].content


@dataclass
class AgentInfo:
    think: str | None = None
    stats: dict[str, Any] = field(default_factory=dict)


@dataclass
class AbstractAgentArgs:
    agent_name: str | None = None


class HighLevelActionSet:
    def __init__(self, subsets: Any = None, multiaction: bool = True) -> None:
        self.subsets = subsets


def observation() -> dict[str, Any]:
    """What BrowserGym shows of a page with a button and a field."""

    def node(bid: str, role: str, name: str) -> dict[str, Any]:
        return {
            "browsergym_id": bid,
            "role": {"value": role},
            "name": {"value": name},
            "ignored": False,
            "properties": [],
        }

    seen = {"visibility": 1.0, "clickable": True}
    return {
        "goal": "Log in.",
        "url": "http://localhost/",
        "screenshot": np.zeros((200, 300, 3), np.uint8),
        "dom_object": {},
        "axtree_object": {"nodes": [node("1", "button", "Log in"), node("2", "textbox", "Who"), node("3", "a", "No")]},
        "extra_element_properties": {
            "1": {"bbox": [10, 20, 60, 20], **seen},
            "2": {"bbox": [10, 60, 60, 20], **seen},
            "3": {"bbox": [10, 90, 60, 20], **seen, "visibility": 0.0},
        },
    }


def test_browser_gym(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch,
        browsergym__core__action__highlevel={"HighLevelActionSet": HighLevelActionSet},
        browsergym__experiments__agent={"Agent": object, "AgentInfo": AgentInfo},
        browsergym__experiments__loop={"AbstractAgentArgs": AbstractAgentArgs},
    )
    monkeypatch.delitem(sys.modules, "examples.browser_gym", raising=False)
    from examples import browser_gym

    args = browser_gym.ScreenAgentArgs(ModelSettings("phonerandom"))
    assert pickle.loads(pickle.dumps(args)) == args
    assert args.make_agent() is not None
    replies = [
        answer("Tap", coords=[40, 70]),
        answer("Type", text='a"b'),
        answer("Swipe", direction="up", dist="short"),
        answer("Tap"),
        answer("finish", message="impossible: no password"),
    ]
    model = FakeModel(replies)
    agent = browser_gym.ScreenAgent(model, ("open",), "som-react")
    obs = agent.obs_preprocessor(observation())
    assert "dom_object" not in obs
    assert [agent.get_action(obs)[0] for _ in replies] == [
        "mouse_click(40, 70)",
        'keyboard_press("ControlOrMeta+a")\nkeyboard_type("a\\"b")',
        "scroll(0, 60)",
        "noop()",
        'report_infeasible("no password")',
    ]
    message = model.asked[0][-1]
    assert "'Log in' button: [10, 20, 70, 40]" in message.content
    assert "'No'" not in message.content
    assert message.images[0].startswith(b"\x89PNG")
