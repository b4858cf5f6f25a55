"""A check as a template: the same question about something else.

What is verified for "red ball" holds as a question for any other description: the literals that spell the old one are
replaced in the syntax tree. This is how a skill gets its termination check for a new argument, and how it is practised
on layouts that no hypothesis was made for.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache
from typing import Protocol, TypeGuard

from sdg.envs.babyai.cells import COLOURS, TYPES
from sdg.envs.babyai.perception.description import Target, parse, text
from sdg.skills.subgoal import CheckFunction


class _Text(Protocol):
    value: str


class Unfit(ValueError):
    """The check can't be asked about that: it compares a colour or type that the new description leaves open."""


def rewrite(check: CheckFunction, replacements: Mapping[str, str]) -> CheckFunction:
    """The check with each description (a key) replaced by another (its value), all at once.

    Literals that are a description, and lone colour and type words of one ("ball"), are replaced. Raises Unfit where a
    word has no counterpart, or two different ones; a check that doesn't parse is Unfit too.
    """
    targets = {parse(old): parse(new) for old, new in replacements.items() if old}
    named = _named(check)
    relevant = targets.items() if named is None else ((old, new) for old, new in targets.items() if old in named)
    return _rewritten(check, tuple(sorted(relevant)))


@lru_cache(maxsize=50_000)
def _rewritten(check: CheckFunction, targets: tuple[tuple[Target, Target], ...]) -> CheckFunction:
    tree = _Rewriter(dict(targets)).visit(_parsed(check))
    return CheckFunction(check.name, ast.unparse(tree)) if targets else check


@lru_cache(maxsize=10_000)
def _named(check: CheckFunction) -> frozenset[Target] | None:
    """What a check names by description; None when it compares lone words, so that every replacement may matter."""
    words = {node.value.strip().lower() for node in ast.walk(_parsed(check)) if _is_text(node)}
    return None if words & {*COLOURS, *TYPES} else mentioned(check)


def _is_text(node: ast.AST) -> TypeGuard[_Text]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _parsed(check: CheckFunction) -> ast.Module:
    try:
        return ast.parse(check.source)
    except (SyntaxError, ValueError) as error:
        raise Unfit(f"the check doesn't parse: {error}") from error


def mentioned(check: CheckFunction) -> frozenset[Target]:
    """What a check names by description in its literals."""
    found = (_described(node.value) for node in ast.walk(ast.parse(check.source)) if isinstance(node, ast.Constant))
    return frozenset(target for target in found if target is not None)


def _described(value: object) -> Target | None:
    try:
        return parse(value) if isinstance(value, str) else None
    except ValueError:
        return None


class _Rewriter(ast.NodeTransformer):
    def __init__(self, targets: Mapping[Target, Target]) -> None:
        self.targets = targets

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if not isinstance(node.value, str):
            return node
        word = node.value.strip().lower()
        if word in COLOURS:
            return ast.copy_location(ast.Constant(self._word(word, COLOURS, 1)), node)
        target = _described(node.value)
        if target is not None and target in self.targets:
            return ast.copy_location(ast.Constant(text(self.targets[target])), node)
        if word in TYPES:
            return ast.copy_location(ast.Constant(self._word(word, TYPES, 0)), node)
        return node

    def _word(self, word: str, words: tuple[str, ...], field: int) -> str:
        index = words.index(word)
        new = {target[field] for old, target in self.targets.items() if old[field] == index}
        if not new:
            return word
        if len(new) > 1 or -1 in new:
            raise Unfit(f"{word!r} has no one counterpart")
        return words[new.pop()]
