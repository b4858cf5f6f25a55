"""A task on a user's own page, by the agent that works from screenshots: what `sdg do` and `sdg.Desktop` run.

    with open_page(access) as page:
        played = do_task(page, "find the price of the blue lamp", model=model, agrees=ask, address="https://example.org")

The gate asks before anything that can't be undone, the task ends as infeasible after `REPLANS` refusals in a row, and
nothing is pressed where the screen changed since the agent saw it. A folder gets the film and the trace.
"""

import contextlib
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote_plus

import numpy as np

from sdg.console import readable
from sdg.envs.ui.access import Access, flags_for, origin_of
from sdg.envs.ui.browser import NoBrowser, open_browser
from sdg.envs.ui.changes import what_changed
from sdg.envs.ui.keys import PAGE_KEYS
from sdg.envs.ui.page import PAGE_ARGUMENTS, POINTING, PageCommand, PageWorld
from sdg.envs.ui.parser.screen import draw_caption, picture_of, png_of
from sdg.envs.ui.presses import Press
from sdg.envs.world import Observation
from sdg.errors import SDGError, UserError
from sdg.experiments.play.desktop import COMMANDS, FORMS, ProtectedDesktop, ScreenDesktop, broken
from sdg.gate.executor import Command, GateGuard, IllegalCommand, SkillResult, Verdict
from sdg.gate.registry import gate_of
from sdg.llm.model import Completion, LanguageModel, Message, ModelError, Sampling, whole_letters
from sdg.privacy.memory import Placeholders
from sdg.privacy.protector import Protected, Protector
from sdg.privacy.recognisers import PrivacyError, recognisers_of
from sdg.prompts.fill import one_line
from sdg.screen_agent.agent import UIEpisode, Work
from sdg.screen_agent.modes import MODES
from sdg.storage import atomic_write, explaining

GUARDS = ("confirm", "screens")
COMPLETIONS, REPLANS, VIEWPORT = 30, 3, {"width": 1024, "height": 640}
SAMPLING = Sampling(stage="screen")
ENDS = (
    "The task ends when you say FINISH or GIVE_UP, and not before: say it alone, on a screen that shows that it is so. "
    "A name in {braces} stands for a value that is kept from you: write it as it stands, the page gets the value. "
    'A command that takes effect for good, for others or for money has "final": true beside its "name", because a '
    "person is asked first: it sends, posts, publishes, submits, orders, pays, books, transfers, deletes, revokes, "
    "signs, agrees, starts what can't be called back, or ends a contract or a booking. What opens, fills in or closes "
    "a form has not, nor what one can set back by oneself: a like, a filter, a setting, a cart, a draft."
)
_SAID: Mapping[str, str] = {
    **COMMANDS,
    "PRESS_KEY": f"press a key: {', '.join(PAGE_KEYS)}",
    "GO_BACK": "go back to the page before",
    "WAIT": "wait two seconds",
    "FINISH": "the task is done; the text is what was asked for, or what was done",
    "GIVE_UP": "the task can't be done; the text says why",
}
PATCH, CHANGED, MOST_CHANGED = 16, 40, 0.35
"""Pixels around a point that must look the same, a changed pixel's least difference, the share that may change."""
MOST_FRAMES, WIDEST, MOST_ADDRESS, MOST_TRACE = 200, 1024, 4000, 10_000_000
"""Frames of a film, their longest side in pixels, letters of an address and of trace.txt: pages may be huge."""
END: Mapping[str, str] = {"solved": "finished", "failed": "given up"}
"""Ends of an episode whose page judges nothing: the model itself says so."""


