"""The same rows as Markdown, LaTeX, CSV or JSON lines. Cells are data: nothing in them can break the table."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Cell = Callable[[Row], str]

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def markdown(rows: Sequence[Row], columns: Mapping[str, Cell]) -> str:
    """A pipe table; `columns` maps each heading to what it shows of a row."""
    lines = [list(columns), ["---"] * len(columns), *_cells(rows, columns)]
    return (
        "\n".join("| " + " | ".join(_flat(cell).replace("|", r"\|") for cell in line) + " |" for line in lines) + "\n"
    )


def latex(rows: Sequence[Row], columns: Mapping[str, Cell]) -> str:
    """A booktabs `tabular`."""
    lines = [" & ".join(_escaped(cell) for cell in line) + r" \\" for line in _cells(rows, columns)]
    heading = " & ".join(_escaped(name) for name in columns) + r" \\"
    shape = "l" * len(columns)
    body = [r"\toprule", heading, r"\midrule", *lines, r"\bottomrule"]
    return "\n".join([rf"\begin{{tabular}}{{{shape}}}", *body, r"\end{tabular}"]) + "\n"


def comma_separated(rows: Sequence[Row]) -> str:
    """CSV with every field of the rows, in the order of the first; nested fields as JSON."""
    out = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {key: json.dumps(value) if isinstance(value, dict | list) else value for key, value in row.items()}
        for row in rows
    )
    return out.getvalue()


def json_lines(rows: Sequence[Row]) -> str:
    """One JSON object per line; NaN, which JSON doesn't know, as null."""
    return "".join(json.dumps(_known(row), allow_nan=False) + "\n" for row in rows)


def _cells(rows: Sequence[Row], columns: Mapping[str, Cell]) -> list[list[str]]:
    return [[show(row) for show in columns.values()] for row in rows]


def _flat(cell: str) -> str:
    return re.sub(r"\s+", " ", cell).strip()


def _escaped(cell: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in _flat(cell))


def _known(row: Row) -> dict[str, Any]:
    return {key: None if isinstance(value, float) and value != value else value for key, value in row.items()}
