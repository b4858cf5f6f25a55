"""The rules for composed skills, checked in a model's reply; nothing is run here.

A reply holds functions: for each skill NAME one with typed parameters and a docstring of three parts (what it does,
`Needs:`, `After:`), `check_NAME` with the same parameters over perception alone, and helpers.
"""

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from sdg.envs.domain import Domain
from sdg.prompts.fill import one_line
from sdg.prompts.replies import extract_code
from sdg.sandbox.guard import Refused, reserved_names
from sdg.sandbox.guard.outline import names_at_top, names_bound, needed_names, reached_names
from sdg.sandbox.guard.syntax import loads, parse_code
from sdg.skills.library.composed import (
    BEGIN,
    NUMBER,
    POSITION,
    REQUIRE,
    RESULT,
    THING,
    ComposedSkill,
    Parameter,
    imports_of,
    linked_source,
    rename_definition,
    storage_fault,
)

KINDS = (THING, POSITION, NUMBER)
"""Types of arguments in every domain."""

CHECK = "check_"
MAX_SKILLS = 8
MAX_PARAMETERS = 3
MAX_LINES = 400
"""Of a skill with all helpers that it calls, even those that it shares with other skills."""
MAX_DOCSTRING = 270


@dataclass(frozen=True, slots=True)
class Admission:
    """The skills that were taken from a reply, and the reasons for refusing others, by name."""

    skills: tuple[ComposedSkill, ...]
    refusals: Mapping[str, str]


def kinds_of(domain: Domain) -> tuple[str, ...]:
    """Types of arguments in a domain."""
    return tuple(dict.fromkeys((*KINDS, *chain.from_iterable(domain.language.parts.values()))))


def admit(reply: str, *, learned: Collection[str], domain: Domain, load: Callable[[str], object]) -> Admission:
    """The composed skills of a reply that keep the rules. Skills that call a rejected skill are rejected, too.

    `load` is the guard of programs, which raises Refused for a source that it doesn't admit.
    Raises Refused for a reply that holds no Python.
    """
    tree = parse_code(extract_code(reply))
    if tree is None:
        raise Refused("The answer holds no Python that can be read.")
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    names = [name for name in functions if CHECK + name in functions]
    if not names:
        raise Refused(f"There is no skill: define def NAME(...) and def {CHECK}NAME(...) with the same parameters.")
    reader = _Reader(tree.body, functions, tuple(names[:MAX_SKILLS]), frozenset(learned), domain)
    refusals = {name: fault for name in names if (fault := next(reader.faults(name), ""))}
    refusals |= dict.fromkeys(names[MAX_SKILLS:], f"more than {MAX_SKILLS} skills are too many")
    skills = [reader.skill(name) for name in names if name not in refusals]
    while dependants := [skill for skill in skills if any(use in refusals for use in skill.uses)]:
        refusals |= {
            skill.name: f"it uses {next(use for use in skill.uses if use in refusals)}" for skill in dependants
        }
        skills = [skill for skill in skills if skill not in dependants]
    for skill in skills:
        if problem := _load_problem(skill, {other.name: other for other in skills}, load):
            refusals[skill.name] = problem
    skills = [skill for skill in skills if not {skill.name, *skill.uses} & refusals.keys()]
    return Admission(tuple(skills), refusals)


def _load_problem(skill: ComposedSkill, skills: Mapping[str, ComposedSkill], load: Callable[[str], object]) -> str:
    """The guard's objection to a program that calls the skill, "" if it admits it."""
    program = f"def program():\n    {skill.name}({', '.join(['None'] * len(skill.arguments))})\n"
    try:
        load(program + linked_source(program, skills))
    except Refused as refusal:
        return one_line(str(refusal))
    return ""


