"""The records of a run: its folder, journals of finished units, metrics, and writes that survive a kill."""

from sdg.storage.files import (
    Journal,
    Rows,
    RunError,
    RunFolderError,
    atomic_write,
    explaining,
    json_values,
    line,
    of_file,
    read_journal,
    read_json,
    read_rows,
    to_json,
)
from sdg.storage.folder import RunFolder, set_aside
from sdg.storage.lock import hold
from sdg.storage.metrics import STEP, Metrics, file_name, read_metrics
from sdg.storage.provenance import MISSING, revision, versions
from sdg.storage.resume import (
    SCHEMA,
    RunSettings,
    difference_text,
    differences,
    read_artefact,
    read_description,
    refuse_links,
    refuse_strangers,
)

__all__ = [
    "Journal",
    "MISSING",
    "Metrics",
    "Rows",
    "RunError",
    "RunFolder",
    "RunFolderError",
    "RunSettings",
    "SCHEMA",
    "STEP",
    "atomic_write",
    "difference_text",
    "differences",
    "explaining",
    "file_name",
    "hold",
    "line",
    "of_file",
    "json_values",
    "read_artefact",
    "read_description",
    "read_journal",
    "read_json",
    "read_metrics",
    "read_rows",
    "refuse_links",
    "refuse_strangers",
    "revision",
    "set_aside",
    "to_json",
    "versions",
]
