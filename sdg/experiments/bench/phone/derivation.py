"""Task derivation and expansion: a model writes new tasks from given ones and a screen (AndroidLab, data construction).

What it writes is data: lines that are too short, too long or given already are left out.
"""

import re
from collections.abc import Sequence

from sdg.envs.phone.tasks import PhoneTask, plain
from sdg.envs.phone.tree import UiTree
from sdg.llm.model import LanguageModel
from sdg.prompts.fill import conversation, fence, one_line

LEAST_WORDS, MOST_WORDS = 4, 60


def derive_tasks(
    model: LanguageModel, given: Sequence[PhoneTask], screen: UiTree, *, count: int = 5
) -> list[PhoneTask]:
    """At most `count` new tasks for the given tasks' app, named APP_derived_N, without conditions: a judge decides.

    Raises ValueError without given tasks, and what the model raises.
    """
    if not given:
        raise ValueError("new tasks are derived from given ones: give at least one")
    asked = conversation(
        "phone_derive",
        count=str(count),
        tasks=fence("\n".join(one_line(task.instruction) for task in given)),
        screen=fence(str(screen)),
    )
    known = {plain(task.instruction) for task in given}
    found: list[PhoneTask] = []
    for line in model.complete(asked).text.splitlines():
        text = one_line(re.sub(r"^\s*(?:[-*•]|\d+[.)])\s*", "", line), 400)
        words = plain(text).split()
        if LEAST_WORDS <= len(words) <= MOST_WORDS and " ".join(words) not in known and len(found) < count:
            known.add(" ".join(words))
            found.append(PhoneTask(f"{given[0].app}_derived_{len(found) + 1}", text))
    return found
