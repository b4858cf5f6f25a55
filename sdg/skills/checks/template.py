"""A check as a template: its question, asked about other things.

A check verified for "red key" can be asked about any other description: the literals that spell the old one are
replaced in the syntax tree. So a skill gets its termination check for a new argument, and can be practised on layouts
without a hypothesis.
"""

import ast
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from sdg.envs.domain import Language
from sdg.errors import SDGError
from sdg.sandbox.guard import Refused
from sdg.sandbox.guard.syntax import parse, parse_code
from sdg.skills.subgoal import CheckFunction

parsed_check = lru_cache(maxsize=4096)(parse_code)
"""The tree of a check's source, shared by its readers; None as in `parse_code`. Code that changes a tree parses the
source again, because copying a tree takes longer."""


@lru_cache(maxsize=4096)
def string_constants(source: str) -> tuple[str, ...]:
    """The string constants of some source, in the order of the text; () when it doesn't parse."""
    tree = parsed_check(source)
    nodes = ast.walk(tree) if tree is not None else ()
    constants = [node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return tuple(str(node.value) for node in sorted(constants, key=lambda node: (node.lineno, node.col_offset)))


@lru_cache(maxsize=4096)
def _parts_of_texts(source: str) -> tuple[str, ...]:
    """The constants of more than one word in f-strings and sums."""
    tree = parsed_check(source)
    joined = (
        (node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr | ast.BinOp)) if tree is not None else ()
    )
    parts = (part.value for node in joined for part in ast.iter_child_nodes(node) if isinstance(part, ast.Constant))
    return tuple(part for part in parts if isinstance(part, str) and len(part.split()) > 1)


def is_answer(body: Sequence[ast.stmt], answer: bool) -> bool:
    """Whether the statements do nothing but return this constant."""
    only = body[0] if len(body) == 1 else None
    return isinstance(only, ast.Return) and isinstance(only.value, ast.Constant) and only.value.value is answer


class Unfit(SDGError, ValueError):
    """The check can't be asked about something: it compares a colour or type that the new description leaves open."""


def rewrite(check: CheckFunction, replacements: Mapping[str, str], language: Language) -> CheckFunction:
    """The check with each description (a key) replaced by another (its value), all at once.

    Literals that are a description, and single words of one ("key"), are replaced. Raises Unfit where a word has no
    counterpart or two different ones or is in a part of a text with others (f"the red {kind}"), and for a check that
    doesn't parse.
    """
    targets = {language.parse(old): language.parse(new) for old, new in replacements.items() if old}
    words = {language.part(old, part) for old, new in targets.items() if old != new for part in language.parts}
    for text in _parts_of_texts(check.source):
        if not words.isdisjoint(text.lower().split()) and described_target(text, language) not in targets:
            raise Unfit(f"{text!r} is only a part of a description: let it have one word, or write the whole in one")
    things = _mentioned_or_any(check, language)
    relevant: Any = targets.items() if things is None else ((old, new) for old, new in targets.items() if old in things)
    return _rewrite(check, tuple(sorted(relevant)), language)


@lru_cache(maxsize=50_000)
def _rewrite(check: CheckFunction, targets: tuple[tuple[Any, Any], ...], language: Language) -> CheckFunction:
    tree = _Rewriter(dict(targets), language).visit(parse_check(check))
    return written_check(check.name, tree) if targets else check


@lru_cache(maxsize=10_000)
def _mentioned_or_any(check: CheckFunction, language: Language) -> frozenset[Any] | None:
    """The targets that a check describes; None when it compares single words, as then every replacement may matter."""
    words = {text.strip().lower() for text in string_constants(check.source)}
    single_words = {word for part in language.parts.values() for word in part}
    return None if words & single_words else mentioned_things(check, language)


def parse_check(check: CheckFunction) -> ast.Module:
    """A new tree of the check's source, for the caller to change. Raises Unfit where it doesn't parse."""
    tree = parse_code(check.source)
    if tree is None:
        raise Unfit(f"the check {check.name} doesn't parse")
    return tree


def written_check(name: str, tree: ast.AST) -> CheckFunction:
    """A changed tree as a check. Raises Unfit where its text has become more than a guard reads."""
    try:
        parse(source := ast.unparse(tree))
    except (Refused, ValueError) as error:
        raise Unfit(f"the check {name} can't be asked so: {error}") from None
    return CheckFunction(name, source)


def mentioned_things(check: CheckFunction, language: Language) -> frozenset[Any]:
    """The targets that a check's literals describe; none where it doesn't parse."""
    targets = (described_target(text, language) for text in string_constants(check.source))
    return frozenset(target for target in targets if target is not None)


def described_target(value: str, language: Language) -> Any:
    """The target that a text describes; None for one that describes nothing."""
    try:
        return language.parse(value)
    except ValueError:
        return None


class _Rewriter(ast.NodeTransformer):
    def __init__(self, targets: Mapping[Any, Any], language: Language) -> None:
        self.targets, self.language = targets, language
        self.kind = list(language.parts)[-1] if language.parts else ""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if not isinstance(node.value, str):
            return node
        bare = node.value.strip()
        word = bare.lower()
        part = next((part for part, words in self.language.parts.items() if word in words), "")
        # A single word of the last part (the kind of thing) is also a description: that reading comes first.
        target = described_target(node.value, self.language) if part in ("", self.kind) else None
        if target in self.targets:
            new = self.language.text(self.targets[target])
        else:
            new = self._counterpart(word, part) if part else word
        # Blanks around it stay, because a part of an f-string needs them.
        return node if new == word else ast.Constant(node.value.replace(bare, new))

    def _counterpart(self, word: str, part: str) -> str:
        part_of = self.language.part
        counterparts = {part_of(new, part) for old, new in self.targets.items() if part_of(old, part) == word}
        if not counterparts:
            return word
        if len(counterparts) > 1 or None in counterparts:
            raise Unfit(f"{word!r} has no one counterpart")
        return str(counterparts.pop())
