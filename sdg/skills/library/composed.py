"""Composed skills: functions over learned skills and perception that a model distilled from programs, kept as source.

A composed skill runs in the sandbox of the program that calls it, linked behind that program. It returns what its check
says afterwards, whatever its own code returns.
"""

import ast
import hashlib
import symtable
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, Literal

from sdg.envs.files import atomic_write, read_file
from sdg.sandbox.guard import syntax
from sdg.sandbox.guard.outline import names_at_top, names_bound, needed_names
from sdg.skills.library.library import LibraryError
from sdg.skills.strict_json import canonical, decode, loads

MAX_BYTES = 2**20
MAX_SKILL_BYTES = MAX_BYTES // 16  # those of one reply always fit into a file together
THING, POSITION, NUMBER = "thing", "position", "number"
"""Kinds of arguments in every domain: a description or a record; a position; a number."""

REQUIRE, BEGIN, RESULT = "require_argument", "skill_begins", "skill_result"
"""Functions of the host that linked source calls: they judge an argument, and note a call's result."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument: its name and its kind (THING, POSITION, NUMBER, or a word of the domain's)."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Figures:
    """How a composed skill did on practice layouts that it wasn't written from.

    `calls` counts those that weren't done already, `done` those that its check called done. `with_it` and `without_it`
    count the instructions solved, of `played` pairs, by programs rewritten to use it and by the original programs.
    """

    calls: int = 0
    done: int = 0
    played: int = 0
    with_it: int = 0
    without_it: int = 0
    lines_with: int = 0
    lines_without: int = 0


@dataclass(frozen=True, slots=True)
class ComposedSkill:
    """A composed skill: its arguments, action, needs and effects, and its `source`, which defines `name` and its check.

    `calls` are the learned skills that it calls, `uses` the composed ones; `origins` say in which lines of which
    transcript the programs are that it was distilled from.
    """

    name: str
    arguments: tuple[Parameter, ...]
    does: str
    needs: str
    after: str
    source: str
    calls: tuple[str, ...]
    uses: tuple[str, ...] = ()
    figures: Figures = Figures()
    origins: tuple[str, ...] = ()
    examples: ClassVar[tuple[str, ...]] = ()
    """None: the description is enough."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Its arguments as a prompt lists them."""
        return tuple(
            argument.name if argument.name == argument.kind else f"{argument.name}: {argument.kind}"
            for argument in self.arguments
        )

    @property
    def description(self) -> str:
        """Its action, needs and effects, for the prompt."""
        return f"{self.does} Needs: {self.needs} After: {self.after}"

    @property
    def takes_argument(self) -> bool:
        """Whether it acts on something that the call names."""
        return bool(self.arguments)

    @property
    def success_rate(self) -> float | None:
        """Share of its calls in practice after which its check held; None where it wasn't called."""
        return self.figures.done / self.figures.calls if self.figures.calls else None


@dataclass(frozen=True, slots=True)
class ComposedLibrary:
    """Composed skills of one author, for one library of learned skills in one domain.

    `library` is the checksum of that library's index. `rule_based`: a rule-based planner wrote them; it and language
    models never see each other's skills. `prompt` is a digest of the planner's prompt under which the programs were
    written.
    """

    model: str
    rule_based: bool
    domain: str
    library: str
    prompt: str
    skills: tuple[ComposedSkill, ...]
    schema: Literal[1] = 1

    def by_name(self) -> dict[str, ComposedSkill]:
        """The skills by name."""
        return {skill.name: skill for skill in self.skills}


def storage_fault(skill: ComposedSkill) -> str:
    """Why a file of composed skills couldn't be read again with this one among them; "" where it could."""
    try:
        data = canonical(asdict(skill))
        if decode(ComposedSkill, loads(data), place=skill.name) != skill:
            raise ValueError("what would be read again isn't what it says")
    except ValueError as error:
        return f"it can't be stored: {error}"
    return "" if len(data) <= MAX_SKILL_BYTES else f"it takes {len(data)} bytes, at most {MAX_SKILL_BYTES} are kept"


def save_composed(library: ComposedLibrary, path: Path) -> None:
    """Write the library as one JSON file with a checksum of itself. Raises LibraryError for what couldn't be read."""
    body = asdict(library)
    data = canonical(body | {"sha256": hashlib.sha256(canonical(body)).hexdigest()})
    load_composed(path, data=data)
    atomic_write(path, data)


