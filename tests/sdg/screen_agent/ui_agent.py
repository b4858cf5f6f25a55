"""The screen agent with its model, for tests: an episode in one call."""

from __future__ import annotations

from sdg.gate.executor import GateGuard
from sdg.llm.model import LanguageModel, Sampling
from sdg.screen_agent.agent import SAMPLING, ScreenBody, UIEpisode, Work
from sdg.screen_agent.modes import TEXT, Mode


class UIAgent:
    """Asks a model what to do on a screen and does it behind a gate; `exemplar` is one worked example, "" for none."""

    def __init__(
        self, model: LanguageModel, gate: GateGuard, *, sampling: Sampling = SAMPLING, mode: Mode = TEXT
    ) -> None:
        self._model, self._gate, self._sampling, self._mode = model, gate, sampling, mode

    def play(self, desktop: ScreenBody, *, exemplar: str = "") -> UIEpisode:
        """Work on the desktop's task until it ends, at most its `max_completions` answers. Never raises for what a
        model, a page or a guard did wrong: that is an `end`. Raises BudgetExceeded when a budget is spent."""
        work = Work(desktop, self._gate, exemplar=exemplar, mode=self._mode)
        while work.take_turn(self._model, sampling=self._sampling):
            pass
        return work.result()
