"""What a library cost: environment steps by purpose, questions to the model, tokens, processor time."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sdg.envs.files import has_lines
from sdg.experiments.config.config import RunConfig
from sdg.induction.skill_requests import calls_until
from sdg.llm.model import counted
from sdg.llm.transcript import entries
from sdg.pipeline.records import SkillRow, Verification
from sdg.skills.practice.agreement import ROWS
from sdg.storage import read_journal
from sdg.storage.journal import read_rows

ACCOUNTS = "accounts"
"""The key of these costs in a library's provenance and results.json."""

GROUNDING = ("hypothesize", "induce")
"""Stages that ask the model before a library exists; rehearsals belong to the second."""


PROCESSOR = "cpu_seconds"
"""Measured by a clock, so only in results.json, because the bytes of a library depend on no clock."""


def accounts(run: Path, config: RunConfig, *, stages: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Environment steps (`steps`, by stage), model calls and tokens, processor seconds, of the run's library so far.

    What only a table needs (the compared random search, unseen instructions) isn't included.
    """
    steps = dict(_steps(run, config))
    # Each question counts once, because a killed run repeats those whose answers it had no time to use.
    transcript = run / "transcript.jsonl"
    said = [each for each in entries(transcript) if each.get("stage") in GROUNDING] if has_lines(transcript) else []
    exchanges = {each["key"]: each.get("reply") or {} for each in said}
    replies = exchanges.values()
    names = ("prompt_tokens", "completion_tokens")
    tokens = {name: sum(counted(reply.get(name)) for reply in replies) for name in names}
    asked = {"model_calls": len(exchanges)} | tokens
    seconds = [stage.get(PROCESSOR, 0.0) for name, stage in stages.items() if name.startswith(SPENT_IN)]
    return {"steps": steps, "all_steps": sum(steps.values())} | asked | {PROCESSOR: round(sum(seconds), 1)}


SPENT_IN = ("hypothesize", "verify", "induce")
"""Stages of a run that work on its library."""


def _steps(run: Path, config: RunConfig) -> Counter[str]:
    spent: Counter[str] = Counter()
    for tried in read_rows(run / "verifications.jsonl", Verification):
        spent["search"] += tried.searched_steps
        spent["replays"] += tried.replayed_steps
        spent["search"] += config.verify.judged_steps * ROWS if tried.agreement is not None else 0
        # Once more for each goal learned from, because a skill's needs are read from the moments that it began in.
        learned = tried.verified or config.induce.use_unconfirmed
        ways = [len(goal.restore_actions) + len(goal.actions) for goal in tried.subgoals if goal.reached and learned]
        spent["replays"] += sum(ways)
    for skill in read_rows(run / "skills.jsonl", SkillRow):
        spent["practice"] += skill.environment_steps
        spent["validation"] += skill.validation_steps
        spent["roll-ins"] += skill.roll_in_steps
        spent["replays"] += skill.replayed_steps
    for episode in read_journal(run / "rehearsals.jsonl") if (run / "rehearsals.jsonl").is_file() else []:
        spent["rehearsals"] += int(episode["steps"])
        spent["replays"] += calls_until(episode)
    return spent
