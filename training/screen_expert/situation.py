"""What the scripts read of a prompt besides what sdg's rules do: heights, and the notes of earlier answers."""

from __future__ import annotations

from dataclasses import dataclass

from sdg.llm.webrules import situation
from sdg.llm.webrules.situation import SeenElement


@dataclass(frozen=True, slots=True)
class NotedSituation(situation.Situation):
    """A task in the middle, with the thoughts of earlier answers: the notes that a script left for itself."""

    thoughts: tuple[str, ...] = ()


def read_noted(prompt: str) -> NotedSituation:
    """What the user's turn of the prompt `screen` says; what can't be read is left out."""
    now = situation.read_situation(prompt)
    past = prompt.partition("\nPast commands:\n")[2].partition("\nObservation ")[0].splitlines()
    notes = tuple(row.partition(": ")[2] for row in past if row.startswith("Thought "))
    return NotedSituation(now.task, now.elements, now.done, notes)


def height_of(element: SeenElement) -> int:
    """Height in pixels."""
    return element.place[3] - element.place[1]
