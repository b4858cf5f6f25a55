"""Check functions for each kind of subgoal, as Python source over the perception functions that a prompt names."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import indent

_STILL_CARRYING = """\
carried = {carried}()
if carried is None or carried.picked_up_at > {start_steps}():
    return False
"""
_EMPTY_CELL_AHEAD_BESIDE = """\
x, y = {front_position}()
if {facing}() is not None or not {is_free}((x, y)):
    return False
for thing in {find}("{argument}"):
    a, b = thing.position
    if not thing.held and abs(x - a) + abs(y - b) == 1:
        return True
return False
"""
_PUT_DOWN_BESIDE = """\
for thing in {observed}():
    if thing.dropped_at > {start_steps}():
        x, y = thing.position
        for other in {find}("{argument}"):
            a, b = other.position
            if not other.held and abs(x - a) + abs(y - b) == 1:
                return True
return False
"""

BODIES: Mapping[str, str] = {
    "discover": 'return len({find}("{argument}")) > 0\n',
    "goto": 'return any(thing.facing for thing in {find}("{argument}"))\n',
    "pick": 'return any(thing.held and thing.picked_up_at > {start_steps}() for thing in {find}("{argument}"))\n',
    "face": _EMPTY_CELL_AHEAD_BESIDE,
    "put": _PUT_DOWN_BESIDE,
    "drop": "return {carried}() is None\n",
    "open": 'return any(door.opened_at > {start_steps}() for door in {find}("{argument}"))\n',
    "unlock": 'return any(door.opened_at > {start_steps}() for door in {find}("{argument}"))\n',
    "look": "return {unseen}() == 0\n",
    "find_exit": 'return any(not door.explored and door.status != "locked" for door in {find}("door"))\n',
    "goto_exit": 'return any(door.facing and not door.explored for door in {find}("door"))\n',
    "open_exit": (
        'return any(door.facing and not door.explored and door.status == "open" for door in {find}("door"))\n'
    ),
    "enter": 'return any(door.passed_at > {start_steps}() for door in {find}("{argument}"))\n',
}
"""Kind -> body of its check. Events are told by their step: an act of this subgoal comes after the step it began at."""


_IT = '"{argument}" in (it.name, it.type, it.name + " #" + str(it.id))'
_IT_IS_NEAR = f"""\
for it in {{in_view}}() + {{doors_in_view}}():
    x, y = it.position
    if {_IT} and abs(x) + abs(y - 1) == 1:
        return True
return False
"""
_IS_AHEAD = f"return any(it.position == (0, 1) and {_IT} for it in {{in_view}}() + {{doors_in_view}}())\n"
_IS_OPEN = f'return any(it.position == (0, 1) and it.status == "open" and {_IT} for it in {{doors_in_view}}())\n'
_NEW = "return any({where}not door.explored and door.status {status} for door in {{doors_in_view}}())\n"

RELATIVE: Mapping[str, str] = {
    "discover": f"return any({_IT} for it in {{in_view}}() + {{doors_in_view}}())\n",
    "goto": _IS_AHEAD,
    "pick": f"it = {{carried}}()\nreturn it is not None and {_IT}\n",
    "face": "if any(it.position == (0, 1) for it in {in_view}()):\n    return False\n" + _IT_IS_NEAR,
    "put": "if {carried}() is not None or all(it.position != (0, 1) for it in {in_view}()):\n    return False\n"
    + _IT_IS_NEAR,
    "drop": BODIES["drop"],
    "open": _IS_OPEN,
    "unlock": _IS_OPEN,
    "find_exit": _NEW.format(where="", status='!= "locked"'),
    "goto_exit": _NEW.format(where="door.position == (0, 1) and ", status='!= "locked"'),
    "open_exit": _NEW.format(where="door.position == (0, 1) and ", status='== "open"'),
    "enter": BODIES["enter"],
}
"""The same where perception has no map: what is in view, relative to the robot. Events leave no trace there."""


def check(number: int, kind: str, names: Mapping[str, str], *, argument: str = "", carrying: bool = False) -> str:
    """Source of `check_<number>`; with `carrying` it demands that what was carried when the subgoal began still is.

    Raises KeyError with the part that no function of the prompt plays.
    """
    if "in_view" in names:
        body = ("if {carried}() is None:\n    return False\n" if carrying else "") + RELATIVE[kind]
    else:
        body = (_STILL_CARRYING if carrying else "") + BODIES[kind]
    return f"def check_{number}():\n" + indent(body.format(argument=argument, **names), "    ").rstrip()
