"""What workers and their parent write to each other: data comes back as it was, and lies are refused."""

from __future__ import annotations

import contextlib
import importlib
import pickle
import struct
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sdg.experiments.workers.workers import ERRORS, RESULTS
from sdg.sandbox.process.pool import LostJob, Patience, Pool
from sdg.sandbox.process.values import (
    MAX_AXES,
    MAX_KEYS,
    MAX_TREE_BYTES,
    BadFrame,
    Reader,
    encode,
    frame,
    frames,
)
from tests.shared.pool_target import Bomb, do

HASTE = Patience(silence=2.0, code=0.7, job=2.0)


def message_of(tree: str, arrays: bytes = b"") -> bytes:
    """A message as a liar would make it."""
    return frame(struct.pack("<Q", len(tree)) + tree.encode() + arrays)


LIES = {
    "a pickle": frame(pickle.dumps(Bomb())),
    "a pickle as a tree": message_of(pickle.dumps({"id": 1}, protocol=0).decode()),
    "a length": struct.pack("<Q", 1 << 60),
    "a tree that is too long": frame(struct.pack("<Q", 1 << 60) + b"[]"),
    "no tree": frame(b"x"),
    "nesting": message_of("[" * 200_000),
    "a function": message_of('["dict",["beat",["value","os:system",{"command":"touch pwned"}]]]'),
    "a class that isn't listed": message_of('["dict",["beat",["value","sdg.storage.lock:Holder",{}]]]'),
    "fields that a class lacks": message_of('["dict",["beat",["value","sdg.skills.subgoal:Subgoal",{"__class__":1}]]]'),
    "attributes": message_of('["dict",["beat",["value","sdg.skills.subgoal:Subgoal.__init__",{}]]]'),
    "an object": message_of('{"beat":1}'),
    "a set": message_of('["set",1]'),
    "a range": message_of('["dict",["beat",["range",10000000000]]]'),
    "pointers": message_of('["dict",["beat",["array","|O",[1],0]]]', bytes(8)),
    "a record": message_of('["dict",["beat",["array","[(\'a\', \'O\')]",[1],0]]]', bytes(8)),
    "more than is there": message_of('["dict",["beat",["array","<f8",[1000000000000],0]]]', bytes(8)),
    "a negative shape": message_of('["dict",["beat",["array","<f8",[-1,-8],0]]]', bytes(64)),
    "bytes before the first": message_of('["dict",["beat",["array","<f8",[1],-8]]]', bytes(64)),
    "axes": message_of(f'["dict",["beat",["array","<f8",{[1] * (MAX_AXES + 1)},0]]]', bytes(64)),
    "a beat that is no number": message_of('["dict",["beat","now"]]'),
    "a report that is none": message_of('["dict",["ready",7]]'),
    "no word for it": message_of('["dict",["what",7]]'),
    "a number with too many digits": message_of('["dict",["beat",' + "9" * 10_000 + "]]"),
    "a beat beyond all numbers": message_of('["dict",["beat",1' + "0" * 400 + "]]"),
    "two questions at once": message_of('["dict",["ask",1]]') * 2,
}


@pytest.mark.parametrize("lie", LIES)
def test_a_worker_that_lies_is_lost_and_nothing_else(lie: str) -> None:
    began = time.monotonic()
    job = f"say:{LIES[lie].hex()}"
    with Pool(1, results=RESULTS, patience=replace(HASTE, job=20.0), tries=1) as pool:
        results = dict(pool.run(do, [job, "one"], answer=lambda job, request: time.sleep(1.0)))
    assert isinstance(results[0], LostJob)
    assert results[0].reason.startswith("its message was invalid: "), results[0]
    assert results[1] == "did one"
    assert time.monotonic() - began < 15
    assert not Path("pwned").exists()


def test_a_short_message_can_not_fill_or_stop_the_parent() -> None:
    overlap = message_of('["list"' + ',["array","<f8",[1],0]' * 2 + "]", bytes(16))
    equal = ",".join(f"[{n * (2**61 - 1)},0]" for n in range(1, MAX_KEYS + 2))
    for lie, message in ((overlap, "arrays overlap"), (message_of(f'["dict",{equal}]'), "equal hashes")):
        with pytest.raises(BadFrame, match=message):
            Reader().value(lie[8:])


def test_a_worker_can_lie_about_its_own_job_alone() -> None:
    """The parent believes an untrue result: a worker that was taken over can do no more."""
    lie = message_of('["dict",["id",0],["value",["list","untrue"]]]').hex()
    other = message_of('["dict",["id",1],["value","of another job"]]').hex()
    with Pool(1) as pool:
        assert dict(pool.run(do, [f"say:{lie}"])) == {0: ["untrue"]}
    with Pool(1, patience=HASTE) as pool:
        results = dict(pool.run(do, [f"say:{other}", "one"]))
    assert isinstance(results[0], LostJob)
    assert results[1] == "did one"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=5) | st.integers() | st.tuples(st.integers()), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(VALUES)
def test_data_comes_back_as_it_was(value: Any) -> None:
    (data,) = frames(bytearray(encode(value)))
    decoded = Reader().value(data)
    assert (decoded, repr(decoded)) == (value, repr(value))


@pytest.mark.parametrize("code", ["?", "b", "<u2", "<i8", "<f4", "<f8"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3)])
def test_arrays_come_back_as_they_were(code: str, shape: tuple[int, ...]) -> None:
    value = np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape).astype(code)
    (data,) = frames(bytearray(encode({"a": value, "b": value.T, "c": value.dtype.type(1)})))
    decoded = Reader().value(data)
    for name, expected in (("a", value), ("b", value.T), ("c", value.dtype.type(1))):
        assert type(decoded[name]) is type(expected)
        assert decoded[name].dtype == expected.dtype
        assert np.array_equal(decoded[name], expected)
    decoded["a"][...] = 1  # it is nobody else's


def test_every_result_is_a_frozen_dataclass_and_every_error_an_exception() -> None:
    for names, right in ((RESULTS, lambda kind: kind.__dataclass_params__.frozen), (ERRORS, _is_error)):
        for name in names:
            module, _, attribute = name.partition(":")
            assert right(getattr(importlib.import_module(module), attribute)), name


def _is_error(kind: type) -> bool:
    return issubclass(kind, Exception)


@given(st.binary(max_size=200))
def test_any_bytes_are_data_or_refused(data: bytes) -> None:
    for message in (data, struct.pack("<Q", len(data)) + data):
        with contextlib.suppress(BadFrame):
            Reader(RESULTS).value(message)


def test_an_answer_that_is_too_long_is_the_job_s_error() -> None:
    with pytest.raises(BadFrame, match="bytes; at most"):
        encode("x" * (MAX_TREE_BYTES + 1))
