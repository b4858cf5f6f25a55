"""The screen agent in AndroidWorld (google-research/android_world): `EnvironmentInteractingAgent.step`, a turn a step.

    agent = ScreenAgent(env, model, gate)
    suite_utils.run(suite, agent, ...)

Optional: it is imported where AndroidWorld is installed, in an environment of its own (it pins numpy 1.26).
"""

from typing import Any

import numpy as np
from android_world.agents.base_agent import AgentInteractionResult, EnvironmentInteractingAgent
from android_world.env.json_action import JSONAction

from sdg.envs.phone.actions import IllegalCommand, Key, Point
from sdg.envs.phone.tree import write_dump
from sdg.envs.ui.parser.screen import png_of
from sdg.gate.executor import GateGuard
from sdg.llm.model import LanguageModel
from sdg.phone_agent.desktop import MAX_TURNS, PhoneDesktop
from sdg.screen_agent.agent import Work
from sdg.screen_agent.modes import MODES, Mode

_KEYS: dict[Key, str] = {"Enter": "keyboard_enter", "Home": "navigate_home", "Back": "navigate_back"}
_FLAGS = ("checkable", "checked", "clickable", "enabled", "focusable", "focused", "scrollable", "selected")


class ScreenAgent(EnvironmentInteractingAgent):
    """Works on AndroidWorld's phone, behind a gate; `mode` is one of `sdg.screen_agent.modes.MODES`."""

    def __init__(
        self, env: Any, model: LanguageModel, gate: GateGuard, *, mode: Mode = MODES["xml-react"], name: str = "sdg"
    ) -> None:
        super().__init__(env, name)
        self._model, self._gate, self._mode = model, gate, mode
        self._work: Work | None = None
        self._desktop: PhoneDesktop | None = None

    def reset(self, go_home: bool = False) -> None:
        """Begin again."""
        super().reset(go_home)
        self._work = None

    def step(self, goal: str) -> AgentInteractionResult:
        """Carry out one answer of the model. Its action finish ends the episode and is AndroidWorld's answer."""
        if self._work is None:
            turns = getattr(self, "_max_steps", None) or MAX_TURNS
            self._desktop = PhoneDesktop(WorldPhone(self), goal, finished=self._finish, max_completions=turns)
            self._work = Work(self._desktop, self._gate, mode=self._mode)
        assert self._desktop is not None
        goes_on = self._work.take_turn(self._model)
        data: dict[str, Any] = {"message": self._desktop.message, "steps": len(self._desktop.steps)}
        if not goes_on:
            data["end"] = self._work.result().end
        return AgentInteractionResult(not goes_on, data)

    def _finish(self, message: str) -> bool:
        if message:
            self.env.execute_action(JSONAction(action_type="answer", text=message))
        self.env.execute_action(JSONAction(action_type="status", goal_status="complete"))
        return True


class WorldPhone:
    """AndroidWorld's environment as a device (`sdg.envs.phone.actions.Device`). A swipe becomes a scroll of the whole
    screen, without start and end."""

    def __init__(self, agent: EnvironmentInteractingAgent) -> None:
        self._agent = agent
        self._state: Any = None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        width, height = self._agent.env.logical_screen_size
        return int(width), int(height)

    def dump(self) -> str:
        """AndroidWorld's list of elements as a tree without depth."""
        self._state = self._agent.get_post_transition_state()
        rows = map(_row, self._state.ui_elements)
        return write_dump(row for row in rows if row is not None)

    def screenshot(self) -> bytes:
        """The picture that belongs to the last dump."""
        state = self._state or self._agent.get_post_transition_state()
        return png_of(np.asarray(state.pixels, np.uint8)[..., :3])

    def activity(self) -> str:
        """The activity in front."""
        return str(self._agent.env.foreground_activity_name)

    def tap(self, point: Point) -> None:
        """Press."""
        self._act("click", x=point[0], y=point[1])

    def long_press(self, point: Point) -> None:
        """Press long."""
        self._act("long_press", x=point[0], y=point[1])

    def swipe(self, start: Point, end: Point) -> None:
        """Scroll: new content comes from the side that the finger leaves."""
        across, down = end[0] - start[0], end[1] - start[1]
        if abs(across) > abs(down):
            self._act("scroll", direction="right" if across < 0 else "left")
        else:
            self._act("scroll", direction="down" if down < 0 else "up")

    def type_text(self, text: str) -> None:
        """Type into the focused field; AndroidWorld adds Enter."""
        elements = self._state.ui_elements if self._state is not None else None
        if elements is not None and not any(element.is_focused and element.is_editable for element in elements):
            raise IllegalCommand("no field has the focus: tap the field first, then Type")
        self._act("input_text", text=text, clear_text=True)

    def press(self, key: Key) -> None:
        """Press a key."""
        self._act(_KEYS[key])

    def wait(self, seconds: int) -> None:
        """Let a moment pass; AndroidWorld chooses how long."""
        self._act("wait")

    def _act(self, kind: str, **arguments: Any) -> None:
        self._agent.env.execute_action(JSONAction(action_type=kind, **arguments))


def _row(element: Any) -> tuple[str, str, tuple[int, int, int, int], list[str]] | None:
    """An element as `write_dump` takes it, None for one that can't be seen."""
    box = element.bbox_pixels
    if box is None or element.is_visible is False:
        return None
    flags = [flag for flag in _FLAGS if getattr(element, f"is_{flag}")]
    flags += ["long-clickable"] if element.is_long_clickable else []
    words = element.text or element.content_description or element.hint_text or ""
    kind = "android.widget.EditText" if element.is_editable else element.class_name or "android.view.View"
    return kind, words, (int(box.x_min), int(box.y_min), int(box.x_max), int(box.y_max)), flags
