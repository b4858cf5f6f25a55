"""Tables fit the width that there is: long texts are folded, and where that isn't enough every row stands by itself."""

from __future__ import annotations

from sdg.console import table

ROW = {"level": "GoToLocal", "success_rate": 0.5, "low": 0.4, "high": 0.6, "about": "go to the red ball, " * 3}


def test_a_table_has_what_its_rows_have() -> None:
    head, rule, line = table([ROW])
    assert head.split() == ["level", "success", "%", "about"]
    assert set(rule) == {"─"}
    assert "50.0 [40.0, 60.0]" in line
    assert ROW["about"].strip() in line
    assert table([]) == []


def test_a_narrow_table_folds_its_texts() -> None:
    lines = table([ROW, ROW], width=60)
    assert len(lines) > 4
    assert max(map(len, lines)) <= 60
    assert " ".join(" ".join(line[33:].split()) for line in lines[2:4]).startswith("go to the red ball")


def test_too_many_columns_become_a_line_each() -> None:
    lines = table([ROW | {f"column {number}": number for number in range(9)}], width=60)
    assert "level: GoToLocal" in lines
    assert "column 8: 8" in lines


def test_texts_cannot_steer_a_terminal() -> None:
    assert "\x1b" not in "".join(table([{"a": "\x1b[31m[bold]x"}]))
    assert "[bold]x" in "".join(table([{"a": "[bold]x"}]))
