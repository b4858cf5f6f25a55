"""A run as pandas tables: `sdg.results`."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from sdg.storage import of_file, read_artefact, read_description, read_journal


@dataclass(frozen=True, eq=False)
class Results:
    """The results of a run as tables: `summary` has a row for each level and agent, the others one for each episode,
    hypothesis, verification or skill."""

    run: Path
    summary: pd.DataFrame
    episodes: pd.DataFrame
    hypotheses: pd.DataFrame
    verifications: pd.DataFrame
    skills: pd.DataFrame

    def __repr__(self) -> str:
        rows = ", ".join(f"{table.name} {len(getattr(self, table.name))}" for table in fields(self)[1:])
        return f"Results({self.run}; rows: {rows})"


def results(run: str | Path) -> Results:
    """The tables of a run folder, also of an unfinished run. Raises RunFolderError for a folder without a run, or
    with a damaged file."""
    run = Path(run)
    read_description(run)
    path = run / "results.json"
    content = {"rows": read_artefact(path).get("rows", ()) if path.exists() else ()}
    summary = of_file(dict[str, tuple[dict[str, Any], ...]], content, path=path)["rows"]
    journals = {table.name: pd.DataFrame(read_journal(run / f"{table.name}.jsonl")) for table in fields(Results)[2:]}
    return Results(run, pd.DataFrame(list(summary)), **journals)
