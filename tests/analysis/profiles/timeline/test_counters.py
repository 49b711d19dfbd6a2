"""Counters of the trace viewer, compared with loops over raw events."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.analysis.profiles.raw_captures import list_launched, read_content, read_raw
from tests.analysis.profiles.sample_captures import get_sample, open_sample
from tests.analysis.profiles.timeline.traces import make_empty_trace
from tracklight.analysis.profiles.steps import detect_steps
from tracklight.analysis.profiles.timeline.details import (
    Counter,
    has_counters,
    list_counters,
    sample_counter,
)


def load(name: str) -> list[Counter]:
    trace = open_sample(name)
    return list_counters(trace, detect_steps(trace))


@pytest.mark.parametrize("name", ["torch_ahead", "torch_f32", "jax_f32"])
def test_queue_has_what_was_launched_but_has_not_begun(name: str) -> None:
    (queue,) = (counter for counter in load(name) if counter.kind == "queue")
    events = read_raw(get_sample(name))
    base = min(event.start_ps for event in events)
    waits = [
        (launch.start_ps - base, work.start_ps - base)
        for launch, work in list_launched(events)
        if launch
    ]
    for at in np.linspace(queue.times_ps[0], queue.times_ps[-1], 50).tolist():
        place = int(np.searchsorted(queue.times_ps, at, "right")) - 1
        expected = sum(launched <= at < begun for launched, begun in waits)
        assert queue.values[place] == pytest.approx(expected, abs=1)
    assert queue.values[-1] == 0 and queue.values.min() == 0
    if name == "torch_ahead":
        # The host runs ahead by many kernels.
        assert queue.values.max() > 20


def test_memory_is_that_of_the_allocator() -> None:
    counters = {counter.name: counter for counter in load("tcpu") if counter.kind == "memory"}
    events = json.loads(read_content(get_sample("tcpu")))["traceEvents"]
    totals = [each["args"]["Total Allocated"] for each in events if each["name"] == "[memory]"]
    assert max(int(each.values.max()) for each in counters.values()) == max(totals)


def test_samples_are_exact_or_the_highest_of_a_cell() -> None:
    times = np.arange(10, 1010, 10)
    values = np.arange(100) % 7
    counter = Counter("queue", "GPU 0", times, values)
    exact = sample_counter(counter, 95, 205, 50)
    assert exact.times.tolist() == [95, *range(100, 201, 10)]
    assert exact.values.tolist() == [values[8], *values[9:20]]
    coarse = sample_counter(counter, 0, 1000, 10)
    assert len(coarse.values) <= 11 and coarse.peak == 6
    for start, value in zip(coarse.times[1:], coarse.values[1:], strict=True):
        inside = (times >= start) & (times < start + 100)
        before = values[times < start][-1:]
        assert value == max([*values[inside], *before])
    assert sample_counter(counter, 5000, 6000, 10).values.tolist() == [values[-1]]


def test_last_value_is_kept_after_a_cell_with_many_changes() -> None:
    times = np.concatenate([np.arange(100, 200), np.arange(500, 600)])
    values = np.append(np.arange(100)[::-1], np.arange(100)[::-1])
    coarse = sample_counter(Counter("queue", "GPU 0", times, values), 0, 1000, 10)
    assert coarse.times.tolist() == [0, 100, 200, 500, 600]
    assert coarse.values.tolist() == [0, 99, 0, 99, 0]


def test_capture_without_launches_or_allocations_has_none() -> None:
    assert not has_counters(make_empty_trace())
    assert load("torch_modules")
    trace = make_empty_trace()
    assert list_counters(trace, detect_steps(trace)) == []
