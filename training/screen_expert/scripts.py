"""A solver of the looked-at screen tasks: general rules, and scripts for three tasks. It shows what commands can reach.

A yardstick of world and commands, never an agent: it knows tasks by name and plays with the pages' own elements.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np

from sdg.envs.ui.parser.screen import picture_of
from sdg.envs.ui.tasks import UNSEEN
from sdg.llm.model import Completion, Message, Sampling
from sdg.llm.provider import Provider
from sdg.llm.webrules.rules import RuleAnswer, click, label_right, submit_form, wanted_names
from sdg.llm.webrules.situation import SeenElement, Situation
from training.screen_expert import figures, forms, pages
from training.screen_expert.acts import at
from training.screen_expert.situation import NotedSituation, height_of, read_noted

LIKE = (
    "big large huge enormous gigantic", "small tiny little mini petite", "red scarlet crimson vermillion",
    "happy cheerful joyful gleeful delighted", "sad unhappy sorrowful miserable tragic", "angry mad furious irritated",
    "evil wicked immoral sinful corrupt depraved", "wrong incorrect mistaken erroneous", "real genuine actual",
    "strange odd peculiar unusual weird", "stop cease halt end finish",
    "scared terrified panicked fearful frightened afraid", "quiet calm peaceful serene mild", "old aged archaic",
    "love like adore favor", "kill murder assassinate", "keep retain preserve sustain maintain",
    "hide conceal camouflage", "hate despise loathe detest dislike", "funny humorous amusing comical laughable",
    "fat fleshy plump chubby", "stupid dumb dull unwise", "delicious savory delectable appetizing",
    "cut slice carve chop", "brave courageous fearless", "begin start initiate launch", "answer reply response",
    "television televisions tv tvs", "house home houses homes", "fire flame fires flames", "pig pork swine",
    "rabbit rabbits bunny bunnies", "car cars automobile automobiles vehicle vehicles", "water",
)  # fmt: skip
_ROWS = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))

Rule = Callable[[NotedSituation], RuleAnswer | None]
RULES: tuple[Rule, ...] = (*pages.RULES, *figures.RULES, *forms.RULES, *pages.LAST)


class Scripted:
    """A `sdg.llm.model.LanguageModel` that plays one task: its script, or the general rules where it has none."""

    name = "scripts"

    def __init__(self, task: str, picture: Callable[[], bytes]) -> None:
        if task in UNSEEN:
            raise ValueError(f"{task} is never looked at: there is no script for it")
        self._script, self._picture = SCRIPTS.get(task), picture

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """The commands of the script, or of the first rule that knows what to do."""
        now = read_noted(messages[-1].content)
        if self._script is not None:
            plan: RuleAnswer | None = self._script(now, picture_of(self._picture()).mean(axis=2))
        else:
            plans = (rule(now) for rule in RULES)
            plan = next((plan for plan in plans if plan is not None and plan.commands), None)
        if plan is None:
            return Completion("No rule of mine knows what to do here.", self.name)
        reply = {"thoughts": {"plan": plan.note}, "commands": list(plan.commands)[:30]}
        return Completion(json.dumps(reply), self.name)


def similar_words(now: Situation, pixels: np.ndarray) -> RuleAnswer:
    """Tick the words that mean the same."""
    names = {name.lower() for name in wanted_names(now.task)}
    groups = [frozenset(line.split()) for line in LIKE]
    wanted = {word for group in groups if names & group for word in group}
    boxes = [box for box in now.of_kind("checkbox") if label_right(now, box).lower() in wanted]
    return submit_form(now, [click(box) for box in boxes if not box.is_checked])


def polygon_sides(now: Situation, pixels: np.ndarray) -> RuleAnswer:
    """The number of corners of a regular outline: the wave that its radius goes through once around its middle."""
    ys, xs = np.nonzero(pixels[:220] < 128)
    x, y = (xs.min() + xs.max()) / 2, (ys.min() + ys.max()) / 2
    for _ in range(20):  # the middle is the mean of the outline by angle
        angle = np.arctan2(ys - y, xs - x)
        bins = ((angle + np.pi) / (2 * np.pi) * 180).astype(int) % 180
        radius = np.zeros(180)
        np.maximum.at(radius, bins, np.hypot(xs - x, ys - y))
        turn = (np.arange(180) + 0.5) / 180 * 2 * np.pi - np.pi
        x, y = x + (radius * np.cos(turn)).mean(), y + (radius * np.sin(turn)).mean()
    waves = np.abs(np.fft.rfft(radius - radius.mean()))
    sides = max(range(3, 8), key=lambda n: waves[n])
    button = now.find_named(str(sides), "button")
    return RuleAnswer([click(button)] if button else [])


def three_in_a_row(now: Situation, pixels: np.ndarray) -> RuleAnswer:
    """Win, or hinder, or take the cell that leads furthest."""
    large = [element for element in now.elements if height_of(element) > 60]
    cells = sorted(large, key=lambda cell: (cell.y // 40, cell.x))
    board = "".join(_mark(pixels, cell) for cell in cells[:9])
    return RuleAnswer([at("CLICK_COORDS", cells[_best_cell(board)].middle)])


def _mark(pixels: np.ndarray, cell: SeenElement) -> str:
    x0, y0, x1, y1 = cell.place
    inner = pixels[y0 + 6 : y1 - 6, x0 + 6 : x1 - 6] < 128
    if inner.mean() < 0.04:
        return " "
    x, y = cell.middle
    return "X" if (pixels[y - 5 : y + 5, x - 5 : x + 5] < 128).any() else "O"


def _best_cell(board: str) -> int:
    free = [n for n in range(9) if board[n] == " "]
    return max(free, key=lambda n: _value(_with_mark(board, n, "X"), "O") + 0.01 * (n == 4))


def _with_mark(board: str, cell: int, mark: str) -> str:
    return board[:cell] + mark + board[cell + 1 :]


@cache
def _value(board: str, turn: str) -> float:
    """The worth of a board for X, in [-1, 1], if O moves at random or well, half and half."""
    rows = {"".join(board[n] for n in row) for row in _ROWS}
    if "XXX" in rows:
        return 1.0
    if "OOO" in rows:
        return -1.0
    free = [n for n in range(9) if board[n] == " "]
    if not free:
        return -0.6
    if turn == "X":
        return 0.95 * max(_value(_with_mark(board, n, "X"), "O") for n in free)
    values = [_value(_with_mark(board, n, "O"), "X") for n in free]
    return 0.5 * min(values) + 0.5 * sum(values) / len(values)


SCRIPTS: Mapping[str, Callable[[Situation, np.ndarray], RuleAnswer]] = {
    "click-checkboxes-soft": similar_words,
    "count-sides": polygon_sides,
    "tic-tac-toe": three_in_a_row,
}

EXPERT = Provider(lambda settings: Scripted("", lambda: b""), rule_based=True)
"""The rules alone, for tests of other things."""
