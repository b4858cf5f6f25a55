"""One task of MiniWoB++ as a world: an instruction, a screenshot, nine commands, a reward. No HTML is given out."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from sdg.envs.ui.browser import Browser
from sdg.envs.ui.commands import SCREEN, Command
from sdg.envs.ui.tasks import task_name
from sdg.envs.world import StepResult

MAX_STEPS = 100
"""Commands an episode may take; the agent's limit of 10 completions ends it sooner."""


class UIWorld:
    """An episode after another of one task in a browser, which worlds of several tasks may share one after another.

    Success is a positive raw reward, as in the paper. Raises ValueError for a task that there isn't, `PageError` from
    `reset` and `step` when the page breaks: the episode is lost, the next `reset` begins anew.
    """

    def __init__(self, task: str, *, browser: Browser) -> None:
        self.task, self.browser = task_name(task), browser
        self.mission, self.steps, self.max_steps = "", -1, MAX_STEPS
        self.reward = 0.0
        self.done = False

    def reset(self, seed: int) -> None:
        """Begin the episode of this seed: the same seed gives the same page, pixel by pixel."""
        if seed < 0:
            raise ValueError(f"a seed is 0 or more, not {seed}")
        self.steps, self.done, self.reward = 0, False, 0.0
        self.browser.begin(self.task, seed)
        self.mission = " ".join(str(self.browser.state()["words"]).split())

    def step(self, action: Command) -> StepResult:
        """Carry out one command. RuntimeError before the first reset and after the end."""
        if self.steps < 0 or self.done:
            raise RuntimeError("the episode is over: reset the world" if self.done else "reset the world first")
        self.steps += 1
        self.browser.perform(action)
        state = self.browser.state()
        self.done, self.reward = bool(state["done"]), float(state["reward"] or 0.0)
        return StepResult(self.reward if self.done else 0.0, self.done, not self.done and self.steps >= MAX_STEPS)

    def screenshot(self) -> bytes:
        """What is to be seen, PNG of `SCREEN` by `SCREEN` pixels; the last page's cover after the end."""
        return self.browser.screenshot()

    def render(self) -> np.ndarray:
        """The same as RGB u8 (320, 320, 3)."""
        picture = np.asarray(Image.open(io.BytesIO(self.screenshot())).convert("RGB"))
        assert picture.shape == (SCREEN, SCREEN, 3)
        return picture
