"""What the site has and the repository doesn't: pages written from the code, and README as the start page.

MkDocs calls these functions by name (`hooks` in mkdocs.yml).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main
from mkdocs.structure.files import File, Files

from sdg.envs.domains import domain
from sdg.envs.world import api_text
from sdg.experiments.cli.main import app
from sdg.experiments.config.docs import markdown

ROOT = Path(__file__).resolve().parents[1]
HOMES = {
    "](docs/": "](",
    "](../SECURITY.md)": "](security.md)",
    "](SECURITY.md)": "](security.md)",
    "](../examples/arm)": "](arm.md)",
    "](examples/arm)": "](arm.md)",
}
"""Links between files of the repository -> pages of the site."""


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are written from the code."""
    pages = {
        "reference/configuration.md": markdown(),
        "reference/cli.md": commands(),
        "security.md": (ROOT / "SECURITY.md").read_text("utf-8"),
        "arm.md": (ROOT / "examples/arm/README.md").read_text("utf-8"),
    }
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    files.append(File.generated(config, "push.gif", abs_src_path=str(ROOT / "examples/arm/push.gif")))
    return files


def on_page_markdown(text: str, page: Any, config: Any, files: Files) -> str:
    """Fill in README's first screen on the start page, and the perception API where a page asks for it."""
    perceivable = domain().perceivable
    fillings = {
        "<!-- readme -->": first_screen,
        "<!-- perception -->": lambda: f"```text\n{api_text(perceivable.about, perceivable.functions)}\n```",
    }
    for mark, write in fillings.items():
        if mark in text:
            text = text.replace(mark, write())
    for ours, there in HOMES.items():
        text = text.replace(ours, there)
    return text


def first_screen() -> str:
    """README up to its list of links, which the site's navigation replaces."""
    return (ROOT / "README.md").read_text("utf-8").split("\n[Tutorial]")[0]


def commands() -> str:
    """Every command with its options, as `--help` prints them."""
    return "# Command line\n" + "".join(_helps(typer.main.get_command(app), "sdg", None))


def _helps(command: Any, name: str, parent: Any) -> Iterator[str]:
    context = type(command).context_class(
        command, info_name=name, parent=parent, terminal_width=100, max_content_width=100
    )
    yield f"\n## `{context.command_path}`\n\n```text\n{command.get_help(context)}\n```\n"
    for inner in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from _helps(command.get_command(context, inner), inner, context)
