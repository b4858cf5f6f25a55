"""The record of one episode: every interaction with the planner, every call, every action, and why it ended."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from sdg.deduction.composed import ComposedCall
from sdg.deduction.program import Call
from sdg.envs.world import StepResult, World
from sdg.skills.settings import LayoutSeed
from sdg.skills.strict_json import decode

# Why an episode failed, beside the causes in `sdg.deduction.program`: its program ended with the task undone after a
# skill had failed; the same without such a skill; the level's time limit; the mission judged as failed; the process
# that played it hung or died.
SKILL_FAILED = "skill failed"
UNFINISHED = "unfinished"
OUT_OF_TIME = "out of time"
MISSION_FAILED = "mission failed"
WORKER_LOST = "worker lost"

MAX_RECORDED_CALLS = 400
"""Calls of one program that a journal row keeps; its counts include all calls."""


@dataclass(frozen=True, slots=True)
class Interaction:
    """One program of the planner and its result; `began` and `ended` count steps since reset.

    `cause` is "" when the program solved the task; `error` is the message for the debug prompt and `state` what the
    robot knew when the program stopped.
    """

    program: str
    cause: str
    error: str
    state: str
    calls: tuple[Call, ...]
    began: int
    ended: int
    prompt_tokens: int = 0
    completion_tokens: int = 0
    llm_calls: int = 1
    composed: tuple[ComposedCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Episode:
    """One instruction, played to its end. `success` is the world's judgement; on success `cause` is "".

    `forgot` lists the steps before which the robot forgot where it had been.
    Where the world can't judge (`judged` False) no success is claimed: it is None in the row.
    """

    instruction: str
    success: bool
    cause: str
    actions: tuple[Any, ...]
    max_steps: int
    interactions: tuple[Interaction, ...] = ()
    llm_calls: int = 0
    judged: bool = True
    forgot: tuple[int, ...] = ()

    @property
    def steps(self) -> int:
        """Environment steps taken, over all interactions."""
        return len(self.actions)

    def row(self) -> dict[str, Any]:
        """The episode as plain values for a journal; `trace` has the interactions with their calls."""
        last = self.interactions[-1] if self.interactions else None
        return {
            "instruction": self.instruction,
            "success": self.success if self.judged else None,
            "steps": self.steps,
            "max_steps": self.max_steps,
            "actions": list(self.actions),
            "forgot": list(self.forgot),
            "program": last.program if last else "",
            "error": last.error if last else "",
            "interactions": len(self.interactions),
            "skill_calls": sum(len(interaction.calls) for interaction in self.interactions),
            "llm_calls": self.llm_calls,
            "tokens": sum(
                interaction.prompt_tokens + interaction.completion_tokens for interaction in self.interactions
            ),
            "cause": self.cause,
            "trace": [
                {
                    "program": interaction.program,
                    "cause": interaction.cause,
                    "error": interaction.error,
                    "began": interaction.began,
                    "ended": interaction.ended,
                    "prompt_tokens": interaction.prompt_tokens,
                    "completion_tokens": interaction.completion_tokens,
                    "calls": [_call_row(call) for call in _first_and_last(interaction.calls)],
                    "composed": [[call.name, call.before, call.said, call.after] for call in interaction.composed],
                }
                for interaction in self.interactions
            ],
        }


def _first_and_last(calls: tuple[Call, ...]) -> tuple[Call, ...]:
    """The first and last calls, because a program of primitive actions makes thousands and a journal needs few."""
    half = MAX_RECORDED_CALLS // 2
    return calls if len(calls) <= MAX_RECORDED_CALLS else calls[:half] + calls[-half:]


def _call_row(call: Call) -> dict[str, Any]:
    return {
        "name": call.command.name,
        "argument": call.command.argument,
        "line": call.line,
        "began": call.began,
        "steps": call.steps,
        "success": call.success,
        "refused": call.refused,
        "message": call.message,
        # Only reasons of refusals are kept: a verdict that passed has nothing to explain.
        "verdicts": [
            [verdict.source, verdict.passed, "" if verdict.passed else verdict.reason, verdict.confidence]
            for verdict in call.verdicts
        ],
    }


MAX_INSTRUCTION_CHARS = 500


class UnjudgedWorld:
    """A world with an instruction that it can't judge; its own mission neither ends the episode nor gives reward.

    `inner` was just reset; all other attributes are its own. Raises ValueError for an empty or overlong instruction.
    """

    def __init__(self, inner: World, instruction: str) -> None:
        text = " ".join(instruction.split())
        if not 0 < len(text) <= MAX_INSTRUCTION_CHARS:
            raise ValueError(f"an instruction has 1 to {MAX_INSTRUCTION_CHARS} characters, not {len(text)}")
        self.mission, self._inner = text, inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def step(self, action: Any) -> StepResult:
        """Take one primitive action; only the time limit ends the episode."""
        self._inner.step(action)
        return StepResult(0.0, terminated=False, truncated=self._inner.steps >= self._inner.max_steps)

    def set_instruction(self, text: str) -> None:
        """Raises ValueError: this world keeps the instruction that it can't judge."""
        raise ValueError(f"this world plays {self.mission!r} and can't be given {text!r:.80}")


def is_judged(world: object) -> bool:
    """Whether a world can tell that its instruction is done."""
    return not isinstance(world, UnjudgedWorld)


CALL = {"name": str, "argument": str, "began": int, "refused": bool}
"""The required fields of a call in a journal; others are only shown."""


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """An episode as a journal keeps it; `success` is None where the world couldn't judge, `bot_steps` where unknown."""

    unit: str
    agent: str
    level: str
    seed: LayoutSeed
    success: bool | None
    steps: int
    max_steps: int
    bot_steps: int | None = None
    instruction: str = ""
    repeat: int = 0
    interactions: int = 0
    skill_calls: int = 0
    llm_calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    cause: str = ""
    error: str = ""
    program: str = ""
    actions: tuple[Any, ...] = ()
    forgot: tuple[int, ...] = ()
    trace: tuple[dict[str, Any], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        calls = [
            call
            for interaction in self.trace
            for call in (interaction["calls"] if type(interaction.get("calls")) is list else [None])
        ]
        if not all(isinstance(call, dict) and isinstance(call.get(key), CALL[key]) for call in calls for key in CALL):
            raise ValueError(f"a call in its trace lacks one of its {', '.join(CALL)}")

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Self:
        """Read a journal's row. Raises ValueError where a required field is missing or a value has a wrong type."""
        return decode(cls, row, place=f"episode {row.get('unit')!r:.80}", extra="ignore")

    def calls(self) -> Iterator[Mapping[str, Any]]:
        """The calls of its programs that weren't refused."""
        return (call for interaction in self.trace for call in interaction["calls"] if not call["refused"])

    @property
    def counted_steps(self) -> int:
        """Its steps; a failure counts as the whole step limit."""
        return self.steps if self.success else self.max_steps