_SURROGATE = re.compile(
    r"(\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
"""Half a letter, as JSON writes it; whole ones and escaped backslashes are taken first."""


class PageDesktop(ScreenDesktop):
    """A page as an agent uses it: `ScreenDesktop` with a page's size, commands and notices."""

    takes = PageCommand

    def __init__(self, world: PageWorld) -> None:
        super().__init__(cast(Any, world))
        self._page, self.size = world, world.size
        self._asked: np.ndarray | None = None
        self._judged: Press | None = None

    def commands(self) -> str:
        """The commands of a page, a line each. Keeps the current screen, because the model names what is on it."""
        self._asked = cast(np.ndarray, self.observe().image)
        return "\n".join(
            [
                *(f"{name}: {said}" for name, said in _SAID.items()),
                f"{FORMS}, FINISH and GIVE_UP, {{}} with GO_BACK and WAIT.",
            ]
        )

    def observe(self) -> Observation:
        """The screen now, with the page's notices."""
        seen = super().observe()
        if not self._page.notices:
            return seen
        told = "\n".join(f"(Notice: {one_line(whole_letters(each))})" for each in self._page.notices)
        return Observation(f"{told}\n\n{seen.text}", seen.image, seen.elements)

    def press_of(self, command: Command) -> Press:
        """What a command presses; nothing else will be pressed by it. Raises BrokenDesktop."""
        with broken():
            self._judged = self._page.press_of(command.name, command.argument)
        return self._judged

    def perform(self, command: Command) -> SkillResult:
        """Carry a command out. Raises IllegalCommand if the screen changed at its point, or nothing takes its text."""
        if self._page.done:
            return SkillResult(False, 0, 1, "the task is over")
        judged, self._judged = self._judged, None
        with broken():
            if command.name in POINTING:
                self._require_same(command.argument)
            elif command.name == "TYPE_TEXT" and not self._page.press_of(command.name, command.argument).field:
                raise IllegalCommand("nothing that takes text has the focus: click into a field first")
            self._page.step(command.name, command.argument, judged)
        self._stale, self._asked = True, None
        return SkillResult(True, 1, 1)

    def _require_same(self, place: str) -> None:
        """Require that the point still looks the same, because a model or an asked person may think for an hour."""
        x, y = map(int, place.split(","))
        part = slice(max(y - PATCH, 0), y + PATCH), slice(max(x - PATCH, 0), x + PATCH)
        now = picture_of(self._page.screenshot())[part].astype(np.int16)
        self._stale = True
        for then in (self._asked, self._seen.image if self._seen else None):
            if (
                then is not None
                and (np.abs(now - cast(np.ndarray, then)[part]) > CHANGED).any(axis=2).mean() > MOST_CHANGED
            ):
                raise IllegalCommand(f"what lies at [{x}, {y}] changed since it was looked at: look again")


class _Filmed:
    """A desktop that keeps a frame of each command; private values are painted over."""

    def __init__(self, desktop: Any) -> None:
        self._desktop = desktop
        self.frames: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._desktop, name)

    def perform(self, command: Command) -> SkillResult:
        """Keep what is seen, then carry the command out."""
        point = command.argument.split(",") if PAGE_ARGUMENTS.get(command.name) == "coords" else ()
        self.keep(str(command), tuple(map(int, point)))
        return cast(SkillResult, self._desktop.perform(command))

    def keep(self, words: str, point: tuple[int, ...] = ()) -> None:
        """Another frame."""
        with contextlib.suppress(Exception):  # the page may be gone
            picture = picture_of(self._desktop.picture(marks=False))
            frame = draw_caption(picture, words, cast(Any, point) or None)
            frame.thumbnail((WIDEST, WIDEST))
            self.frames[MOST_FRAMES - 1 :] = []  # the last is always kept
            self.frames.append(png_of(np.asarray(frame), compression=1))


class _Told:
    """A gate whose reasons go to a model: they quote the page, so `tell` hides values in them."""

    def __init__(self, gate: GateGuard, tell: Callable[[str], str]) -> None:
        self._gate, self._tell = gate, tell

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """As the gate itself; values in the reason are hidden."""
        verdict = self._gate.feasible(command, observation)
        return replace(verdict, reason=self._tell(verdict.reason))

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """As the gate itself; values in the reason are hidden."""
        verdict = self._gate.complete(command, before, after)
        return replace(verdict, reason=self._tell(verdict.reason))


