"""A check function that a user wrote in Python, turned into the source that the other modules take.

    def facing(thing):
        return get_facing() in find_objects(thing)

It may use a domain's perception functions. It isn't called: its source is read, its one parameter (if it has one)
becomes the skill's argument, and the guard loads it like a model's check.
"""

import ast
import difflib
import inspect
import textwrap
from collections.abc import Callable, Iterator
from itertools import chain

from sdg.envs.domain import Domain
from sdg.errors import SDGError
from sdg.sandbox.guard import Refused
from sdg.sandbox.guard.outline import names_bound
from sdg.skills.checks.alternatives import Replacer
from sdg.skills.checks.check import compile_check
from sdg.skills.checks.template import described_target, string_constants
from sdg.skills.library.library import CheckTemplate
from sdg.skills.subgoal import CheckFunction

_MISSIONS_PER_LEVEL = 8
"""First seeds of each level whose missions are searched for things that a check doesn't name."""
HOW = "write `def reached(thing): return ...` over perception functions, at the top of a file or a cell"


class CheckError(SDGError, ValueError):
    """This can't be a check; the message says what to write instead."""


def template_of(check: Callable[..., object] | str, domain: Domain) -> CheckTemplate:
    """The check as a template over its parameter, or without argument where it has none.

    `check` is a function or its source. Raises CheckError for a lambda, a closure, a method, a function whose source
    can't be read, descriptions of nothing and code that the guard refuses.
    """
    try:
        return _template_of(check, domain)
    except (RecursionError, MemoryError):
        raise CheckError(f"the check is nested too deeply to be read: {HOW}") from None


def _template_of(check: Callable[..., object] | str, domain: Domain) -> CheckTemplate:
    source = check if isinstance(check, str) else _source(check)
    try:
        statements = [node for node in ast.parse(source).body if not isinstance(node, ast.Import | ast.ImportFrom)]
    except (SyntaxError, ValueError) as error:
        raise CheckError(f"the check doesn't parse ({error}): {HOW}") from None
    if len(statements) != 1 or not isinstance(statements[0], ast.FunctionDef):
        raise CheckError(f"a check is one function: {HOW}")
    definition = statements[0]
    _refuse_misspelt(definition, domain)
    parameters = [parameter.arg for parameter in definition.args.args]
    if len(parameters) > 1 or definition.args.vararg or definition.args.kwonlyargs or definition.args.defaults:
        raise CheckError(f"the check {definition.name} takes at most one argument, what the skill is about: {HOW}")
    argument = _unused_description(definition, domain) if parameters else ""
    if parameters:
        if parameters[0] in names_bound(ast.Module(definition.body, [])):
            raise CheckError(
                f"the check {definition.name} assigns to its parameter {parameters[0]!r}, or calls something else so: "
                "use another name"
            )
        uses = [node for node in ast.walk(definition) if isinstance(node, ast.Name) and node.id == parameters[0]]
        definition = Replacer({node: ast.Constant(argument) for node in uses}).visit(definition)
        definition.args.args = []
    definition.decorator_list, definition.returns = [], None
    function = CheckFunction(definition.name, ast.unparse(ast.fix_missing_locations(definition)) + "\n")
    try:
        compile_check(function, domain)
    except Refused as refused:
        raise CheckError(f"the check {definition.name} can't be used: {' '.join(str(refused).split())}") from None
    return CheckTemplate(function, argument)


def _source(check: object) -> str:
    if inspect.ismethod(check):
        raise CheckError(f"a method can't be a check ({check.__qualname__}): {HOW}")
    if not inspect.isfunction(check):
        raise CheckError(f"{check!r:.60} is no function: {HOW}")
    if check.__name__ == "<lambda>":
        raise CheckError(f"a lambda can't be a check, it has no name: {HOW}")
    if check.__code__.co_freevars:
        names = ", ".join(check.__code__.co_freevars)
        raise CheckError(f"{check.__name__} is a closure over {names}: make that the check's parameter, or {HOW}")
    try:
        return textwrap.dedent(inspect.getsource(check))
    except (OSError, TypeError):
        raise CheckError(
            f"the source of {check.__name__} can't be read here (it was typed or made by exec): "
            "put it into a file, or give the check as text"
        ) from None


def _unused_description(definition: ast.FunctionDef, domain: Domain) -> str:
    """A description to stand for a check's parameter. It shares neither meaning nor words with the check's own
    literals, so that these aren't taken for the argument."""
    language, literals = domain.language, string_constants(ast.unparse(definition))
    words = {word for text in literals for word in text.lower().split()}
    used_targets = {described_target(text, language) for text in (*literals, language.anything)}
    missions = (
        mission(number)
        for mission in (domain.layouts(level, range(_MISSIONS_PER_LEVEL)).mission for level in domain.levels())
        for number in range(_MISSIONS_PER_LEVEL)
    )
    for text in chain([language.example], chain.from_iterable(map(language.mentions, missions))):
        target = language.parse(text)
        if target not in used_targets and words.isdisjoint(language.part(target, part) for part in language.parts):
            return text
    raise CheckError(
        f"the check {definition.name} names something of every kind beside its parameter: name less, or leave that out"
    )


def _refuse_misspelt(definition: ast.FunctionDef, domain: Domain) -> None:
    """Refuse a description of nothing before anything learns, because its check would always be false."""
    for text in _descriptions(definition, domain):
        try:
            domain.language.parse(text)
        except ValueError as error:
            raise CheckError(f"in the check {definition.name}: {error}") from None
    for part, text in _comparisons(definition, domain):
        words = domain.language.parts[part]
        if text not in words:
            close = difflib.get_close_matches(text, words, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"it is one of {', '.join(words)}"
            raise CheckError(f"in the check {definition.name}: nothing has the {part} {text!r}; {hint}")


def _descriptions(definition: ast.FunctionDef, domain: Domain) -> Iterator[str]:
    """Texts given to perception functions as descriptions."""
    for call in (node for node in ast.walk(definition) if isinstance(node, ast.Call)):
        function = domain.perceivable.functions.get(getattr(call.func, "id", ""))
        names = [name for name in inspect.signature(function).parameters if name != "self"] if function else []
        arguments = [*zip(names, call.args, strict=False), *((keyword.arg, keyword.value) for keyword in call.keywords)]
        for name, value in arguments:
            if name == "description" and isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.value


def _comparisons(definition: ast.FunctionDef, domain: Domain) -> Iterator[tuple[str, str]]:
    """(part, text) where a field that is also a part of descriptions is compared with a text: thing.color == "rad"."""
    for node in (node for node in ast.walk(definition) if isinstance(node, ast.Compare)):
        sides = [node.left, *node.comparators]
        parts = [side.attr for side in sides if isinstance(side, ast.Attribute) and side.attr in domain.language.parts]
        for side in sides:
            if parts and isinstance(side, ast.Constant) and isinstance(side.value, str):
                yield parts[0], side.value
