"""The program job: a clause becomes a call of the hand-written planner, whose source is handed out with the program.

What the stand-in knows of searching, clearing and fetching is Python in `sdg.llm.babylang.by_hand`. From a
prompt it learns the instruction and which function plays which part, by what is said of it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

from sdg.llm.babylang import grammar, reading, relative
from sdg.llm.babylang.by_hand.offered import ACTIONS, BESIDE_SKILLS, PERCEPTION, SKILLS
from sdg.llm.babylang.grammar import Clause
from sdg.llm.babylang.names import PERCEPTION as PARTS
from sdg.llm.babylang.names import cast
from sdg.llm.babylang.skills import ARITY, DOOR, by_kind, primitives

MAX_BYTES = 7_900
"""Of a program; one that would be longer is indented by single blanks, and has none behind commas if need be."""

_OPENING = 'notes = {"known": {}, "stuck": [], "looked": [], "tried": []}'
_CALLS: Mapping[str, str] = {"goto": "reach", "pick": "take", "open": "open_up", "put": "bring"}
_ACTS: Mapping[str, tuple[str, ...]] = {
    "goto": (),
    "pick": ("grab()",),
    "open": ("toggle()",),
    # Beside the second thing: one step back to the side leaves a free cell next to it ahead, if all is open.
    "put": ("left()", "forward()", "right()", "lay()"),
}
"""What is done over primitive actions once the robot faces a clause's last thing."""


def answer(text: str) -> str:
    """The reply to a program prompt. Raises NotBabyLanguage for instructions out of the grammar."""
    instruction = reading.block(reading.section(text, "Instruction to carry out"))
    return written(text, grammar.parse(instruction))


def written(text: str, groups: Sequence[Sequence[Clause]], *, careful: bool = False) -> str:
    """A program for these clauses with the skills that `text` offers; `careful` catches the errors of skills."""
    offered = reading.functions(reading.section(text, "Skills")) or reading.functions(reading.section(text, "Actions"))
    perception = reading.functions(reading.section(text, "Perception functions"))
    clauses = [clause for group in groups for clause in group]
    names = cast(perception, PARTS)
    kinds = by_kind(offered)
    if not kinds and (actions := primitives(offered)):
        knows_enough = (PERCEPTION | {"unseen"}) <= set(names) and set(actions) >= ACTIONS
        over = _over_steps if knows_enough else _over_actions
        return _block(_fitted(over(clauses, names | actions)))
    enters_ahead = any(function.name == kinds.get("enter") and function.arity == 0 for function in offered)
    if "in_view" in names:
        door = "" if enters_ahead else f"{names['doors_in_view']}()[0]"
        return _block(relative.source(clauses, kinds, door=door))
    if PERCEPTION - set(names):
        return _block(_straight(clauses, kinds))
    taken = {function.name for function in (*offered, *perception)}
    lines = [_OPENING, *(_call(clause) for clause in clauses)]
    source = planner("rooms") + "\n\n\n" + "\n".join(["def program():", *(f"    {line}" for line in lines)])
    if enters_ahead:
        source = f"{_ENTER_AHEAD}    return {kinds['enter']}()\n\n\n{source}"
        kinds["enter"] = "enter_ahead"
    names |= primitives(offered)
    return _block(_fitted(_over_skills(source, kinds, names=names, taken=taken, careful=careful)))


_ENTER_AHEAD = "def enter_ahead(thing):\n    forget_visited_rooms()\n"
"""For a skill that names no door, enters what lies ahead, and only what wasn't visited."""


def _block(source: str) -> str:
    return f"```python\n{source}\n```"


@cache
def planner(name: str) -> str:
    """The functions of a file of the hand-written planner as a program holds them: no imports, types or docstrings."""
    text = (files("sdg.llm.babylang") / "by_hand" / f"{name}.py").read_text(encoding="utf-8")
    defined = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return "\n\n\n".join(ast.unparse(_Bare().visit(node)) for node in defined)


class _Bare(ast.NodeTransformer):
    """Leaves out types and docstrings."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.returns = None
        if ast.get_docstring(node) is not None:
            del node.body[0]
        self.generic_visit(node)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return node
        return ast.copy_location(ast.Assign([node.target], node.value), node)


def _call(clause: Clause) -> str:
    things = f'"{clause.thing}", "{clause.goal}"' if clause.goal else f'"{clause.thing}"'
    return f"{_CALLS[clause.kind]}({things}, notes)"


def _over_skills(
    source: str, kinds: Mapping[str, str], *, names: Mapping[str, str], taken: set[str], careful: bool
) -> str:
    """The planner's source with the skills and perception of a prompt, and what is missing or doubled around them."""
    renamed, own = {part: names[part] for part in PERCEPTION}, []
    for kind, theirs in SKILLS.items():
        ours = kinds.get(kind, "")
        doors = kinds.get(kind + DOOR, ours)
        if not ours:
            own.append(_missing(theirs, kind))
        elif careful or doors != ours:
            renamed[theirs] = f"use_{theirs}"
            own.append(_use(theirs, kind, skills=(ours, doors), careful=careful))
        else:
            renamed[theirs] = ours
    for part in BESIDE_SKILLS:
        if part in names:
            renamed[part] = names[part]
        else:
            own.append(f"def {part}():\n    return None")
    clashing = {name: f"{name}_now" for name in _DEFINED.findall(source) if name in taken and name != "program"}
    return _used("\n\n\n".join([*own, _renamed(source, clashing | renamed)]))


