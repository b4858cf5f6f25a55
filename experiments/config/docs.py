"""Every config key with its default and meaning, as docs/configuration.md: `python -m sdg.experiments.config.docs`."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from sdg.experiments.config.config import RunConfig

HEAD = """# Configuration

One YAML file tells a run what to do (`configs/`); `--set a.b=c` lays a value over it, `--seed` sets its seed. Keys left
out have the defaults below. Unknown keys, keys given twice and values of another kind are refused with their line;
`1e-4` is a number and `no` is a word. This page is written by `python -m sdg.experiments.config.docs`.
"""


def markdown() -> str:
    """The page, which a test compares with the file."""
    return HEAD + "".join(_section(RunConfig, ""))


def _section(model: type[BaseModel], prefix: str) -> list[str]:
    title = f"`{prefix.rstrip('.')}`" if prefix else "The run"
    about = (model.__doc__ or "").strip()
    lines = [f"\n## {title}\n\n{about}\n\n| key | default | meaning |\n|---|---|---|\n"]
    inner: list[str] = []
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            inner += _section(kind, f"{prefix}{name}.")
        else:
            default = "required" if field.is_required() else f"`{_yaml(field.get_default(call_default_factory=True))}`"
            lines.append(f"| `{prefix}{name}` | {default} | {field.description} |\n")
    return lines + inner


def _yaml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_yaml(item) for item in value)}]"
    if isinstance(value, dict):
        return str(value)
    return (
        {None: "null", True: "true", False: "false", "": '""'}.get(value, str(value))
        if not _number(value)
        else str(value)
    )


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


if __name__ == "__main__":
    print(markdown(), end="")