def load_composed(path: Path, *, data: bytes = b"") -> ComposedLibrary:
    """Read such a file, or the `data` that it will hold.

    Raises LibraryError for a file that is missing, damaged, edited or of another schema.
    """
    try:
        data = data or read_file(path, most=MAX_BYTES)
        if len(data) > MAX_BYTES:
            raise ValueError(f"they take {len(data)} bytes, at most {MAX_BYTES} are read")
        raw = loads(data)
        body = {key: value for key, value in raw.items() if key != "sha256"}
        if raw.get("sha256") != hashlib.sha256(canonical(body)).hexdigest():
            raise ValueError("it was damaged or edited: its checksum doesn't agree with its content")
        library = decode(ComposedLibrary, body, place=path.name)
        if absent := {name for skill in library.skills for name in skill.uses}.difference(library.by_name()):
            raise ValueError(f"a skill uses {min(absent)!r:.80}, which isn't among them")
        for skill in library.skills:
            if fault := storage_fault(skill):
                raise ValueError(f"{skill.name}: {fault}")
        return library
    except (OSError, ValueError, AttributeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise LibraryError(f"the composed skills {path} can't be used: {reason}; compose them again") from error


def require_fit(library: ComposedLibrary, *, learned: str, domain: str, rule_based: bool) -> None:
    """Raises LibraryError unless the skills were composed from this library, in this domain, by this kind of author.

    `learned` is the checksum of the library that is used with them.
    """
    if library.library != learned or library.domain != domain:
        raise LibraryError(
            f"these skills were composed of other skills (library {library.library[:8]}, {library.domain}), "
            f"not of library {learned[:8]}, {domain}: compose them again"
        )
    if library.rule_based != rule_based:
        raise LibraryError(
            f"these skills were composed by {'a stand-in' if library.rule_based else 'a language model'} "
            f"({library.model}): only planners of that kind may use them"
        )


def linked_source(source: str, skills: Mapping[str, ComposedSkill]) -> str:
    """The source to put behind a program so that it can call the composed skills it names; "" for none.

    A function of the program with the name of a composed skill takes its place.
    """
    tree = syntax.parse_code(source) if skills else None
    if tree is None:
        return ""
    own = {name for node in tree.body for name in names_at_top(node)}
    names = {name for function in own for name in needed_names(function, tree.body)}
    linked = sorted((names - own) & skills.keys())
    for name in linked:
        linked += [used for used in dict.fromkeys(skills[name].uses) if used not in linked]
    return "".join(f"\n\n{skills[name].source}" for name in linked)


def reached_globals(source: str, behind: str, *, skills: Collection[str]) -> frozenset[str]:
    """Names by which a program and the source `behind` it would interfere: globals that linked code reads and that the
    program defines or imports as something else, what linked code defines, but for `skills`, and the program defines or
    reads, and the host's functions that only linked code may call.
    """
    own = syntax.parse_code(source)
    if own is None:
        return frozenset()
    linked = ast.parse(behind)
    imports = imports_of(ast.walk(linked))
    definitions = {name for node in own.body for name in names_at_top(node)}
    alien = {name for node in linked.body for name in names_at_top(node)}.difference(skills)
    alien &= definitions | _globals(symtable.symtable(source, "", "exec"))
    definitions |= {name for name, member in imports_of(ast.walk(own)).items() if imports.get(name) != member}
    reached = definitions & _globals(symtable.symtable(behind, "", "exec"))
    return frozenset(reached | alien | {REQUIRE, BEGIN, RESULT} & {*syntax.loads(own)})


def imports_of(nodes: Iterable[ast.AST]) -> dict[str, tuple[str | None, str]]:
    """Module and member of each name that these nodes import."""
    return {
        alias.asname or alias.name: (getattr(node, "module", None), alias.name)
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def _globals(table: symtable.SymbolTable) -> set[str]:
    """Names that a table's functions read from the module and the builtins."""
    names = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global() and symbol.is_referenced()}
    return names.union(*map(_globals, table.get_children()))


def rename_definition(node: ast.stmt, names: Mapping[str, str]) -> ast.stmt:
    """A definition with these names replaced, also where they are its parameters and calls name them."""
    functions = {*names, *names_bound(node)}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name | ast.arg | ast.FunctionDef | ast.ExceptHandler):
            field = {ast.Name: "id", ast.arg: "arg"}.get(type(inner), "name")
            setattr(inner, field, names.get(getattr(inner, field), getattr(inner, field)))
        elif isinstance(inner, ast.Nonlocal):
            inner.names = [names.get(name, name) for name in inner.names]
        elif isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id in functions:
            for keyword in inner.keywords:
                keyword.arg = names.get(keyword.arg or "", keyword.arg)
    return node
