"""The single numbers of a capture: of its steps, host and device, its ops and what marks steps."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from statistics import median
from typing import Literal

import msgspec
import numpy as np

from tracklight.profiles.columns.sweep import cover
from tracklight.profiles.findings.advice import Framework
from tracklight.profiles.ops.book import Side
from tracklight.profiles.ops.opname import find_op
from tracklight.profiles.ops.sums import Ops
from tracklight.profiles.steps.division import Division
from tracklight.profiles.steps.parts import WHAT, Part
from tracklight.profiles.trace import Trace
from tracklight.types import Bool

_MOST_OPS = 20
_MOST_MARKERS = 30
#: What is met less often marks no steps; what is met more often is found within them.
_FEWEST_MARKS, _MOST_MARKS = 3, 10_000
_MS = 1e9
_TORCH = frozenset({"cpu_op", "kernel", "cuda_runtime", "gpu_memcpy"})


class StepTimes(msgspec.Struct):
    """How long steps took, in milliseconds; ``averaged`` of them the numbers are of."""

    count: int
    averaged: int
    mean_ms: float
    median_ms: float
    min_ms: float
    max_ms: float
    deviation_ms: float


class PartTime(msgspec.Struct):
    """Milliseconds of an average step."""

    name: str
    label: str
    ms: float
    share: float
    hidden_ms: float
    """What went on behind something that counts for more."""
    what: str


class Overlap(msgspec.Struct):
    """How long, of an average step, something went on on the host and on devices."""

    host_ms: float
    device_ms: float
    both_ms: float
    neither_ms: float


class Placement(msgspec.Struct):
    """How long ops took by themselves, and how often they ran, on the host and on devices."""

    host_ms: float
    device_ms: float
    host_ops: int
    device_ops: int


class OpRow(msgspec.Struct):
    """``share`` is that of all that ran on the same side."""

    name: str
    type: str
    side: Literal["host", "device"]
    count: int
    total_ms: float
    self_ms: float
    share: float
    event: int
    """The call that took longest."""


class Marker(msgspec.Struct):
    """Events that could be taken for steps."""

    name: str
    count: int


class Fact(msgspec.Struct):
    """Something that is known of where a program ran."""

    name: str
    value: str


def find_framework(trace: Trace) -> Framework:
    """Who wrote it: PyTorch tells categories apart, and JAX names what it calls."""
    if any(trace.categories):
        return _find_chrome(trace)
    is_jax = any("PjRt" in name or "pjit" in name.lower() for name in trace.names)
    return "jax" if is_jax else "tensorflow"


def _find_chrome(trace: Trace) -> Framework:
    """PyTorch writes its ops beside functions of Python, and our own sampler only those."""
    if _TORCH.intersection(trace.categories):
        return "torch"
    return "python" if "python_function" in trace.categories else "chrome"


def measure_steps(division: Division) -> StepTimes:
    total = division.parts.total[division.inner] / _MS
    if not len(total):
        return StepTimes(len(division.steps.names), 0, 0.0, 0.0, 0.0, 0.0, 0.0)
    return StepTimes(
        count=len(division.steps.names),
        averaged=len(total),
        mean_ms=float(total.mean()),
        # That of numpy would load its arrays with masks, which takes longer than all else here.
        median_ms=median(total.tolist()),
        min_ms=float(total.min()),
        max_ms=float(total.max()),
        deviation_ms=float(total.std(ddof=1)) if len(total) > 1 else 0.0,
    )


def measure_parts(division: Division) -> list[PartTime]:
    return list(_iter_parts(division))


def _iter_parts(division: Division) -> Iterator[PartTime]:
    step_ms = division.average_ms(division.parts.total) or 1.0
    for part in Part:
        ms = division.average_ms(division.parts.counted[:, part])
        hidden_ms = division.average_ms(division.parts.alone[:, part]) - ms
        name = part.name.lower()
        yield PartTime(name, part.label, ms, ms / step_ms, max(hidden_ms, 0.0), WHAT[part])
    ms = division.average_ms(division.parts.other)
    what = "Nothing that the profiler recorded: Python, waiting, or what it was not asked for."
    yield PartTime("other", "all others", ms, ms / step_ms, 0.0, what)


def measure_overlap(trace: Trace, division: Division) -> Overlap | None:
    """None where there is no device, or nothing that steps could be found in."""
    works = division.works
    device, host = works & trace.on_device, works & ~trace.on_device
    if not device.any():
        return None
    device_ms, host_ms, either_ms = (
        _measure_busy(trace, division, mask) for mask in (device, host, works)
    )
    step_ms = division.average_ms(division.parts.total)
    both_ms = host_ms + device_ms - either_ms
    return Overlap(host_ms, device_ms, both_ms, max(step_ms - either_ms, 0.0))


def _measure_busy(trace: Trace, division: Division, mask: Bool) -> float:
    busy = cover(trace.start_ps[mask], trace.end_ps[mask], division.steps.spans)
    return division.average_ms(busy)


def measure_placement(ops: Ops) -> Placement:
    host, device = ops.sides == Side.HOST, ops.sides == Side.DEVICE
    return Placement(
        host_ms=float(ops.self_ps[host].sum()) / _MS,
        device_ms=float(ops.self_ps[device].sum()) / _MS,
        host_ops=int(ops.counts[host].sum()),
        device_ops=int(ops.counts[device].sum()),
    )


def list_ops(ops: Ops) -> list[OpRow]:
    """List the ops with the longest own time.

    Python functions contain ops and are listed only if there is nothing else. Functions made of
    lines have no time of their own, so those with the longest total time come along.
    """
    sums = {side: max(int(ops.self_ps[ops.sides == side].sum()), 1) for side in Side}
    rows = [at for at, side in enumerate(ops.sides.tolist()) if side != Side.PYTHON][:_MOST_OPS]
    if not rows:
        by_total = np.argsort(-ops.total_ps, kind="stable")[:_MOST_OPS].tolist()
        rows = list(dict.fromkeys([*range(min(len(ops.ops), _MOST_OPS)), *by_total]))
    return [
        OpRow(
            name=ops.ops[at].name,
            type=ops.ops[at].type,
            side="device" if ops.sides[at] == Side.DEVICE else "host",
            count=int(ops.counts[at]),
            total_ms=int(ops.total_ps[at]) / _MS,
            self_ms=int(ops.self_ps[at]) / _MS,
            share=int(ops.self_ps[at]) / sums[Side(int(ops.sides[at]))],
            event=int(ops.longest[at]),
        )
        for at in rows
    ]


def list_markers(trace: Trace) -> list[Marker]:
    """Events of the host that come again and again, those that fill most of the time first.

    Ops are left out: they are what steps are made of.
    """
    host = np.flatnonzero(~trace.on_device & ~trace.find_categories("cpu_op"))
    names = trace.name[host]
    counts = np.bincount(names, minlength=len(trace.names))
    took = np.bincount(names, trace.duration_ps[host].astype(float), len(trace.names))
    fits = np.flatnonzero((counts >= _FEWEST_MARKS) & (counts <= _MOST_MARKS) & (took > 0))
    order = fits[np.argsort(-took[fits], kind="stable")].tolist()
    marks = islice((at for at in order if find_op(trace.names[at]) is None), _MOST_MARKERS)
    return [Marker(trace.names[at], int(counts[at])) for at in marks]
