"""The screen agent as an agent of BrowserGym (ServiceNow/BrowserGym): `Agent.get_action`, an answer a call.

    ScreenAgentArgs(ModelSettings("openai", "NAME"), mode="som-react").make_agent()

Optional: it is imported where BrowserGym is installed, in an environment of its own (it pins playwright 1.44).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from browsergym.core.action.highlevel import HighLevelActionSet
from browsergym.experiments.agent import Agent, AgentInfo
from browsergym.experiments.loop import AbstractAgentArgs

from sdg.envs.phone.actions import Key, Point
from sdg.envs.phone.tree import Bounds, write_dump
from sdg.envs.ui.parser.screen import png_of
from sdg.envs.ui.presses import Press
from sdg.gate.executor import Command
from sdg.gate.registry import gate_of
from sdg.llm.model import LanguageModel
from sdg.llm.provider import ModelSettings
from sdg.phone_agent.desktop import PhoneDesktop
from sdg.privacy.protector import build_model
from sdg.screen_agent.agent import Work
from sdg.screen_agent.modes import MODES

ROLES = {
    "textbox": "EditText", "searchbox": "EditText", "checkbox": "CheckBox", "radio": "RadioButton",
    "combobox": "Spinner", "button": "Button", "img": "ImageView",
}  # fmt: skip
"""Android's classes for the roles of a page's accessibility tree."""
INFEASIBLE = "impossible:"
"""Beginning of a finish message that reports the task as infeasible."""


@dataclass
class ScreenAgentArgs(AbstractAgentArgs):
    """How to make the agent, picklable: the model, the guards before each action, the mode."""

    model: ModelSettings = field(default_factory=ModelSettings)
    guards: tuple[str, ...] = ("open",)
    mode: str = "xml-react"
    agent_name: str = "sdg"

    def make_agent(self) -> ScreenAgent:
        """The agent. Raises ModelError and RegistryError for settings that don't fit."""
        return ScreenAgent(build_model(self.model), self.guards, self.mode)


class ScreenAgent(Agent):
    """Reads the accessibility tree or the marked screenshot, answers with coordinates."""

    action_set = HighLevelActionSet(subsets=["coord", "nav", "chat", "infeas"], multiaction=True)

    def __init__(self, model: LanguageModel, guards: tuple[str, ...], mode: str) -> None:
        self._model, self._mode = model, MODES[mode]
        self._gate = gate_of(guards, usages={}, resolve=lambda *_: (), model=model, presses=self._press_of)
        self._page = ObservedPage()
        self._work: Work | None = None
        self._desktop: PhoneDesktop | None = None

    def obs_preprocessor(self, obs: dict[str, Any]) -> dict[str, Any]:
        """The observation to record, without the DOM, because the agent never reads it."""
        return {name: value for name, value in obs.items() if name != "dom_object"}

    def get_action(self, obs: Mapping[str, Any]) -> tuple[str, AgentInfo]:
        """The next action as a BrowserGym call, several as one per line; noop() where an answer had none."""
        self._page.look(obs)
        if self._work is None:
            self._desktop = PhoneDesktop(self._page, str(obs["goal"]), finished=self._page.finish)
            self._work = Work(self._desktop, self._gate, mode=self._mode)
        goes_on = self._work.take_turn(self._model)
        calls = self._page.take() or ["noop()" if goes_on else f"report_infeasible({self._work.result().end!r})"]
        return "\n".join(calls), AgentInfo(think="", stats={"ended": int(not goes_on)})

    def _press_of(self, command: Command) -> Press:
        assert self._desktop is not None
        return self._desktop.observe().press_of(command)


class ObservedPage:
    """One observation of a page as a device (`sdg.envs.phone.actions.Device`); actions are kept as calls."""

    def __init__(self) -> None:
        self._obs: Mapping[str, Any] = {}
        self._calls: list[str] = []

    def look(self, obs: Mapping[str, Any]) -> None:
        """Take an observation as the page of now."""
        self._obs = obs

    def take(self) -> list[str]:
        """The calls since the last `take`."""
        calls, self._calls = self._calls, []
        return calls

    def finish(self, message: str) -> bool:
        """Report to the user, or report the task infeasible."""
        name = "report_infeasible" if message.startswith(INFEASIBLE) else "send_msg_to_user"
        self._call(name, message.removeprefix(INFEASIBLE).strip())
        return True

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the page in pixels."""
        height, width = np.asarray(self._obs["screenshot"]).shape[:2]
        return int(width), int(height)

    def dump(self) -> str:
        """The accessibility tree's elements that are visible and have a place."""
        return write_dump(self._rows())

    def _rows(self) -> Iterator[tuple[str, str, Bounds, list[str]]]:
        extra = self._obs.get("extra_element_properties", {})
        for node in self._obs["axtree_object"]["nodes"]:
            properties = extra.get(node.get("browsergym_id"), {})
            if node.get("ignored") or not properties.get("bbox") or properties.get("visibility", 0) < 0.5:
                continue
            x, y, width, height = map(round, properties["bbox"])
            role, name = (str(node.get(key, {}).get("value", "")) for key in ("role", "name"))
            states = {state["name"]: state.get("value", {}).get("value") for state in node.get("properties", ())}
            flags = ["clickable"] if properties.get("clickable") else []
            flags += [flag for flag in ("checked", "focused", "selected") if states.get(flag) in (True, "true")]
            words = str(node.get("value", {}).get("value", "")) if role == "textbox" else ""
            yield f"web.{ROLES.get(role, 'TextView')}", words or name, (x, y, x + width, y + height), flags

    def screenshot(self) -> bytes:
        """The picture."""
        return png_of(np.asarray(self._obs["screenshot"], np.uint8))

    def activity(self) -> str:
        """The page's address."""
        return str(self._obs.get("url", ""))

    def tap(self, point: Point) -> None:
        """Click."""
        self._call("mouse_click", *point)

    def long_press(self, point: Point) -> None:
        """A page has no long press; a click of the right button comes nearest."""
        self._call("mouse_click", *point, "right")

    def swipe(self, start: Point, end: Point) -> None:
        """Scroll equally far."""
        self._call("scroll", start[0] - end[0], start[1] - end[1])

    def type_text(self, text: str) -> None:
        """Select the focused field's content, and type."""
        self._call("keyboard_press", "ControlOrMeta+a")
        self._call("keyboard_type", text)

    def press(self, key: Key) -> None:
        """Enter; Back is the previous page; there is no Home."""
        self._calls.append({"Enter": 'keyboard_press("Enter")', "Back": "go_back()", "Home": "noop()"}[key])

    def wait(self, seconds: int) -> None:
        """Let time pass."""
        self._call("noop", 1000 * seconds)

    def _call(self, name: str, *arguments: int | str) -> None:
        written = [json.dumps(argument, ensure_ascii=False) for argument in arguments]
        self._calls.append(f"{name}({', '.join(written)})")
