"""The machine that checks are lowered to: its instructions, and what a domain tells the compiler of its perception.

A program is a list of instructions i32[4]: an operation and its operands a, b, c. Registers are i64. Jumps are relative
to the next instruction. Things are their ids (-1 is None), texts the indices that a domain's tables use, sets of small
numbers are bits. For example

    def check():
        held = get_carried()                 FACT      r0 = fact 4            (what is carried)
        return held is not None and \\        JUMP_EQ_C r0 == -1 -> no
            held.color == "red"              FIELD     r1 = field 2 of r0     (its colour)
                                             SLOT      r2 = parameter 0       ("red", which a template may replace)
                                             JUMP_NE   r1 != r2 -> no
                                             RETURN 1;  no: RETURN 0

`skills/checks/lowering` writes programs; a domain brings the kernel that runs them over rows of its memory, with its
own operations behind FIELD, FACT, FREE, SLOT and the loops over things.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

FALSE, TRUE, FAULT = 0, 1, -1
"""What a program comes to; FAULT is where the interpreted check raises."""

N_REGISTERS = 64
N_ORDERS = 4
"""Lists of things, nearest first, that one program can be walking through."""
N_SLOTS = 8
"""Targets that a program can have as parameters."""
NO_TEXT = -3
"""A text that nothing is: compares unequal to every index, and is not the -1 that matches any."""

RETURN, JUMP, LOAD, MOVE, FIELD, FACT, CHECK, NEXT_OBJECT, NEXT_MATCH, SORT, NEXT_SORTED, NEXT_BIT, COUNT, SLOT, FREE, \
    IN_MASK, BIT, POPCOUNT, ADD, SUBTRACT, MULTIPLY, FLOOR, MODULO, ABSOLUTE, LEAST, MOST, JUMP_EQ, JUMP_NE, JUMP_LT, \
    JUMP_LE, JUMP_EQ_C, JUMP_NE_C, JUMP_LT_C, JUMP_LE_C, JUMP_GT_C, JUMP_GE_C, MATCHES, AND, ANDNOT, OR \
    = range(40)  # fmt: skip
"""Operations. JUMP_EQ compares registers a and b, JUMP_EQ_C register a with the constant b; c is the jump."""

INT, BOOL, THING, NUMBERS = "int", "bool", "object", "numbers"
"""Kinds of values that facts and fields can have, beside the domain's own kinds of text: NUMBERS is a set as bits."""


@dataclass(frozen=True)
class CheckMachine:
    """What a domain's kernel can answer.

    `facts`: perception function without arguments -> kind and operand of FACT; two operands for a pair. `fields`:
    attribute of a record -> kind and operands of FIELD, likewise. `texts`: kind of text -> the texts that it can be, by
    the index that registers hold. `parameters`: kinds of text that templates may replace -> the part of a slot that
    they are compared with. `target_of(kind, text)` makes such a text a target. `all_things`, `find`, `is_free` name the
    functions that list things, find some by description, and ask about a position ("" for none). `most_things` is how
    many there can be. `run` is the kernel, see `evaluate_rows` in `envs/babyai/practice/check_kernel.py`.
    """

    facts: Mapping[str, tuple[str, tuple[int, ...]]]
    fields: Mapping[str, tuple[str, tuple[int, ...]]]
    texts: Mapping[str, tuple[str, ...]]
    parameters: Mapping[str, int]
    target_of: Callable[[str, str], Hashable]
    parse: Callable[[str], Hashable]
    run: Callable[[Any, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray], None]
    rows_of: Callable[[Any], int]
    all_things: str = ""
    find: str = ""
    is_free: str = ""
    most_things: int = 40
    scratch: int = N_REGISTERS
    """Length of the i64 array that `run` works in."""
