"""What a run leaves behind: its folder, journals of finished units, metrics, and writes that survive a kill."""

from sdg.envs.files import read_file
from sdg.storage.files import (
    Journal,
    Rows,
    RunError,
    RunFolderError,
    atomic_write,
    explaining,
    of_file,
    plain,
    read_journal,
    read_json,
    read_rows,
)
from sdg.storage.folder import SCHEMA, RunFolder, RunSettings, read_artefact, read_description, refuse_links, set_aside
from sdg.storage.metrics import Metrics, read_metrics

__all__ = [
    "SCHEMA",
    "Journal",
    "Metrics",
    "Rows",
    "RunError",
    "RunFolder",
    "RunFolderError",
    "RunSettings",
    "atomic_write",
    "explaining",
    "of_file",
    "plain",
    "read_artefact",
    "read_description",
    "read_journal",
    "read_file",
    "read_json",
    "read_metrics",
    "read_rows",
    "refuse_links",
    "set_aside",
]
