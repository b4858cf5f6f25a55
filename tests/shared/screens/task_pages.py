"""Tasks on one page in a real Chromium, played by a model that answers from a list."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sdg.envs.ui.access import Access
from sdg.experiments.play.pages import PageTaskSettings, do_task, open_page
from sdg.experiments.play.trace import PageTaskResult
from sdg.llm.model import Completion, Message, Sampling

BIG = "position:absolute;left:20px;top:20px;width:200px;height:100px"
CLICK, FINISH = ("CLICK_COORDS", {"coords": [120, 70]}), ("FINISH", {"text": "done it"})
Asked = tuple[str, dict[str, Any]]


class Scripted:
    """A model that gives these answers in turn, the last again and again; `sees` is called with each question."""

    name = "scripted"

    def __init__(self, *answers: Sequence[Asked], sees: Callable[[str], None] = lambda text: None) -> None:
        self._answers, self._sees = answers, sees
        self.asked: list[str] = []

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        self.asked.append("\n".join(message.content for message in messages))
        self._sees(self.asked[-1])
        answer = self._answers[min(len(self.asked), len(self._answers)) - 1]
        commands = [{"name": name, "args": arguments} for name, arguments in answer]
        return Completion(json.dumps({"commands": commands}), self.name, 5, 5)


@contextmanager
def page_with(site: tuple[str, Path], body: str) -> Iterator[tuple[Any, str, Access]]:
    """A page with this body in a browser of its own."""
    (site[1] / "index.html").write_text(
        f"<!doctype html><meta charset=utf-8><title>t</title><body style='font:16px sans-serif'>{body}"
    )
    access = Access(f"{site[0]}/index.html")
    with open_page(access) as page:
        page.set_viewport_size({"width": 360, "height": 320})
        yield page, access.start, access


def play_on_page(
    site: tuple[str, Path],
    body: str,
    model: Any,
    *,
    agrees: bool = False,
    guards: Sequence[str] = ("open",),
    **more: Any,
) -> tuple[PageTaskResult, str]:
    """The outcome of a task on the page, and the page's title at its end."""
    with page_with(site, body) as (page, address, access):
        task = do_task(
            page, "do it", model=model, agrees=lambda _: agrees, access=access, owned=True, address=address,
            settings=PageTaskSettings(guards=guards, private=False, **more),
        )  # fmt: skip
        # A page that is being loaded has no title yet.
        return task, "" if task.end == "page" else page.wait_for_function("document.title").json_value()


PRESSED = "onclick=\"document.title+='!'\""


FORM = "<form onsubmit=\"document.title+='!';return false\"><input style='{}'><button>Send</button></form>".format(
    BIG.replace("100px", "30px")
)
INTO = ("CLICK_COORDS", {"coords": [120, 35]})
