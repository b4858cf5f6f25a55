"""Whose code is to blame, read from the page that a worker shares with its parent."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from sdg.sandbox.process.board import MAX_DEPTH, Board, digest


@pytest.fixture
def board() -> Iterator[Board]:
    shared = Board.new()
    yield shared
    shared.close()


@dataclass
class Code:
    """What the guard hands out: source, and a call that runs it."""

    source: str
    does: Callable[[], Any]


def read_by_parent(board: Board) -> str:
    """What the parent reads, through a mapping of its own."""

    other = Board(os.dup(board.descriptor))
    try:
        return other.running()
    finally:
        other.close()


def test_the_innermost_source_is_noted_while_it_runs(board: Board) -> None:
    call = board.watch(lambda code: code.does())
    inner = Code("inner", lambda: read_by_parent(board))
    outer = Code("outer", lambda: (read_by_parent(board), call(inner), read_by_parent(board)))
    assert read_by_parent(board) == ""
    assert call(outer) == (digest("outer"), digest("inner"), digest("outer"))
    assert read_by_parent(board) == ""
    assert board.calls == 2


def fill() -> None:
    raise MemoryError


def test_what_filled_the_memory_is_to_blame_after_it_ended(board: Board) -> None:
    call = board.watch(lambda code: code.does())
    innocent = Code("innocent", lambda: True)
    with pytest.raises(MemoryError):
        call(Code("guilty", lambda: (call(innocent), fill())))
    assert read_by_parent(board) == digest("guilty")
    board.clear()
    assert read_by_parent(board) == ""


def test_what_raised_is_over(board: Board) -> None:
    call = board.watch(lambda code: code.does())
    with pytest.raises(ZeroDivisionError):
        call(Code("wrong", lambda: 1 // 0))
    assert read_by_parent(board) == ""


def test_a_program_that_goes_on_after_memory_was_short_is_noted_again(board: Board) -> None:
    call = board.watch(lambda code: code.does())

    def goes_on() -> str:
        with pytest.raises(MemoryError):
            call(Code("greedy", fill))
        return call(Code("next", lambda: read_by_parent(board)))

    assert call(Code("program", goes_on)) == digest("next")
    assert read_by_parent(board) == ""


def test_sources_deeper_than_the_page_do_no_harm(board: Board) -> None:
    call = board.watch(lambda code: code.does())

    def deeper(levels: int) -> str:
        return call(Code(f"at {levels}", lambda: deeper(levels - 1))) if levels else read_by_parent(board)

    assert deeper(MAX_DEPTH + 20) == digest("at 1")
    assert read_by_parent(board) == ""
