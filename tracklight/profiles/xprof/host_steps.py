"""Steps and the parts of their time by xprof's own rules, to be held against xprof.

What the page shows follows better rules (`steps`, `parts`); these are here so that a reader who
compares the two programs can be shown the other one's numbers, and so that a test can prove that
both read the same things from a file. Only the host is looked at: that is all of a CPU's trace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tracklight.profiles.columns.sweep import divide
from tracklight.profiles.trace import Trace
from tracklight.profiles.xprof.groups import Groups, find_host_events, group_events
from tracklight.types import Bool, Int64

#: In rising order: of two that go on at once, the later one counts.
OTHER, COMPUTE, HOST_TO_HOST, HOST_TO_DEVICE, INPUT = range(5)
_MARKS = ("train", "test", "TraceContext")
_NO_WORK = ("EagerExecute", "EagerLocalExecute", "EagerKernelExecute", "FunctionRun")
#: Of more steps than this, the first and the last are left out.
_FEW_STEPS = 5


class HostStep(NamedTuple):
    name: str
    total_ps: int
    compute_ps: int
    input_ps: int
    other_ps: int
    start_ps: int


def divide_steps(trace: Trace) -> list[HostStep]:
    """Find the steps of a CPU's trace; there are none where no program marked any."""
    events = find_host_events(trace)
    groups = group_events(trace, events)
    group = np.array([groups.group.get(event, -1) for event in events.tolist()], np.int64)
    steps = [_divide(trace, events[group == each], groups) for each in range(len(groups.names))]
    found = [step for step in steps if step is not None]
    return found[1:-1] if len(found) > _FEW_STEPS else found


def _divide(trace: Trace, events: Int64, groups: Groups) -> HostStep | None:
    marks = _find(trace, events, is_mark) | np.array([e in groups.named for e in events], bool)
    if not marks.any():
        return None
    longest = events[marks][np.argmax(trace.duration_ps[events[marks]])]
    work = events[~marks & ~_find(trace, events, lambda name: name.startswith(_NO_WORK))]
    kinds = np.array([_kind(trace.names[name]) for name in trace.name[work]], np.int64)
    if COMPUTE not in kinds:
        return None
    span = np.array([[trace.start_ps[longest], trace.end_ps[longest]]])
    took = divide(trace.start_ps[work], trace.end_ps[work], kinds, span, INPUT + 1)[0]
    total = int(trace.duration_ps[longest])
    name = next((groups.named[e] for e in events.tolist() if e in groups.named), "")
    into = int(took[INPUT] + took[HOST_TO_DEVICE])
    other = total - int(took[COMPUTE:].sum())
    name = name or str(groups.group[int(longest)])
    return HostStep(name, total, int(took[COMPUTE]), into, other, int(span[0, 0]))


def is_mark(name: str) -> bool:
    """Whether it is what programs put around a step."""
    return name.startswith(_MARKS) and "/" not in name


def _find(trace: Trace, events: Int64, fits: Callable[[str], bool]) -> Bool:
    return np.array([fits(trace.names[name]) for name in trace.name[events]], bool)


def _kind(name: str) -> int:
    lowered, _, op = name.lower(), *name.partition(":")[1:]
    if op.startswith("InfeedEnqueue") or lowered.startswith("memcpyhtod"):
        return HOST_TO_DEVICE
    if lowered.startswith("memcpyhtoh"):
        return HOST_TO_HOST
    return INPUT if lowered.startswith("iteratorgetnext") else COMPUTE