@dataclass(frozen=True, slots=True)
class TaskPlayed:
    """The result of a task: `done` if the model says so, `end` in a word, `said` the model's last words, `answers` how
    often it was asked, `steps` what was done (command, outcome), `address` where the page is now."""

    task: str
    done: bool
    end: str
    said: str
    answers: int
    steps: tuple[Mapping[str, Any], ...]
    tokens: int
    address: str = ""
    detail: str = ""
    asked: tuple[str, ...] = ()
    folder: str = ""

    def __bool__(self) -> bool:
        return self.done

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def do_task(
    page: Any,
    task: str,
    *,
    model: LanguageModel,
    agrees: Callable[[str], bool],
    access: Access | None = None,
    owned: bool = False,
    address: str = "",
    guards: Sequence[str] = GUARDS,
    mode: str = "xml-react",
    answers: int = COMPLETIONS,
    folder: Path | None = None,
    private: bool = True,
) -> TaskPlayed:
    """Do a task on a page of Playwright's; `address` is opened first where one is given.

    `agrees` is asked in words before anything that can't be undone. With `private`, sensitive values of the task reach
    only the page. What a page or a model does wrong is never raised: it is an `end`. Raises PrivacyError for
    values that can't be kept; before anything is done RunError for a folder that can't be written, and UserError for
    one with a trace of somebody else's.
    """
    if folder is not None:
        _empty(folder)
    asked: list[str] = []
    asks, began = _asks(agrees, asked), time.monotonic()
    world = PageWorld(page, task, access=access, agrees=asks, owned=owned)
    protector = Protector(recognisers_of(""), Placeholders()) if private else None

    def tell(words: str) -> str:
        return protector.memory.mask_parts(whole_letters(words)) if protector else whole_letters(words)

    with contextlib.ExitStack() as left:
        try:
            left.enter_context(world)
            if address:
                world.open(address)
            desktop = PageDesktop(world)
            seen = _Filmed(ProtectedDesktop(desktop, protector) if protector else desktop)
        except PrivacyError:
            raise
        except Exception as error:
            task = one_line(protector.admit(world.mission) if protector else task)
            found = _summed(UIEpisode(task, "page", (), 0, detail=_cause(error)), "", "", asked, tell)
            return _kept(found, (), folder, began)
        gate = gate_of(guards, usages={}, resolve=lambda *_: (), confirm=asks, presses=seen.press_of)
        work = Work(
            cast(Any, seen), _Told(gate, tell), mode=MODES[mode], completions=answers, replans=REPLANS, ends=ENDS,
            changes=what_changed,
        )  # fmt: skip
        spoken = Protected(model, protector.mask) if protector else model
        try:
            while (question := work.question()) is not None:
                work.answer(_reply(spoken, question))
        except Exception as error:
            work.stop("model" if isinstance(error, ModelError) else "page", _cause(error))
        played, said = work.result(), tell(world.said)
        seen.keep(f"{END.get(played.end, played.end)}: {one_line(said or tell(played.detail), 200)}")
        address = "" if played.end == "page" else str(page.url)
    found = _summed(played, said, _told_address(address, tell), tuple(asked), tell)
    return _kept(found, seen.frames, folder, began)


def _empty(folder: Path) -> None:
    """Take an earlier task's trace out of a folder, before anything is done that can't be undone."""
    for name, (mark, begins) in _OWN.items():
        with explaining(folder / name):
            if (folder / name).exists() and not (
                (folder / mark).exists() and (folder / mark).read_bytes().startswith(begins)
            ):
                raise UserError(f"{folder / name} wasn't written by sdg: name another folder")
    for name in ("film.gif", "trace.json"):
        with explaining(folder / name):
            (folder / name).unlink(missing_ok=True)
    atomic_write(folder / "trace.txt", "Task: \n")


_OWN: Mapping[str, tuple[str, bytes]] = {
    "trace.txt": ("trace.txt", b"Task: "),
    "trace.json": ("trace.json", b'{\n "task": '),
    "film.gif": ("trace.json", b'{\n "task": '),
}
"""The files of a trace, and by which file and which first letters each is known as one's own."""


