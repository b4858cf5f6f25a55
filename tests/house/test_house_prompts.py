"""Prompts are short: what a model is shown of Python is an example, never the solver."""

from __future__ import annotations

from pathlib import Path

from sdg.prompts.replies import code_blocks

ROOT = Path(__file__).resolve().parents[2]
PROMPTS = sorted([*(ROOT / "sdg" / "prompts").glob("*.md"), *(ROOT / "sdg" / "envs").glob("*/prompts/*.md")])
MAX_LINES, MAX_CHARS, MAX_EXAMPLE = 60, 100, 30


def python_in(path: Path) -> list[str]:
    """The lines of Python that a prompt holds."""
    blocks = [block for block in code_blocks(path.read_text(encoding="utf-8")) if block.language == "python"]
    return [line for block in blocks for line in block.text.splitlines() if line.strip()]


def test_all_prompts_together_hold_little_python() -> None:
    lines = {path.name: python_in(path) for path in PROMPTS}
    counts = {name: len(python_lines) for name, python_lines in lines.items() if python_lines}
    assert sum(counts.values()) <= MAX_LINES, counts
    assert max(counts.values()) <= MAX_EXAMPLE
    for python_lines in lines.values():
        assert all(len(line) <= MAX_CHARS for line in python_lines)
    assert lines["example.md"], "the example is one of them"


def test_no_prompt_holds_anything_of_the_hand_written_planner() -> None:
    planner = sorted((ROOT / "sdg" / "llm" / "babylang" / "by_hand").glob("*.py"))
    planner_lines = {line.strip() for path in planner for line in path.read_text(encoding="utf-8").splitlines()}
    shown = {line.strip() for path in PROMPTS for line in python_in(path)}
    assert len(planner_lines) > 150
    assert not {line for line in planner_lines & shown if len(line) > 20}
