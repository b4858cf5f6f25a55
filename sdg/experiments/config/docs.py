"""Every config key with its default and meaning: `sdg config`, and the configuration page of the documentation."""

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from itertools import pairwise
from typing import Any, get_type_hints

from sdg.experiments.config.config import RunConfig
from sdg.skills.settings import PPOSettings

HEAD = """# Configuration

A YAML file describes a run (`configs/`); `--set a.b=c` overrides a value, `--seed` sets the seed. Keys that are left
out have the defaults below. Unknown keys, repeated keys and values of another type are refused with their line; `1e-4`
is a number and `no` is a word. `sdg config` prints this page.
"""


def markdown() -> str:
    """The page in Markdown."""
    return HEAD + "".join((*_section(RunConfig, ""), *_section(PPOSettings, "induce.train.ppo.")))


def _section(settings: Any, prefix: str) -> Iterator[str]:
    title = f"`{prefix.rstrip('.')}`" if prefix else "The run"
    yield f"\n## {title}\n\n{inspect.getdoc(settings)}\n\n| key | default | meaning |\n|---|---|---|\n"
    inner: list[str] = []
    kinds = get_type_hints(settings)
    for key in fields(settings):
        if is_dataclass(kinds[key.name]):
            inner += _section(kinds[key.name], f"{prefix}{key.name}.")
        else:
            yield f"| `{prefix}{key.name}` | {_default(key)} | {_meanings(settings)[key.name]} |\n"
    yield from inner


def _default(field: Field[Any]) -> str:
    if field.default_factory is not MISSING:
        return f"`{_yaml(field.default_factory())}`"
    return "required" if field.default is MISSING else f"`{_yaml(field.default)}`"


def _yaml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_yaml, value))}]"
    return value if value and isinstance(value, str) else json.dumps(value)


@cache
def _meanings(settings: type) -> dict[str, str]:
    """The text below each field, in the source of a dataclass and of its base classes."""
    meanings: dict[str, str] = {}
    for kind in reversed(list(filter(is_dataclass, settings.__mro__))):
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
        assert isinstance(body, ast.ClassDef)
        for field, text in pairwise(body.body):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                meanings[ast.unparse(field.target)] = " ".join(str(text.value.value).split())
    return meanings
