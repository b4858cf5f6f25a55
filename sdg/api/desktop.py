"""A browser page on which a model does tasks, from Python: `sdg.Desktop`."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sdg.envs.ui.access import Access
from sdg.experiments.play.pages import COMPLETIONS, GUARDS, PageTaskSettings, do_task
from sdg.experiments.play.trace import PageTaskResult
from sdg.llm.registry import ModelAdapter


class Desktop:
    """A page of Playwright's sync API on which a model does tasks from screenshots, behind the gate.

        with sync_playwright() as playwright:
            page = playwright.chromium.launch().new_page()
            page.goto("https://example.org")
            sdg.Desktop(page).do("find the opening hours", model=MyModel())

    The page may not leave its origin; `allow` names further hosts and folders, `*` allows all.
    """

    def __init__(self, page: Any, *, allow: Sequence[str] = ()) -> None:
        self._page, self._allow = page, tuple(allow)

    def do(
        self,
        task: str,
        *,
        model: object,
        confirm: Callable[[str], bool] = lambda question: False,
        guards: Sequence[str] = GUARDS,
        mode: str = "xml-react",
        answers: int = COMPLETIONS,
        folder: str | Path | None = None,
        private: bool = True,
    ) -> PageTaskResult:
        """Do a task. `model` has `complete(messages)`; `confirm` is called before anything that can't be undone and
        says no by default. With `private`, values such as passwords reach the page but never the model. `folder` gets
        film and trace.

        Raises UserError for a mode that there isn't, RegistryError for unknown guards, ModelError for an object that is
        no model.
        """
        return do_task(
            self._page,
            task,
            model=ModelAdapter(model),
            agrees=confirm,
            access=Access(str(self._page.url), self._allow),
            settings=PageTaskSettings(
                guards=guards,
                mode=mode,
                answers=answers,
                folder=Path(folder) if folder else None,
                private=private,
            ),
        )
