"""Many questions at a time: a model that takes a minute to answer isn't waited for one question after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def in_order(function: Callable[[A], B], items: Sequence[A], *, at_once: int) -> Iterator[B]:
    """What `function` gives for the items, in their order, with at most `at_once` of them under way in threads.

    The order of the results is that of one after the other, so what is written from them is the same byte for byte.
    The first exception in that order is raised here; then items that weren't begun are dropped, and those under way
    waited for: their replies are paid for, and a cache keeps them.
    """
    if at_once <= 1 or len(items) <= 1:
        yield from map(function, items)
        return
    todo: SimpleQueue[tuple[Future[B], A]] = SimpleQueue()
    futures: list[Future[B]] = []
    for item in items:
        futures.append(Future())
        todo.put((futures[-1], item))
    # Daemons: Ctrl-C doesn't wait for a model that may take minutes.
    threads = [threading.Thread(target=_work, args=(function, todo), daemon=True) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    try:
        for future in futures:
            yield future.result()
    except Exception:
        _drop(todo)
        for thread in threads:
            thread.join()
        raise
    finally:
        _drop(todo)


def _work(function: Callable[[A], B], todo: SimpleQueue[tuple[Future[B], A]]) -> None:
    while True:
        try:
            future, item = todo.get_nowait()
        except Empty:
            return
        try:
            future.set_result(function(item))
        except BaseException as error:  # it is raised where the result is asked for
            future.set_exception(error)


def _drop(todo: SimpleQueue[tuple[Future[B], A]]) -> None:
    while True:
        try:
            todo.get_nowait()
        except Empty:
            return
