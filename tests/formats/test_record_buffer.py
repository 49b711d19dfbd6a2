"""The compiled buffer and the Python buffer produce the same bytes, which readers understand."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import builders as b
from tracklight.formats import record_buffer
from tracklight.formats.record_buffer import (
    SCALAR_METADATA,
    AppendResult,
    RecordBuffer,
    create_buffer,
)
from tracklight.formats.summary import decode_event
from tracklight.formats.tfrecord import iter_records

_encode = pytest.importorskip("tracklight.formats._encode", reason="the kernel is not built")

KINDS = [_encode.RecordBuffer, record_buffer.PythonRecordBuffer]
ROOMY = (1 << 30, 1 << 30, 1 << 30)
FORMS = st.sampled_from(["add_scalar", "add_simple_value", "add_double"])
TAGS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200)
STEPS = st.integers(-(1 << 63), (1 << 63) - 1)


@pytest.fixture(params=KINDS, ids=["compiled", "python"])
def buffer(request: pytest.FixtureRequest) -> Iterator[RecordBuffer]:
    yield request.param(*ROOMY)


@given(st.lists(st.tuples(FORMS, TAGS, STEPS, st.floats(), st.floats()), max_size=6))
def test_implementations_agree(calls: list[tuple[str, str, int, float, float]]) -> None:
    compiled, python = _encode.RecordBuffer(*ROOMY), record_buffer.PythonRecordBuffer(*ROOMY)
    for form, tag, step, wall, value in calls:
        results = [getattr(buffer, form)(tag, step, wall, value) for buffer in (compiled, python)]
        assert results[0] == results[1]
    assert (len(compiled), compiled.record_count) == (len(python), python.record_count)
    assert compiled.drain() == python.drain()
    assert compiled.get_metadata() == python.get_metadata()


def test_only_first_value_has_metadata(buffer: RecordBuffer) -> None:
    buffer.add_scalar("loss", 0, 1.5, 0.25)
    buffer.add_scalar("loss", 300, 2.5, 0.5)
    tensor = b.blob(8, b.integer(1, b.FLOAT), b.blob(2), b.content(np.float32(0.25).tobytes()))
    first = b.event(b.summary(b.value("loss", tensor, b.metadata("scalars"))), wall=1.5)
    tensor = b.blob(8, b.integer(1, b.FLOAT), b.blob(2), b.content(np.float32(0.5).tobytes()))
    second = b.event(b.summary(b.value("loss", tensor)), step=300, wall=2.5)
    assert buffer.drain() == b.record(first) + b.record(second)


def test_simple_values_match_torch(buffer: RecordBuffer) -> None:
    buffer.add_simple_value("loss", 7, 1.5, 0.25)
    assert buffer.drain() == b.record(
        b.event(b.summary(b.value("loss", b.simple(0.25))), step=7, wall=1.5)
    )


@pytest.mark.parametrize("form", ["add_scalar", "add_simple_value", "add_double"])
def test_default_wall_time_is_now(buffer: RecordBuffer, form: str) -> None:
    before = time.time()
    getattr(buffer, form)("loss", 7, None, 0.25)
    after = time.time()
    [(_, payload)] = iter_records(buffer.drain())
    assert before <= decode_event(payload).wall_time <= after


def test_accepts_numbers_and_arrays_without_dimensions(buffer: RecordBuffer) -> None:
    for number in (1, True, 1.0, np.float32(1), np.float64(1), np.array(1), np.int8(1)):
        buffer.add_simple_value("x", 1, 1.0, number)  # type: ignore[arg-type]
    assert len(set(payload for _, payload in iter_records(buffer.drain()))) == 1


def test_float32_overflow_becomes_infinity(buffer: RecordBuffer) -> None:
    for value in (1e39, math.inf):
        buffer.add_simple_value("x", 1, 1.0, value)
    large, infinite = (payload for _, payload in iter_records(buffer.drain()))
    assert large == infinite


@pytest.mark.parametrize("value", ["1", None, np.array([1.0]), [1], 1j])
def test_rejects_values_that_are_not_numbers(buffer: RecordBuffer, value: Any) -> None:
    with pytest.raises(TypeError):
        buffer.add_scalar("x", 0, 1.0, value)
    assert len(buffer) == 0


@pytest.mark.parametrize("step", [1.0, "1", None, True, np.int64(1)])
def test_rejects_steps_that_are_not_integers(buffer: RecordBuffer, step: Any) -> None:
    with pytest.raises(TypeError):
        buffer.add_scalar("x", step, 1.0, 1.0)


@pytest.mark.parametrize("step", [1 << 63, -(1 << 63) - 1])
def test_rejects_steps_beyond_64_bits(buffer: RecordBuffer, step: int) -> None:
    with pytest.raises(OverflowError):
        buffer.add_scalar("x", step, 1.0, 1.0)


@pytest.mark.parametrize("tag", ["", "x" * 10_001, "\ud800"])
def test_rejects_invalid_tags(buffer: RecordBuffer, tag: str) -> None:
    with pytest.raises(ValueError):
        buffer.add_scalar(tag, 0, 1.0, 1.0)
    assert buffer.drain() == b""


@pytest.mark.parametrize("kind", KINDS)
def test_wakes_at_first_record_and_thresholds(kind: type[RecordBuffer]) -> None:
    buffer = kind(1 << 20, 1 << 20, 3)
    results = [buffer.add_record(b"x") for _ in range(5)]
    assert results == [
        AppendResult.WAKE,
        AppendResult.APPENDED,
        AppendResult.WAKE,
        AppendResult.APPENDED,
        AppendResult.APPENDED,
    ]
    buffer.drain()
    assert buffer.add_record(b"x") == AppendResult.WAKE


@pytest.mark.parametrize("kind", KINDS)
def test_full_buffer_rejects_records_and_their_metadata(kind: type[RecordBuffer]) -> None:
    buffer = kind(200, 1 << 20, 1 << 20)
    assert (
        buffer.add_record(b"x" * 5000) == AppendResult.WAKE
    )  # a single record may exceed the capacity
    assert buffer.add_scalar("loss", 0, 1.0, 1.0) == AppendResult.FULL
    buffer.drain()
    buffer.add_scalar("loss", 1, 1.0, 1.0)
    assert SCALAR_METADATA in buffer.drain()


def test_registers_metadata_once(buffer: RecordBuffer) -> None:
    assert buffer.register_metadata("a", b"one")
    assert not buffer.register_metadata("a", b"two")
    assert buffer.get_metadata() == {b"a": b"one"}
    buffer.clear_metadata()
    assert buffer.register_metadata("a", b"two")


def test_threads_share_a_buffer(buffer: RecordBuffer) -> None:
    taken: list[bytes] = []

    def log(tag: str) -> None:
        for step in range(500):
            buffer.add_scalar(tag, step, 1.0, 1.0)
            if step % 50 == 0:
                taken.append(buffer.drain())

    threads = [threading.Thread(target=log, args=(f"tag{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken.append(buffer.drain())
    assert sum(1 for _ in iter_records(b"".join(taken))) == 8 * 500


def test_creates_compiled_buffer() -> None:
    assert isinstance(create_buffer(*ROOMY), _encode.RecordBuffer)


def test_import_does_not_load_numpy() -> None:
    script = """
import sys
from tracklight.formats.record_buffer import create_buffer
create_buffer(1 << 20, 1 << 20, 100).add_scalar("loss", 0, None, 0.5)
assert "numpy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)
