"""Both encoders make the same bytes, and those are what readers want."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import builders as b
from tracklight.formats import encode_python
from tracklight.formats.encode import SCALAR_METADATA, Answer, Buffer, create_buffer
from tracklight.formats.event import decode_event
from tracklight.formats.tfrecord import iter_records

_encode = pytest.importorskip("tracklight.formats._encode", reason="the kernel is not built")

KINDS = [_encode.Buffer, encode_python.Buffer]
ROOMY = (1 << 30, 1 << 30, 1 << 30)
FORMS = st.sampled_from(["scalar", "simple", "double"])
TAGS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200)
STEPS = st.integers(-(1 << 63), (1 << 63) - 1)


@pytest.fixture(params=KINDS, ids=["compiled", "python"])
def buffer(request: pytest.FixtureRequest) -> Iterator[Buffer]:
    yield request.param(*ROOMY)


@given(st.lists(st.tuples(FORMS, TAGS, STEPS, st.floats(), st.floats()), max_size=6))
def test_both_encode_alike(calls: list[tuple[str, str, int, float, float]]) -> None:
    compiled, python = _encode.Buffer(*ROOMY), encode_python.Buffer(*ROOMY)
    for form, tag, step, wall, value in calls:
        answers = [getattr(buffer, form)(tag, step, wall, value) for buffer in (compiled, python)]
        assert answers[0] == answers[1]
    assert (len(compiled), compiled.records) == (len(python), python.records)
    assert compiled.take() == python.take()
    assert compiled.descriptions() == python.descriptions()


def test_describes_a_tag_with_its_first_value_alone(buffer: Buffer) -> None:
    buffer.scalar("loss", 0, 1.5, 0.25)
    buffer.scalar("loss", 300, 2.5, 0.5)
    tensor = b.blob(8, b.integer(1, b.FLOAT), b.blob(2), b.content(np.float32(0.25).tobytes()))
    first = b.event(b.summary(b.value("loss", tensor, b.metadata("scalars"))), wall=1.5)
    tensor = b.blob(8, b.integer(1, b.FLOAT), b.blob(2), b.content(np.float32(0.5).tobytes()))
    second = b.event(b.summary(b.value("loss", tensor)), step=300, wall=2.5)
    assert buffer.take() == b.record(first) + b.record(second)


def test_simple_values_are_as_torch_writes_them(buffer: Buffer) -> None:
    buffer.simple("loss", 7, 1.5, 0.25)
    assert buffer.take() == b.record(
        b.event(b.summary(b.value("loss", b.simple(0.25))), step=7, wall=1.5)
    )


@pytest.mark.parametrize("form", ["scalar", "simple", "double"])
def test_takes_now_for_a_wall_time_that_is_not_given(buffer: Buffer, form: str) -> None:
    before = time.time()
    getattr(buffer, form)("loss", 7, None, 0.25)
    after = time.time()
    [(_, payload)] = iter_records(buffer.take())
    assert before <= decode_event(payload).wall_time <= after


def test_takes_numbers_of_any_kind_without_dimensions(buffer: Buffer) -> None:
    for number in (1, True, 1.0, np.float32(1), np.float64(1), np.array(1), np.int8(1)):
        buffer.simple("x", 1, 1.0, number)  # type: ignore[arg-type]
    assert len(set(payload for _, payload in iter_records(buffer.take()))) == 1


def test_what_a_float32_cannot_hold_becomes_infinity(buffer: Buffer) -> None:
    for value in (1e39, math.inf):
        buffer.simple("x", 1, 1.0, value)
    large, infinite = (payload for _, payload in iter_records(buffer.take()))
    assert large == infinite


@pytest.mark.parametrize("value", ["1", None, np.array([1.0]), [1], 1j])
def test_refuses_what_is_no_number(buffer: Buffer, value: Any) -> None:
    with pytest.raises(TypeError):
        buffer.scalar("x", 0, 1.0, value)
    assert len(buffer) == 0


@pytest.mark.parametrize("step", [1.0, "1", None, True, np.int64(1)])
def test_refuses_what_is_no_int_as_a_step(buffer: Buffer, step: Any) -> None:
    with pytest.raises(TypeError):
        buffer.scalar("x", step, 1.0, 1.0)


@pytest.mark.parametrize("step", [1 << 63, -(1 << 63) - 1])
def test_refuses_steps_beyond_64_bits(buffer: Buffer, step: int) -> None:
    with pytest.raises(OverflowError):
        buffer.scalar("x", step, 1.0, 1.0)


@pytest.mark.parametrize("tag", ["", "x" * 10_001, "\ud800"])
def test_refuses_tags_that_readers_cannot_show(buffer: Buffer, tag: str) -> None:
    with pytest.raises(ValueError):
        buffer.scalar(tag, 0, 1.0, 1.0)
    assert buffer.take() == b""


@pytest.mark.parametrize("kind", KINDS)
def test_says_when_to_wake(kind: type[Buffer]) -> None:
    buffer = kind(1 << 20, 1 << 20, 3)
    answers = [buffer.record(b"x") for _ in range(5)]
    assert answers == [Answer.WAKE, Answer.TAKEN, Answer.WAKE, Answer.TAKEN, Answer.TAKEN]
    buffer.take()
    assert buffer.record(b"x") == Answer.WAKE


@pytest.mark.parametrize("kind", KINDS)
def test_says_when_it_is_full_and_describes_again_what_it_refused(kind: type[Buffer]) -> None:
    buffer = kind(200, 1 << 20, 1 << 20)
    assert buffer.record(b"x" * 5000) == Answer.WAKE  # one may be larger than all the room
    assert buffer.scalar("loss", 0, 1.0, 1.0) == Answer.FULL
    buffer.take()
    buffer.scalar("loss", 1, 1.0, 1.0)
    assert SCALAR_METADATA in buffer.take()


def test_describes_each_tag_once(buffer: Buffer) -> None:
    assert buffer.describe("a", b"one")
    assert not buffer.describe("a", b"two")
    assert buffer.descriptions() == {b"a": b"one"}
    buffer.forget()
    assert buffer.describe("a", b"two")


def test_threads_share_a_buffer(buffer: Buffer) -> None:
    taken: list[bytes] = []

    def log(tag: str) -> None:
        for step in range(500):
            buffer.scalar(tag, step, 1.0, 1.0)
            if step % 50 == 0:
                taken.append(buffer.take())

    threads = [threading.Thread(target=log, args=(f"tag{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken.append(buffer.take())
    assert sum(1 for _ in iter_records(b"".join(taken))) == 8 * 500


def test_creates_the_compiled_one() -> None:
    assert isinstance(create_buffer(*ROOMY), _encode.Buffer)
