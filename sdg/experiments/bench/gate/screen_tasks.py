"""ResponsibleTA's Table 2 for screens: twelve tasks of many steps on pages of several apps by a planner that errs.

The planner gives an expert's steps (`bench/screens/apps/apps.json`) as commands in words; one in four is replaced by a
mistake, which follows from the run's seed alone: a thing of another page, another thing of this page, or nothing at
all. The executor acts on the most likely meaning of the words on the parsed screenshot. Without a gate the planner
believes that each command was carried out. With feasibility it plans a refused command again and gives the intended
one; with completeness it also plans a command again that left no trace of the intention. The page's state at the end
judges. In tasks 7 and 10 planner and guards see placeholders for values; two more rows have these with and without.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sdg.console import progress
from sdg.envs.ui.access import Access
from sdg.envs.ui.affordances import CLICK, TYPE, asked_for
from sdg.envs.ui.page import PageWorld
from sdg.envs.world import Observation, PlainObservation
from sdg.experiments.bench.gate.figures import arm_row
from sdg.experiments.bench.gate.screen_guards import Parsed
from sdg.experiments.bench.screens.own_pages import APPS
from sdg.experiments.play.pages import open_page
from sdg.gate.executor import Command
from sdg.gate.screens import ScreenGuard
from sdg.privacy.memory import Placeholders
from sdg.privacy.protector import masked_record

ARMS = ("expert", "baseline", "feasibility", "feasibility + completeness")
PLACEHOLDERS, IN_CLEAR = "both, the two tasks with placeholders", "both, the same two in clear"
MISTAKE_RATE = 0.25
SIZE = {"width": 760, "height": 480}
_NAME_SCRIPT = """selector => { const node = document.querySelector(selector), words = (node.innerText || '').trim();
  const label = (node.closest('label')?.innerText || node.placeholder || node.ariaLabel || '').trim().split('\\n')[0];
  const tick = node.type === 'radio' ? 'radio button' : 'checkbox';
  const same = [...document.querySelectorAll('button, a')].filter(shown => shown.innerText.trim() === words);
  const others = same.filter(shown => shown !== node);
  let own = node;
  while (others.length && !others.some(other => own.parentElement.contains(other))) own = own.parentElement;
  const beside = others.length ? ` beside '${own.innerText.trim().split('\\n')[0]}'` : '';
  return /checkbox|radio/.test(node.type) ? `the ${tick} beside '${label}'` :
    node.matches('input, textarea') ? `the field beside '${label}'` :
    words ? `the '${words}' ${node.matches('button') ? 'button' : 'link'}${beside}` : `the '${label}' icon`; }"""


class Draws:
    """Tasks with random mistakes on one page of a browser; every screen is parsed once."""

    def __init__(self, world: PageWorld) -> None:
        self._world, self._page = world, world.page
        self._screens, self._guard = Parsed(), ScreenGuard()

    def words(self, tasks: Sequence[Mapping[str, Any]]) -> Iterator[list[Command]]:
        """The expert's commands of each task in words; placeholders for private values."""
        for task in tasks:
            self._world.open((APPS / f"{task['page']}.html").as_uri())
            self._page.evaluate("document.querySelectorAll('[hidden]').forEach(node => node.hidden = false)")
            steps = [(step, self._page.evaluate(_NAME_SCRIPT, step[1])) for step in task["way"]]
            texts = ["{" + step[3] + "}" if len(step) > 3 else step[-1] for step, _ in steps]
            yield [
                Command(TYPE, f"'{text}' into {name}") if step[0] == "type" else Command(CLICK, name)
                for (step, name), text in zip(steps, texts, strict=True)
            ]

    def play(
        self, task: Mapping[str, Any], commands: Sequence[Command], others: Sequence[Command], *, arm: str, seed: int
    ) -> dict[str, Any]:
        """Play the expert's `commands`, with mistakes, some of them commands of `others`: whether the task was done,
        the steps that were carried out as intended, and all steps."""
        self._world.open((APPS / f"{task['page']}.html").as_uri())
        self._memory = Placeholders({step[3]: step[2] for step in task["way"] if len(step) > 3})
        rng = np.random.default_rng(seed)
        is_intended: list[bool] = []  # of each executed step; a command that is given twice is intended once
        for command in commands:
            kind = int(rng.integers(3))
            draw = rng.random()
            pool = (others, [another for another in commands if another != command], [None])[kind]
            mistake = pool[int(rng.integers(len(pool)))]
            choice: Command | None = mistake if arm != "expert" and draw < MISTAKE_RATE else command
            before = self.observe()
            if arm.startswith("feasibility") and choice is not None and not self._guard.feasible(choice, before).passed:
                choice = command if choice != command and self._guard.feasible(command, before).passed else None
            if choice is not None:
                is_intended.append(choice == command)
            self._do(choice)
            if arm.endswith("completeness") and not self._guard.complete(command, before, self.observe()).passed:
                is_intended.append(choice != command)
                self._do(command)
        return {
            "success": bool(self._page.evaluate(task["judge"])),
            "valid": sum(is_intended),
            "executed": len(is_intended),
        }

    def observe(self) -> Observation:
        """The screen now, with private values masked in its texts."""
        screen = self._screens(self._world.screenshot())
        elements = tuple(masked_record(element, self._memory.mask) for element in screen.parsed)
        return PlainObservation("\n".join(map(str, elements)), screen.picture, elements)

    def _do(self, command: Command | None) -> None:
        """Act on the most likely element for the words; None: do nothing."""
        if command is None:
            return
        phrase, matches = asked_for({command.name}, command.argument, self.observe().elements)  # type: ignore[arg-type]
        if matches:
            x, y = matches[0].element.middle
            self._world.step("CLICK_COORDS", f"{x},{y}")
            if phrase.typed is not None:
                for key in ("C-a", "<Delete>"):
                    self._world.step("PRESS_KEY", key)
                self._world.step("TYPE_TEXT", self._memory.fill(phrase.typed))


