"""What a run will ask of a model, in questions, tokens, money and time, told before it begins."""

from __future__ import annotations

from dataclasses import dataclass

from sdg.llm.budget import Prices


@dataclass(frozen=True, slots=True)
class Typical:
    """One kind of question as it usually is: tokens of prompt and completion, and questions for each unit of work."""

    prompt_tokens: int
    completion_tokens: int
    questions: float = 1.0


HYPOTHESIS = Typical(1500, 500, 1.5)
"""An instruction's subgoals, with retries and repairs."""
TRANSLATION = Typical(2900, 1200, 0.1)
"""A grounded subgoal's API name; some ten are asked for at once."""
EPISODE = Typical(4000, 1800, 1.3)
"""An instruction's programs: the first one and its repairs."""
CHAT_EPISODE = Typical(900, 150, 40.0)
"""An episode in which every action is asked for."""
REPLY_SECONDS = 30.0
"""Of a reasoning model; a fast one takes a tenth."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A guess within a factor of three: it says whether a run costs cents or hundreds, minutes or days."""

    questions: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def plus(self, typical: Typical, units: int) -> Estimate:
        """The same with `units` more of a kind of work."""
        more = round(typical.questions * units)
        return Estimate(
            self.questions + more,
            self.prompt_tokens + more * typical.prompt_tokens,
            self.completion_tokens + more * typical.completion_tokens,
        )

    def describe(self, prices: Prices, *, concurrency: int) -> str:
        """One line: questions, tokens, money where prices are known, and time at so many questions at once."""
        tokens = (self.prompt_tokens + self.completion_tokens) / 1e6
        money = prices.of(self.prompt_tokens, self.completion_tokens)
        cost = f"{money:.2f} in money" if money else "no prices are set (budget.prompt_price, budget.completion_price)"
        minutes = self.questions * REPLY_SECONDS / max(concurrency, 1) / 60
        wait = f"{minutes:.0f} minutes" if minutes < 120 else f"{minutes / 60:.0f} hours"
        return (
            f"the model will be asked some {self.questions} questions, {tokens:.2g} M tokens; {cost}; "
            f"about {wait} of waiting at {concurrency} at a time and {REPLY_SECONDS:.0f} s a reply"
        )
