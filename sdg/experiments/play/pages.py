"""A task on a user's own page, by the agent that works from screenshots: what `sdg do` and `sdg.Desktop` run.

    with open_page(access) as page:
        played = do_task(page, "find the price of the blue lamp", model=model, agrees=ask, address="https://example.org")

The gate asks before anything that can't be undone, the task ends as infeasible after `REPLANS` refusals in a row, and
nothing is pressed where the screen changed since the agent saw it. A folder gets the film and the trace.
"""

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote_plus

import numpy as np

from sdg.envs.ui.access import Access, flags_for, origin_of
from sdg.envs.ui.browser import NoBrowser, front_page, open_browser, page_error
from sdg.envs.ui.changes import what_changed
from sdg.envs.ui.commands import AT_POINTS
from sdg.envs.ui.effects import share_changed
from sdg.envs.ui.keys import PAGE_KEYS
from sdg.envs.ui.page import PAGE_ARGUMENTS, PageCommand, PageWorld
from sdg.envs.ui.parser.screen import draw_caption, picture_of, png_of
from sdg.envs.ui.presses import Press
from sdg.envs.world import Observation, PlainObservation
from sdg.errors import SDGError
from sdg.experiments.play.desktop import COMMANDS, FORMS, ProtectedDesktop, ScreenDesktop, check_mode
from sdg.experiments.play.trace import PageTaskResult, empty_trace, keep_trace
from sdg.gate.executor import Command, IllegalCommand, SkillResult
from sdg.gate.registry import check_guards, gate_of
from sdg.llm.model import Completion, LanguageModel, Message, ModelError, whole_letters
from sdg.privacy.memory import Placeholders
from sdg.privacy.protector import ProtectedModel, Protector
from sdg.privacy.recognisers import PrivacyError, recognisers_of
from sdg.prompts.fill import one_line
from sdg.screen_agent.agent import SAMPLING, UIEpisode, Work
from sdg.screen_agent.modes import MODES

GUARDS = ("confirm", "screens")
COMPLETIONS = 30
REPLANS = 3
VIEWPORT = {"width": 1024, "height": 640}
ENDS = (
    "The task ends when you say FINISH or GIVE_UP, and not before: say it alone, on a screen that shows that it is so. "
    "A name in {braces} stands for a value that is kept from you: write it as it stands, the page gets the value. "
    'A command that takes effect for good, for others or for money has "final": true beside its "name", because a '
    "person is asked first: it sends, posts, publishes, submits, orders, pays, books, transfers, deletes, revokes, "
    "signs, agrees, starts what can't be called back, or ends a contract or a booking. What opens, fills in or closes "
    "a form has not, nor what one can set back by oneself: a like, a filter, a setting, a cart, a draft."
)
_COMMAND_HELP: Mapping[str, str] = {
    **COMMANDS,
    "SCROLL_UP_COORDS": "scroll up what lies there",
    "SCROLL_DOWN_COORDS": "scroll down what lies there",
    "PRESS_KEY": f"press a key: {', '.join(PAGE_KEYS)}",
    "GO_BACK": "go back to the page before",
    "WAIT": "wait two seconds",
    "FINISH": "the task is done; the text is what was asked for, or what was done",
    "GIVE_UP": "the task can't be done; the text says why",
}
PATCH, MIN_DIFFERENCE, MAX_CHANGED = 16, 40, 0.35
"""PATCH: pixels on each side of a point. MIN_DIFFERENCE: of a changed pixel. MAX_CHANGED: the share that may change."""
MAX_FRAMES, MAX_SIDE = 200, 1024
"""MAX_FRAMES: of a film. MAX_SIDE: of a frame, in pixels."""
MAX_ADDRESS = 4000
"""Letters of an address that is shown whole."""
RESULT_NAMES: Mapping[str, str] = {"solved": "finished", "failed": "given up"}
"""Ends of an episode whose page judges nothing: the model itself says so."""

