"""Programs over primitive actions, for SDG-action: the same reading of instructions, no learned skills."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sdg.llm.babylang.grammar import Clause

_WALK = """\
def turn_to(thing):
    for turn in range(4):
        (x, y), (a, b), (u, v) = get_position(), thing.position, get_front_position()
        if abs(a - u) + abs(b - v) < abs(a - x) + abs(b - y):
            return True
        $right()
    return False


def walk_to(what):
    for step in range(60):
        things = [thing for thing in find_objects(what) if not thing.held]
        if not things:
            if is_free(get_front_position()):
                $forward()
            else:
                $right()
        elif things[0].facing:
            return True
        elif turn_to(things[0]) and is_free(get_front_position()):
            $forward()
        else:
            $left()
            if is_free(get_front_position()):
                $forward()
    return False
"""
_AFTER: Mapping[str, tuple[str, ...]] = {
    "goto": (),
    "pick": ("$grab",),
    "open": ("$toggle",),
}


def source(clauses: Iterable[Clause], actions: Mapping[str, str]) -> str:
    """A program that walks to each thing in turn and acts on it there; actions that aren't offered are left out."""
    lines = ["def program():"]
    for clause in clauses:
        lines += _put(clause) if clause.kind == "put" else _act(clause.thing, _AFTER[clause.kind])
    text = _WALK + "\n\n" + "\n".join(lines)
    for part, name in actions.items():
        text = text.replace(f"${part}()", f"{name}()")
    return "\n".join(line for line in text.splitlines() if "$" not in line)


def _act(thing: str, actions: Iterable[str]) -> list[str]:
    return [f'    walk_to("{thing}")', *(f"    {action}()" for action in actions)]


def _put(clause: Clause) -> list[str]:
    # Beside the second thing: one step back to the side leaves a free cell next to it straight ahead, if all is open.
    side = ["    $left()", "    $forward()", "    $right()", "    $lay()"]
    return [*_act(clause.thing, ("$grab",)), f'    walk_to("{clause.goal}")', *side]
