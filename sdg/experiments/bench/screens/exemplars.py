"""One worked example for each task used in development, as in the paper; other tasks get the one nearest in words.

`python -m training.screen_expert.exemplars` makes them again: scripts play seeds that are never evaluated, and the
first episode that is solved is kept with the reason for its commands.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from sdg.envs.ui.tasks import UNSEEN
from sdg.prompts.fill import fence

MIN_LIKENESS = 0.15
"""Least `_likeness` of two instructions at which an example of one serves the other."""
MAX_ELEMENTS = 5
"""Elements that an example shows of each list on a screen, beside those that are pressed."""
MAX_REPEATS = 3
"""Equal commands, one after another, that an example shows."""
PLACE = Path(__file__).parent / "exemplars.json"


Exemplar = Mapping[str, Any]
"""An episode that was solved: `task`, `seed`, `instruction`, `why` it was done so, and `turns`, each an `observation`
and the `commands` that were given on it."""


def write_out(exemplar: Exemplar) -> str:
    """The example as a prompt shows it; to spare tokens, without the screens between the first and the last."""
    parts = [
        "An example of another task, done right (places are those of its own screen):",
        fence(exemplar["instruction"]),
    ]
    turns = exemplar["turns"]
    for number, turn in enumerate(turns, 1):
        thoughts = {"reasoning": exemplar["why"]} if number == 1 else {}
        thoughts["plan"] = "nothing is left" if number == len(turns) else "go on where the new screen shows the rest"
        commands, left_out = _without_repeats(turn["commands"])
        answer = json.dumps({"thoughts": thoughts, "commands": commands})
        screen = fence(_shortened(turn)) if number in (1, len(turns)) else "(left out)"
        parts += [f"Observation {number} of the example:", screen, f"Answer: {answer}{left_out}"]
    return "\n".join([*parts, "The example ends here.\n"])


def _without_repeats(commands: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], str]:
    """The commands with the first of each run of equal ones, and words that tell of the others."""
    shown, left_out = [], ""
    for command, run in groupby(commands):
        count = len(list(run))
        shown += [command] * min(count, MAX_REPEATS)
        if count > MAX_REPEATS:
            left_out += f" ({command['name']} {count} times in all)"
    return shown, left_out


def _shortened(turn: Mapping[str, Any]) -> str:
    """A screen of an example with the first elements of each list and those that are pressed, to spare tokens."""
    places = [command["args"]["coords"] for command in turn["commands"] if "coords" in command["args"]]
    lines, shown, left_out = [], 0, 0
    for line in [*turn["observation"].splitlines(), ""]:
        box = re.search(r": \[(\d+), (\d+), (\d+), (\d+)\]$", line)
        if not box:
            lines += [*([f"({left_out} more)"] if left_out else []), line]
            shown = left_out = 0
            continue
        x0, y0, x1, y1 = map(int, box.groups())
        if shown < MAX_ELEMENTS or any(x0 <= x <= x1 and y0 <= y <= y1 for x, y in places):
            lines.append(line)
            shown += 1
        else:
            left_out += 1
    return "\n".join(lines)


def exemplar_for(task: str, instruction: str) -> str:
    """The example for an episode: the task's own, or the one whose instruction is nearest in words; "" if no likeness
    reaches `MIN_LIKENESS`."""
    known = exemplars()
    if task in known and task not in UNSEEN:
        return write_out(known[task])
    likeness, nearest = max(
        ((_likeness(example["instruction"], instruction), example["task"]) for example in known.values()),
        default=(0, ""),
    )
    return write_out(known[nearest]) if likeness >= MIN_LIKENESS else ""


@cache
def exemplars() -> Mapping[str, Exemplar]:
    """The shipped examples, by task."""
    return {row["task"]: row for row in json.loads(PLACE.read_text("utf-8"))}


@cache
def _weights() -> Mapping[str, float]:
    """The weight of each word: words in few instructions weigh more."""
    texts = [set(_words(example["instruction"])) for example in exemplars().values()]
    counts = Counter(word for text in texts for word in text)
    return {word: math.log((1 + len(texts)) / count) for word, count in counts.items()}


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", re.sub(r'"[^"]*"', "", text.lower()))


def _likeness(first: str, second: str) -> float:
    """Weighted share of the words of two instructions that both have, in [0, 1]."""
    first_words, second_words = set(_words(first)), set(_words(second))
    total = sum(_weights().get(word, 1.0) for word in first_words | second_words)
    return sum(_weights().get(word, 1.0) for word in first_words & second_words) / total if total else 0.0
