"""Tables of rows as Markdown, LaTeX or CSV. Cells are data: nothing in them can break the table."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
Cell = Callable[[T], str]


def markdown(rows: Sequence[T], columns: Mapping[str, Cell[T]]) -> str:
    """A pipe table; `columns` maps each heading to the function that makes its cells."""
    lines = [list(columns), ["---"] * len(columns), *_cells(rows, columns)]
    return "".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |\n" for line in lines)


def latex(rows: Sequence[T], columns: Mapping[str, Cell[T]]) -> str:
    """A booktabs `tabular`."""
    import pandas

    return pandas.DataFrame(_cells(rows, columns), columns=list(columns)).to_latex(index=False, escape=True)


def comma_separated(rows: Sequence[Mapping[str, Any]]) -> str:
    """CSV with every field of the rows, in the order of the first; nested fields as JSON."""
    import pandas

    cells = [
        {key: json.dumps(value) if isinstance(value, dict | list | tuple) else value for key, value in row.items()}
        for row in rows
    ]
    return pandas.DataFrame(cells).to_csv(index=False, lineterminator="\n")


def percent(rate: float) -> str:
    """A rate in [0, 1] in percent."""
    return f"{100 * rate:.1f}"


def format_number(value: float | None, form: str) -> str:
    """A number in a format, a dash for none."""
    return "-" if value is None else format(value, form)


def _cells(rows: Sequence[T], columns: Mapping[str, Cell[T]]) -> list[list[str]]:
    return [[re.sub(r"\s+", " ", show(row)).strip() for show in columns.values()] for row in rows]
