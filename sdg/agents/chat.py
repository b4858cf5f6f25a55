"""A model that acts directly: it is told what the robot knows and names one action, turn by turn.

That is the setting of BALROG (Paglieri et al. 2024, arXiv 2411.13543): no program, no skills, no gate. Perception is
the same named one that planners have.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sdg.agents.agents import PlayWorld, Task, act_out
from sdg.deduction.episode import OUT_OF_TIME, Episode, Interaction
from sdg.deduction.protocols import World
from sdg.envs.babyai.perception.memory import DROP, FORWARD, LEFT, PICKUP, RIGHT, TOGGLE
from sdg.envs.perception import Perception
from sdg.llm.model import LanguageModel, Message, Sampling
from sdg.prompts.fill import conversation, fenced, one_line
from sdg.prompts.replies import tidy

CHOICES: Mapping[str, int] = {
    "turn left": LEFT,
    "turn right": RIGHT,
    "go forward": FORWARD,
    "pick up": PICKUP,
    "drop": DROP,
    "toggle": TOGGLE,
}
"""What the prompt calls the six actions."""

REMEMBERED = 16
"""Latest turns that the model is told of, as in BALROG."""

_NAMED = re.compile(r"\b(" + "|".join(name.replace(" ", "[ _-]?") for name in CHOICES) + r")\b", re.IGNORECASE)


@dataclass(frozen=True)
class ChatAgent:
    """One action a turn; at most as many turns as the level has steps, those without a readable action included."""

    model: LanguageModel
    sampling: Sampling = field(default_factory=Sampling)
    name: str = "chat"

    def play(self, world: PlayWorld, task: Task) -> Episode:
        """Ask and act until the mission is done, failed or out of turns. Raises what the model raises."""
        chat = _Chat(world, self.model, replace(self.sampling, seed=task.random_seed % 2**31))
        played = act_out(world, chat.choose)
        ended = replace(played, cause=OUT_OF_TIME) if chat.turns_left == 0 and not played.success else played
        told = Interaction(
            program="", cause=ended.cause, error="", state=world.perception().describe(), calls=(), began=0,
            ended=ended.steps, prompt_tokens=chat.prompt_tokens, completion_tokens=chat.completion_tokens,
        )  # fmt: skip
        return replace(ended, interactions=(told,), llm_calls=chat.turns)


class _Chat:
    """One conversation: every turn is asked anew with the latest actions, so that prompts stay short."""

    def __init__(self, world: World, model: LanguageModel, sampling: Sampling) -> None:
        self._world, self._model, self._sampling = world, model, sampling
        self._latest: deque[str] = deque(maxlen=REMEMBERED)
        self._before = ""
        self.turns = self.prompt_tokens = self.completion_tokens = 0

    @property
    def turns_left(self) -> int:
        """Turns that may still be asked for."""
        return self._world.max_steps - self.turns

    def choose(self) -> int | None:
        """The model's next action, or None when no turn is left."""
        self._note_effect()
        while self.turns_left > 0:
            reply = self._model.complete(self._prompt(), sampling=self._sampling)
            self.turns += 1
            self.prompt_tokens += reply.prompt_tokens
            self.completion_tokens += reply.completion_tokens
            name = action_named(reply.text)
            if name is not None:
                self._latest.append(f"turn {self.turns}: {name}")
                self._before = known(self._world.perception())
                return CHOICES[name]
            self._latest.append(f"turn {self.turns}: your answer named no action, or several; the robot waited")
        return None

    def _note_effect(self) -> None:
        if self._before and self._before == known(self._world.perception()):
            self._latest[-1] += " (nothing changed)"

    def _prompt(self) -> tuple[Message, ...]:
        return conversation(
            "chat",
            instruction=fenced(one_line(self._world.mission, 1000)),
            actions=fenced("\n".join(self._latest) or "none yet"),
            state=fenced(self._world.perception().describe() + "\n" + ahead(self._world.perception())),
            turns_left=str(self.turns_left),
        )


def action_named(reply: str) -> str | None:
    """The one action that a reply names, or its last line does; None where there is none, or several."""
    last = tidy(reply).strip().rpartition("\n")[2]
    for text in (tidy(reply), last):
        named = {re.sub(r"[ _-]", "", found.lower()) for found in _NAMED.findall(text)}
        if len(named) == 1:
            return next(name for name in CHOICES if name.replace(" ", "") in named)
    return None


def known(perception: Perception) -> str:
    """What the robot knows, without the step count: equal before and after an action that changed nothing."""
    return perception.describe().partition(". ")[2]


def ahead(perception: Perception) -> str:
    """Whether the robot could go forward."""
    functions = perception.functions()
    free = functions["is_free"](functions["get_front_position"]())
    return f"The cell straight ahead is {'free' if free else 'not free'}."


__all__ = ["CHOICES", "ChatAgent", "action_named"]
