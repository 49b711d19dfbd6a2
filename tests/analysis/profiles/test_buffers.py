"""XLA's buffers at the peak, recomputed from the bytes of the program with another decoder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from tests.analysis.profiles.sample_captures import read_bytes
from tracklight.analysis.profiles.captures import parse_xplane
from tracklight.analysis.profiles.memory.snapshots import analyze_buffers
from tracklight.analysis.profiles.xla_programs import list_programs


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def iter_fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == 0:
            value, at = read_varint(data, at)
            yield key >> 3, value
        else:
            assert key & 7 == 2
            size, at = read_varint(data, at)
            yield key >> 3, data[at : at + size]
            at += size


def to_dict(data: bytes) -> dict[int, Any]:
    return dict(iter_fields(data))


def collect(data: bytes) -> dict[int, list[Any]]:
    fields: dict[int, list[Any]] = defaultdict(list)
    for number, value in iter_fields(data):
        fields[number].append(value)
    return fields


def recompute_peak(assignment: bytes) -> tuple[int, int]:
    """Return the bytes of all allocations, and of what is live at the peak."""
    fields = collect(assignment)
    sizes = {it.get(1, 0): it.get(2, 0) for it in map(to_dict, fields[1])}
    allocations = [it for it in map(to_dict, fields[3]) if not it.get(3)]
    kept = sum(it.get(2, 0) for it in allocations if it.get(5) or it.get(7) or it.get(12))
    peak = 0
    for trace in fields[4]:
        owner_of: dict[int, int] = {}
        live: set[int] = set()
        for event in map(to_dict, collect(trace)[1]):
            kind, buffer = event.get(1, 0), event.get(2, 0)
            if kind == 1:
                live.discard(buffer)
            else:
                shared = event.get(5, 0)
                owner_of[buffer] = buffer if kind == 0 else owner_of.get(shared, shared)
                live.add(buffer)
            peak = max(peak, sum(sizes[it] for it in {owner_of[it] for it in live}))
    return sum(it.get(2, 0) for it in allocations), kept + peak


@pytest.mark.parametrize("name", ["jax_tf", "jax_cnn", "jax_ahead"])
def test_peak_equals_the_order_of_allocations(name: str) -> None:
    trace = parse_xplane(read_bytes(name))
    memories = analyze_buffers(list_programs(trace))
    assignments = (to_dict(proto).get(3, b"") for proto in trace.iter_hlo_protos())
    expected = sorted((recompute_peak(it) for it in assignments if it), reverse=True)
    assert [(it.allocated_bytes, it.peak_bytes) for it in memories] == expected
    largest = memories[0]
    assert all(it.has_order for it in memories)
    assert sum(buffer.bytes for buffer in largest.buffers) == largest.peak_bytes
    assert largest.peak_bytes <= largest.allocated_bytes
    assert {buffer.kind for buffer in largest.buffers} >= {"parameter", "output"}
    assert all(buffer.instruction for buffer in largest.buffers)