def rows(*, draws: int, seed: int) -> Iterator[Mapping[str, Any]]:
    """A row for each arm over `draws` draws of mistakes on 12 tasks, with intervals over draws. Raises UserError."""
    tasks = json.loads((APPS / "apps.json").read_text("utf-8"))
    clear = [task | {"way": [step[:3] for step in task["way"]]} for task in tasks]
    access = Access((APPS / "mail.html").as_uri(), (str(APPS),))
    with open_page(access) as page, PageWorld(page, "", access=access, owned=True) as world:
        page.set_viewport_size(SIZE)
        player = Draws(world)
        commands, clear_commands = list(player.words(tasks)), list(player.words(clear))
        secret_tasks = [n for n, task in enumerate(tasks) if any(len(step) > 3 for step in task["way"])]
        for arm in (*ARMS, IN_CLEAR):
            task_numbers = secret_tasks if arm == IN_CLEAR else list(range(len(tasks)))
            ways, words = (clear, clear_commands) if arm == IN_CLEAR else (tasks, commands)
            count = len(task_numbers) if arm == "expert" else draws * len(task_numbers) // len(tasks)
            trials = []
            with progress().stage(arm, total=count, unit="draw") as stage:
                for number in range(count):
                    n = task_numbers[number % len(task_numbers)]
                    others = [
                        command
                        for task, commands_of_task in zip(tasks, clear_commands, strict=True)
                        if task["page"] != tasks[n]["page"]
                        for command in commands_of_task
                    ]
                    trial_seed = seed * 100_003 + n + len(tasks) * (number // len(task_numbers))
                    name = ARMS[-1] if arm == IN_CLEAR else arm
                    trials.append({"task": n} | player.play(ways[n], words[n], others, arm=name, seed=trial_seed))
                    stage.advance()
            yield arm_row("ui", arm, trials)
            if arm == ARMS[-1]:
                yield arm_row("ui", PLACEHOLDERS, [trial for trial in trials if trial["task"] in secret_tasks])
