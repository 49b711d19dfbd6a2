"""The steps of a trace and the parts of their time, by one of two sets of rules."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from tracklight.profiles.steps.parts import Part, StepParts, divide_steps, find_parts, find_work
from tracklight.profiles.steps.steps import Steps, find_steps
from tracklight.profiles.trace import Trace
from tracklight.profiles.xprof import host_steps
from tracklight.types import Bool, Int64

#: Ours put host and device together; xprof's are those that xprof goes by.
Rules = Literal["ours", "xprof"]
#: Of more steps than this, the first and the last say little: one warms up, one may be cut short.
FEW_STEPS = 5


class Division(NamedTuple):
    steps: Steps
    parts: StepParts
    part: Int64
    """Which part each event is; -1: none."""
    works: Bool
    """In which events somebody works, and does not only wait."""
    inner: slice
    """The steps that averages are of."""

    @property
    def averaged(self) -> int:
        return len(self.parts.total[self.inner])

    def average_ms(self, column: Int64) -> float:
        """The mean over steps of what has a row a step, in ps."""
        return float(column[self.inner].sum()) / max(self.averaged, 1) / 1e9


def divide_trace(trace: Trace, marker: str = "", rules: Rules = "ours") -> Division:
    part = find_parts(trace)
    works = find_work(trace, part)
    if rules == "xprof":
        return Division(*_follow_xprof(trace), part, works, slice(None))
    steps = find_steps(trace, marker)
    inner = slice(1, -1) if len(steps.names) > FEW_STEPS else slice(None)
    return Division(steps, divide_steps(trace, steps, part, works), part, works, inner)


def _follow_xprof(trace: Trace) -> tuple[Steps, StepParts]:
    found = host_steps.divide_steps(trace)
    counted = np.zeros((len(found), len(Part)), np.int64)
    for row, step in zip(counted, found, strict=True):
        row[Part.HOST_COMPUTE], row[Part.INPUT] = step.compute_ps, step.input_ps
    total = np.array([step.total_ps for step in found], np.int64)
    start = np.array([step.start_ps for step in found], np.int64)
    names = tuple(step.name for step in found)
    rule = "as xprof finds them" if found else "none: xprof finds no marks of steps here"
    steps = Steps(rule, names, np.column_stack([start, start + total]).reshape(-1, 2))
    return steps, StepParts(counted, counted.copy(), total)
