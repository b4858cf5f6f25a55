"""The model card of a skill library, in Markdown: its skills, their measurements and its origin."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sdg.skills.library.library import SCHEMA, Skill, SkillLibrary

_COLUMNS = (
    "skill",
    "argument",
    "success %",
    "95 % interval",
    "episodes",
    "possible %",
    "left out",
    "horizon",
    "training steps",
    "learned from",
)


def write_card(library: SkillLibrary) -> str:
    """The card; texts of models and missions are escaped, so that they can only be text."""
    steps = sum(skill.environment_steps for skill in library.skills)
    size = sum(array.nbytes for arrays in library.weights.values() for array in arrays.values())
    lines = [
        "# Skill library",
        "",
        f"{len(library.skills)} skills, {steps:,} environment steps of training, {size / 2**20:.2f} MiB of weights, "
        f"schema {SCHEMA}. Success is the share of fresh episodes in which the skill's check fired within its horizon, "
        "every episode counted; possible % counts those that weren't ruled out by what the robot had perceived.",
        "",
        _row(_COLUMNS),
        _row(["---"] * len(_COLUMNS)),
        *[_row(_cells(skill)) for skill in library.skills],
        "",
        *[line for skill in library.skills for line in _section(skill)],
        *_provenance(library.provenance),
    ]
    return "\n".join(lines)


def skill_rows(library: SkillLibrary) -> Iterator[dict[str, Any]]:
    """The skills of a library, a row each."""
    for skill in library.skills:
        low, high = skill.success_interval if skill.episodes else (None, None)
        yield {
            "name": skill.name,
            "success_rate": skill.success_rate,
            "success_unfiltered": skill.success_rate if skill.episodes else None,
            "low": low,
            "high": high,
            "episodes": skill.episodes,
            "success_known": skill.success_known,
            "left_out": skill.left_out,
            "environment_steps": skill.environment_steps,
            "horizon": skill.horizon,
            "argument": ", ".join(skill.argument_examples[:3]),
            "members": len(skill.members),
        }


def _cells(skill: Skill) -> list[str]:
    low, high = skill.success_interval
    rates = (f"{100 * skill.success_rate:.1f}", f"{100 * low:.1f} to {100 * high:.1f}")
    return [
        f"`{skill.name}`",
        _escape(skill.argument_examples[0]) if skill.takes_argument and skill.argument_examples else "none",
        *(rates if skill.episodes else ("not measured", "")),
        f"{skill.episodes:,}",
        "" if skill.success_known is None else f"{100 * skill.success_known:.1f}",
        f"{skill.left_out:,}",
        str(skill.horizon),
        f"{skill.environment_steps:,}",
        f"{len(skill.members)} subgoals",
    ]


def _section(skill: Skill) -> list[str]:
    texts = list(dict.fromkeys(skill.members))
    examples = ", ".join(f'"{_escape(text)}"' for text in texts[:8]) + (", ..." if len(texts) > 8 else "")
    return [f"## {skill.name}", "", _escape(skill.description), "", f"Learned from: {examples or 'nothing named'}", ""]


def _provenance(provenance: Mapping[str, Any]) -> list[str]:
    if not provenance:
        return []
    accounts = provenance.get("accounts")
    facts = {key: value for key, value in provenance.items() if key != "accounts"}
    cost = _costs(accounts) if isinstance(accounts, Mapping) else []
    rows = [_row([_escape(str(key)), _escape(str(facts[key]))]) for key in sorted(facts)]
    return [*cost, "## Where it comes from", "", _row(["what", "value"]), _row(["---", "---"]), *rows, ""]


def _costs(accounts: Mapping[str, Any]) -> list[str]:
    """Everything spent on the library, first the environment steps by stage."""
    by_stage = accounts.get("steps")
    entries = {f"steps: {name}": count for name, count in by_stage.items()} if isinstance(by_stage, Mapping) else {}
    entries |= {name: value for name, value in accounts.items() if name != "steps"}
    rows = [
        _row([_escape(name), _escape(f"{value:,}" if isinstance(value, int | float) else str(value))])
        for name, value in entries.items()
    ]
    return ["## What it cost", "", _row(["what", "spent"]), _row(["---", "---"]), *rows, ""]


def _row(cells: list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"


def _escape(text: str) -> str:
    """One line of text without effective Markdown or HTML, at most 300 characters."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~])", r"\\\1", " ".join(text.split())[:300])