def _kept(found: TaskPlayed, frames: Sequence[bytes], folder: Path | None, began: float) -> TaskPlayed:
    """What was done, which a folder that can't be written doesn't hide, and without advice to do it again."""
    if folder is None:
        return found
    try:
        return _write_trace(found, frames, folder, seconds=time.monotonic() - began)
    except Exception as error:
        why = error.__cause__ if isinstance(error.__cause__, OSError) else error
        return replace(found, detail=f"{found.detail} {folder} doesn't keep what was done: {why}".strip())


def _asks(agrees: Callable[[str], bool], asked: list[str]) -> Callable[[str], bool]:
    """`agrees`, with each question kept in `asked`; no if it raises."""

    def ask(question: str) -> bool:
        asked.append(whole_letters(question))
        try:
            return agrees(asked[-1])
        except Exception:
            return False

    return ask


def _cause(error: Exception) -> str:
    """What went wrong, in a line; of an error that nobody foresaw its kind, too."""
    return str(error) if isinstance(error, SDGError) else f"{type(error).__name__}: {error}"


def _reply(model: LanguageModel, question: Sequence[Message]) -> Completion:
    """A model's reply without half letters. Raises ModelError, whatever the model raises."""
    try:
        reply = model.complete(question, sampling=SAMPLING)
    except Exception as error:
        raise ModelError(_cause(error)) from error
    text = _SURROGATE.sub(lambda found: found[1] or r"\ufffd", whole_letters(reply.text))
    return reply if text == reply.text else replace(reply, text=text)


def _told_address(address: str, tell: Callable[[str], str]) -> str:
    """The address with its values hidden, of a long one its origin; decoded where it holds one only when decoded."""
    address = address if len(address) <= MOST_ADDRESS else origin_of(address)
    plain = unquote_plus(address)
    return tell(address) if tell(plain) == whole_letters(plain) else tell(plain)


def _summed(played: UIEpisode, said: str, address: str, asked: Sequence[str], tell: Callable[[str], str]) -> TaskPlayed:
    steps = tuple(
        {
            "command": tell(each.command),
            "outcome": tell(each.outcome),
            "verdicts": [tell(verdict.reason) for verdict in each.verdicts],
        }
        for each in played.steps
    )
    return TaskPlayed(
        played.instruction,
        played.success,
        END.get(played.end, played.end),
        said,
        played.completions,
        steps,
        played.prompt_tokens + played.completion_tokens,
        address,
        tell(played.detail),
        tuple(map(tell, asked)),
    )


def _write_trace(found: TaskPlayed, frames: Sequence[bytes], folder: Path, *, seconds: float) -> TaskPlayed:
    """Write film.gif, trace.txt and trace.json to the folder."""
    from sdg.experiments.play.film import animate_pictures

    found = replace(found, folder=str(folder))
    lines = [f"Task: {found.task}", *(f"Asked: {each}" for each in found.asked), ""]
    for number, step in enumerate(found.steps, 1):
        lines += [f"{number:3}. {step['command']}: {step['outcome']}", *(f"       {each}" for each in step["verdicts"])]
    end = f"End: {found.end} after {found.answers} answers and {seconds:.0f} s. {found.said} {found.detail}".strip()
    atomic_write(folder / "trace.txt", readable("\n".join([*lines, "", end]), most=MOST_TRACE) + "\n")
    atomic_write(folder / "trace.json", json.dumps(found.to_json(), ensure_ascii=False, indent=1) + "\n")
    if frames:
        atomic_write(
            folder / "film.gif",
            animate_pictures(frames, [1200] * (len(frames) - 1) + [3000]),
        )
    return found


@contextlib.contextmanager
def open_page(access: Access, *, running: str = "") -> Iterator[Any]:
    """A page of a browser begun here, or the page that is open in the browser `running` at a debugging address.

    Raises NoBrowser where there is none.
    """
    with open_browser(*flags_for(access), address=running) as browser:
        if running:
            pages = [page for context in browser.contexts for page in context.pages]
            if not pages:
                raise NoBrowser(f"the browser at {running:.80} shows no page")
            yield pages[-1]
        else:
            context = browser.new_context(viewport=VIEWPORT, accept_downloads=False, service_workers="block")
            yield context.new_page()
