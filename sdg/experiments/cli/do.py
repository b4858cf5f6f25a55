"""`sdg do TASK --url URL`: a task on your own page."""

import sys
from pathlib import Path

from sdg.console import INTERRUPTED, ask_in_terminal, output
from sdg.envs.ui.access import Access
from sdg.errors import SDGError, UserError, refuse
from sdg.experiments.config.assembly import model_settings
from sdg.experiments.config.config import RunConfig
from sdg.experiments.play.pages import PageTaskSettings, do_task, open_page
from sdg.llm.registry import is_rule_based
from sdg.privacy.protector import build_model


class Interrupted(SDGError):
    """A task on a page was interrupted by its user."""

    exit_code = INTERRUPTED


def do_on_page(
    config: RunConfig,
    task: str,
    *,
    url: str,
    running: str,
    allow: tuple[str, ...],
    yes: bool,
    settings: PageTaskSettings,
    as_json: bool,
) -> int:
    """Do the task and print the result; returns 1 if it isn't done. Raises UserError for what can't be begun."""
    is_file = url != "" and "://" not in url
    faults = (
        (not task.strip(), "a task has words: sdg do 'find the price of the blue lamp' --url URL"),
        (not url and not running, "say where: --url URL or FILE, or --browser ADDRESS of a running browser"),
        (is_file and not Path(url).is_file(), f"{url!r:.200} is no file, and no address such as https://example.org"),
    )
    refuse(UserError, faults)
    if is_file:
        url = Path(url).resolve().as_uri()
    if is_rule_based(config.model.kind):
        print(f"sdg: model: {config.model.kind}, rules (no language model)", file=sys.stderr)
    with output(as_json=as_json) as lines, open_page(Access(url, allow), running=running) as page:
        try:
            result = do_task(
                page,
                task,
                model=build_model(model_settings(config, None)),
                agrees=(lambda _: True) if yes else ask_in_terminal,
                access=Access(url or str(page.url), allow),
                owned=not running,
                address=url,
                settings=settings,
            )
        except KeyboardInterrupt:
            raise Interrupted(
                "interrupted: what was done on the page stays done, and the same command does it again"
            ) from None
        lines.details([result.to_json()])
    return int(not result.done)
