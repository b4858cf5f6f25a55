"""A check as a template: the same question about something else.

What is verified for "red key" holds as a question for any other description: the literals that spell the old one are
replaced in the syntax tree. This is how a skill gets its termination check for a new argument, and how it is practised
on layouts that no hypothesis was made for.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Protocol, TypeGuard

from sdg.envs.domain import Language
from sdg.skills.subgoal import CheckFunction


class _Text(Protocol):
    value: str


class Unfit(ValueError):
    """The check can't be asked about that: it compares a colour or type that the new description leaves open."""


def rewrite(check: CheckFunction, replacements: Mapping[str, str], language: Language) -> CheckFunction:
    """The check with each description (a key) replaced by another (its value), all at once.

    Literals that are a description, and lone words of one ("key"), are replaced. Raises Unfit where a word has no
    counterpart, or two different ones; a check that doesn't parse is Unfit too.
    """
    targets = {language.parse(old): language.parse(new) for old, new in replacements.items() if old}
    named = _named(check, language)
    relevant: Any = targets.items() if named is None else ((old, new) for old, new in targets.items() if old in named)
    return _rewritten(check, tuple(sorted(relevant)), language)


@lru_cache(maxsize=50_000)
def _rewritten(check: CheckFunction, targets: tuple[tuple[Any, Any], ...], language: Language) -> CheckFunction:
    tree = _Rewriter(dict(targets), language).visit(_parsed(check))
    return CheckFunction(check.name, ast.unparse(tree)) if targets else check


@lru_cache(maxsize=10_000)
def _named(check: CheckFunction, language: Language) -> frozenset[Any] | None:
    """What a check names by description; None when it compares lone words, so that every replacement may matter."""
    words = {node.value.strip().lower() for node in ast.walk(_parsed(check)) if _is_text(node)}
    lone = {word for part in language.parts.values() for word in part}
    return None if words & lone else mentioned(check, language)


def _is_text(node: ast.AST) -> TypeGuard[_Text]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _parsed(check: CheckFunction) -> ast.Module:
    try:
        return ast.parse(check.source)
    except (SyntaxError, ValueError) as error:
        raise Unfit(f"the check doesn't parse: {error}") from error


def mentioned(check: CheckFunction, language: Language) -> frozenset[Any]:
    """What a check names by description in its literals."""
    found = (_described(node.value, language) for node in ast.walk(ast.parse(check.source)) if _is_text(node))
    return frozenset(target for target in found if target is not None)


def _described(value: str, language: Language) -> Any:
    try:
        return language.parse(value)
    except ValueError:
        return None


class _Rewriter(ast.NodeTransformer):
    def __init__(self, targets: Mapping[Any, Any], language: Language) -> None:
        self.targets, self.language = targets, language
        parts = list(language.parts.items())
        # A lone word of the last part (the kind of thing) is a description, too: that reading comes first.
        self.before, self.after = parts[:-1], parts[-1:]

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if not isinstance(node.value, str):
            return node
        word = node.value.strip().lower()
        for part, words in self.before:
            if word in words:
                return self._put(node, self._counterpart(word, part))
        target = _described(node.value, self.language)
        if target is not None and target in self.targets:
            return self._put(node, self.language.text(self.targets[target]))
        for part, words in self.after:
            if word in words:
                return self._put(node, self._counterpart(word, part))
        return node

    @staticmethod
    def _put(node: ast.Constant, text: str) -> ast.Constant:
        return ast.copy_location(ast.Constant(text), node)

    def _counterpart(self, word: str, part: str) -> str:
        of = self.language.part
        new = {of(target, part) for old, target in self.targets.items() if of(old, part) == word}
        if not new:
            return word
        if len(new) > 1 or None in new:
            raise Unfit(f"{word!r} has no one counterpart")
        return str(new.pop())