@dataclass(frozen=True)
class _Reader:
    body: Sequence[ast.stmt]
    functions: Mapping[str, ast.FunctionDef]
    names: tuple[str, ...]
    learned: Collection[str]
    domain: Domain

    def faults(self, name: str) -> Iterator[str]:
        """The faults of a skill, the gravest first."""
        function = self.functions[name]
        check = self.functions[CHECK + name]
        perceivable = self.domain.perceivable
        reserved = {*self.learned, *perceivable.functions, *reserved_names(perceivable.records)}
        reserved |= {"program", self.domain.forgets, REQUIRE, BEGIN, RESULT}
        skills = {*self.learned, *self.names}
        docstring_parts = _docstring_parts(function)
        if name in reserved or name.startswith("_"):
            yield "its name is taken: a learned skill, a perception function or a word of Python has it"
        if clashes := self._clashes(name, {*reserved, *self.names} - {name}):
            yield (
                f"its parts get names such as {min(clashes)}, which means something else: rename the part or the skill"
            )
        if hosts := {REQUIRE, BEGIN, RESULT} & self._parts(name)[0]:
            yield f"it names {min(hosts)}, by which its calls are measured: leave that out"
        helpers = self._needs(name)
        if any(helper in self._needs(callee) for helper in helpers for callee in self._callees[helper]):
            yield "it calls itself, or functions that call each other: write it without recursion"
        if any(_loops_for_ever(self.functions[helper]) for helper in helpers):
            yield "it has a loop that nothing ends: use for over a range"
        yield from self._faults_of_arguments(function, check)
        if not all(docstring_parts):
            yield "its docstring doesn't say what it does, Needs: and After:"
        if sum(map(len, docstring_parts)) > MAX_DOCSTRING:
            yield f"its docstring has more than {MAX_DOCSTRING} characters"
        if not self._names_read(name) & skills - {name}:
            yield "it calls no skill"
        if {*self._needs(CHECK + name), *loads(check)} & skills:
            yield "its check calls a skill: a check asks perception alone"
        if len(self._source(name).splitlines()) > MAX_LINES:
            yield f"it has more than {MAX_LINES} lines"
        if unstorable := storage_fault(self.skill(name)):
            yield unstorable

    def skill(self, name: str) -> ComposedSkill:
        """The skill, not measured yet."""
        function = self.functions[name]
        names = self._names_read(name)
        return ComposedSkill(
            name,
            tuple(Parameter(argument.arg, _kind(argument)) for argument in function.args.args),
            *_docstring_parts(function),
            self._source(name),
            calls=tuple(sorted(names & set(self.learned))),
            uses=tuple(skill for skill in self.names if skill in names and skill != name),
        )

    def _faults_of_arguments(self, function: ast.FunctionDef, check: ast.FunctionDef) -> Iterator[str]:
        arguments, kinds = function.args, kinds_of(self.domain)
        unwanted = (arguments.posonlyargs, arguments.kwonlyargs, arguments.defaults, arguments.vararg, arguments.kwarg)
        if any(unwanted) or len(arguments.args) > MAX_PARAMETERS:
            yield f"it takes at most {MAX_PARAMETERS} plain arguments, none with a default"
        for argument in arguments.args:
            if _kind(argument) in ("str", "text"):
                yield f"its argument {argument.arg} is text: no skill takes an instruction, say what it is: {kinds[0]}"
            elif _kind(argument) not in kinds:
                yield f"its argument {argument.arg} has no type that is known: {', '.join(kinds[:8])}"
        if [argument.arg for argument in check.args.args] != [argument.arg for argument in arguments.args]:
            yield f"{check.name} doesn't take the same arguments"

    @cached_property
    def _callees(self) -> dict[str, set[str]]:
        """For each function of the reply, the others that it names."""
        return {name: self.functions.keys() & set(loads(node)) for name, node in self.functions.items()}

    def _names_read(self, name: str) -> set[str]:
        """Names that a function and its helpers read."""
        return {word for helper in self._needs(name) for word in loads(self.functions[helper])}

    def _needs(self, name: str) -> frozenset[str]:
        """Functions of the reply that one needs, itself included."""
        return reached_names(name, self._callees)

    def _parts(self, name: str) -> tuple[frozenset[str], list[ast.stmt], dict[str, str]]:
        """All names that a skill reads, the definitions of them that aren't another skill's, and the new names of
        these."""
        needs = needed_names(name, self.body) | needed_names(CHECK + name, self.body)
        skills = {*self.names} - {name}
        foreign = skills | {CHECK + skill for skill in skills}
        definitions = [node for node in self.body if set(names_at_top(node)) & (needs - foreign)]
        words = [word for node in definitions for word in names_at_top(node) if word != CHECK + name]
        return needs, definitions, {word: f"{name}_{word}" for word in words}

    def _clashes(self, name: str, reserved: Collection[str]) -> set[str]:
        """Names that a skill's parts get although another skill's parts, the host or the parts' own code have them."""
        _, definitions, new_names = self._parts(name)
        foreign = {
            word for skill in {*self.names} - {name} for word in (CHECK + skill, *self._parts(skill)[2].values())
        }
        inside = {word for node in definitions for word in (*names_bound(node), *loads(node))} - new_names.keys()
        return {*new_names.values()} & (inside | foreign | set(reserved))

    def _source(self, name: str) -> str:
        """The skill's definitions under names of its own, and the function that programs call."""
        needs, definitions, new_names = self._parts(name)
        copies = [rename_definition(ast.parse(ast.unparse(node)).body[0], new_names) for node in definitions]
        parameters = [Parameter(argument.arg, _kind(argument)) for argument in self.functions[name].args.args]
        imports = [ast.unparse(node) for node in self.body if imports_of([node]).keys() & needs]
        return "\n\n".join([*imports, _wrapper(name, parameters), *map(_without_notes, copies)]) + "\n"


def _loops_for_ever(function: ast.FunctionDef) -> bool:
    """Whether a function has a `while` whose condition is a constant."""
    return any(isinstance(node, ast.While) and isinstance(node.test, ast.Constant) for node in ast.walk(function))


def _without_notes(node: ast.stmt) -> str:
    """A definition without annotations and docstring, which the documentation has."""
    if isinstance(node, ast.FunctionDef):
        for argument in node.args.args:
            argument.annotation = None
        node.returns = None
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(node)


def _wrapper(name: str, parameters: Sequence[Parameter]) -> str:
    arguments = ", ".join(parameter.name for parameter in parameters)
    return "\n".join(
        [
            f"def {name}({arguments}):",
            *(f"    {REQUIRE}({parameter.name}, {name!r}, {parameter.kind!r})" for parameter in parameters),
            f"    {BEGIN}({name!r}, {CHECK}{name}({arguments}))",
            "    try:",
            f"        said, after = {name}_{name}({arguments}), {CHECK}{name}({arguments})",
            "    except Exception:",
            f"        {RESULT}({name!r}, None, False)",
            "        raise",
            f"    return {RESULT}({name!r}, said, after)",
        ]
    )


def _kind(argument: ast.arg) -> str:
    note = argument.annotation
    word = str(note.value if isinstance(note, ast.Constant) else getattr(note, "id", "")).lower()
    return {"int": NUMBER, "float": NUMBER, "tuple": POSITION}.get(word, word)


def _docstring_parts(function: ast.FunctionDef) -> tuple[str, str, str]:
    """The parts of a docstring: what the skill does, what it needs, what holds afterwards; "" for a missing part."""
    does, _, rest = " ".join((ast.get_docstring(function) or "").split()).partition("Needs:")
    needs, _, after = rest.partition("After:")
    return does.strip(), needs.strip(), after.strip()
