"""A model that acts directly: it is shown what the robot knows and names one action, turn by turn.

That is the setting of BALROG (Paglieri et al. 2024, arXiv 2411.13543): no program, no skills, no gate. Perception is
the same as for planners: things with names.
"""

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sdg.agents.agents import Task, act_out
from sdg.deduction.episode import OUT_OF_TIME, Episode, Interaction
from sdg.envs.domain import Domain
from sdg.envs.world import Action, World
from sdg.gate.rules import without_clock
from sdg.llm.model import Completion, LanguageModel, Message, Sampling
from sdg.prompts.fill import conversation, fence, one_line
from sdg.prompts.replies import tidy

MAX_SHOWN_TURNS = 16
"""Latest turns that the model is shown, as in BALROG."""


@dataclass(frozen=True)
class ChatAgent:
    """One action a turn, in at most as many turns as the level has steps, turns without a readable one included."""

    model: LanguageModel
    sampling: Sampling = field(default_factory=Sampling)
    name: str = "chat"

    def play(self, world: World, task: Task) -> Episode:
        """Ask and act until the mission is done, failed or out of turns. Raises what the model raises."""
        chat = _Chat(world, task.domain, self.model, replace(self.sampling, seed=task.random_seed % 2**31))
        episode = act_out(world, chat.choose)
        result = replace(episode, cause=OUT_OF_TIME) if chat.turns_left == 0 and not episode.success else episode
        return replace(
            result,
            interactions=(
                Interaction(
                    program="",
                    cause=result.cause,
                    error="",
                    state=task.domain.perceivable.code_view(world.perception()).describe(),
                    calls=(),
                    began=0,
                    ended=result.steps,
                    prompt_tokens=sum(reply.prompt_tokens for reply in chat.replies),
                    completion_tokens=sum(reply.completion_tokens for reply in chat.replies),
                ),
            ),
            llm_calls=len(chat.replies),
        )


class _Chat:
    """One conversation: each turn is a new prompt with only the latest actions, so that prompts stay short."""

    def __init__(self, world: World, domain: Domain, model: LanguageModel, sampling: Sampling) -> None:
        self._world, self._domain = world, domain
        self._model, self._sampling = model, sampling
        self._latest: deque[str] = deque(maxlen=MAX_SHOWN_TURNS)
        self._before = ""
        self.replies: list[Completion] = []

    @property
    def turns_left(self) -> int:
        """Turns that may still be asked for."""
        return self._world.max_steps - len(self.replies)

    def choose(self) -> int | None:
        """The model's next action, or None when no turn is left."""
        # Time always passes, so descriptions are compared without the step count.
        description = without_clock(self._world.perception().describe())
        if self._latest and description == self._before:
            self._latest[-1] += " (nothing changed)"
        while self.turns_left > 0:
            self.replies.append(self._model.complete(self._prompt(), sampling=self._sampling))
            action = action_named(self.replies[-1].text, self._domain.actions)
            entry = action_text(action) if action else "your answer named no action, or several; the robot waited"
            self._latest.append(f"turn {len(self.replies)}: {entry}")
            if action:
                self._before = description
                return action.number
        return None

    def _prompt(self) -> tuple[Message, ...]:
        return conversation(
            "chat",
            role=self._domain.texts["role"],
            choices="\n".join(f"- {action_text(action)}: {action.description}." for action in self._domain.actions),
            actions=self._domain.texts["actions"],
            instruction=fence(one_line(self._world.mission, 1000)),
            latest=fence("\n".join(self._latest) or "none yet"),
            state=fence(self._domain.perceivable.code_view(self._world.perception()).describe()),
            turns_left=str(self.turns_left),
        )


def action_text(action: Action) -> str:
    """An action's name in the prompt."""
    return action.spoken or action.name.replace("_", " ")


def action_named(reply: str, actions: Sequence[Action]) -> Action | None:
    """The one action that the reply, or else its last line, names; None where that is none or several."""
    for text in (tidy(reply), tidy(reply).strip().rpartition("\n")[2]):
        matches = [action for action in actions if _pattern(action).search(text)]
        if len(matches) == 1:
            return matches[0]
    return None


def _pattern(action: Action) -> re.Pattern[str]:
    words = "[ _-]?".join(map(re.escape, action_text(action).split()))
    return re.compile(rf"\b{words}\b", re.IGNORECASE)
