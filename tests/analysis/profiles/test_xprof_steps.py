"""Steps by xprof's rules are equal to those of xprof."""

from __future__ import annotations

import pytest

from tests.analysis.profiles.sample_captures import CASES, read_case, read_oracle
from tests.analysis.profiles.trace_builder import EventSpec, make_trace
from tracklight.analysis.profiles.xprof import list_xprof_steps

PS_PER_MS = 1e9


@pytest.mark.parametrize("case", CASES)
def test_steps_match_xprof(case: str) -> None:
    steps = [
        {
            "name": step.name,
            "compute_ms": step.compute_ps / PS_PER_MS,
            "input_ms": step.input_ps / PS_PER_MS,
            "other_ms": step.other_ps / PS_PER_MS,
            "total_ms": step.total_ps / PS_PER_MS,
        }
        for step in list_xprof_steps(read_case(case))
    ]
    expected = [pytest.approx(step, abs=1e-9) for step in read_oracle()[case]["steps"]]
    assert steps == expected


US = 1_000_000


def list_times(*events: EventSpec) -> dict[str, tuple[int, int, int, int]]:
    """Return the total, compute, input and other time of each step in microseconds."""
    steps = list_xprof_steps(make_trace(*events))
    return {
        it.name: (it.total_ps // US, it.compute_ps // US, it.input_ps // US, it.other_ps // US)
        for it in steps
    }


def test_time_of_a_step_by_kind_of_event() -> None:
    times = list_times(
        EventSpec(0, "train", 0, 100, {"_r": 1, "step_num": 3}),
        EventSpec(0, "EagerExecute: MatMul", 5, 45),  # around the work, not work
        EventSpec(0, "MatMul", 10, 40),
        EventSpec(0, "MemcpyHtoD", 40, 50),
        EventSpec(0, "infeed:InfeedEnqueueTuple", 50, 60),
        EventSpec(0, "MemcpyHtoH", 60, 65),
        EventSpec(0, "IteratorGetNext", 70, 90),
        EventSpec(0, "train", 100, 200, {"_r": 1, "step_num": 4}),
        EventSpec(0, "IteratorGetNext", 110, 190),
    )
    # The second step computes nothing.
    assert times == {"train 3": (100, 30, 40, 25)}


@pytest.mark.parametrize(
    ("args", "name"),
    [
        ({}, "train 0"),
        ({"step_num": 7}, "train 7"),
        ({"iter_num": 2, "step_num": 7}, "train 2"),
        ({"graph_type": "eval", "step_num": 7}, "eval 7"),
        ({"graph_type": "eval"}, "eval 0"),
    ],
)
def test_name_of_a_step(args: dict[str, int | str], name: str) -> None:
    times = list_times(
        EventSpec(0, "train", 0, 100, {"_r": 1, **args}), EventSpec(0, "MatMul", 10, 40)
    )
    assert times == {name: (100, 30, 0, 70)}


def test_iterations_of_a_loop_on_several_threads_are_one_step_each() -> None:
    executor = "ExecutorState::Process"
    events = [
        event
        for number, start in ((1, 0), (2, 50))
        for event in (
            EventSpec(0, executor, start, start + 40, {"id": 5, "iter_num": number}),
            EventSpec(0, "TraceContext", start, start + 40),
            EventSpec(1, executor, start + 10, start + 30, {"id": 5, "iter_num": number}),
            EventSpec(1, "IteratorGetNext", start + 10, start + 20),
        )
    ]
    assert list_times(*events) == {"0": (40, 30, 10, 0), "1": (40, 30, 10, 0)}
