"""Whose code is to blame, read from the page that a worker shares with its parent."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from sdg.sandbox.process.board import MOST, Board, digest


@pytest.fixture
def board() -> Iterator[Board]:
    found = Board.new()
    yield found
    found.close()


@dataclass
class Code:
    """What the guard hands out: source, and a call that runs it."""

    source: str
    does: Callable[[], Any]


def seen(board: Board) -> str:
    """What the parent reads, through a mapping of its own."""

    other = Board(os.dup(board.descriptor))
    try:
        return other.running()
    finally:
        other.close()


def test_the_innermost_source_is_noted_while_it_runs(board: Board) -> None:
    call = board.watch(lambda code: code.does())
    inner = Code("inner", lambda: seen(board))
    outer = Code("outer", lambda: (seen(board), call(inner), seen(board)))
    assert seen(board) == ""
    assert call(outer) == (digest("outer"), digest("inner"), digest("outer"))
    assert seen(board) == ""
    assert board.calls == 2


def fill() -> None:
    raise MemoryError


def test_what_filled_the_memory_is_to_blame_after_it_ended(board: Board) -> None:
    call = board.watch(lambda code: code.does())
    innocent = Code("innocent", lambda: True)
    with pytest.raises(MemoryError):
        call(Code("guilty", lambda: (call(innocent), fill())))
    assert seen(board) == digest("guilty")
    board.clear()
    assert seen(board) == ""


def test_what_raised_is_over(board: Board) -> None:
    call = board.watch(lambda code: code.does())
    with pytest.raises(ZeroDivisionError):
        call(Code("wrong", lambda: 1 // 0))
    assert seen(board) == ""


def test_a_program_that_goes_on_after_memory_was_short_is_noted_again(board: Board) -> None:
    call = board.watch(lambda code: code.does())

    def goes_on() -> str:
        with pytest.raises(MemoryError):
            call(Code("greedy", fill))
        return call(Code("next", lambda: seen(board)))

    assert call(Code("program", goes_on)) == digest("next")
    assert seen(board) == ""


def test_sources_deeper_than_the_page_do_no_harm(board: Board) -> None:
    call = board.watch(lambda code: code.does())

    def deeper(left: int) -> str:
        return call(Code(f"at {left}", lambda: deeper(left - 1))) if left else seen(board)

    assert deeper(MOST + 20) == digest("at 1")
    assert seen(board) == ""
