"""YAML for configs: every value knows its line, no key comes twice, `1e-4` is a number and `no` is a word.

PyYAML follows YAML 1.1, which reads `1e-4` as text, `no` as false and 1:30 as ninety, and keeps the last of two equal
keys. Here PyYAML finds the nodes and makes the values; YAML 1.2's core schema decides what a plain scalar means.
"""

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

import yaml

from sdg.errors import UserError

KeyPath = tuple[str | int, ...]
"""The keys and indices that lead to a value."""

MAX_CHARACTERS = 200_000
MAX_NODES = 20_000
MAX_DEPTH = 20


class ConfigError(UserError):
    """A config can't be used; the message names the place (file and line, or the option) and what to write instead."""


class _Loader(yaml.SafeLoader):
    """SafeLoader with the core schema of YAML 1.2, numbers of less than 40 characters."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}  # type: ignore[misc]


for _tag, _form, _first in (
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"(?=.{1,39}$)[-+]?[0-9]+(_[0-9]+)*", "-+0123456789"),
    ("float", r"(?=.{1,39}$)[-+]?(\.[0-9]+|[0-9]+(_[0-9]+)*(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
):
    _pattern = re.compile(rf"^(?:{_form})$")
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", _pattern, ["" if letter == "\0" else letter for letter in _first]
    )
_Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(node.value))
_Loader.add_constructor("tag:yaml.org,2002:float", lambda loader, node: float(node.value))
_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "seq", "map", "null", "bool", "int", "float")}


@dataclass
class Document:
    """A config as plain values, and where each of them was written ("file:line" or "--set a.b=c")."""

    value: dict[str, Any]
    places: dict[KeyPath, str] = field(default_factory=dict)
    source: str = "config"

    def place(self, path: KeyPath) -> str:
        """Where the value at `path` was written, or else the nearest section around it."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, self.source) if path else self.source

    def read(self, text: str, place: str, path: KeyPath) -> Any:
        """The values of a YAML text; each one's place is recorded as `place`, with its line in place of `{line}`."""
        source = place.removesuffix(":{line}")
        try:
            loader = _Loader(text)
            node = loader.get_single_node()
            if node is None:
                return None
            self._note(node, place, path)
            return loader.construct_document(node)
        except yaml.MarkedYAMLError as error:
            line = f":{error.problem_mark.line + 1}" if error.problem_mark and source != place else ""
            raise ConfigError(f"{source}{line}: this isn't YAML: {error.problem or error.context}") from None
        except ConfigError:
            raise
        except (yaml.YAMLError, ValueError) as error:
            raise ConfigError(f"{source}: this isn't YAML: {str(error).splitlines()[0]}") from None
        except RecursionError:
            raise ConfigError(f"{source}: nested too deep to be a config") from None

    def _note(self, node: yaml.Node, form: str, path: KeyPath) -> None:
        """Record the place of a node and of all inside it; refuse nodes that have no meaning in a config."""
        place = self.places[path] = form.replace("{line}", str(node.start_mark.line + 1))
        if len(self.places) > MAX_NODES or len(path) > MAX_DEPTH:
            raise ConfigError(f"{place}: too large or too deeply nested for a config")
        if node.tag not in _TAGS:
            raise ConfigError(f"{place}: the tag {node.tag:.80} has no meaning here; write a plain value")
        for index, item in enumerate(node.value if isinstance(node, yaml.SequenceNode) else ()):
            self._note(item, form, (*path, index))
        lines: dict[str, int] = {}
        for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
            line = key.start_mark.line + 1
            key_place = form.replace("{line}", str(line))
            if not isinstance(key, yaml.ScalarNode):
                raise ConfigError(f"{key_place}: a key is a word, not a list or a mapping")
            if key.value in lines:
                twice = f"the key {key.value[:80]!r} is there twice (first on line {lines[key.value]})"
                raise ConfigError(f"{key_place}: {twice}; keep one of them")
            lines[key.value], key.tag = line, "tag:yaml.org,2002:str"
            self._note(value, form, (*path, key.value))
            self.places[*path, key.value] = key_place


def parse(text: str, *, source: str) -> Document:
    """Read a YAML mapping. Raises `ConfigError` that names `source` and the line."""
    if len(text) > MAX_CHARACTERS:
        raise ConfigError(f"{source}: {len(text)} characters are too many for a config ({MAX_CHARACTERS} at most)")
    document = Document({}, source=source)
    value = document.read(text, f"{source}:{{line}}", ())
    if not isinstance(value, dict | None):
        raise ConfigError(f"{document.places[()]}: a config is a mapping of keys, such as `seed: 1`")
    document.value = value or {}
    return document


def assign(document: Document, assignment: str) -> None:
    """Overlay `a.b=c` on a document, where c is read as YAML. Raises `ConfigError` that names the option."""
    key, equals, text = assignment.partition("=")
    place = f"--set {key}"
    path = tuple(key.strip().split("."))
    if not equals or not all(path):
        raise ConfigError(f"{place}: write --set KEY=VALUE, such as --set verify.t_verify=3000")
    value, section = document.read(text, place, path), document.value
    for depth, name in enumerate(path[:-1], 1):
        section = section.setdefault(name, {})
        if not isinstance(section, dict):
            raise ConfigError(f"{place}: {'.'.join(path[:depth])} is a value, it has no keys inside")
    section[path[-1]] = value
    document.places[path] = place


def scalar(text: str) -> Any:
    """The value of a YAML text, such as an unquoted word. Raises `ConfigError` for a text that isn't YAML."""
    return Document({}).read(text, "value", ())
