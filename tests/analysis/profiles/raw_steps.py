"""The captures of the tests, their steps and what runs in them, recomputed from raw events.

``TRACKLIGHT_CORPUS=directory`` adds the captures that are too large for the repository.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import mean

from tests.analysis.profiles.raw_captures import (
    RawEvent,
    classify,
    divide_time,
    is_work,
    list_launched,
    measure_union,
    read_raw,
)
from tests.analysis.profiles.sample_captures import get_sample, open_sample
from tracklight.analysis.profiles.captures import open_capture
from tracklight.analysis.profiles.profile_data import AnalyzedTrace, ProfileData
from tracklight.analysis.profiles.trace import PS_PER_MS

TORCH = (
    "tgpu", "torch_f32", "torch_bf16", "torch_input", "torch_overlap", "torch_ahead", "nccl",
    "torch_modules", "tcpu",
)  # fmt: skip
TENSORFLOW = ("cnn", "cnn_steps", "customloop", "inputbound", "inputbound_steps", "jit_steps")
JAX = ("jax_f32", "jax_bf16", "jax_ahead", "jax_tf", "jax_cnn", "jax_input", "jax_counters")
#: Their kernels are labeled with the graph only, so that ops follow from its order of nodes; see
#: test_cuda_graphs.py.
CUDA_GRAPHS = ("jax_ahead", "jax_tf", "jax_input", "jax_counters", "jax_gpu", "jax_gpu_jbig")
#: Matrix products without marked steps.
EIGHT_BITS = "torch_fp8"
CORPUS = os.environ.get("TRACKLIGHT_CORPUS")
LARGE = ("jax_gpu", "jax_gpu_jbig") if CORPUS else ()
CAPTURES = (*TORCH, *TENSORFLOW, *JAX, *LARGE)
IMPLICIT_ROOTS = ("FunctionRun", "SessionRun", "RunGraph", "ExecutorState::Process")


def get_path(name: str) -> Path:
    if name in LARGE:
        (path,) = (Path(CORPUS or "") / "profile" / name / "plugins").rglob("*.xplane.pb")
        return path
    return get_sample(name)


@cache
def load(name: str) -> ProfileData:
    trace = open_capture(get_path(name)) if name in LARGE else open_sample(name)
    return ProfileData("run", "session", "host", AnalyzedTrace(trace))


@cache
def load_raw(name: str) -> list[RawEvent]:
    return read_raw(get_path(name))


def list_raw_markers(events: list[RawEvent]) -> list[RawEvent]:
    """Return the markers of steps: of the program, or else of Keras or the profiler.

    Programs that mark their steps themselves run below Keras, which marks the same batches.
    """
    host = [event for event in events if not event.on_device]
    markers = (
        [each for each in host if each.args.get("_r", 0) and each.name not in IMPLICIT_ROOTS]
        or [each for each in host if each.name.startswith("Profiled batch")]
        or [each for each in host if each.name.startswith("ProfilerStep#")]
    )
    return sorted(markers, key=lambda event: event.start_ps)


class RawSteps:
    """The steps of a capture: spans, host spans, and the device work of each."""

    def __init__(self, name: str) -> None:
        events = load_raw(name)
        self.markers = list_raw_markers(events)
        self.spans, self.host_spans, self.work = self._divide(events, name)
        self.averaged = slice(1, -1) if len(self.spans) > 5 else slice(None)
        self.step_ms = mean((end - start) / PS_PER_MS for start, end in self.spans[self.averaged])

    def average_ms(self, times: list[int]) -> float:
        return mean(time / PS_PER_MS for time in times[self.averaged])

    def _divide(
        self, events: list[RawEvent], name: str
    ) -> tuple[list[tuple[int, int]], list[tuple[int, int]], list[list[RawEvent]]]:
        """Divide device work among steps by the launches in their markers.

        A step of JAX begins at the end of the marker before it, as the batch is loaded in between.
        Without markers, the whole capture is one step. Without launches, work belongs to the step
        in which it starts.
        """
        markers = self.markers
        if not markers:
            whole = min(e.start_ps for e in events), max(e.end_ps for e in events)
            return [whole], [whole], [[event for event in events if is_work(event)]]
        starts = [marker.start_ps for marker in markers]
        if name.startswith("jax"):
            starts[1:] = [marker.end_ps for marker in markers[:-1]]
        work: list[list[RawEvent]] = [[] for _ in markers]
        pairs = list_launched(events)
        has_launches = any(launch for launch, _ in pairs)
        for launch, event in pairs:
            cause = launch if has_launches else event
            number = bisect_left(starts, cause.start_ps + 1) - 1 if cause else -1
            if cause and number >= 0 and cause.start_ps < markers[number].end_ps:
                work[number].append(event)
        spans: list[tuple[int, int]] = []
        for host_start, marker, launched in zip(starts, markers, work, strict=True):
            start = max(host_start, spans[-1][1] if spans else 0)
            end = max([marker.end_ps, start, *(event.end_ps for event in launched)])
            spans.append((start, end))
        host_ends = [
            min(marker.end_ps, following)
            for marker, following in zip(markers, [*starts[1:], markers[-1].end_ps], strict=True)
        ]
        return spans, list(zip(starts, host_ends, strict=True)), work


@cache
def get_raw_steps(name: str) -> RawSteps:
    return RawSteps(name)


def cover(rows: list[tuple[int, int]], spans: list[tuple[int, int]]) -> list[int]:
    return [
        measure_union([row for row in rows if row[1] > s and row[0] < e], s, e) for s, e in spans
    ]


@cache
def list_part_events(name: str) -> list[tuple[RawEvent, str]]:
    """Return all events that count for a part of a step, with the part.

    Python frames count if they run between the markers of steps.
    """
    events, markers = load_raw(name), get_raw_steps(name).markers
    kernel_ids = {
        event.correlation
        for event in events
        if is_work(event) and not event.name.lower().startswith("mem") and event.correlation
    }
    rows = [(event, part) for event in events if (part := classify(event, kernel_ids)) is not None]
    frames = [event for event in events if event.name.startswith("$")]
    for before, after in pairwise(markers) if frames else ():
        rows += [
            (event, "host_compute")
            for event in frames
            if before.end_ps <= event.start_ps and event.end_ps <= after.start_ps
        ]
    return rows


@cache
def divide_steps(name: str) -> list[dict[str, int]]:
    """Return how long each averaged step spent in each part."""
    steps = get_raw_steps(name)
    rows = [(event.start_ps, event.end_ps, part) for event, part in list_part_events(name)]
    return [divide_time(rows, *span) for span in steps.spans[steps.averaged]]