_SURROGATE = re.compile(
    r"(\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
"""Half a letter, as JSON writes it; whole letters and escaped backslashes match first."""


class PageDesktop(ScreenDesktop):
    """A page as an agent uses it: `ScreenDesktop` with a page's size, commands and notices."""

    takes = PageCommand

    def __init__(self, world: PageWorld) -> None:
        super().__init__(cast(Any, world))
        self._page, self.size = world, world.size
        self._judged: Press | None = None
        self._met = dict[str, Press]()
        """What lay at each point of the answer so far, before a command of it came there."""

    def commands(self) -> str:
        """The commands of a page, a line each. Keeps the current screen, because the model's points refer to it."""
        self._asked, self._met = self.observe(), {}
        lines = (f"{name}: {help_text}" for name, help_text in _COMMAND_HELP.items())
        return "\n".join([*lines, f"{FORMS}, FINISH and GIVE_UP, {{}} with GO_BACK and WAIT."])

    def observe(self) -> Observation:
        """The screen now, with the page's notices."""
        observation = super().observe()
        if not self._page.notices:
            return observation
        notices = "\n".join(f"(Notice: {one_line(whole_letters(notice))})" for notice in self._page.notices)
        return PlainObservation(f"{notices}\n\n{observation.text}", observation.image, observation.elements)

    def press_of(self, command: Command) -> Press:
        """What a command presses; nothing else will be pressed by it. Raises PageError."""
        self._judged = self._page.press_of(command.name, command.argument)
        return self._judged

    def perform(self, command: Command) -> SkillResult:
        """Carry a command out. Raises IllegalCommand if the screen changed at its point, or nothing takes its text."""
        judged, self._judged = self._judged, None
        if PAGE_ARGUMENTS[command.name] == "coords":
            self._require_same(command)
        elif command.name == "TYPE_TEXT" and not self._page.press_of(command.name, command.argument).field:
            raise IllegalCommand("nothing that takes text has the focus: click into a field first")
        self._page.step(command.name, command.argument, judged)
        self._stale = True
        return SkillResult(True, 1, 1)

    def _require_same(self, command: Command) -> None:
        """Require that a point to be pressed looks as it did to the model and to the gate, because both may think for
        an hour, and the answer's commands before change the page. The mouse itself changes how a point looks: where it
        has been in this answer, what is pressed must be the same, unless a drag ends there."""
        x, y = map(int, command.argument.split(","))
        now = replace(self._page.press_of(AT_POINTS[0], command.argument), dialog="")
        met = self._met.get(command.argument)
        self._met.setdefault(command.argument, now)
        if command.name not in AT_POINTS:
            return
        patch = slice(max(y - PATCH, 0), y + PATCH), slice(max(x - PATCH, 0), x + PATCH)
        looks = picture_of(self._page.screenshot())[patch]
        self._stale = True
        is_same = met is None or command.name == "MOUSEUP_COORDS" or met.is_still(now)
        for screen in filter(None, (self._seen, None if met else self._asked)):
            looked = cast(np.ndarray, screen.image)[patch]
            is_same = is_same and share_changed(looked, looks, least=MIN_DIFFERENCE) <= MAX_CHANGED
        if not is_same:
            raise IllegalCommand(f"what lies at [{x}, {y}] changed since it was looked at: look again")


class _FilmingDesktop:
    """A desktop that keeps a frame of each command; private values are painted over."""

    def __init__(self, desktop: Any) -> None:
        self._desktop = desktop
        self.frames: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._desktop, name)

    def perform(self, command: Command) -> SkillResult:
        """Keep a frame of the screen, then carry the command out."""
        point = command.argument.split(",") if PAGE_ARGUMENTS.get(command.name) == "coords" else ()
        self.keep(str(command), tuple(map(int, point)))
        return cast(SkillResult, self._desktop.perform(command))

    def keep(self, words: str, point: tuple[int, ...] = ()) -> None:
        """Add a frame of the screen with a caption; `point` is marked."""
        with contextlib.suppress(Exception):  # the page may be gone
            frame = draw_caption(picture_of(self._desktop.picture(marks=False)), words, cast(Any, point) or None)
            frame.thumbnail((MAX_SIDE, MAX_SIDE))
            self.frames[MAX_FRAMES - 1 :] = []  # the last is always kept
            self.frames.append(png_of(np.asarray(frame), compression=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTaskSettings:
    """How tasks on pages are done: the gate's guards, how the model is asked and how many answers it may give, the
    folder of film and trace, and whether sensitive values of the task reach only the page.

    Raises UserError for a mode that there isn't, RegistryError for unknown guards.
    """

    guards: Sequence[str] = GUARDS
    mode: str = "xml-react"
    answers: int = COMPLETIONS
    folder: Path | None = None
    private: bool = True

    def __post_init__(self) -> None:
        check_mode(self.mode)
        check_guards(self.guards)


def do_task(
    page: Any,
    task: str,
    *,
    model: LanguageModel,
    agrees: Callable[[str], bool],
    access: Access | None = None,
    owned: bool = False,
    address: str = "",
    settings: PageTaskSettings = PageTaskSettings(),
) -> PageTaskResult:
    """Do a task on a page of Playwright's; `address`, if there is one, is opened first.

    `agrees` is asked in words before anything that can't be undone. Faults of a page or a model aren't raised, they are
    an `end`. Raises PrivacyError for values that can't be kept; before anything is done, RegistryError for a guard that
    can't be made, RunError for a folder that can't be written, and UserError for one whose files aren't of `sdg do`. An
    interrupt is raised again, once the trace is kept.
    """
    questions: list[str] = []
    ask, started_at = _record_questions(agrees, questions), time.monotonic()
    gate = gate_of(
        settings.guards, usages={}, resolve=lambda *_: (), confirm=ask, presses=lambda command: filmed.press_of(command)
    )
    protector = Protector(recognisers_of(""), Placeholders()) if settings.private else None
    if settings.folder is not None:
        empty_trace(settings.folder)
    world = PageWorld(page, task, access=access, agrees=ask, owned=owned)

    def tell(words: str) -> str:
        return protector.memory.mask_parts(whole_letters(words)) if protector else whole_letters(words)

    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(world)
            if address:
                world.open(address)
            desktop = PageDesktop(world)
            filmed = _FilmingDesktop(ProtectedDesktop(desktop, protector) if protector else desktop)
        except PrivacyError:
            raise
        except Exception as error:
            task = one_line(protector.admit(world.mission) if protector else task)
            result = _task_played(UIEpisode(task, "page", (), 0, detail=_cause(error)), questions, tell)
            return keep_trace(result, (), settings.folder, started_at)
        work = Work(
            cast(Any, filmed), gate, mode=MODES[settings.mode], completions=settings.answers,
            replans=REPLANS, ends=ENDS, changes=what_changed,
        )  # fmt: skip
        played = _play(work, ProtectedModel(model, protector.mask) if protector else model)
        last_words = tell(world.said)
        filmed.keep(f"{RESULT_NAMES.get(played.end, played.end)}: {one_line(last_words or tell(played.detail), 200)}")
        address = "" if played.end == "page" else str(page.url)
        result = _task_played(played, questions, tell, last_words=last_words, address=_mask_address(address, tell))
        result = keep_trace(result, filmed.frames, settings.folder, started_at)
        if played.end == "interrupted":
            raise KeyboardInterrupt
    return result


def _play(work: Work, model: LanguageModel) -> UIEpisode:
    """Work until the task ends; a fault or an interrupt ends it with what was done."""
    try:
        while (question := work.question()) is not None:
            work.answer(_reply(model, question))
    except Exception as error:
        work.stop("model" if isinstance(error, ModelError) else "page", _cause(error))
    except KeyboardInterrupt:
        work.stop("interrupted")
    return work.result()


def _record_questions(agrees: Callable[[str], bool], questions: list[str]) -> Callable[[str], bool]:
    """`agrees`, with each question recorded in `questions`; no if it raises."""

    def ask(question: str) -> bool:
        questions.append(whole_letters(question))
        try:
            return agrees(questions[-1])
        except Exception:
            return False

    return ask


def _cause(error: Exception) -> str:
    """The error's message; errors that aren't SDG's own are named, too."""
    return str(error) if isinstance(error, SDGError) else f"{type(error).__name__}: {error}"


def _reply(model: LanguageModel, question: Sequence[Message]) -> Completion:
    """A model's reply without half letters, to a question without. Raises ModelError, whatever the model raises."""
    question = [replace(message, content=whole_letters(message.content)) for message in question]
    try:
        reply = model.complete(question, sampling=SAMPLING)
    except Exception as error:
        raise ModelError(_cause(error)) from error
    text = _SURROGATE.sub(lambda match: match[1] or r"\ufffd", whole_letters(reply.text))
    return reply if text == reply.text else replace(reply, text=text)


def _mask_address(address: str, tell: Callable[[str], str]) -> str:
    """The address, or the origin of a long one, with its values hidden; decoded if only decoding shows a value."""
    address = address if len(address) <= MAX_ADDRESS else origin_of(address)
    decoded = unquote_plus(address)
    return tell(address) if tell(decoded) == whole_letters(decoded) else tell(decoded)


def _task_played(
    episode: UIEpisode, questions: Sequence[str], tell: Callable[[str], str], *, last_words: str = "", address: str = ""
) -> PageTaskResult:
    steps = tuple(
        {
            "command": tell(step.command),
            "outcome": tell(step.outcome),
            "verdicts": [tell(verdict.reason) for verdict in step.verdicts],
        }
        for step in episode.steps
    )
    return PageTaskResult(
        task=episode.instruction,
        done=episode.success,
        end=RESULT_NAMES.get(episode.end, episode.end),
        said=last_words,
        answers=episode.completions,
        steps=steps,
        tokens=episode.prompt_tokens + episode.completion_tokens,
        address=address,
        detail=tell(episode.detail),
        asked=tuple(map(tell, questions)),
    )


@contextlib.contextmanager
def open_page(access: Access, *, running: str = "") -> Iterator[Any]:
    """A page of a browser begun here, or of the one `running` at a debugging address: the page in front, or a new one
    for an address to start at, so that no page of the user's is led away.

    Raises NoBrowser if no browser or page can be had.
    """
    with open_browser(*flags_for(access), address=running) as browser:
        try:
            if running and not access.start:
                page = front_page(browser, running)
            elif running:
                page = browser.contexts[0].new_page()
            else:
                page = browser.new_context(
                    viewport=VIEWPORT, accept_downloads=False, service_workers="block"
                ).new_page()
        except page_error() as error:
            raise NoBrowser(f"the browser gives no page: {str(error).splitlines()[0]:.200}") from None
        yield page