_DEFINED = re.compile(r"^def (\w+)\(", re.MULTILINE)


def _fitted(source: str) -> str:
    """The source, with as many blanks less as it takes not to be too long."""
    if len(source.encode()) > MAX_BYTES:
        source = re.sub(r"^(?:    )+", lambda match: " " * (len(match.group()) // 4), source, flags=re.MULTILINE)
    return source if len(source.encode()) <= MAX_BYTES else source.replace(", ", ",")


def _used(source: str) -> str:
    """The functions of `source` that `program` needs, in their order."""
    parts = re.split(r"(?m)^(?=def )", source)
    bodies = {match.group(1): part for part in parts if (match := _DEFINED.match(part))}
    needed, waiting = set(), ["program"]
    while waiting:
        name = waiting.pop()
        if name in bodies and name not in needed:
            needed.add(name)
            waiting += re.findall(r"\b(\w+)\(", bodies[name])
    return "\n\n".join(part.strip() for name, part in bodies.items() if name in needed)


def _renamed(source: str, names: Mapping[str, str]) -> str:
    return re.sub(r"\b(" + "|".join(map(re.escape, names)) + r")\b(?=\()", lambda match: names[match.group()], source)


def _missing(name: str, kind: str) -> str:
    """What stands in for a skill that isn't offered: turning to a free cell is part of putting down, the rest fails."""
    parameter = "thing" if ARITY[kind] == 1 else ""
    return f"def {name}({parameter}):\n    return {kind == 'face'}"


def _use(name: str, kind: str, *, skills: tuple[str, str], careful: bool) -> str:
    """A function that calls a skill, or the one of two that was learned on doors; `careful` makes errors False."""
    ours, doors = skills
    argument = "thing" if ARITY[kind] == 1 else ""
    lines = [f"return {ours}({argument})"]
    if doors != ours:
        is_door = '"door" in thing' if kind == "discover" else 'thing.type == "door"'
        lines = [f"if {is_door}:", f"    return {doors}(thing)", *lines]
    if careful:
        lines = ["try:", *(f"    {line}" for line in lines), "except Exception:", "    return False"]
    return "\n".join([f"def use_{name}({argument}):", *(f"    {line}" for line in lines)])


def _over_actions(clauses: Iterable[Clause], names: Mapping[str, str]) -> str:
    """A program that walks to each thing in turn and acts on it there; actions that aren't offered are left out."""
    lines = ["def program():"]
    for clause in clauses:
        reached = [(clause.thing, _ACTS["pick"]), (clause.goal, _ACTS["put"])]
        for thing, acts in reached if clause.goal else [(clause.thing, _ACTS[clause.kind])]:
            lines += [f'    walk_to("{thing}")', *(f"    {act}" for act in acts if act.rstrip("()") in names)]
    return _renamed(planner("moves") + "\n\n\n" + "\n".join(lines), names)


def _over_steps(clauses: Iterable[Clause], names: Mapping[str, str]) -> str:
    """The same planner as over skills, whose parts are walked out action by action."""
    # Nothing is forgotten where no skill asks which rooms are new.
    own = "" if "forget" in names else "def forget():\n    return None"
    main = "\n".join(["def program():", f"    {_OPENING}", *(f"    {_call(clause)}" for clause in clauses)])
    return _used(_renamed("\n\n\n".join([own, planner("steps"), planner("rooms"), main]), names))


def _straight(clauses: Iterable[Clause], kinds: Mapping[str, str]) -> str:
    """A program without a search: the goals of each clause one after the other, as far as there are skills for them."""
    steps = {
        "goto": ("discover", "goto"),
        "pick": ("discover", "goto", "pick"),
        "open": ("discover", "goto", "open"),
        "put": ("discover", "face", "put"),
    }
    lines = ["def program():"]
    for clause in clauses:
        parts = [(kind, clause.thing) for kind in (steps["pick"] if clause.kind == "put" else ())]
        parts += [(kind, clause.goal or clause.thing) for kind in steps[clause.kind]]
        lines += [f'    {kinds[kind]}("{thing}")' for kind, thing in parts if kind in kinds]
    return "\n".join(lines if len(lines) > 1 else [*lines, "    return False"])
