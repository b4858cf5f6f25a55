"""YAML as a config needs it: every value knows its line, no key twice, `1e-4` is a number and `no` is a word.

PyYAML follows YAML 1.1, which reads `1e-4` as text, `no` as false and 1:30 as ninety, and keeps the last of two equal
keys. Here PyYAML only finds the nodes; what a plain scalar means follows YAML 1.2's core schema.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

Path = tuple[str | int, ...]
"""The keys and indices that lead to a value."""

MAX_CHARACTERS = 200_000
MAX_NODES = 20_000
MAX_DEPTH = 20

_INTEGER = re.compile(r"[-+]?[0-9]+(_[0-9]+)*")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(_[0-9]+)*(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS = {"": None, "~": None, "null": None, "Null": None, "NULL": None} | {
    word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")
}
_PLAIN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "seq", "map")}


class ConfigError(ValueError):
    """A config can't be used; the message names the place (file and line, or the option) and what to write instead."""


@dataclass
class Document:
    """A config as plain values, and where each of them was written ("file:line" or "--set a.b=c")."""

    value: dict[str, Any]
    places: dict[Path, str] = field(default_factory=dict)
    source: str = "config"

    def place(self, path: Path) -> str:
        """Where the value at `path` was written, or the nearest thing around it."""
        while path:
            if path in self.places:
                return self.places[path]
            path = path[:-1]
        return self.source


def parse(text: str, *, source: str) -> Document:
    """Read a YAML mapping. Raises `ConfigError` that names `source` and the line."""
    if len(text) > MAX_CHARACTERS:
        raise ConfigError(f"{source}: {len(text)} characters are too many for a config ({MAX_CHARACTERS} at most)")
    node = _compose(text, source=source)
    document = Document({}, source=source)
    if node is None:
        return document
    if not isinstance(node, yaml.MappingNode):
        raise ConfigError(f"{source}:{node.start_mark.line + 1}: a config is a mapping of keys, such as `seed: 1`")
    document.value = _Reader(document, f"{source}:{{line}}").read(node, ())
    return document


def assign(document: Document, assignment: str) -> None:
    """Overlay `a.b=c` on a document, where c is read as YAML. Raises `ConfigError` that names the option."""
    key, equals, text = assignment.partition("=")
    place = f"--set {key}"
    path = tuple(key.strip().split("."))
    if not equals or not all(path):
        raise ConfigError(f"{place}: write --set KEY=VALUE, such as --set verify.t_verify=3000")
    node = _compose(text, source=place)
    value = None if node is None else _Reader(document, place).read(node, path)
    inner = document.value
    for depth, name in enumerate(path[:-1], 1):
        inner = inner.setdefault(name, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"{place}: {'.'.join(path[:depth])} is a value, it has no keys inside")
    inner[path[-1]] = value
    document.places[path] = place


def _compose(text: str, *, source: str) -> yaml.Node | None:
    try:
        return yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark and not source.startswith("--set") else ""
        raise ConfigError(f"{source}{line}: this isn't YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{source}: this isn't YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise ConfigError(f"{source}: nested too deep to be a config") from None


class _Reader:
    """Turns nodes into plain values and writes down their places."""

    def __init__(self, document: Document, place: str) -> None:
        self._document = document
        self._place = place
        self._nodes = 0

    def read(self, node: yaml.Node, path: Path) -> Any:
        place = self._place.replace("{line}", str(node.start_mark.line + 1))
        self._nodes += 1
        if self._nodes > MAX_NODES or len(path) > MAX_DEPTH:
            raise ConfigError(f"{place}: too large or too deeply nested for a config")
        if node.tag not in _PLAIN_TAGS:
            raise ConfigError(f"{place}: the tag {node.tag:.80} has no meaning here; write a plain value")
        self._document.places[path] = place
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, (*path, index)) for index, item in enumerate(node.value)]
        plain = isinstance(node, yaml.ScalarNode) and node.style is None
        return scalar(node.value) if plain else node.value

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            place = self._place.replace("{line}", str(line))
            if not isinstance(key_node, yaml.ScalarNode):
                raise ConfigError(f"{place}: a key is a word, not a list or a mapping")
            key = key_node.value
            if key in found:
                raise ConfigError(
                    f"{place}: the key {key[:80]!r} is there twice (first on line {lines[key]}); keep one of them"
                )
            lines[key] = line
            found[key] = self.read(value_node, (*path, key))
            self._document.places[(*path, key)] = place
        return found


def scalar(text: str) -> Any:
    """What an unquoted word means: null, true, false, an integer, a number, or itself."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text) and len(text) < 40:
        return int(text)
    if _FLOAT.fullmatch(text) and len(text) < 40:
        return float(text)
    return text
